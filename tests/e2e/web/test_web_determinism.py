"""One page, many replays: whatever a page does with time and chance, it is the same page every time."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
from pathlib import Path

import pytest
from web_tools import FIXTURES

from arena.envs.check import Played, always_last, follow_gold, play_policy
from arena.envs.web import open_environment
from arena.envs.web.bake import bake_walks
from arena.envs.web.episode import read_recording
from arena.identity import sha256

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("episodes")
    assert bake_walks(FIXTURES / "walks", out, only=["clock"], say=lambda _: None) == {}
    return str(out / "clock.web.zip")


def _play(path: str, times: int, *, screenshots: bool = False) -> list[Played]:
    async def run() -> list[Played]:
        environment = open_environment(mode="teacher", screenshots=screenshots)
        try:
            return [await play_policy(environment, path, follow_gold) for _ in range(times)]
        finally:
            await environment.aclose()

    return asyncio.run(run())


def test_twenty_replays_of_a_page_of_clocks_and_chance_are_one(clock: str) -> None:
    plays = _play(clock, 10) + _play(clock, 10)  # two browser processes
    assert len({play.trace for play in map(_hashable, plays)}) == 1
    states = [turn.ask.state["text"] for turn in plays[0].turns]
    assert len(set(states)) == len(states), "the page under test must change with every step"
    assert re.search(r"Now: 20\d\d-.*, frame \d+, tick \d+", states[0]), "its clock must be on the page"
    assert re.search(r"Random: 0\.\d+", states[0]), "its random number must be on the page"


def _hashable(play: Played) -> Played:
    return Played(play.turns, play.right, tuple(tuple(row) for row in play.trace), play.ended)


def test_replays_are_one_while_other_processes_burn_the_processor(clock: str) -> None:
    context = multiprocessing.get_context("spawn")
    hogs = [context.Process(target=_burn, daemon=True) for _ in range(3)]
    for hog in hogs:
        hog.start()
    try:
        plays = _play(clock, 3)
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()
            hog.close()
    assert len({play.trace for play in map(_hashable, plays)}) == 1


def _burn() -> None:
    while True:
        sum(range(10_000))


def test_pictures_are_the_same_too(clock: str) -> None:
    first, second = _play(clock, 2, screenshots=True)
    shots = [[sha256(turn.artifacts["screenshot"]) for turn in play.turns] for play in (first, second)]
    assert shots[0] == shots[1]
    assert first.turns[0].artifacts["screenshot"].startswith(b"\x89PNG")


def test_another_seed_is_another_page(clock: str, tmp_path: Path) -> None:
    walks = tmp_path / "walks"
    walks.mkdir()
    (tmp_path / "sites").symlink_to(FIXTURES / "sites")
    text = (FIXTURES / "walks" / "clock.toml").read_text()
    (walks / "clock.toml").write_text(text.replace("seed = 7", "seed = 8"))
    assert bake_walks(walks, tmp_path / "out", say=lambda _: None) == {}
    seven, eight = read_recording(Path(clock)), read_recording(tmp_path / "out" / "clock.web.zip")
    assert seven.steps[0].sem_hash != eight.steps[0].sem_hash


def test_baking_again_keeps_what_is_current_and_gives_the_same_bytes(clock: str) -> None:
    path = Path(clock)
    before, said = path.read_bytes(), []
    assert bake_walks(FIXTURES / "walks", path.parent, only=["clock"], say=said.append) == {}
    assert said == ["kept    clock"]
    path.unlink()
    assert bake_walks(FIXTURES / "walks", path.parent, only=["clock"], say=said.append) == {}
    assert path.read_bytes() == before


def test_free_runs_are_the_same_as_well(clock: str) -> None:
    async def run() -> list[Played]:
        environment = open_environment(screenshots=False)
        try:
            return [await play_policy(environment, clock, always_last) for _ in range(2)]
        finally:
            await environment.aclose()

    first, second = map(_hashable, asyncio.run(run()))
    assert first.trace == second.trace
    assert first.ended.claimed == "blocked"


def test_sessions_beside_each_other_do_not_disturb_each_other(clock: str) -> None:
    async def run() -> list[Played]:
        environment = open_environment(mode="teacher", screenshots=False)
        try:
            return await asyncio.gather(*(play_policy(environment, clock, follow_gold) for _ in range(3)))
        finally:
            await environment.aclose()

    assert len({play.trace for play in map(_hashable, asyncio.run(run()))}) == 1
