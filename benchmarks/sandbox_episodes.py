"""Whole task episodes in a row on one backend, and what they leave behind: the long form of ``bench_sandbox.py``.

Each episode is a shipped task played through the environment, by its first oracle or by seeded random choices in
turn, first in fresh boxes, then in pooled ones. Counted are failures of the environment, oracles that do not
succeed, and what is there afterwards that was not before: containers, control groups, processes, changed host files.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

import anyio

from arena.envs.check import Policy, play_policy
from arena.envs.tools import cgroups, gc, image, owner
from arena.envs.tools.backends import Choice
from arena.envs.tools.environment import IMAGE, ToolsEnvironment
from arena.envs.tools.task import Task, read_task
from arena.errors import ArenaError, Failure
from arena.identity import rng_for
from arena.run.freeze_tools import FOLDER
from arena.run.tool_lint import scripted
from arena.session import Turn
from arena.verifiers.tools import verify

SETTLE_S = 2.0
"""Within this after the last episode everything must be gone."""


@dataclass
class Tally:
    """What happened. All but the first five must be 0."""

    episodes: int = 0
    steps: int = 0
    successes: int = 0
    seconds: float = 0.0
    containers_made: int = 0
    infra_errors: int = 0
    oracles_failed: int = 0
    leaked_containers: int = 0
    leaked_control_groups: int = 0
    leaked_processes: int = 0
    host_files_changed: int = 0

    @property
    def bad(self) -> dict[str, int]:
        """What must be 0 and is not."""
        names = list(asdict(self))[5:]
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def tasks() -> list[tuple[str, Task]]:
    """Every shipped task with its path, in the order of their ids."""
    return [(str(path), read_task(path)[0]) for path in sorted(FOLDER.glob("*.json"))]


def random_policy(task: Task, number: int) -> Policy:
    """Choices by a generator that depends on the task and the episode's number alone."""
    rng = rng_for("bench", task.id, number)
    options = sorted(task.options())

    def policy(turn: Turn) -> dict[str, str | int | bool]:
        return {name: rng.choice(options) for name in turn.ask.questions}

    return policy


class Watched:
    """Host files by path: kind, mode, owner and content. A bait that anyone may write is among them."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.bait = tempfile.TemporaryDirectory(prefix="arena-bait-")
        folder = Path(self.bait.name)
        folder.chmod(0o777)
        for name in ("passwd", "notes.txt"):
            (folder / name).write_text("unchanged\n")
            (folder / name).chmod(0o666)
        self.roots = (folder, *roots)
        self.before = self._look()

    def _look(self) -> dict[str, tuple[object, ...]]:
        return {str(path): _described(path) for root in self.roots for path in (root, *_below(root))}

    def changed(self) -> list[str]:
        """Paths that are not as they were; then the bait is removed."""
        after = self._look()
        self.bait.cleanup()
        return sorted(
            path for path in {*self.before, *after} if self.before.get(path, ()) != after.get(path, ("gone",))
        )


def _below(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in (*folders, *files))


def _described(path: Path) -> tuple[object, ...]:
    try:
        found = path.lstat()
        content: object = None
        if stat.S_ISLNK(found.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(found.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return (error.errno,)
    return (found.st_mode, found.st_uid, found.st_gid, content)


class Leftovers:
    """What carries this process's tag or descends from it, now and against the beginning.

    Ids of its containers are taken from the engine's events as they come: it remembers the last few hundred only.
    """

    def __init__(self, docker: bool) -> None:
        self.children = set(owner.children(os.getpid()))
        self.made: set[str] = set()
        self.api = None
        if docker:
            from arena.envs.tools.engine import connect

            self.api = connect()
            chosen = {"label": f"{gc.LABEL_OWNER}={owner.tag()}", "event": "create"}
            self._events = self.api.events(filters=chosen, decode=True)
            self._listener = threading.Thread(target=self._listen)
            self._listener.start()

    def _listen(self) -> None:
        for event in self._events:
            self.made.add(event["id"])

    def close(self) -> None:
        """Stop listening."""
        if self.api is not None:
            self._events.close()
            self._listener.join()
            self.api.close()

    def containers(self) -> int:
        """Containers of ours that are still listed."""
        chosen = {"label": f"{gc.LABEL_OWNER}={owner.tag()}"}
        return 0 if self.api is None else len(self.api.containers(all=True, filters=chosen))

    def groups(self) -> int:
        """Control groups under our name."""
        return sum(1 for _ in cgroups.MOUNT.rglob(f"{cgroups.PREFIX}{os.getpid()}-*"))

    def processes(self) -> int:
        """Processes that descend from this one, or live in a control group of a box of ours."""
        marks = (f"{cgroups.PREFIX}{os.getpid()}-", *self.made)
        found = set(owner.children(os.getpid())) - self.children
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and any(mark in _groups_of(entry) for mark in marks):
                found.add(int(entry.name))
        return len(found)


def _groups_of(process: Path) -> str:
    try:
        return (process / "cgroup").read_text()
    except OSError:
        return ""


async def _play(kind: Choice, count: int, boxes: int, tally: Tally, chosen: Sequence[tuple[str, Task]]) -> None:
    """``count`` episodes. ``boxes``: kept for reuse."""
    environment = ToolsEnvironment(sandbox=kind, pool=boxes, progress=False, image=IMAGE)
    try:
        for number, (path, task) in enumerate(islice(cycle(chosen), count)):
            by_oracle = number % 2 == 0
            policy = scripted(task.oracles[0]) if by_oracle else random_policy(task, number)
            tally.episodes += 1
            try:
                played = await play_policy(environment, path, policy)  # type: ignore[arg-type]
            except (ArenaError, Failure, OSError) as error:
                tally.infra_errors += 1
                print(f"{kind}: {task.id}: {error}", file=sys.stderr)
                continue
            verdict = verify(played.ended.verify, played.ended.end_state, played.ended.claimed)
            tally.steps += len(played.turns)
            tally.successes += verdict.ending == "success"
            if by_oracle and verdict.ending != "success":
                tally.oracles_failed += 1
                print(f"{kind}: {task.id}: its oracle fails: {verdict.reasons}", file=sys.stderr)
            if tally.episodes % 50 == 0:
                print(f"{kind}: {tally.episodes} episodes, {tally.infra_errors} infra errors", file=sys.stderr)
    finally:
        await environment.aclose()


def play(kind: Choice, count: int) -> Tally:
    """``count`` episodes on a backend, and what they left.

    Raises:
        MissingNeed: the backend cannot run here.
    """
    watched = Watched([image.store(), Path("/etc")])
    left = Leftovers(kind == "docker")
    tally, chosen = Tally(), tasks()
    half = count // 2
    began = time.perf_counter()
    try:
        anyio.run(_play, kind, count - half, 0, tally, chosen)
        anyio.run(_play, kind, half, 2, tally, chosen[half:] + chosen[:half])
        tally.seconds = round(time.perf_counter() - began, 1)
        until = time.monotonic() + SETTLE_S
        while (left.containers() or left.groups() or left.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        tally.containers_made = len(left.made)
        tally.leaked_containers, tally.leaked_control_groups = left.containers(), left.groups()
        tally.leaked_processes = left.processes()
    finally:
        left.close()
    changed = watched.changed()
    tally.host_files_changed = len(changed)
    for path in changed[:10]:
        print(f"{kind}: host file changed: {path}", file=sys.stderr)
    return tally
