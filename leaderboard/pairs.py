"""Two runs laid side by side: the same decision of both, aligned by place and by option, not by slot.

A pair needs the same state and question (whatever the order of its options); what only one run holds, and what was
asked differently under one name, is counted and left out. Golds must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.errors import NothingSelected, UsageError
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.profiles.table import Table
from arena.reliability.metrics.columns import Bools, Codes, Floats, Scored
from arena.reliability.metrics.summary import per_item

Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One run's half of n pairs, each (n,): ``committed`` is an option code shared by both sides, -1 if invalid."""

    correct: Bools
    valid: Bools
    failed: Bools
    credit: Floats
    brier: Floats
    nll: Floats
    committed: Index


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """n pairs. ``a`` and ``b``: the two sides; ``table``: A's columns in pair order (places, golds, slices).

    ``distance`` (n,): total variation of the two answers, nan unless both are valid. ``reordered`` (n,): the options
    were shown in another order. ``labels``: option code -> option key. ``cluster`` (n,): what the bootstrap draws.
    """

    a: Side
    b: Side
    table: Table
    cluster: Index
    distance: Floats
    reordered: Bools
    labels: tuple[str, ...]
    only_a: int
    only_b: int
    other_question: int

    def __len__(self) -> int:
        return len(self.a.correct)

    @property
    def comparable(self) -> Bools:
        """Both answers are valid, (n,)."""
        return self.a.valid & self.b.valid


def pair(a: Table, b: Table, rules: Profile) -> Pairs:
    """Pair two tables of one profile.

    Raises:
        UsageError: the golds are not the same.
        NothingSelected: no decision is in both.
    """
    _same_versions(a, b)
    _, first, second = np.intersect1d(a.key, b.key, return_indices=True)
    order = np.argsort(first)
    first, second = first[order], second[order]
    same = a.asked[first] == b.asked[second]
    left, right = first[same], second[same]
    if not len(left):
        raise NothingSelected(
            f"no decision is in both runs ({len(a)} and {len(b)} decisions, {int((~same).sum())} under the same name "
            "but asked differently)",
            hint="compare runs over the same suites",
        )
    codes: dict[tuple[str, str], int] = {}
    entries = [_entries(t.scored, rows, codes) for t, rows in ((a, left), (b, right))]
    _same_golds(a, left, entries)
    valid = a.scored.valid[left] & b.scored.valid[right]
    distance = _distance(entries)
    distance[~valid] = np.nan
    return Pairs(
        a=_side(a, left, entries[0], rules),
        b=_side(b, right, entries[1], rules),
        table=take(a, left),
        cluster=a.group[left],
        distance=distance,
        reordered=a.shown[left] != b.shown[right],
        labels=tuple(label for _, label in codes),
        only_a=len(a) - len(first),
        only_b=len(b) - len(second),
        other_question=int((~same).sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """The options of some decisions, sorted within each by shared option code. ``offsets`` (n + 1,)."""

    code: Index
    p: Floats
    accepted: Bools
    offsets: Index
    own: Index
    """Option code of every entry of the whole run, unsorted (m,)."""


def _entries(scored: Scored, rows: Index, codes: dict[tuple[str, str], int]) -> _Entries:
    tables = [
        np.array([codes.setdefault((name, label), len(codes)) for label in labels], dtype=np.intp)
        for name, labels in zip(scored.question.names, scored.labels, strict=True)
    ]
    starts = np.cumsum([0, *map(len, tables)])[:-1]
    question = np.repeat(scored.question.codes, scored.options)
    own = np.concatenate(tables)[starts[question] + scored.label]
    sizes = scored.options[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.repeat(scored.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    order = flat[np.lexsort((own[flat], np.repeat(np.arange(len(rows)), sizes)))]
    return _Entries(own[order], scored.probabilities[order], scored.accepted[order], offsets, own)


def _distance(entries: list[_Entries]) -> Floats:
    first, second = entries
    found: Floats = 0.5 * np.add.reduceat(np.abs(first.p - second.p), first.offsets[:-1])
    return found


def _side(table: Table, rows: Index, entries: _Entries, rules: Profile) -> Side:
    scored, items = table.scored, per_item(table.scored, rules.conventions)
    valid = scored.valid[rows]
    committed = np.full(len(rows), -1, dtype=np.intp)
    spot = scored.offsets[:-1][rows][valid] + scored.committed[rows][valid]
    committed[valid] = entries.own[spot]
    return Side(
        correct=scored.correct[rows],
        valid=valid,
        failed=table.failed[rows],
        credit=table.credit[rows],
        brier=items["brier"][rows],
        nll=items["nll"][rows],
        committed=committed,
    )


def take(table: Table, rows: Index) -> Table:
    """The decisions at ``rows`` (ascending)."""
    chosen = np.zeros(len(table), dtype=np.bool_)
    chosen[rows] = True
    return table.select(chosen)


def _same_versions(a: Table, b: Table) -> None:
    for suite, version in a.gold.items():
        if b.gold.get(suite, version) != version:
            raise UsageError(
                f"two gold versions of {suite}: {version} and {b.gold[suite]}",
                hint="two gold versions never share a table: compare both under one with --gold VERSION",
            )


def _same_golds(a: Table, rows: Index, entries: list[_Entries]) -> None:
    first, second = entries
    differs = np.flatnonzero(first.accepted != second.accepted)
    if len(differs):
        place = int(rows[np.searchsorted(first.offsets, differs[0], side="right") - 1])
        raise UsageError(
            f"the golds of item {named(a.unit, place)}, question {named(a.name, place)} differ under one gold version",
            hint="compare both under one gold file: --gold FILE.jsonl",
        )


def named(column: Codes, row: int) -> str:
    """The name of a column at a row."""
    return column.names[int(column.codes[row])]


def columns_of(pairs: Pairs) -> dict[str, Codes]:
    """Slices of the pairs: suite, question (``suite/name``), domain, tier, type."""
    scored = pairs.table.scored
    found: dict[str, Any] = {"suite": pairs.table.suite, "question": scored.question}
    return found | {name: scored.slices[name] for name in ("domain", "tier", "type") if name in scored.slices}
