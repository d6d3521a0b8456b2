"""Control groups for bubblewrap boxes: limits written, counters read, on hierarchies v1 and v2.

Docker does this itself; bubblewrap has no notion of it. A group is made by the root parent before the box
starts, the box's launcher moves itself in, and the kernel counts: processes, memory, kills for memory.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from arena.envs.tools import owner
from arena.envs.tools.sandbox import Limits

MOUNT = Path("/sys/fs/cgroup")
PREFIX = "arena-"
PERIOD_US = 100_000
V1_CONTROLLERS = ("pids", "memory", "cpu")
_numbers = itertools.count()


def read_counter(path: Path, key: str) -> int:
    """The number behind ``key`` in a file of ``key number`` lines; 0 when file or key is missing."""
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    except OSError:
        pass
    return 0


@dataclass(frozen=True, slots=True)
class Group:
    """One box's group. ``folders``: one on v2, one per controller on v1."""

    version: int
    folders: tuple[Path, ...]

    @property
    def joins(self) -> list[str]:
        """Files to write a process id to, so that it and its children are limited."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    @property
    def oom_kills(self) -> int:
        """Processes that the kernel killed for memory so far."""
        file = "memory.events" if self.version == 2 else "memory.oom_control"
        return sum(read_counter(folder / file, "oom_kill") for folder in self.folders)

    def processes(self) -> list[int]:
        """Process ids in the group."""
        try:
            return [int(line) for line in (self.folders[0] / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def limits_read_back(self) -> tuple[str, str]:
        """What the kernel enforces: process and memory limit as the files hold them."""
        memory = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        return tuple(  # type: ignore[return-value]
            next((found.read_text().strip() for f in self.folders if (found := f / name).exists()), "absent")
            for name in ("pids.max", memory)
        )

    def remove(self, patience_s: float = 1.0) -> bool:
        """Kill what is left and remove the group. ``False`` when it is still busy; ``gc`` takes it later."""
        deadline = time.monotonic() + patience_s
        while True:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            busy = False
            for folder in self.folders:
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    continue
                except OSError:
                    busy = True
            if not busy or time.monotonic() > deadline:
                return not busy
            time.sleep(0.002)


def version(mount: Path = MOUNT) -> int | None:
    """Which hierarchy can limit processes and memory here: 1, 2, or ``None`` (no right to write counts as none)."""
    controllers = mount / "cgroup.controllers"
    if controllers.is_file():
        usable = {"pids", "memory", "cpu"} <= set(controllers.read_text().split())
        return 2 if usable and os.access(mount, os.W_OK) else None
    usable = all((mount / name).is_dir() and os.access(mount / name, os.W_OK) for name in V1_CONTROLLERS)
    return 1 if usable else None


def create(limits: Limits, mount: Path = MOUNT) -> Group:
    """A new group with the limits set.

    Raises:
        OSError: the hierarchy refuses (not root, read-only, controllers not delegated).
    """
    found = version(mount)
    if found is None:
        raise PermissionError(f"no writable pids, memory and cpu controllers below {mount}")
    name = f"{PREFIX}{owner.tag()}-{next(_numbers)}"
    quota = int(limits.cpus * PERIOD_US)
    if found == 2:
        (mount / "cgroup.subtree_control").write_text("+pids +memory +cpu")
        group = Group(2, (mount / name,))
        settings = {
            "pids.max": str(limits.pids),
            "memory.max": str(limits.memory),
            "memory.swap.max": "0",
            "cpu.max": f"{quota} {PERIOD_US}",
        }
    else:
        group = Group(1, tuple(mount / controller / name for controller in V1_CONTROLLERS))
        settings = {
            "pids.max": str(limits.pids),
            "memory.limit_in_bytes": str(limits.memory),
            "memory.memsw.limit_in_bytes": str(limits.memory),
            "cpu.cfs_quota_us": str(quota),
        }
    try:
        for folder in group.folders:
            folder.mkdir()
        _write(group, settings)
    except OSError:
        group.remove(0)
        raise
    return group


OPTIONAL = ("memory.swap.max", "memory.memsw.limit_in_bytes")
"""Absent on kernels without swap accounting."""
CONTROLLER_OF = {"cpu.cfs_quota_us": "cpu", "pids.max": "pids"}


def _write(group: Group, settings: dict[str, str]) -> None:
    for file, value in settings.items():
        controller = CONTROLLER_OF.get(file, "memory")
        folder = group.folders[0] if group.version == 2 else group.folders[V1_CONTROLLERS.index(controller)]
        if file in OPTIONAL and not (folder / file).exists():
            continue
        (folder / file).write_text(value)


def abandoned(mount: Path = MOUNT) -> list[Group]:
    """Groups whose owner is dead, from runs that were killed."""
    found = version(mount)
    if found is None:
        return []
    parents = [mount] if found == 2 else [mount / controller for controller in V1_CONTROLLERS]
    names = {path.name for parent in parents for path in parent.glob(f"{PREFIX}*") if path.is_dir()}
    dead = [name for name in sorted(names) if not owner.alive(name.removeprefix(PREFIX).rpartition("-")[0])]
    return [Group(found, tuple(parent / name for parent in parents)) for name in dead]


def of_container(pid: int, container_id: str, mount: Path = MOUNT) -> Group | None:
    """The group of a container of an engine on this host, to read counters from; ``None`` when not to be found.

    ``pid``: its first process as the engine reports it. The id must be part of the path: the process ids of
    a remote engine, or of one in another namespace, name something else here.
    """
    try:
        lines = (owner.PROC / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    paths = {names: path for _, names, path in (line.split(":", 2) for line in lines) if container_id in path}
    v1 = {name: path for names, path in paths.items() for name in names.split(",")}
    if "pids" in v1 and "memory" in v1:
        group = Group(1, tuple(mount / name / v1[name].lstrip("/") for name in ("pids", "memory")))
    elif "" in paths:
        group = Group(2, (mount / paths[""].lstrip("/"),))
    else:
        return None
    return group if all((folder / "cgroup.procs").is_file() for folder in group.folders) else None
