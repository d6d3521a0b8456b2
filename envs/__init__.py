"""Environments over sessions: web pages, tool sandboxes, games.

``ENVS`` maps a versioned id to a factory of ``arena.session.Environment``; nothing heavy is imported
before one is opened. Gymnasium finds ``arena/web-replay-v1`` through the package's entry point.
"""

from __future__ import annotations

from collections.abc import Callable

from arena.registry import Registry
from arena.session import Environment

ENVS: Registry[Callable[..., Environment]] = Registry(
    "environment",
    "arena.envs",
    {"web/replay-v1": "arena.envs.web:open_environment"},
)


def register_gymnasium() -> None:
    """Register ``arena/web-replay-v1`` with Gymnasium; again does nothing. Imports Gymnasium."""
    from gymnasium.envs.registration import register, registry

    name = "arena/web-replay-v1"
    if name not in registry:
        register(name, entry_point="arena.envs.gym:DecisionEnv")
