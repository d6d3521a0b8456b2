"""Environments over sessions: web pages, tool sandboxes, games.

``ENVS`` maps a versioned id to a factory of ``arena.session.Environment``; nothing heavy is imported
before one is opened. Gymnasium knows them after this import, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Callable

from arena.envs.registration import register_gymnasium, register_when_imported
from arena.registry import Registry
from arena.session import Environment

ENVS: Registry[Callable[..., Environment]] = Registry(
    "environment",
    "arena.envs",
    {
        "web/replay-v1": "arena.envs.web:open_environment",
        "tools/sandbox-v1": "arena.envs.tools:open_environment",
    },
)

register_when_imported()

__all__ = ["ENVS", "register_gymnasium"]
