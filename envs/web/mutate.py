"""Executed tests of a baked walk: which options are as good as gold, and does the verifier tell wrong from right?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from arena.envs.web.options import CONTROLS, ENDINGS, Option
from arena.envs.web.player import Play, State
from arena.envs.web.walk import Walk
from arena.session import EndVerdict, Verifier
from arena.types import JSON

MAX_EQUIVALENTS = 12
MAX_SIBLINGS = 3
GROUPED = frozenset({"radio", "checkbox", "tab", "switch", "option", "menuitemradio"})


@dataclass(frozen=True)
class Trial:
    """The gold walk as played: per step the state and the option taken; ``states`` has the end as well."""

    walk: Walk
    states: tuple[State, ...]
    actions: tuple[Option, ...]
    new_play: Callable[[], Play]

    def keys(self, until: int) -> list[str]:
        """Option ids of the first ``until`` steps."""
        return [option.id for option in self.actions[:until]]


def _same_looking(state: State, gold: Option) -> list[Option]:
    elements = state.observation.elements
    if gold.index is None:
        return []
    href = elements[gold.index].href
    found = []
    for option in state.table.options:
        if option.id == gold.id or option.op != gold.op or option.arg != gold.arg or option.index is None:
            continue
        twin = (option.role, option.name) == (gold.role, gold.name)
        if twin or (gold.op == "click" and href and elements[option.index].href == href):
            found.append(option)
    return found


def _siblings(state: State, gold: Option, accepted: Sequence[str]) -> list[Option]:
    """Wrong options next to gold: another value for the same element, a look-alike, another of the same group."""
    if gold.index is None:
        return []
    elements = state.observation.elements
    group = elements[gold.index].scopes[:1]
    found = []
    for option in state.table.options:
        if option.id in accepted or option.op != gold.op or option.index is None:
            continue
        same_element = option.index == gold.index
        twin = (option.role, option.name) == (gold.role, gold.name) and option.arg == gold.arg
        grouped = option.role == gold.role and option.role in GROUPED and elements[option.index].scopes[:1] == group
        if same_element or twin or grouped:
            found.append(option)
    return found[:MAX_SIBLINGS]


async def _after(trial: Trial, t: int, option: Option) -> tuple[State, bool]:
    """The state after the gold prefix and ``option``, and whether a request missed."""
    play = trial.new_play()
    try:
        await play.begin()
        await play.follow(trial.keys(t))
        state, _ = await play.do(option)
        return state, bool(play.missed())
    finally:
        await play.close()


async def equivalents(trial: Trial, t: int) -> tuple[tuple[str, ...], list[dict[str, JSON]]]:
    """The gold set of step ``t`` (the walk's option first), found by executing what looks the same, and graph rows."""
    gold, state = trial.actions[t], trial.states[t]
    if gold.op in ENDINGS:
        return (gold.id,), []
    target = trial.states[t + 1]
    accepted = [gold.id]
    rows: list[dict[str, JSON]] = [{"step": t, "option": gold.id, "to": target.observation.sem_hash}]
    for option in _same_looking(state, gold)[:MAX_EQUIVALENTS]:
        reached, missed = await _after(trial, t, option)
        seen = reached.observation.sem_hash
        to = "off_tape" if missed else "same" if seen == state.observation.sem_hash else seen
        rows.append({"step": t, "option": option.id, "to": to})
        if not missed and reached.same(target):
            accepted.append(option.id)
    return tuple(accepted), rows


async def _judged(
    trial: Trial, verifier: Verifier, run: Callable[[Play], Awaitable[None]]
) -> tuple[EndVerdict, State | None]:
    play = trial.new_play()
    try:
        await play.begin()
        await run(play)
        return verifier(trial.walk.verify, await play.end_state(), trial.walk.verify["claim"]), play.state
    finally:
        await play.close()


def _same_end(trial: Trial, end: State | None) -> bool:
    """Whether a run ended where gold ends. Our own sites tell their whole state; of others the page is compared."""
    gold = trial.states[-1]
    if end is None or gold.app_state is None:
        return end is not None and end.observation.sem_hash == gold.observation.sem_hash
    return end.app_state == gold.app_state


async def _without(trial: Trial, t: int, verifier: Verifier) -> bool:
    """Whether the walk passes with step ``t`` left out."""

    async def run(play: Play) -> None:
        await play.follow(trial.keys(t))
        await play.follow_loosely(trial.walk.step[t + 1 :])

    verdict, _ = await _judged(trial, verifier, run)
    return verdict.ending == "success"


async def _sidestepped(trial: Trial, t: int, option: Option, verifier: Verifier) -> bool:
    """Whether the walk passes with ``option`` in place of step ``t``, although it ends elsewhere than gold.

    A detour that comes to the very state in which gold ends (another sorting of a list, say) is no wrong end.
    """

    async def run(play: Play) -> None:
        await play.follow(trial.keys(t))
        await play.do(option)
        await play.follow_loosely(trial.walk.step[t + 1 :])

    verdict, end = await _judged(trial, verifier, run)
    return verdict.ending == "success" and not _same_end(trial, end)


async def check_verifier(trial: Trial, golds: Sequence[Sequence[str]], verifier: Verifier) -> list[str]:
    """Mutation tests of the verifier; returns what it got wrong, empty when it tells wrong from right."""
    faults = []
    steps = trial.walk.step

    async def nothing(_: Play) -> None:
        return None

    empty, _ = await _judged(trial, verifier, nothing)
    if empty.ending == "success":
        faults.append(f"the empty walk (only {steps[-1].op}) passes")
    if empty.key_nodes:
        faults.append(f"{empty.key_nodes:.0%} of the key nodes hold before anything is done")
    for t in range(len(steps) - 1):
        if await _without(trial, t, verifier):
            faults.append(f"the walk passes without step {t + 1} ({steps[t]})")
        if steps[t].op in CONTROLS:
            continue
        for option in _siblings(trial.states[t], trial.actions[t], golds[t]):
            if await _sidestepped(trial, t, option, verifier):
                faults.append(f"the walk passes with a wrong step {t + 1}: {option.text} instead of {steps[t]}")
    return faults
