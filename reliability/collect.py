"""From log rows to the matrices that S, N and the probes are computed on.

One ``Unit`` per varied question: its canonical options and the answers to every variant. The canonical
order (index 0) is the ``reorder`` variant of index 0 where the run asked it, else the base decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arena.reliability.metrics.columns import INVALID, Bools, Floats, Ints
from arena.reliability.stability import NOT_ASKED
from arena.types import NONE_OF_THE_ABOVE

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer, slim: committed option (None if invalid), probabilities, whether right, order shown."""

    committed: str | None
    probabilities: Mapping[str, float]
    confidence: float | None
    correct: bool | None
    order: tuple[str, ...]


@dataclass(slots=True)
class Unit:
    """All answers to one varied question. ``probes``: probe name -> (answer, demanded option)."""

    domain: str
    unit: str
    question: str
    kind: str
    cluster: str
    orders: dict[int, Answered] = field(default_factory=dict)
    repeats: dict[int, Answered] = field(default_factory=dict)
    intact: Answered | None = None
    removed: Answered | None = None
    without: Answered | None = None
    probes: dict[str, tuple[Answered, str | None]] = field(default_factory=dict)
    gold: tuple[str, ...] = ()

    @property
    def varied(self) -> bool:
        """Whether S or N is measured on it; a unit that only probes ran on is not."""
        return len(self.orders) > 1 or bool(self.repeats) or self.intact is not None or self.removed is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """Option keys in the canonical order; empty while the canonical order was not answered."""
        return self.orders[0].order if 0 in self.orders else ()


def _key(value: str | int | bool | None) -> str | None:
    if value is None:
        return None
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _labels(question: Mapping[str, Any]) -> tuple[str, ...]:
    if question["type"] == "choice":
        return tuple(question["criteria"])
    if question["type"] == "score":
        return tuple(str(level) for level in range(len(question["criteria"])))
    return ("false", "true")


def _answered(row: Row) -> Answered:
    answer = row["answer"]
    given: Mapping[str, float] = {}
    if answer is not None:
        p = answer.get("noul")
        given = answer["probabilities"] if p is None else {"false": 1.0 - p, "true": p}
    return Answered(_key(row["committed"]), given, row["confidence"], row["correct"], _labels(row["question"]))


def collect(rows: Iterable[Row], base_rows: Iterable[Row]) -> list[Unit]:
    """Units with a canonical answer, by (domain, unit, question). ``base_rows`` is a second pass over the log."""
    units: dict[tuple[str, str, str], Unit] = {}
    for row in rows:
        variant = row["variant"]
        if variant["kind"] == "base" or row["question_name"] != variant["question"]:
            continue
        unit = _unit(units, row)
        _file(unit, variant, _answered(row))
        if (variant["kind"], variant["index"]) == ("reorder", 0):
            unit.gold = _gold(row)
    for row in base_rows:
        key = _unit_key(row)
        if row["variant"]["kind"] == "base" and row["phase"] == "teacher" and row["repeat"] == 0 and key in units:
            unit = units[key]
            if 0 not in unit.orders:
                unit.orders[0], unit.gold = _answered(row), _gold(row)
    return [units[key] for key in sorted(units) if 0 in units[key].orders]


def _gold(row: Row) -> tuple[str, ...]:
    accepted = row["gold"]["accepted"] if row["gold"] else ()
    return tuple(key for key in map(_key, accepted) if key is not None)


def _unit_key(row: Row) -> tuple[str, str, str]:
    """A step of an episode and the item made from it are the same unit: ``EPISODE#STEP``."""
    name = row["unit"] if row["episode"] is None else f"{row['unit']}#{row['step']}"
    return row["domain"], name, row["question_name"]


def _unit(units: dict[tuple[str, str, str], Unit], row: Row) -> Unit:
    key = _unit_key(row)
    if key not in units:
        units[key] = Unit(*key, row["question"]["type"], str(row["group"] or row["unit"]))
    return units[key]


def _file(unit: Unit, variant: Mapping[str, Any], answer: Answered) -> None:
    kind, index = variant["kind"], variant["index"]
    if kind == "reorder":
        unit.orders[index] = answer
    elif kind == "repeat":
        unit.repeats[index] = answer
    elif kind == "null_intact":
        unit.intact = answer
    elif kind == "null_removed":
        unit.removed = answer
    elif kind == "removed":
        unit.without = answer
    elif kind == "probe":
        unit.probes[variant["probe"]] = (answer, _key(variant["demanded"]))


@dataclass(frozen=True, slots=True, eq=False)
class Matrices:
    """I items under M orders, numbered by canonical option. See ``arena.reliability.stability``.

    ``committed``, ``chosen_slot``, ``right_slot`` (I, M) integers; ``correct`` (I, M); ``probabilities``
    (I, M, Kmax); ``options`` (I,).
    """

    committed: Ints
    correct: Bools
    probabilities: Floats
    options: Ints
    chosen_slot: Ints
    right_slot: Ints


def matrices(units: Sequence[Unit], answers: Sequence[Mapping[int, Answered]]) -> Matrices:
    """Lay out ``answers[i]`` (order index -> answer) of ``units[i]``; indices are packed to columns 0.. in order."""
    width = max((len(each) for each in answers), default=0)
    widest = max((len(unit.labels) for unit in units), default=0)
    shape = (len(units), width)
    committed = np.full(shape, NOT_ASKED, dtype=np.int64)
    chosen, right = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    correct = np.zeros(shape, dtype=np.bool_)
    probabilities = np.zeros((*shape, widest))
    for i, (unit, given) in enumerate(zip(units, answers, strict=True)):
        number = {label: k for k, label in enumerate(unit.labels)}
        for j, index in enumerate(sorted(given)):
            answer = given[index]
            committed[i, j] = INVALID if answer.committed is None else number[answer.committed]
            correct[i, j] = bool(answer.correct)
            if answer.committed is not None:
                chosen[i, j] = answer.order.index(answer.committed)
                for label, p in answer.probabilities.items():
                    probabilities[i, j, number[label]] = p
            if len(unit.gold) == 1 and unit.gold[0] in answer.order:
                right[i, j] = answer.order.index(unit.gold[0])
    options = np.array([len(unit.labels) for unit in units], dtype=np.int64)
    return Matrices(committed, correct, probabilities, options, chosen, right)


def said_none(answers: Iterable[Answered | None]) -> Iterator[float]:
    """1.0 where the answer commits to the null, 0.0 where it does not, nan where it was not asked."""
    for answer in answers:
        yield float("nan") if answer is None else float(answer.committed == NONE_OF_THE_ABOVE)


def p_none(answers: Iterable[Answered | None]) -> Iterator[float]:
    """Probability of the null; nan where not asked or invalid."""
    for answer in answers:
        usable = answer is not None and answer.committed is not None
        yield answer.probabilities.get(NONE_OF_THE_ABOVE, 0.0) if usable and answer else float("nan")


def confidences(answers: Iterable[Answered | None]) -> Iterator[float]:
    """Confidence of the committed decision; nan where not asked or invalid."""
    for answer in answers:
        known = answer is not None and answer.confidence is not None
        yield answer.confidence if known and answer and answer.confidence is not None else float("nan")
