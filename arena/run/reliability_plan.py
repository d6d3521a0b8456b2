"""The part of a plan that measures reliability: which units, and which variants of each (protocol 5 and 6).

S and N are measured on the frozen ids of the registry, from each domain's hardest tier; probes on a seeded 200 of
all the units a domain's run selects. Units are static items, and recorded steps of episodes, which are asked like
static items (teacher-forced, no browser). The variants of one unit follow one another, so that a server that
shares a state prefix gets them together.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arena.items import Case, EpisodeRef, Gold, Item, Variant
from arena.reliability.variants import (
    canonical_variant,
    null_variants,
    probe_sample,
    probe_variants,
    repeat_variants,
    stability_variants,
)
from arena.run.planned import Cell, Planned
from arena.session import Environment
from arena.tasks import domain, hardest_tier, load_golds, load_units, reliability_ids
from arena.types import Choice

if TYPE_CHECKING:
    from arena.run.config import ReliabilityPlan, RunConfig


@dataclass(frozen=True, slots=True)
class ReliabilityUnit:
    """An item to vary. ``base_asked``: its canonical form is a capability case of the same run.

    ``varied``: S and N are measured on it; ``probed``: probes are.
    """

    item: Item
    golds: Mapping[str, Gold]
    base_asked: bool
    varied: bool = True
    probed: bool = False


def reliability_units(
    config: RunConfig, environments: Mapping[str, Environment], cells: Sequence[Cell]
) -> tuple[ReliabilityUnit, ...]:
    """The first ``per_domain`` frozen units of every domain, and what probes run on; ``cells``: what C is asked on."""
    assert config.reliability is not None
    asked = {(cell.domain, unit.id) for cell in cells for unit in cell.units if isinstance(unit, Item)}
    found: list[ReliabilityUnit] = []
    for name in config.domains:
        ids = reliability_ids(name)[: config.reliability.per_domain]
        make = _from_recordings if domain(name).kind == "episode" else _from_items
        varied = [
            ReliabilityUnit(item, golds, (name, item.id) in asked) for item, golds in make(name, ids, environments)
        ]
        own = [cell for cell in cells if cell.domain == name]
        found += _with_probes(varied, own, environments) if config.reliability.probes else varied
    return tuple(found)


def _with_probes(
    varied: Sequence[ReliabilityUnit], cells: Sequence[Cell], environments: Mapping[str, Environment]
) -> Iterator[ReliabilityUnit]:
    """``varied``, those in the sample marked, and then the rest of the sample in file order."""
    sample = set(probe_sample(unit for cell in cells for unit in cell.units))
    yield from (replace(unit, probed=unit.item.id in sample) for unit in varied)
    sample -= {unit.item.id for unit in varied}
    for cell in cells:
        for unit in cell.units:
            if isinstance(unit, EpisodeRef):
                for item, golds in _steps(unit, range(unit.steps), environments, sample):
                    yield ReliabilityUnit(item, golds, base_asked=False, varied=False, probed=True)
            elif unit.id in sample:
                yield ReliabilityUnit(unit, cell.golds[unit.id], base_asked=True, varied=False, probed=True)


def _from_items(
    name: str, ids: tuple[str, ...], environments: Mapping[str, Environment]
) -> Iterator[tuple[Item, Mapping[str, Gold]]]:
    tier = hardest_tier(name)
    golds = load_golds(name, tier)
    for unit in load_units(name, tier, "test", ids):
        assert isinstance(unit, Item)
        yield unit, golds[unit.id]


def _from_recordings(
    name: str, ids: tuple[str, ...], environments: Mapping[str, Environment]
) -> Iterator[tuple[Item, Mapping[str, Gold]]]:
    """``EPISODE#STEP`` -> the recorded step as an item; steps of one episode are one cluster."""
    steps: dict[str, list[int]] = {}
    for each in ids:
        episode, _, step = each.rpartition("#")
        steps.setdefault(episode, []).append(int(step))
    for unit in load_units(name, hardest_tier(name), "test", tuple(steps)):
        assert isinstance(unit, EpisodeRef)
        yield from _steps(unit, sorted(steps[unit.id]), environments, set(ids))


def _steps(
    unit: EpisodeRef, numbers: Iterable[int], environments: Mapping[str, Environment], wanted: Container[str]
) -> Iterator[tuple[Item, Mapping[str, Gold]]]:
    """The recorded steps ``numbers`` of an episode whose names are ``wanted``, as items."""
    named = [(f"{unit.id}#{number}", number) for number in numbers]
    named = [(name, number) for name, number in named if name in wanted]
    turns = environments[unit.env].recorded(unit.path) if named else ()
    for name, number in named:
        turn = turns[number]
        item = Item(
            id=name,
            suite=unit.suite,
            domain=unit.domain,
            tier=unit.tier,
            split=unit.split,
            state=turn.ask.state,
            questions=dict(turn.ask.questions),
            group=unit.group or unit.id,
            provenance={"recording_sha256": unit.sha256},
        )
        yield item, {key: gold for key, gold in turn.golds.items() if gold is not None}


def reliability_cases(units: tuple[ReliabilityUnit, ...], plan: ReliabilityPlan) -> Iterator[Planned]:
    """Every variant of every unit. The canonical order is asked here only where capability does not ask it."""
    for unit in units:
        for variant in _variants(unit, plan):
            case = Case(unit=unit.item.id, domain=unit.item.domain, tier=unit.item.tier, variant=variant)
            yield Planned(case, unit.item, unit.golds)


def _variants(unit: ReliabilityUnit, plan: ReliabilityPlan) -> Iterator[Variant]:
    for name, question in unit.item.questions.items():
        gold, ordered = unit.golds.get(name), unit.varied and isinstance(question, Choice)
        if unit.varied and isinstance(question, Choice):
            orders = stability_variants(unit.item.id, name, question, plan.orders)
            yield from orders[1:] if unit.base_asked else orders
            yield from repeat_variants(name, plan.repeats)
            if gold is not None:
                yield from null_variants(unit.item.id, name, question, gold)
        if unit.probed and gold is not None:
            if not (ordered or unit.base_asked):
                yield canonical_variant(name, question)
            yield from probe_variants(unit.item.id, name, question, gold)
