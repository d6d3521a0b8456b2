"""A logged run is driven again, step by step, and stops where the page first differs from the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from arena.envs.check import Played, always_last, follow_gold, play_policy
from arena.envs.gym import shipped_episode
from arena.envs.web import open_environment
from arena.envs.web.redrive import Logged, Redriven, logged_run, redrive
from arena.errors import MissingNeed, UsageError
from arena.records import Step

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]
PATH = shipped_episode()


def _steps(played: Played) -> list[Step]:
    """What the runner logs of an episode."""
    committed = [
        (follow_gold if right else always_last)(turn)["action"]
        for turn, right in zip(played.turns, played.right, strict=True)
    ]
    return [
        Step(step=t.step, phase=t.phase, ask=t.ask.id, page_hash=t.page_hash, committed=c, correct=r, view=t.view)
        for t, r, c in zip(played.turns, played.right, committed, strict=True)
    ]


def _drive(run: Sequence[Logged], until: int | None = None, *, headed: bool = False) -> list[Redriven]:
    async def go() -> list[Redriven]:
        return [step async for step in redrive(PATH, run, until=until, headed=headed)]

    return asyncio.run(go())


@pytest.fixture(scope="module")
def gold() -> list[Logged]:
    async def go() -> Played:
        environment = open_environment(mode="teacher", screenshots=False)
        try:
            return await play_policy(environment, PATH, follow_gold)
        finally:
            await environment.aclose()

    return logged_run(_steps(asyncio.run(go())))


def test_a_log_drives_to_its_end(gold: list[Logged]) -> None:
    seen = _drive(gold)
    assert len(seen) == len(gold) >= 2
    assert all(step.same for step in seen)
    assert all(step.png.startswith(b"\x89PNG") for step in seen)
    assert [step.action for step in seen] == [step.action for step in gold]


def test_it_stops_at_the_step_asked_for(gold: list[Logged]) -> None:
    assert [step.step for step in _drive(gold, until=0)] == [0]
    with pytest.raises(UsageError, match="is not in the run"):
        _drive(gold, until=99)


def test_it_stops_at_the_first_difference(gold: list[Logged]) -> None:
    changed = [gold[0], replace(gold[1], page_hash="of another page"), *gold[2:]]
    seen = _drive(changed)
    assert [step.same for step in seen] == [True, False]


def test_an_action_that_the_page_does_not_offer_is_said(gold: list[Logged]) -> None:
    with pytest.raises(UsageError, match="the page has no option 'click:e999'"):
        _drive([replace(gold[0], action="click:e999"), *gold[1:]])


def test_headed_needs_a_display(gold: list[Logged], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingNeed, match="display"):
        _drive(gold, headed=True)
