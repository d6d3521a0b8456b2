"""Check shipped episodes: each is played again and must be the recording, on the browser and without one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from arena.envs.check import follow_gold, play_policy
from arena.envs.web import open_environment
from arena.envs.web.bake import JUDGES
from arena.errors import ArenaError, Failure
from arena.identity import dump
from arena.session import Environment, Turn


async def check_episode(path: str, browser: Environment, graph: Environment, times: int) -> list[str]:
    """What is wrong with one episode; empty when every replay is the recording."""
    faults: list[str] = []
    baked = await play_policy(graph, path, follow_gold)
    for number in range(times):
        try:
            live = await play_policy(browser, path, follow_gold)
        except (ArenaError, Failure) as error:
            return [*faults, f"replay {number + 1}: {error}"]
        if _shown(live.turns) != _shown(baked.turns):
            faults.append(f"replay {number + 1}: the browser asks something else than the recording")
        if dump(live.ended.end_state) != dump(baked.ended.end_state):
            faults.append(f"replay {number + 1}: the end state is not the recorded one")
        if live.ended.verify is None:
            continue
        verdict = JUDGES.get("web")(live.ended.verify, live.ended.end_state, live.ended.claimed)
        if verdict.ending != "success":
            faults.append(f"replay {number + 1}: {verdict.ending}: {'; '.join(verdict.reasons)}")
    return faults


def _shown(turns: Sequence[Turn]) -> list[tuple[str, bytes, bytes]]:
    return [
        (turn.page_hash, dump(turn.ask.state), dump({name: q.wire() for name, q in turn.ask.questions.items()}))
        for turn in turns
    ]


def check_episodes(paths: Sequence[Path], times: int = 3) -> dict[str, list[str]]:
    """Replay every episode ``times`` times: path -> what is wrong with it (empty when nothing is).

    Raises:
        MissingNeed: no browser.
    """
    return asyncio.run(_check_all(paths, times))


async def _check_all(paths: Sequence[Path], times: int) -> dict[str, list[str]]:
    browser = open_environment(mode="teacher", screenshots=False)
    graph = open_environment(mode="teacher", backend="graph")
    try:
        return {str(path): await check_episode(str(path), browser, graph, times) for path in paths}
    finally:
        await browser.aclose()


def main(arguments: Sequence[str]) -> int:
    """``EPISODE...``: 0 when all are as recorded, 1 when not."""
    found = check_episodes([Path(argument) for argument in arguments])
    for path, faults in found.items():
        print(f"{'differs' if faults else 'ok     '} {path} {'; '.join(faults)}".rstrip())
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
