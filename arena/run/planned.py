"""A case with all that is needed to play it, and the cells that cases come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arena.items import Case, EpisodeRef, Gold, Item


@dataclass(frozen=True, slots=True)
class Planned:
    """``unit`` and ``golds`` are those of the plain item; the case's variant is applied when it is played.
    ``golds`` is empty for episodes: theirs lie in the recording."""

    case: Case
    unit: Item | EpisodeRef
    golds: Mapping[str, Gold] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """Which part of the plan it belongs to: ``DOMAIN items`` or ``DOMAIN episodes``."""
        return f"{self.case.domain} {'items' if isinstance(self.unit, Item) else 'episodes'}"


@dataclass(frozen=True, slots=True)
class Cell:
    """The selected units of one domain and tier."""

    domain: str
    tier: str
    units: tuple[Item | EpisodeRef, ...]
    golds: Mapping[str, Mapping[str, Gold]]
