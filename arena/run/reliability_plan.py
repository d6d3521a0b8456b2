"""The part of a plan that measures reliability: which units, and which variants of each (protocol 5).

Units are the frozen ids of the registry, from each domain's hardest tier: static items, and recorded steps of
episodes, which are asked like static items (teacher-forced, no browser). The variants of one unit follow
one another, so that a server that shares a state prefix gets them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.items import Case, EpisodeRef, Gold, Item, Variant
from arena.reliability.variants import (
    null_variants,
    probe_ids,
    probe_variants,
    repeat_variants,
    stability_variants,
)
from arena.run.planned import Planned
from arena.session import Environment
from arena.tasks import domain, hardest_tier, load_golds, load_units, reliability_ids
from arena.types import Choice

if TYPE_CHECKING:
    from arena.run.config import ReliabilityPlan, RunConfig


@dataclass(frozen=True, slots=True)
class ReliabilityUnit:
    """An item to vary. ``base_asked``: its canonical form is a capability case of the same run."""

    item: Item
    golds: Mapping[str, Gold]
    base_asked: bool


def reliability_units(
    config: RunConfig, environments: Mapping[str, Environment], asked: set[tuple[str, str]]
) -> tuple[ReliabilityUnit, ...]:
    """Load the first ``per_domain`` frozen units of every domain. ``asked``: items that capability asks."""
    assert config.reliability is not None
    found: list[ReliabilityUnit] = []
    for name in config.domains:
        ids = reliability_ids(name)[: config.reliability.per_domain]
        make = _from_recordings if domain(name).kind == "episode" else _from_items
        for item, golds in make(name, ids, environments):
            found.append(ReliabilityUnit(item, golds, (name, item.id) in asked))
    return tuple(found)


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
        turns = environments[unit.env].recorded(unit.path)
        for number in sorted(steps[unit.id]):
            turn = turns[number]
            item = Item(
                id=f"{unit.id}#{number}",
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
    probed = set(probe_ids([unit.item.id for unit in units])) if plan.probes else set()
    for unit in units:
        for variant in _variants(unit, plan, unit.item.id in probed):
            case = Case(unit=unit.item.id, domain=unit.item.domain, tier=unit.item.tier, variant=variant)
            yield Planned(case, unit.item, unit.golds)


def _variants(unit: ReliabilityUnit, plan: ReliabilityPlan, probed: bool) -> Iterator[Variant]:
    for name, question in unit.item.questions.items():
        gold = unit.golds.get(name)
        if isinstance(question, Choice):
            orders = stability_variants(unit.item.id, name, question, plan.orders)
            yield from orders[1:] if unit.base_asked else orders
            yield from repeat_variants(name, plan.repeats)
            if gold is not None:
                yield from null_variants(unit.item.id, name, question, gold)
        if probed and gold is not None:
            yield from probe_variants(unit.item.id, name, question, gold)
