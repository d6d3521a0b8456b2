"""Which actions are acceptable next: the oracles of a task, held against what was done so far.

An oracle is followed as long as its next action was the one taken. What changed nothing is passed over (a
look around, a repeated read); anything else that the oracle does not say leaves it. Off every oracle there
is no gold.
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
    found = []
    for oracle in task.oracles:
        at = 0
        for deed in deeds:
            if at < len(oracle) and oracle[at] == deed.tool:
                at += 1
            elif not deed.harmless:
                break
        else:
            if at < len(oracle):
                found.append((oracle, at))
    return found


def acceptable(task: Task, deeds: Sequence[Deed]) -> tuple[str, ...]:
    """The next actions that lie on an oracle, in the order of the oracles; empty off all of them."""
    return tuple(dict.fromkeys(oracle[at] for oracle, at in places(task, deeds)))


def progress_levels(task: Task, deeds: Sequence[Deed], levels: int) -> tuple[int, ...]:
    """How far each followed oracle is, as levels 0 (nothing done) .. ``levels`` - 1 (only the end is left)."""
    top = levels - 1
    return tuple(dict.fromkeys(top * at // max(len(oracle) - 1, 1) for oracle, at in places(task, deeds)))
