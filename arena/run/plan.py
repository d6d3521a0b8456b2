"""What a run owes: cases in a fixed order, and what they will cost.

The plan is a generator over the frozen units of the registry, so a long run is never held in memory.
Order and identity of a case depend on its unit, variant and repeat alone: filtering moves nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from arena.identity import dump
from arena.items import BASE, Case, EpisodeRef, Gold, Item
from arena.run.config import RunConfig
from arena.tasks import load_golds, load_units, select
from arena.types import Frozen

CHARACTERS_PER_TOKEN = 4.0
"""For estimates only: English text under common tokenizers; printed as an estimate, never scored."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A case with all that is needed to play it. ``golds`` is empty for episodes: theirs lie in the recording."""

    case: Case
    unit: Item | EpisodeRef
    golds: Mapping[str, Gold] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """The selected units of one domain and tier."""

    domain: str
    tier: str
    units: tuple[Item | EpisodeRef, ...]
    golds: Mapping[str, Mapping[str, Gold]]


class Estimate(Frozen):
    """What a plan will cost. ``decisions`` counts questions; ``seconds`` and ``usd`` are None when unknown."""

    cases: int
    episodes: int
    decisions: int
    input_tokens: int
    usd: float | None
    seconds: float | None


class Plan:
    """The cells selected by a configuration and the cases they owe."""

    def __init__(self, config: RunConfig) -> None:
        """Select and load, checking every frozen file.

        Raises:
            UnknownName, NothingSelected, ChangedData: from the registry.
        """
        self.config = config
        tiers = config.tiers[0] if config.tiers in (("all",), ("hardest",)) else config.tiers
        chosen = select(config.domains, tiers, config.split, config.items)
        self.cells = tuple(self._cell(cell.domain, cell.tier, cell.ids) for cell in chosen.cells)

    def _cell(self, domain: str, tier: str, ids: tuple[str, ...]) -> Cell:
        if self.config.limit is not None:
            ids = ids[: self.config.limit]
        units = load_units(domain, tier, self.config.split, ids) if ids else ()
        static = any(isinstance(unit, Item) for unit in units)
        return Cell(domain, tier, units, load_golds(domain, tier, self.config.split) if static else {})

    def items(self) -> Iterator[Planned]:
        """Every case of a static item: for each repeat, each cell, each item."""
        return self._cases(Item)

    def episodes(self) -> Iterator[Planned]:
        """Every case of an episode: for each repeat, each cell, each recording."""
        return self._cases(EpisodeRef)

    def _cases(self, kind: type[Item] | type[EpisodeRef]) -> Iterator[Planned]:
        for repeat in range(self.config.repeats):
            for cell in self.cells:
                for unit in cell.units:
                    if isinstance(unit, kind):
                        case = Case(unit=unit.id, domain=cell.domain, tier=cell.tier, variant=BASE, repeat=repeat)
                        yield Planned(case, unit, cell.golds.get(unit.id, {}))

    def environments(self) -> tuple[str, ...]:
        """Registry ids of the environments that the plan opens."""
        return tuple(sorted({unit.env for unit in self._episode_units()}))

    def verifiers(self) -> tuple[str, ...]:
        """Registry ids of the verifiers that judge the plan's episodes."""
        return tuple(sorted({unit.verifier for unit in self._episode_units()}))

    def _episode_units(self) -> Iterator[EpisodeRef]:
        return (unit for cell in self.cells for unit in cell.units if isinstance(unit, EpisodeRef))

    def estimate(self, usd_per_million: float | None, seconds_each: float | None) -> Estimate:
        """Count cases and decisions; tokens from the length of states and questions (a rough guide)."""
        cases = episodes = decisions = characters = 0
        for cell in self.cells:
            for unit in cell.units:
                cases += 1
                if isinstance(unit, Item):
                    decisions += len(unit.questions)
                    asked = [question.wire() for question in unit.questions.values()]
                    characters += len(dump(unit.state)) + len(dump(asked))
                else:
                    episodes += 1
                    decisions += unit.steps
                    characters += unit.characters
        factor = self.config.repeats
        tokens = int(characters / CHARACTERS_PER_TOKEN) * factor
        usd = None if usd_per_million is None else tokens * usd_per_million / 1e6
        total = decisions * factor
        return Estimate(
            cases=cases * factor,
            episodes=episodes * factor,
            decisions=total,
            input_tokens=tokens,
            usd=usd,
            seconds=None if seconds_each is None else total * seconds_each,
        )
