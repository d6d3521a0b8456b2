"""Which actions are acceptable next: the oracles of a task, held against what was done so far.

An oracle is followed as long as its next action was the one taken. Where some oracle asks for what was done, those
that would have it later are left: it is not to be done again. What no oracle asks for and what changed nothing is
passed over (a look around, a repeated read); anything else leaves every oracle. Off all of them there is no gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.envs.tools.task import Risk, Task


@dataclass(frozen=True, slots=True)
class Deed:
    """One action that was taken. ``changed``: whether the state of ``/task`` differs after it."""

    tool: str
    rc: int
    risk: Risk
    changed: bool
    flags: tuple[str, ...] = ()
    replied: bool = False

    @property
    def harmless(self) -> bool:
        """Nothing changed, nothing that must never be used was, and nobody was told anything."""
        return not self.changed and self.risk in ("read", "write") and not self.replied


def places(task: Task, deeds: Sequence[Deed]) -> list[tuple[tuple[str, ...], int]]:
    """(oracle, number of its actions already taken) of every oracle still followed."""
    barred = {condition["tool"] for condition in task.verify["trace"] if condition["kind"] == "never"}
    found = [(oracle, 0) for oracle in task.oracles]
    for deed in deeds:
        idle = deed.harmless and deed.tool not in barred
        took = [(oracle, at + 1) for oracle, at in found if oracle[at : at + 1] == (deed.tool,)]
        if took:
            passed = [(oracle, at) for oracle, at in found if idle and deed.tool not in oracle[at:]]
            found = took + passed
        elif not idle:
            return []
    return [(oracle, at) for oracle, at in found if at < len(oracle)]


def acceptable(task: Task, deeds: Sequence[Deed]) -> tuple[str, ...]:
    """The next actions that lie on an oracle, in the order of the oracles; empty off all of them."""
    return tuple(dict.fromkeys(oracle[at] for oracle, at in places(task, deeds)))


def progress_levels(task: Task, deeds: Sequence[Deed], levels: int) -> tuple[int, ...]:
    """How far each followed oracle is, as levels 0 (nothing done) .. ``levels`` - 1 (only the end is left)."""
    top = levels - 1
    return tuple(dict.fromkeys(top * at // max(len(oracle) - 1, 1) for oracle, at in places(task, deeds)))
