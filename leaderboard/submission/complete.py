"""Is everything there that a run's plan owes? Every question of every item, every episode, every variant.

Which variants are owed follows from the frozen ids, from the seeded sample that probes run on, and from the canonical
question: of a static item as the registry holds it, of a recorded step as the log shows it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from arena.items import Gold, Item
from arena.leaderboard.recheck import Locked
from arena.log.reader import Row, RunReader
from arena.reliability.variants import (
    null_variants,
    probe_sample,
    probe_variants,
    repeat_variants,
    stability_variants,
)
from arena.tasks import Cell, hardest_tier, load_units, reliability_ids, select
from arena.types import Choice, Question, parse_question

SHOWN = 3

Form = tuple[str, int, str | None]
"""Variant kind, index, probe name."""
_CANONICAL: Form = ("reorder", 0, None)


@dataclass(slots=True)
class _Varied:
    """What the log holds of one question of a varied unit."""

    question: Mapping[str, Any] | None = None
    gold: Gold | None = None
    forms: set[Form] = field(default_factory=set)


def missing(reader: RunReader, locked: Locked) -> Iterator[str]:
    """One reason for each part of the plan that is not in the log, in words."""
    resolved = reader.config["resolved"]
    repeats = resolved["repeats"]
    wanted, probed = _reliability_ids(resolved), _probed(resolved)
    asked = {**probed, **wanted}
    base: set[tuple[str, str, str, int]] = set()
    varied: dict[tuple[str, str, str], _Varied] = {}
    for row in reader.rows():
        if row["variant"]["kind"] == "base" and row["episode"] is None:
            base.add((row["domain"], row["unit"], row["question_name"], row["repeat"]))
        _file(row, asked, varied)
    trials = resolved.get("trials", 1)
    episodes = {
        (row["domain"], row["unit"], row["repeat"], row["variant"]["index"])
        for row in reader.episode_rows()
        if row["error"] is None
    }
    for cell in _cells(resolved):
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
            else [
                (cell.domain, unit, repeat, trial)
                for unit in cell.ids
                for repeat in range(repeats)
                for trial in range(trials)
            ]
        )
        have: set[Any] = base if static else episodes
        yield from _told(f"{cell.domain}/{cell.tier}", [each[1:] for each in owed if each not in have], len(owed))
    yield from _variants_missing(resolved, locked, wanted, probed, varied)


def _cells(resolved: Row) -> tuple[Cell, ...]:
    tiers = resolved["tiers"][0] if resolved["tiers"] in (["all"], ["hardest"]) else resolved["tiers"]
    return select(resolved["domains"], tiers, resolved["split"]).cells


def _told(where: str, absent: list[Any], owed: int) -> Iterator[str]:
    if absent:
        named = ", ".join(":".join(map(str, each)) for each in absent[:SHOWN])
        more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
        yield f"{where} lacks {len(absent)} of {owed}: {named}{more}"


def _reliability_ids(resolved: Row) -> dict[tuple[str, str], str]:
    """(domain, unit) -> tier of every unit that S and N are measured on, in the order of the plan."""
    plan = resolved["reliability"]
    if plan is None:
        return {}
    names = resolved["domains"]
    return {(name, each): hardest_tier(name) for name in names for each in reliability_ids(name)[: plan["per_domain"]]}


def _probed(resolved: Row) -> dict[tuple[str, str], str]:
    """(domain, unit) -> tier of every unit that probes run on, in the order of the plan."""
    if resolved["reliability"] is None or not resolved["reliability"]["probes"]:
        return {}
    tiers: dict[tuple[str, str], str] = {}
    for name in resolved["domains"]:
        units = [
            unit
            for cell in _cells(resolved)
            if cell.domain == name
            for unit in load_units(name, cell.tier, cell.split, cell.ids)
        ]
        tier = {unit.id: unit.tier for unit in units}
        tiers |= {(name, each): tier[each.rpartition("#")[0] or each] for each in probe_sample(units)}
    return tiers


def _file(row: Row, wanted: Container[tuple[str, str]], varied: dict[tuple[str, str, str], _Varied]) -> None:
    """Note a row. A step of an episode is no form of the recorded step of its number: other ways lead to it too."""
    if row["episode"] is not None or (row["domain"], row["unit"]) not in wanted or row["repeat"]:
        return
    variant = row["variant"]
    kind = variant["kind"]
    if kind != "base" and variant["question"] != row["question_name"]:
        return
    entry = varied.setdefault((row["domain"], row["unit"], row["question_name"]), _Varied())
    if kind == "base" or (kind, variant["index"]) == ("reorder", 0):
        entry.question, entry.gold = row["question"], Gold.model_validate(row["gold"]) if row["gold"] else None
        entry.forms.add(_CANONICAL)
    else:
        entry.forms.add((kind, variant["index"], variant["probe"]))


def _variants_missing(
    resolved: Row,
    locked: Locked,
    wanted: Mapping[tuple[str, str], str],
    probed: Mapping[tuple[str, str], str],
    varied: Mapping[tuple[str, str, str], _Varied],
) -> Iterator[str]:
    for name in resolved["domains"]:
        absent: list[tuple[Any, ...]] = []
        owed = 0
        for (_, unit), tier in ((pair, tier) for pair, tier in ({**probed, **wanted}).items() if pair[0] == name):
            questions = _questions(name, unit, tier, locked, varied)
            if not questions:
                absent.append((unit, "every form"))
                owed += 1
            for key, question in questions.items():
                entry = varied.get((name, unit, key), _Varied())
                forms = (
                    _owed(unit, key, question, entry.gold, resolved["reliability"]) if (name, unit) in wanted else []
                )
                forms += _probes_owed(unit, key, question, entry.gold) if (name, unit) in probed else []
                owed += len(forms)
                absent += [(unit, key, *_words(form)) for form in forms if form not in entry.forms]
        yield from _told(f"reliability of {name}", absent, owed)


def _questions(
    name: str, unit: str, tier: str, locked: Locked, varied: Mapping[tuple[str, str, str], _Varied]
) -> dict[str, Question | None]:
    """A unit's questions; None where it is a recorded step that was not asked as it is."""
    if locked.domain(name).kind == "static":
        return dict(locked.item(name, tier, unit).questions)
    found = {key[2]: entry.question for key, entry in varied.items() if key[:2] == (name, unit)}
    return {key: None if question is None else parse_question(question) for key, question in found.items()}


def _owed(unit: str, name: str, question: Question | None, gold: Gold | None, plan: Row) -> list[Form]:
    """The forms that S and N need, the canonical one first."""
    if question is None:
        return [_CANONICAL]
    if not isinstance(question, Choice):
        return []
    variants = [*stability_variants(unit, name, question, plan["orders"]), *repeat_variants(name, plan["repeats"])]
    if gold is not None:
        variants += null_variants(unit, name, question, gold)
    return [(variant.kind, variant.index, variant.probe) for variant in variants]


def _probes_owed(unit: str, name: str, question: Question | None, gold: Gold | None) -> list[Form]:
    """The probes of a question. One without a gold has none; a static one without it lacks its base decision, which is
    told of its cell."""
    if question is None:
        return [_CANONICAL]
    if gold is None:
        return []
    return [(variant.kind, variant.index, variant.probe) for variant in probe_variants(unit, name, question, gold)]


def _words(form: Form) -> tuple[str, ...]:
    kind, index, probe = form
    return (f"{kind} {probe or index}",)
