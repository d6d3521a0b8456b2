"""Developer tool: ``python -m arena.run.freeze_tools`` writes the tools domain's episode files.

Every generated task is checked (``arena.run.tool_lint``, ``arena.run.tool_search``), its first oracle is played on the
simulation, what was seen is recorded, and the file is written; a task with a fault stops the whole. Its other drawings,
which further trials play, are checked alike and lie under ``trials/`` without a recording. ``--check`` writes nothing.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from arena.envs.tools import open_environment
from arena.envs.tools.environment import ToolsEnvironment
from arena.envs.tools.sandbox import Limits
from arena.envs.tools.sim import SimSandbox
from arena.envs.tools.task import parse_task
from arena.identity import dump
from arena.run.tool_lint import ROLLOUTS, Graph, follow, lint, session_faults
from arena.run.tool_search import Search
from arena.tasks.definition import DATA, TRIALS_FOLDER
from arena.tasks.tools.draft import BOUNDS
from arena.tasks.tools.generate import tasks, trials
from arena.types import JSON

FOLDER = DATA / "tools" / "episodes"


def file_bytes(body: JSON) -> bytes:
    """A task as its file: keys sorted, indented by 1. (Option order is the order of a list, so sorting is safe.)"""
    return json.dumps(body, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


async def recorded(environment: ToolsEnvironment, body: JSON, folder: Path) -> JSON:
    """The task with what its first oracle shows on the simulation."""
    path = folder / f"{body['id']}.json"
    path.write_bytes(file_bytes(body))
    played = await follow(environment, str(path), body["oracles"][0])
    steps = [
        {
            "state": turn.ask.state,
            "options": dict(turn.ask.questions["action"].wire()["criteria"]),
            "gold": list(gold.accepted) if (gold := turn.golds["action"]) else [],
        }
        for turn in played.turns
    ]
    return {**body, "recorded": steps}


async def freeze(folder: Path, *, check: bool, rollouts: int) -> int:
    """Check and write all tasks; the number of faulty ones."""
    files: dict[str, bytes] = {}
    wins: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    bad = 0
    environment = open_environment(sandbox="sim")
    with TemporaryDirectory() as scratch, SimSandbox(Limits()) as box:
        for body, of in (*((body, None) for body in tasks()), *((body, of) for of, body in trials())):
            task = parse_task(dump(body), body["id"])
            faults, won = lint(task, box, rollouts)
            faults += Search(Graph(task, box)).faults()
            wins[task.tier] += won
            tries[task.tier] += rollouts
            if not faults:
                full = body if of else await recorded(environment, body, Path(scratch))
                path = Path(scratch) / f"full-{task.id}.json"
                path.write_bytes(file_bytes(full))
                faults = await session_faults(environment, str(path), parse_task(path.read_bytes(), task.id), times=1)
                files[f"{TRIALS_FOLDER}/{task.id}.json" if of else f"{task.id}.json"] = file_bytes(full)
            bad += bool(faults)
            for fault in faults:
                print(f"{task.id}: {fault}", file=sys.stderr)
    await environment.aclose()
    for tier, count in wins.items():
        share = count / tries[tier]
        print(f"{tier}: {count} of {tries[tier]} random walks won ({share:.3%}, at most {BOUNDS[tier]:.1%})")
        bad += share > BOUNDS[tier]
    if not bad and not check:
        write(folder, files)
    return bad


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these task files and no others."""
    (folder / TRIALS_FOLDER).mkdir(parents=True, exist_ok=True)
    for stale in folder.rglob("*.json"):
        if stale.relative_to(folder).as_posix() not in files:
            stale.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    print(f"wrote {len(files)} tasks to {folder}")


def main() -> int:
    """Command line; returns the exit code."""
    parser = ArgumentParser(prog="python -m arena.run.freeze_tools", description="Write the tools domain's tasks.")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--rollouts", type=int, default=ROLLOUTS)
    given = parser.parse_args()
    bad = anyio.run(lambda: freeze(given.folder, check=given.check, rollouts=given.rollouts))
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
