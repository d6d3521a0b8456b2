"""Who made a box: a tag that outlives process ids, so that clean-up touches only what a dead run left.

A tag is the process id with its start time (ids are reused); ``host`` names boot and process-id namespace,
because the ids of another machine or container mean nothing here.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

PROC = Path("/proc")


def started(pid: int) -> str:
    """Start time of a process in clock ticks since boot; empty when it is gone or there is no ``/proc``."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def tag() -> str:
    """Tag of this process: ``PID-STARTTIME``."""
    return f"{os.getpid()}-{started(os.getpid())}"


def alive(owner: str) -> bool:
    """Whether the process of a tag still runs on this host. A tag that cannot be read counts as alive."""
    pid, _, ticks = owner.partition("-")
    if not pid.isdigit() or not PROC.is_dir():
        return True
    return started(int(pid)) == ticks != ""


def host() -> str:
    """Name of this boot and process-id namespace."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def user(pid: int) -> int:
    """User id that a process runs as, -1 when it is gone."""
    try:
        return (PROC / str(pid)).stat().st_uid
    except OSError:
        return -1


def children(pid: int) -> list[int]:
    """Process ids whose parent is ``pid``, by a scan of ``/proc``."""
    found = []
    for entry in os.listdir(PROC):
        if entry.isdigit():
            try:
                text = (PROC / entry / "stat").read_text()
            except OSError:
                continue
            if text.rpartition(")")[2].split()[1] == str(pid):
                found.append(int(entry))
    return found
