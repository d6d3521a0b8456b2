"""Names to objects, lazily: a registry holds ``module:attribute`` strings and imports on first use.

Other distributions add entries through entry points (``arena.models``, ``arena.envs``, ...). A duplicate
name is refused, an unknown one answered with the nearest known names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from arena.errors import UnknownName, UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """``kind`` names what is held (``model``); ``group`` the entry-point group; ``builtin`` name -> target;
    ``listing`` the command that lists the names."""

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str], listing: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self.builtin = dict(builtin)
        self.listing = listing

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self.builtin or point.name in found:
                raise UsageError(f"{self.kind} {point.name!r} is registered twice, the second time by {point.value}")
            found[point.name] = point
        return found

    def names(self) -> tuple[str, ...]:
        """All known names, sorted."""
        return tuple(sorted({*self.builtin, *self._plugins}))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.builtin or name in self._plugins

    def get(self, name: str) -> T:
        """The object registered as ``name``.

        Raises:
            UnknownName: with the nearest known names.
            UsageError: the target cannot be imported; names it.
        """
        if name in self.builtin:
            return self._load(name, self.builtin[name])
        if name in self._plugins:
            return self._load(name, self._plugins[name].value)
        raise UnknownName(self.kind, name, self.names(), hint=self.listing and f"see: {self.listing}")

    def _load(self, name: str, target: str) -> T:
        module, _, attribute = target.partition(":")
        try:
            return cast(T, getattr(cast(Any, import_module(module)), attribute))
        except (ImportError, AttributeError) as error:
            raise UsageError(f"{self.kind} {name!r} points to {target}, which fails to load: {error}") from error
