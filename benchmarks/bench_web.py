"""Speed of the web domain: steps per second and reset time, with and without pictures, and without a browser.

``python benchmarks/bench_web.py [EPISODE...]``: plays gold walks of the shipped episodes by an instant decider. A step
is a whole turn: look, make the options, ask, act, settle. Run it on a quiet machine; it prints the load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from pathlib import Path
from statistics import median
from time import perf_counter

from arena.envs.check import follow_gold, sure
from arena.envs.gym import shipped_episode
from arena.envs.web import open_environment
from arena.session import Environment, Reply, judge


async def _play(environment: Environment, path: str, resets: list[float], steps: list[float]) -> None:
    session = await environment.open(path, ask_prefix="bench")
    try:
        begun = perf_counter()
        turn = await session.start()
        resets.append(perf_counter() - begun)
        while turn is not None:
            decisions = follow_gold(turn)
            raw = {name: sure(question, decisions[name]) for name, question in turn.ask.questions.items()}
            begun = perf_counter()
            turn = await session.advance(judge(turn, Reply(raw)))
            if turn is not None:
                steps.append(perf_counter() - begun)
        await session.finish()
    finally:
        await session.aclose()


async def measure(paths: list[str], rounds: int, **settings: object) -> dict[str, float]:
    """Play every episode ``rounds`` times after one warm-up; times in milliseconds."""
    environment = open_environment(mode="teacher", **settings)  # type: ignore[arg-type]
    resets: list[float] = []
    steps: list[float] = []
    try:
        await _play(environment, paths[0], [], [])
        begun = perf_counter()
        for _ in range(rounds):
            for path in paths:
                await _play(environment, path, resets, steps)
        wall = perf_counter() - begun
    finally:
        await environment.aclose()
    return {
        "steps": len(steps),
        "step_ms_median": round(median(steps) * 1000, 3),
        "steps_per_s": round(len(steps) / sum(steps), 1),
        "reset_ms_median": round(median(resets) * 1000, 3),
        "steps_per_s_with_resets": round(len(steps) / wall, 1),
    }


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("episodes", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = Path(shipped_episode()).parent
    paths = (
        arguments.episodes or [str(path) for path in sorted(folder.glob("*-t3-*.web.zip"))[:6]] or [shipped_episode()]
    )
    load = os.getloadavg()[0]
    found = {
        "browser": asyncio.run(measure(paths, arguments.rounds, screenshots=False)),
        "browser_with_png": asyncio.run(measure(paths, arguments.rounds, screenshots=True)),
        "graph": asyncio.run(measure(paths, arguments.rounds * 20, backend="graph")),
    }
    print(json.dumps({"episodes": len(paths), "load": round(load, 1), **found}, indent=2))


if __name__ == "__main__":
    main()
