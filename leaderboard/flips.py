"""What the order of the options did to a model: the map of items by orders, and the items that flipped most.

Only for runs that measured reliability. An item's canonical order is index 0. A cell of the map is ``same`` (as the
canonical decision), ``flipped``, ``invalid``, or ``alone`` where the canonical decision is invalid, so that nothing
can be compared with it; items that flipped most come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from arena.leaderboard.evidence import Exhibit
from arena.log.reader import Row, RunReader
from arena.reliability.collect import Unit, collect

SHOWN = 10
"""Flipped items that get a page of their own."""


@dataclass(frozen=True, slots=True)
class Flip:
    """An item whose decision moved: the decision that moved most confidently, and every order side by side."""

    exhibit: Exhibit
    orders: list[dict[str, Any]]
    moved: int


@dataclass(frozen=True, slots=True)
class Flips:
    """``map``: one row an item, ``cells`` by order index. ``worst``: the items that flipped most."""

    map: list[dict[str, Any]] = field(default_factory=list)
    worst: tuple[Flip, ...] = ()


def flips(readers: Sequence[RunReader]) -> Flips:
    """Read the orders of every varied choice question."""
    measured = [reader for reader in readers if reader.config["resolved"]["reliability"] is not None]
    if not measured:
        return Flips()
    streams = [chain.from_iterable(reader.rows() for reader in measured) for _ in range(2)]
    units = [unit for unit in collect(*streams) if unit.kind == "choice" and unit.varied]
    units.sort(key=lambda unit: (-_moved(unit), unit.domain, unit.unit, unit.question))
    lines = [
        {"item": f"{unit.unit} {unit.question}", "domain": unit.domain, "cells": _cells(unit), "moved": _moved(unit)}
        for unit in units
    ]
    return Flips(lines, tuple(_worst(measured, [unit for unit in units[:SHOWN] if _moved(unit)])))


def _cells(unit: Unit) -> list[str]:
    canonical = unit.orders[0].committed
    changed = "alone" if canonical is None else "flipped"
    return [
        "invalid" if answer.committed is None else "same" if answer.committed == canonical else changed
        for _, answer in sorted(unit.orders.items())
    ]


def _moved(unit: Unit) -> int:
    return _cells(unit).count("flipped")


def _worst(readers: Sequence[RunReader], units: Sequence[Unit]) -> list[Flip]:
    """The rows of ``units``, found in one more pass."""
    wanted = {(unit.domain, unit.unit, unit.question): unit for unit in units}
    best: dict[tuple[str, str, str], tuple[float, int, Exhibit]] = {}
    walked: dict[tuple[str, str], str] = {}
    for reader in readers:
        for row in reader.rows():
            if row["episode"] is not None and row["variant"]["kind"] == "base":
                walked.setdefault((f"{row['unit']}#{row['step']}", row["state_id"]), row["ask"])
            key = (row["domain"], row["unit"], row["question_name"])
            unit = wanted.get(key)
            if unit is None or not _moves(unit, row):
                continue
            rank = (row["confidence"], -row["variant"]["index"])
            if key not in best or rank > best[key][:2]:
                best[key] = (*rank, Exhibit(reader, row))
    found = ((best[key][2], unit) for key, unit in wanted.items() if key in best)
    return [Flip(_seen(exhibit, walked), _orders(unit), _moved(unit)) for exhibit, unit in found]


def _seen(exhibit: Exhibit, walked: Mapping[tuple[str, str], str]) -> Exhibit:
    """With the ask at which the run itself saw this state: there its screenshot was taken."""
    return replace(exhibit, walked=walked.get((exhibit.row["unit"], exhibit.row["state_id"])))


def _moves(unit: Unit, row: Row) -> bool:
    variant = row["variant"]
    if variant["kind"] != "reorder" or variant["question"] != unit.question or row["committed"] is None:
        return False
    return bool(row["committed"] != unit.orders[0].committed)


def _orders(unit: Unit) -> list[dict[str, Any]]:
    """Every order as it was shown, with what was decided under it."""
    canonical = unit.orders[0].committed
    return [
        {
            "index": index,
            "options": answer.order,
            "committed": answer.committed,
            "slot": None if answer.committed is None else answer.order.index(answer.committed) + 1,
            "confidence": answer.confidence,
            "correct": answer.correct,
            "moved": None not in (answer.committed, canonical) and answer.committed != canonical,
        }
        for index, answer in sorted(unit.orders.items())
    ]
