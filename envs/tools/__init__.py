"""Tool sandboxes: boxes in which the commands that a model chose really run, and the environment over them.

``open_backend`` (or ``open_sandbox`` for a single box) picks docker, bubblewrap or the simulation, checks
the box from inside, and never falls back to the host. ``open_environment`` is the factory that the registry names.
Importing this package imports no engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.envs.tools.backends import Choice
    from arena.envs.tools.environment import ToolsEnvironment


def open_environment(*, sandbox: Choice = "auto", pool: int = 0, progress: bool = False) -> ToolsEnvironment:
    """The environment ``tools/sandbox-v1``.

    ``sandbox``: ``docker``, ``bwrap``, ``sim``, or ``auto`` (docker, else bwrap; never the simulation).
    ``pool``: boxes kept for reuse after a verified reset; 0 makes every box fresh.
    ``progress``: also ask how far the goal is reached.

    Raises:
        UsageError: an unknown sandbox, or a pool that is no number from 0.
    """
    from arena.envs.tools.environment import IMAGE, ToolsEnvironment

    return ToolsEnvironment(sandbox=sandbox, pool=pool, progress=progress, image=IMAGE)
