"""Registers the environments with Gymnasium once Gymnasium is imported, and not before.

Gymnasium takes a third of a second to import and most commands never need it; it has no entry points any more.
So the import of ``arena.envs`` registers at once where Gymnasium is already loaded, and else waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

NAMES = {"arena/web-replay-v1": "web/replay-v1", "arena/tools-sandbox-v1": "tools/sandbox-v1"}
"""Gymnasium's name -> the environment's id."""
REGISTRATION = "gymnasium.envs.registration"


def register_gymnasium() -> None:
    """Register with Gymnasium (imports it). A second call does nothing."""
    from gymnasium.envs.registration import register, registry

    for name, env in NAMES.items():
        if name not in registry:
            register(name, entry_point="arena.envs.gym:DecisionEnv", kwargs={"env": env})


class _Then(Loader):
    """Loads as the loader it wraps does, then registers."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        register_gymnasium()


class _Watcher(MetaPathFinder):
    """Waits for the import of Gymnasium's registry."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != REGISTRATION:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)
        return spec


def register_when_imported() -> None:
    """Register now, or as soon as Gymnasium is imported."""
    if REGISTRATION in sys.modules:
        register_gymnasium()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())
