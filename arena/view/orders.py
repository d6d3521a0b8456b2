"""All forms of one question side by side: options down, orders and other variants across.

A cell says what probability the option got and where it stood; a column says what was chosen. Options that no
form gave weight to are put aside, and counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arena.leaderboard.rows import labels_of, probabilities_of
from arena.log.reader import Row
from arena.reliability.collect import Unit, collect, matrices
from arena.reliability.stability import drift_from_canonical, flips_from_canonical, item_stability
from arena.types import NONE_OF_THE_ABOVE
from arena.view.schema import text_of

KEPT_ALWAYS, KEPT_AT_MOST = 14, 26
FAINT = 0.02
LEVELS = 10

GROUPS = {
    "base": "Orders",
    "trial": "Orders",
    "reorder": "Orders",
    "repeat": "Repeats",
    "null_intact": "Null offered",
    "null_removed": "Null offered",
    "removed": "No null",
    "probe": "Probes",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """``p``: None when the answer is invalid. ``slot`` from 1, None where the option was not offered."""

    p: float | None
    slot: int | None
    chosen: bool
    right: bool

    @property
    def level(self) -> int:
        """Shade 0..10."""
        return round(LEVELS * (self.p or 0.0))


@dataclass(frozen=True, slots=True)
class Column:
    """One form of the question. ``label`` is short, ``title`` says it in words."""

    id: str
    group: str
    label: str
    title: str
    valid: bool
    correct: bool | None
    chosen: str | None
    here: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One option under all forms."""

    key: str
    text: str
    gold: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """The table, what was left out of it, and the figures of this one question."""

    columns: tuple[Column, ...]
    spans: tuple[tuple[str, int], ...]
    lines: tuple[Line, ...]
    faint: int
    figures: dict[str, Any]


def side_by_side(rows: Sequence[sqlite3.Row], bodies: Sequence[Row], here: str) -> Orders | None:
    """The table of every form in which a choice was asked; None when it was asked in one form only.

    ``rows`` and ``bodies``: index rows and log lines of the same decisions, canonical form first.
    """
    pairs = _of_one_state(sorted(zip(rows, bodies, strict=True), key=lambda pair: _place(pair[0])))
    bodies = [body for _, body in pairs]
    if len(pairs) < 2 or bodies[0]["question"]["type"] != "choice" or here not in {row["id"] for row, _ in pairs}:
        return None
    given = [(row, body, labels_of(body["question"]), probabilities_of(body)) for row, body in pairs]
    asked_again = any(row["kind"] == "reorder" and row["idx"] == 0 for row in rows)
    columns = tuple(_column(row, here, asked_again) for row, _, _, _ in given)
    gold = {str(text_of(value)) for value in (bodies[0]["gold"] or {"accepted": ()})["accepted"]}
    keys = dict.fromkeys(key for _, _, labels, _ in given for key in labels)
    told = bodies[0]["question"]["criteria"]
    lines = [_line(key, told.get(key), key in gold, given) for key in keys]
    kept = _kept(lines)
    spans: list[tuple[str, int]] = []
    for column in columns:
        if spans and spans[-1][0] == column.group:
            spans[-1] = (column.group, spans[-1][1] + 1)
        else:
            spans.append((column.group, 1))
    return Orders(columns, tuple(spans), kept, len(lines) - len(kept), figures(bodies))


def _of_one_state(pairs: list[tuple[sqlite3.Row, Row]]) -> list[tuple[sqlite3.Row, Row]]:
    """Without steps of the run itself that reached the recorded step's number over another state."""
    asked = next((body for row, body in pairs if row["kind"] == "reorder" and row["idx"] == 0), None)
    if asked is None:
        return pairs
    return [(row, body) for row, body in pairs if row["kind"] != "base" or body["state_id"] == asked["state_id"]]


def _place(row: sqlite3.Row) -> tuple[int, int, int]:
    """Orders, the base form as number 0 among them; then the other variants as ``GROUPS`` lists them."""
    kind = "base" if row["kind"] == "reorder" else row["kind"]
    return list(GROUPS).index(kind), row["idx"], row["seq"]


def _column(row: sqlite3.Row, here: str, asked_again: bool) -> Column:
    """``asked_again``: the canonical order was asked apart from the base form, as for recorded steps."""
    kind, number = row["kind"], row["idx"]
    label, title = {
        "base": ("run", "as asked in the run itself") if asked_again else ("0", "canonical order"),
        "reorder": (str(number), f"order {number}" if number else "canonical order"),
        "repeat": (f"r{number + 1}", f"repeat {number + 1} of the canonical order"),
        "null_intact": ("kept", "right option there, null offered"),
        "null_removed": ("gone", "right option removed, null offered"),
        "removed": ("gone", "right option removed, no null offered"),
        "probe": ((row["probe"] or "")[:5], f"probe {row['probe']}"),
    }[kind]
    correct = None if row["correct"] is None else bool(row["correct"])
    valid = bool(row["valid"])
    return Column(row["id"], GROUPS[kind], label, title, valid, correct, row["committed"], row["id"] == here)


def _line(key: str, told: Any, gold: bool, given: Sequence[tuple[sqlite3.Row, Row, tuple[str, ...], Any]]) -> Line:
    cells = []
    for row, body, labels, probabilities in given:
        slot = labels.index(key) + 1 if key in labels else None
        p = None if probabilities is None or slot is None else probabilities[key]
        accepted = {text_of(value) for value in body["gold"]["accepted"]} if body["gold"] else set()
        cells.append(Cell(p, slot, row["committed"] == key and slot is not None, key in accepted))
    text = "" if told is None else told if isinstance(told, str) else repr(told)
    return Line(key, "the null option" if key == NONE_OF_THE_ABOVE and not text else text, gold, tuple(cells))


def _kept(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines worth showing, in their order: chosen somewhere, right, or with weight; all when there are few."""
    if len(lines) <= KEPT_ALWAYS:
        return tuple(lines)

    def weight(line: Line) -> tuple[bool, float]:
        told = line.gold or line.key == NONE_OF_THE_ABOVE or any(cell.chosen for cell in line.cells)
        return told, max((cell.p or 0.0 for cell in line.cells), default=0.0)

    ranked = sorted(lines, key=weight, reverse=True)
    chosen = {line.key for line in ranked[:KEPT_AT_MOST] if weight(line)[0] or weight(line)[1] >= FAINT}
    return tuple(line for line in lines if line.key in chosen)


def figures(bodies: Sequence[Row]) -> dict[str, Any]:
    """Agreement above chance, flips and drift of this question over its orders (protocol 5)."""
    name = bodies[0]["question_name"]
    units: list[Unit] = [unit for unit in collect(bodies, bodies) if unit.question == name]
    if not units or len(units[0].orders) < 2:
        return {}
    table = matrices(units, [unit.orders for unit in units])
    flips = flips_from_canonical(table.committed)
    drift = drift_from_canonical(table.probabilities, table.committed)
    return {
        "orders": len(units[0].orders),
        "s": float(item_stability(table.committed, table.options)[0]),
        "flips": flips.flips,
        "comparable": flips.comparable,
        "drift": drift.mean,
    }
