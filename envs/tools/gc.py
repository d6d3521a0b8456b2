"""Remove what runs that were killed have left: containers and control groups of ours, never of others.

Ours is what carries our label. Of that, only what belongs to a process that is dead on this host, or whose
deadline has passed, is removed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from arena.envs.tools import cgroups, owner
from arena.types import Frozen

LABEL_OWNER, LABEL_HOST, LABEL_DEADLINE, LABEL_BOX = "arena.run", "arena.host", "arena.deadline", "arena.box"
MAX_AGE_S = 6 * 3600
"""After this a container may be removed from any host."""


class Removed(Frozen):
    """One thing that was removed. ``what``: container id or control group; ``why``: as a phrase."""

    kind: str
    what: str
    why: str


def labels(box: str) -> dict[str, str]:
    """Labels of a new container: whose it is, since when, and which box."""
    deadline = str(int(time.time()) + MAX_AGE_S)
    return {LABEL_OWNER: owner.tag(), LABEL_HOST: owner.host(), LABEL_DEADLINE: deadline, LABEL_BOX: box}


def abandoned(found: Mapping[str, str], now: float) -> str:
    """Why a container with these labels may be removed; empty when it may not."""
    if LABEL_OWNER not in found:
        return ""
    if found.get(LABEL_HOST) == owner.host() and not owner.alive(found[LABEL_OWNER]):
        return f"its process {found[LABEL_OWNER].partition('-')[0]} is dead"
    deadline = found.get(LABEL_DEADLINE, "")
    if deadline.isdigit() and int(deadline) < now:
        return "its deadline has passed"
    return ""


def collect_containers(api: object) -> list[Removed]:
    """Remove abandoned containers of the engine behind ``api`` (a ``docker.APIClient``).

    Raises:
        SandboxFailure: the engine does not answer.
    """
    from arena.envs.tools.docker_exec import engine_errors, ignore_errors

    removed = []
    with engine_errors("gc"):
        listed = api.containers(all=True, filters={"label": LABEL_OWNER})  # type: ignore[attr-defined]
    for container in listed:
        why = abandoned(container["Labels"] or {}, time.time())
        if why:
            with ignore_errors():
                api.remove_container(container["Id"], force=True, v=True)  # type: ignore[attr-defined]
                removed.append(Removed(kind="container", what=container["Id"][:12], why=why))
    return removed


def collect_groups() -> list[Removed]:
    """Remove control groups of dead runs, and kill what is left in them."""
    removed = []
    for group in cgroups.abandoned():
        with contextlib.suppress(OSError):
            if group.remove():
                removed.append(Removed(kind="control group", what=group.folders[0].name, why="its process is dead"))
    return removed
