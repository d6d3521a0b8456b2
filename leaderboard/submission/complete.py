"""Is everything there that a run's plan owes? Every question of every item, every episode, every variant.

Which variants are owed follows from the frozen ids and from the canonical question: of a static item as the registry
holds it, of a recorded step as the log shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from arena.items import Gold, Item
from arena.leaderboard.recheck import Locked
from arena.log.reader import Row, RunReader
from arena.reliability.variants import (
    null_variants,
    probe_ids,
    probe_variants,
    repeat_variants,
    stability_variants,
)
from arena.tasks import hardest_tier, load_units, reliability_ids, select
from arena.types import Choice, parse_question

SHOWN = 3

Form = tuple[str, int, str | None]
"""Variant kind, index, probe name."""


@dataclass(slots=True)
class _Varied:
    """What the log holds of one question of a reliability unit."""

    question: Mapping[str, Any] | None = None
    gold: Mapping[str, Any] | None = None
    forms: set[Form] = field(default_factory=set)


def missing(reader: RunReader, locked: Locked) -> Iterator[str]:
    """One reason for each part of the plan that is not in the log, in words."""
    resolved = reader.config["resolved"]
    repeats = resolved["repeats"]
    wanted = _reliability_ids(resolved)
    base: set[tuple[str, str, str, int]] = set()
    varied: dict[tuple[str, str, str], _Varied] = {}
    for row in reader.rows():
        if row["variant"]["kind"] == "base" and row["episode"] is None:
            base.add((row["domain"], row["unit"], row["question_name"], row["repeat"]))
        if wanted:
            _file(row, wanted, varied)
    episodes = {(row["domain"], row["unit"], row["repeat"]) for row in reader.episode_rows() if row["error"] is None}
    tiers = resolved["tiers"][0] if resolved["tiers"] in (["all"], ["hardest"]) else resolved["tiers"]
    for cell in select(resolved["domains"], tiers, resolved["split"]).cells:
        static = locked.domain(cell.domain).kind == "static"
        owed = (
            [
                (cell.domain, unit.id, name, repeat)
                for unit in load_units(cell.domain, cell.tier, cell.split, cell.ids)
                if isinstance(unit, Item)
                for name in unit.questions
                for repeat in range(repeats)
            ]
            if static
            else [(cell.domain, unit, repeat) for unit in cell.ids for repeat in range(repeats)]
        )
        have: set[Any] = base if static else episodes
        yield from _told(f"{cell.domain}/{cell.tier}", [each[1:] for each in owed if each not in have], len(owed))
    yield from _variants_missing(resolved, locked, wanted, varied)


def _told(where: str, absent: list[Any], owed: int) -> Iterator[str]:
    if absent:
        named = ", ".join(":".join(map(str, each)) for each in absent[:SHOWN])
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        yield f"{where} lacks {len(absent)} of {owed}: {named}{more}"


def _reliability_ids(resolved: Row) -> dict[tuple[str, str], None]:
    """(domain, unit) of every unit that S and N are measured on, in the order of the plan."""
    plan = resolved["reliability"]
    if plan is None:
        return {}
    return {(name, each): None for name in resolved["domains"] for each in reliability_ids(name)[: plan["per_domain"]]}


def _file(row: Row, wanted: Mapping[tuple[str, str], None], varied: dict[tuple[str, str, str], _Varied]) -> None:
    unit = row["unit"] if row["episode"] is None else f"{row['unit']}#{row['step']}"
    if (row["domain"], unit) not in wanted or row["phase"] != "teacher" or row["repeat"]:
        return
    variant = row["variant"]
    kind = variant["kind"]
    if kind != "base" and variant["question"] != row["question_name"]:
        return
    entry = varied.setdefault((row["domain"], unit, row["question_name"]), _Varied())
    if kind == "base" or (kind, variant["index"]) == ("reorder", 0):
        entry.question, entry.gold = row["question"], row["gold"]
        entry.forms.add(("reorder", 0, None))
    else:
        entry.forms.add((kind, variant["index"], variant["probe"]))


def _variants_missing(
    resolved: Row,
    locked: Locked,
    wanted: Mapping[tuple[str, str], None],
    varied: Mapping[tuple[str, str, str], _Varied],
) -> Iterator[str]:
    plan = resolved["reliability"]
    probed = set(probe_ids([unit for _, unit in wanted])) if plan is not None and plan["probes"] else set()
    for name in dict.fromkeys(domain for domain, _ in wanted):
        absent: list[tuple[Any, ...]] = []
        owed = 0
        for _, unit in (pair for pair in wanted if pair[0] == name):
            questions = _questions(name, unit, locked, varied)
            if not questions:
                absent.append((unit, "every form"))
                owed += 1
            for question in questions:
                entry = varied.get((name, unit, question), _Varied())
                forms = _owed(unit, question, entry, plan, unit in probed)
                owed += len(forms)
                absent += [(unit, question, *_words(form)) for form in forms if form not in entry.forms]
        yield from _told(f"reliability of {name}", absent, owed)


def _questions(name: str, unit: str, locked: Locked, varied: Mapping[tuple[str, str, str], _Varied]) -> Iterable[str]:
    """Names of the choice questions of a reliability unit."""
    if locked.domain(name).kind == "static":
        item = locked.item(name, hardest_tier(name), unit)
        return [key for key, question in item.questions.items() if isinstance(question, Choice)]
    found = ((key, entry) for key, entry in varied.items() if key[:2] == (name, unit))
    return [key[2] for key, entry in found if entry.question is None or entry.question["type"] == "choice"]


def _owed(unit: str, name: str, entry: _Varied, plan: Row, probed: bool) -> list[Form]:
    if entry.question is None:
        return [("reorder", 0, None)]
    question = parse_question(entry.question)
    gold = None if entry.gold is None else Gold.model_validate(entry.gold)
    assert isinstance(question, Choice)
    variants = [*stability_variants(unit, name, question, plan["orders"]), *repeat_variants(name, plan["repeats"])]
    if gold is not None:
        variants += null_variants(unit, name, question, gold)
        variants += probe_variants(unit, name, question, gold) if probed else ()
    return [(variant.kind, variant.index, variant.probe) for variant in variants]


def _words(form: Form) -> tuple[str, ...]:
    kind, index, probe = form
    return (f"{kind} {probe or index}",)
