"""What a run owes: cases in a fixed order, and what they will cost.

The plan is a generator over the frozen units of the registry, so a long run is never held in memory.
Order and identity of a case depend on its unit, variant and repeat alone: filtering moves nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from arena.errors import UsageError
from arena.identity import dump
from arena.items import BASE, Case, EpisodeRef, Item, Variant
from arena.run.config import RunConfig
from arena.run.planned import Cell, Planned
from arena.run.reliability_plan import ReliabilityUnit, reliability_cases, reliability_units
from arena.session import Environment, Turn
from arena.tasks import domain, load_golds, load_units, select
from arena.types import JSON, Choice, Frozen, Noul, Score

CHARACTERS_PER_TOKEN = 4.0
"""For estimates only: English text under common tokenizers; printed as an estimate, never scored."""

CALL_S, OWN_S = 1.0, 0.02
"""Seconds assumed for a call to a server and for an answer in process. Estimates only."""

ACT_S = {"web/replay-v1": 0.5, "tools/sandbox-v1": 0.2}
"""Seconds assumed for a step of an environment; of one that is not named here, as long as a call. Estimates only."""


class Part(Frozen):
    """The items or the episodes of one domain."""

    cases: int
    seconds: float


class Estimate(Frozen):
    """What a plan will cost at least. ``calls``: asks, of episodes the recorded steps; walks off the recording come
    on top. ``decisions`` counts their questions. ``usd`` is None when no price is known. ``seconds`` assumes
    ``CALL_S`` or ``OWN_S`` a call and ``ACT_S`` a step. ``parts``: part of the plan -> its cases and seconds."""

    cases: int
    episodes: int
    calls: int
    decisions: int
    input_tokens: int
    usd: float | None
    seconds: float
    parts: dict[str, Part] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a plan is carried out: whether calls go to a server, requests in flight, sessions open."""

    wire: bool
    requests: int
    sessions: int


class Plan:
    """The cells selected by a configuration and the cases they owe.

    Reliability units of episode domains lie in recordings; ``add_reliability`` reads them through the
    environments, once these are known.
    """

    def __init__(self, config: RunConfig) -> None:
        """Select and load, checking every frozen file.

        Raises:
            UnknownName, NothingSelected, ChangedData: from the registry. UsageError: trials without an episode,
            or reliability on another split than test.
        """
        self.config = config
        tiers = config.tiers[0] if config.tiers in (("all",), ("hardest",)) else config.tiers
        chosen = select(config.domains, tiers, config.split, config.items)
        self.cells = tuple(self._cell(cell.domain, cell.tier, cell.ids) for cell in chosen.cells)
        self.reliability: tuple[ReliabilityUnit, ...] = ()
        if config.reliability is not None and config.split != "test":
            found = f"S, N and R are measured on frozen units of the test split, and this run is on {config.split!r}"
            raise UsageError(found, hint="leave --reliability out, or run on --split test")
        if config.trials > 1 and not any(True for _ in self._episode_units()):
            found = f"trials are for episodes, and {', '.join(config.domains)} has none"
            raise UsageError(found, hint="leave --trials out, or add a domain with episodes (arena list domains)")

    def add_reliability(self, environments: Mapping[str, Environment]) -> None:
        """Load the units that S and N are measured on, if the configuration asks for them."""
        if self.config.reliability is not None:
            self.reliability = reliability_units(self.config, environments, self.cells)

    def _cell(self, domain: str, tier: str, ids: tuple[str, ...]) -> Cell:
        if self.config.limit is not None:
            ids = ids[: self.config.limit]
        units = load_units(domain, tier, self.config.split, ids) if ids else ()
        static = any(isinstance(unit, Item) for unit in units)
        return Cell(domain, tier, units, load_golds(domain, tier, self.config.split) if static else {})

    def items(self) -> Iterator[Planned]:
        """Every case of a static item: for each repeat, each cell, each item; then the reliability variants."""
        yield from self._cases(Item)
        if self.config.reliability is not None:
            yield from reliability_cases(self.reliability, self.config.reliability)

    def episodes(self) -> Iterator[Planned]:
        """Every case of an episode: for each trial, each repeat, each cell, each recording."""
        yield from self._cases(EpisodeRef)
        for trial in range(1, self.config.trials):
            yield from self._cases(EpisodeRef, Variant(kind="trial", index=trial))

    def _cases(self, kind: type[Item] | type[EpisodeRef], variant: Variant = BASE) -> Iterator[Planned]:
        for repeat in range(self.config.repeats):
            for cell in self.cells:
                for unit in cell.units:
                    if isinstance(unit, kind):
                        case = Case(unit=unit.id, domain=cell.domain, tier=cell.tier, variant=variant, repeat=repeat)
                        yield Planned(case, unit, cell.golds.get(unit.id, {}))

    def environments(self) -> tuple[str, ...]:
        """Registry ids of the environments that the plan opens."""
        played = {unit.env for unit in self._episode_units()}
        recorded = {domain(name).env for name in self.config.domains} if self.config.reliability else set()
        return tuple(sorted(played | {name for name in recorded if name is not None}))

    def verifiers(self) -> tuple[str, ...]:
        """Registry ids of the verifiers that judge the plan's episodes."""
        return tuple(sorted({unit.verifier for unit in self._episode_units()}))

    def _episode_units(self) -> Iterator[EpisodeRef]:
        return (unit for cell in self.cells for unit in cell.units if isinstance(unit, EpisodeRef))

    def estimate(self, usd_per_million: float | None, environments: Mapping[str, Environment], pace: Pace) -> Estimate:
        """Count cases, calls and decisions; tokens from the length of states and questions (a rough guide)."""
        each = CALL_S if pace.wire else OWN_S
        calls = decisions = size = 0
        cases, seconds = Counter[str](), defaultdict[str, float](float)
        for planned in self.items():
            assert isinstance(planned.unit, Item)
            calls, decisions = calls + 1, decisions + len(planned.unit.questions)
            size += _characters(planned.unit.state, planned.unit.questions)
            cases[planned.part] += 1
            seconds[planned.part] += each / pace.requests
        episodes = 0
        recorded: dict[str, tuple[int, int, int]] = {}
        for planned in self.episodes():
            unit = planned.unit
            assert isinstance(unit, EpisodeRef)
            if unit.id not in recorded:
                recorded[unit.id] = _recorded(environments[unit.env].recorded(unit.path))
            steps, questions, characters = recorded[unit.id]
            calls, decisions, size = calls + steps, decisions + questions, size + characters
            episodes += 1
            cases[planned.part] += 1
            seconds[planned.part] += steps * (each + ACT_S.get(unit.env, CALL_S)) / pace.sessions
        tokens = int(size / CHARACTERS_PER_TOKEN)
        return Estimate(
            cases=cases.total(),
            episodes=episodes,
            calls=calls,
            decisions=decisions,
            input_tokens=tokens,
            usd=None if usd_per_million is None else tokens * usd_per_million / 1e6,
            seconds=round(sum(seconds.values()), 1),
            parts={name: Part(cases=count, seconds=round(seconds[name], 1)) for name, count in cases.items()},
        )


def _recorded(turns: Sequence[Turn]) -> tuple[int, int, int]:
    """(steps, questions, characters) of an episode's recording."""
    questions = sum(len(turn.ask.questions) for turn in turns)
    return len(turns), questions, sum(_characters(turn.ask.state, turn.ask.questions) for turn in turns)


def _characters(state: JSON, questions: Mapping[str, Choice | Score | Noul]) -> int:
    return len(dump(state)) + sum(len(dump(question.wire())) for question in questions.values())
