"""Build ``Scored`` columns from plain dict rows, one per decision.

This is the only place that handles decisions one by one. It keeps option order as given, pools labels by
question name, and refuses a row that cannot be scored, naming it. It applies no rule: what was committed
and how confident, comes with the row (the gate or a profile decided it).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from arena.errors import UsageError
from arena.reliability.metrics.columns import INVALID, KINDS, NOUL, SCORE, Codes, Scored
from arena.reliability.metrics.mae import expected_level

_NAN: Final = float("nan")


class _Names:
    """Names to consecutive codes, in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def code(self, name: str) -> int:
        return self.known.setdefault(name, len(self.known))

    def all(self) -> tuple[str, ...]:
        return tuple(self.known)


def option_key(kind: int, value: object) -> str:
    """The option key of a committed or gold value: a level as "2", a noul as "true" or "false".

    >>> option_key(SCORE, 2), option_key(NOUL, True), option_key(NOUL, 0)
    ('2', 'true', 'false')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == NOUL and isinstance(value, int) and value in (0, 1):
        return "true" if value else "false"
    return str(value)


def _accepted(kind: int, gold: object) -> set[str]:
    several = gold if isinstance(gold, (list, tuple, set, frozenset)) else (gold,)
    return {option_key(kind, value) for value in several if value is not None}


class _Columns:
    """Growing columns; ``add`` takes one row, ``build`` freezes them."""

    def __init__(self) -> None:
        self.small = {name: array("b") for name in ("kind", "valid", "correct", "accepted")}
        self.whole = {name: array("i") for name in ("question", "committed", "gold", "group", "label")}
        names = ("confidence", "expected", "latency_s", "cost_usd", "probabilities", "distribution")
        self.real = {name: array("d") for name in names}
        self.offsets = array("q", [0])
        self.questions, self.groups = _Names(), _Names()
        self.labels: list[_Names] = []
        self.slices: dict[str, tuple[_Names, array[int]]] = {}
        self.soft = False

    def add(self, row: Mapping[str, Any], number: int) -> None:
        kind = KINDS.get(row["type"])
        if kind is None:
            raise UsageError(f"row {number}: type {row['type']!r} is none of {', '.join(KINDS)}")
        probabilities = row.get("probabilities")
        options = tuple(str(o) for o in (row.get("options") or probabilities or ()))
        accepted = _accepted(kind, row.get("gold"))
        if not options:
            raise UsageError(f"row {number}: neither probabilities nor options: give the options asked")
        if not accepted or not accepted <= set(options):
            raise UsageError(f"row {number}: gold {sorted(accepted)} is not among the options {list(options)}")
        committed = self._committed(row, kind, options, number)
        self._decision(row, kind, options, accepted, committed)
        self._options(row, options, accepted, committed != INVALID)

    def _committed(self, row: Mapping[str, Any], kind: int, options: tuple[str, ...], number: int) -> int:
        if row.get("committed") is None:
            return INVALID
        key = option_key(kind, row["committed"])
        if key not in options or not row.get("probabilities"):
            raise UsageError(f"row {number}: committed {key!r} needs probabilities over {list(options)}")
        return options.index(key)

    def _decision(
        self, row: Mapping[str, Any], kind: int, options: tuple[str, ...], accepted: set[str], committed: int
    ) -> None:
        valid = committed != INVALID
        right = valid and options[committed] in accepted
        first = next(i for i, option in enumerate(options) if option in accepted)
        number = len(self.small["kind"])
        group = row.get("group")
        confidence, expected = row.get("confidence"), row.get("expected")
        if valid and confidence is None:
            confidence = row["probabilities"][options[committed]]
        self.small["kind"].append(kind)
        self.small["valid"].append(valid)
        self.small["correct"].append(right)
        self.whole["question"].append(self.questions.code(str(row.get("question", ""))))
        self.whole["committed"].append(committed)
        self.whole["gold"].append(committed if right else first)
        # an ungrouped decision is a cluster of its own; "\0" cannot begin a name that was given
        self.whole["group"].append(self.groups.code(f"\0{number}" if group is None else str(group)))
        self.real["confidence"].append(confidence if valid and confidence is not None else _NAN)
        self.real["expected"].append(expected if valid and expected is not None else _NAN)
        for name in ("latency_s", "cost_usd"):
            value = row.get(name)
            self.real[name].append(_NAN if value is None else value)
        for name, value in (row.get("slices") or {}).items():
            names, codes = self.slices.setdefault(name, (_Names(), array("i")))
            codes.extend([-1] * (number - len(codes)))
            codes.append(-1 if value is None else names.code(str(value)))

    def _options(self, row: Mapping[str, Any], options: tuple[str, ...], accepted: set[str], valid: bool) -> None:
        question = self.whole["question"][-1]
        if question == len(self.labels):
            self.labels.append(_Names())
        probabilities, soft = row.get("probabilities") or {}, row.get("label_distribution")
        self.soft |= soft is not None
        for option in options:
            self.whole["label"].append(self.labels[question].code(option))
            self.small["accepted"].append(option in accepted)
            self.real["probabilities"].append(probabilities[option] if valid else 0.0)
            self.real["distribution"].append(_NAN if soft is None else soft.get(option, 0.0))
        self.offsets.append(self.offsets[-1] + len(options))

    def build(self) -> Scored:
        n = len(self.small["kind"])
        small = {name: np.array(column, dtype=np.int8) for name, column in self.small.items()}
        whole = {name: np.array(column, dtype=np.int32) for name, column in self.whole.items()}
        real = {name: np.array(column, dtype=np.float64) for name, column in self.real.items()}
        offsets = np.array(self.offsets, dtype=np.int64)
        wanted = (small["kind"] == SCORE) & (small["valid"] == 1) & np.isnan(real["expected"])
        real["expected"][wanted] = expected_level(real["probabilities"], offsets)[wanted]
        question, slices = whole.pop("question"), {}
        for name, (names, codes) in self.slices.items():
            codes.extend([-1] * (n - len(codes)))
            slices[name] = Codes(np.array(codes, dtype=np.int32), names.all())
        distribution = real.pop("distribution")
        flags = {name: small[name].astype(np.bool_) for name in ("valid", "correct", "accepted")}
        columns: dict[str, Any] = {**flags, **whole, **real}
        return Scored(
            kind=small["kind"],
            question=Codes(question, self.questions.all()),
            **columns,
            offsets=offsets,
            labels=tuple(names.all() for names in self.labels),
            distribution=distribution if self.soft else None,
            slices=slices,
        )


def from_rows(rows: Iterable[Mapping[str, Any]]) -> Scored:
    """Columns from rows. Keys of a row:

    * ``type``: choice, score or noul; ``question``: the name whose labels are pooled (default "").
    * ``probabilities``: {option: p} in the order shown (noul: {"false": 1 - p, "true": p}); None if invalid.
    * ``options``: the option keys in the order shown; needed where there are no probabilities.
    * ``committed``: option key, level or bool; None if the answer is invalid.
    * ``confidence`` (default: the probability of ``committed``); ``expected`` (default: sum_k k p_k).
    * ``gold``: one accepted value or a list of them; ``label_distribution``: {option: q} or None.
    * ``group``, ``slices`` {name: value}, ``latency_s``, ``cost_usd``: optional.

    Raises:
        UsageError: a row without options or gold, or with a gold or commitment outside its options.

    >>> from_rows([{"type": "noul", "probabilities": {"false": 0.2, "true": 0.8}, "committed": True,
    ...             "gold": True}]).confidence
    array([0.8])
    """
    columns = _Columns()
    for number, row in enumerate(rows, start=1):
        columns.add(row, number)
    return columns.build()
