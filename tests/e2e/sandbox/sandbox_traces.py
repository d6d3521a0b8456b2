"""What boxes leave behind on a machine, looked for by the tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from arena.envs.tools import cgroups
from arena.envs.tools.engine import DockerBackend


def quiet(_: str) -> None:
    """A notice that nobody needs to see."""


def within(seconds: float, done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def containers_of(backend: DockerBackend, label: str) -> list[str]:
    return [found["Id"] for found in backend.api.containers(all=True, filters={"label": label})]


def processes_of(group_owner: int) -> list[str]:
    """Command lines of box processes whose control group belongs to a process."""
    groups = [path for name in cgroups.V1_CONTROLLERS for path in (cgroups.MOUNT / name).glob(f"arena-{group_owner}-*")]
    groups += list(cgroups.MOUNT.glob(f"arena-{group_owner}-*"))
    pids: list[str] = []
    for group in groups:
        with suppress(FileNotFoundError):  # removed meanwhile
            pids += (group / "cgroup.procs").read_text().split()
    return pids
