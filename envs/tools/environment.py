"""The environment ``tools/sandbox-v1``: opens sessions over task files and owns the backend of their boxes.

The backend is opened when it is first needed (its self-check belongs to the run's identity), so listing or a
dry run needs no engine. Nothing here ever runs a command on the host.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio

from arena.envs.tools.backends import KINDS, Choice, open_backend
from arena.envs.tools.pool import SandboxPool
from arena.envs.tools.sandbox import Backend
from arena.envs.tools.session import LEVELS, ToolsSession, make_turn
from arena.envs.tools.task import Task, read_task
from arena.errors import MissingNeed, UnknownName, UsageError
from arena.session import Turn

IMAGE = "busybox-sqlite"
"""The image that the shipped tasks are written for."""


class ToolsEnvironment:
    """See ``arena.envs.tools.open_environment``."""

    def __init__(self, *, sandbox: Choice, pool: int, progress: bool, image: str) -> None:
        if sandbox not in KINDS:
            raise UnknownName("sandbox", sandbox, KINDS)
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 0:
            raise UsageError(f"pool is {pool!r}", hint="pool=N: boxes kept for reuse, 0 makes every box fresh")
        self.sandbox, self.size, self.progress, self.image = sandbox, pool, progress, image
        self._lock = threading.Lock()
        self._pool: SandboxPool | None = None
        self._tasks: dict[str, tuple[Task, str]] = {}

    @property
    def backend(self) -> Backend:
        """The backend, opened at the first use.

        Raises:
            MissingNeed: none can run here; says why.
        """
        return self._boxes().backend

    def _boxes(self) -> SandboxPool:
        with self._lock:
            if self._pool is None:
                self._pool = SandboxPool(open_backend(self.sandbox, image=self.image), self.size)
            return self._pool

    def _read(self, path: str) -> Task:
        if path not in self._tasks:
            self._tasks[path] = read_task(Path(path))
        return self._tasks[path][0]

    async def open(self, path: str, *, ask_prefix: str = "tools") -> ToolsSession:
        """A session over the task file at ``path``.

        Raises:
            MissingNeed: no backend, a program that the boxes lack, or a task that the simulation cannot play.
        """
        task = self._read(path)
        pool = await anyio.to_thread.run_sync(self._boxes)
        pool.backend.require(task.tools_needed)
        if pool.backend.kind == "sim" and not task.sim:
            raise MissingNeed(f"task {task.id} cannot be simulated", hint="use --sandbox docker or --sandbox bwrap")
        return ToolsSession(task, pool, ask_prefix=ask_prefix, progress=self.progress)

    def recorded(self, path: str) -> list[Turn]:
        """The steps of the first oracle as turns, from the file alone."""
        task = self._read(path)
        top, last = len(LEVELS) - 1, max(len(task.recorded) - 1, 1)
        return [
            make_turn(
                task,
                step.state,
                step.gold,
                f"recorded:teacher:{number}",
                levels=(top * number // last,) if self.progress else None,
            )
            for number, step in enumerate(task.recorded)
        ]

    async def aclose(self) -> None:
        """Close idle boxes and the backend."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:

            def leave() -> None:
                pool.close()
                pool.backend.close()

            await anyio.to_thread.run_sync(leave)

    def identity(self) -> dict[str, Any]:
        """Backend, isolation, image and self-check: what decides how far a result can be trusted."""
        backend = self.backend
        return {
            "sandbox": backend.kind,
            "isolation": backend.isolation,
            "image": backend.check.image,
            "limits": backend.limits.model_dump(mode="json"),
            "check": backend.check.model_dump(mode="json"),
            "progress": self.progress,
            "reuse": self.size > 0,
        }
