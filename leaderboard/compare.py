"""Compare two runs on the same decisions: paired differences, exact McNemar, flips, the items that changed.

A is the candidate, B the reference: a difference is A minus B. Reads logs alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.leaderboard.pairs import Pairs, columns_of, named, pair
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.profiles.table import tabulate
from arena.leaderboard.statistics import (
    LEVEL,
    Draws,
    Interval,
    bootstrap_means,
    clopper_pearson,
    cluster_interval,
    holm,
    mcnemar,
    non_inferiority,
    superiority,
)
from arena.log.reader import RunReader
from arena.reliability.metrics.columns import Bools, Floats

FIGURES = ("accuracy", "pct", "brier", "nll")
SCALE = {"pct": 100.0}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user wants of a comparison.

    ``family``: cells (``suite/question`` or a suite) declared beforehand for Holm; empty: every suite and question that
    was asked. ``margin``: non-inferiority margin on accuracy (0..1), None: no such verdict. ``level`` of intervals.
    """

    family: tuple[str, ...] = ()
    margin: float | None = None
    level: float = LEVEL


def compare(a: RunReader, b: RunReader, rules: Profile, asked: Asked | None = None) -> dict[str, Any]:
    """The comparison of two runs as JSON.

    Raises:
        NothingSelected: no decision is in both.
        UsageError: protocols, golds or family do not fit.
    """
    asked = asked or Asked()
    protocols = [reader.config["resolved"]["protocol"] for reader in (a, b)]
    if protocols[0] != protocols[1]:
        raise UsageError(
            f"two protocols: {' and '.join(protocols)}", hint="numbers of different protocols never share a table"
        )
    whole = pair(tabulate(a, rules), tabulate(b, rules), rules)
    counted = ~(whole.a.failed | whole.b.failed) if rules.failed_cases == "left out" else np.ones(len(whole), np.bool_)
    everything = part(whole, counted, rules, asked.level)
    slices = {
        name: {
            value: part(whole, counted & (column.codes == code), rules, asked.level)
            for code, value in enumerate(column.names)
            if (counted & (column.codes == code)).any()
        }
        for name, column in columns_of(whole).items()
    }
    return {
        "a": _who(a),
        "b": _who(b),
        "profile": rules.name,
        "rules": rules.rules() | {"difference": "A minus B", "interval_of_differences": _drawn(rules)},
        "gold": dict(sorted(whole.table.gold.items())),
        "level": asked.level,
        "only_a": whole.only_a,
        "only_b": whole.only_b,
        "other_question": whole.other_question,
        "failed_left_out": int((~counted).sum()),
        **everything,
        "reordered": _drift(whole, whole.reordered),
        "slices": slices,
        "family": _family(slices, asked.family),
        "verdict": _verdict(everything, asked),
        "changed": list(changed(whole)),
    }


def _who(reader: RunReader) -> dict[str, Any]:
    return {
        "run": str(reader.folder),
        "model": reader.config["resolved"]["model"],
        "imported": bool(reader.config.get("imported")),
    }


def _drawn(rules: Profile) -> str:
    plain = "paired percentile bootstrap over clusters, 1,000 resamples, seed 20261006"
    return f"pct: 10,000 cluster resamples, seed 271828; others: {plain}" if rules.interval == "esen" else plain


def part(pairs: Pairs, chosen: Bools, rules: Profile, level: float) -> dict[str, Any]:
    """Everything about the pairs where ``chosen``: figures of both, differences, McNemar, agreement, drift."""
    a, b = pairs.a.correct[chosen], pairs.b.correct[chosen]
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    return {
        "pairs": int(chosen.sum()),
        "differences": _differences(pairs, chosen, rules, level),
        "mcnemar": {
            "only_a": only_a,
            "only_b": only_b,
            "both": int((a & b).sum()),
            "neither": int((~a & ~b).sum()),
            "p": mcnemar(only_a, only_b).p,
        },
        **_drift(pairs, chosen),
    }


def _drift(pairs: Pairs, chosen: Bools) -> dict[str, Any]:
    """Flips and total variation over the pairs where ``chosen``; only pairs with two valid answers are comparable."""
    both = chosen & pairs.comparable
    n = int(both.sum())
    flips = int((pairs.a.committed[both] != pairs.b.committed[both]).sum())
    same = clopper_pearson(n - flips, n) if n else None
    return {
        "asked": int(chosen.sum()),
        "comparable": n,
        "flips": flips,
        "flip_rate": flips / n if n else None,
        "agreement": None if same is None else same.estimate,
        "agreement_ci95": None if same is None else [same.low, same.high],
        "mean_tv": float(pairs.distance[both].mean()) if n else None,
        "max_tv": float(pairs.distance[both].max()) if n else None,
    }


def _differences(pairs: Pairs, chosen: Bools, rules: Profile, level: float) -> dict[str, Any]:
    both = chosen & pairs.comparable
    columns = []
    for side in (pairs.a, pairs.b):
        brier, nll = (np.where(both, values, np.nan)[chosen] for values in (side.brier, side.nll))
        columns += [side.correct[chosen] * 1.0, side.credit[chosen], brier, nll]
    draws = bootstrap_means(np.column_stack(columns), pairs.cluster[chosen])
    found: dict[str, Any] = {}
    for i, name in enumerate(FIGURES):
        scale, j = SCALE.get(name, 1.0), i + len(FIGURES)
        if np.isnan(draws.estimate[[i, j]]).any():
            found[name] = {"a": None, "b": None, "difference": None, "ci": None}
            continue
        found[name] = {
            "a": scale * float(draws.estimate[i]),
            "b": scale * float(draws.estimate[j]),
            "difference": scale * float(draws.estimate[i] - draws.estimate[j]),
            "ci": _scaled(_interval(draws, i, j, pairs, chosen, rules, level), scale),
        }
    return found


def _interval(draws: Draws, i: int, j: int, pairs: Pairs, chosen: Bools, rules: Profile, level: float) -> Interval:
    if FIGURES[i] != "pct" or rules.interval != "esen":
        return draws.difference(i, j, level)
    gap = (pairs.a.credit - pairs.b.credit)[chosen]
    return cluster_interval(list(_by_cluster(gap, pairs.cluster[chosen])), level=level)


def _by_cluster(values: Floats, cluster: Any) -> Iterator[list[float]]:
    members: dict[int, list[float]] = {}
    for name, value in zip(cluster.tolist(), values.tolist(), strict=True):
        members.setdefault(name, []).append(value)
    yield from members.values()


def _scaled(interval: Interval, scale: float) -> list[float]:
    return [scale * interval.low, scale * interval.high]


def _family(slices: dict[str, dict[str, Any]], declared: Sequence[str]) -> dict[str, Any]:
    """McNemar of every cell with Holm's correction over the declared family; an empty cell enters with p = 1."""
    known = {**slices["suite"], **slices["question"]}
    family = tuple(declared) or tuple(slices["question"])
    tested = {cell: known[cell]["mcnemar"]["p"] for cell in family if cell in known}
    adjusted = holm(family, tested)
    cells = []
    for cell in family:
        found = known.get(cell)
        row = {"cell": cell, "pairs": 0, "only_a": 0, "only_b": 0, "p": None, "holm_p": adjusted[cell]}
        if found is not None:
            row |= {"pairs": found["pairs"], **{key: found["mcnemar"][key] for key in ("only_a", "only_b", "p")}}
        cells.append(row)
    return {"declared": bool(declared), "size": len(family), "cells": cells}


def _verdict(found: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Tie (the interval of the accuracy difference holds 0), superiority, and non-inferiority where a margin is set."""
    row = found["differences"]["accuracy"]
    interval = Interval(row["difference"], row["ci"][0], row["ci"][1], asked.level)
    verdict: dict[str, Any] = {"on": "accuracy", "tie": interval.contains(0.0), "superiority": superiority(interval)}
    if asked.margin is not None:
        verdict["non_inferiority"] = {"margin": asked.margin, "verdict": non_inferiority(interval, asked.margin)}
    return verdict


def changed(pairs: Pairs) -> Iterator[dict[str, Any]]:
    """Pairs that committed to different options, or of which only one answer is valid; in A's log order."""
    table, a, b = pairs.table, pairs.a, pairs.b
    differs = (a.committed != b.committed) | (a.valid != b.valid)
    scored = table.scored
    for row in np.flatnonzero(differs).tolist():
        low, high = scored.offsets[row], scored.offsets[row + 1]
        labels = scored.labels[scored.question.codes[row]]
        right = [bool(side.correct[row]) for side in (a, b)]
        effect = {(True, False): "only A right", (False, True): "only B right", (True, True): "both right"}
        yield {
            "suite": named(table.suite, row),
            "item": named(table.unit, row),
            "question": named(table.name, row),
            "a": pairs.labels[a.committed[row]] if a.valid[row] else None,
            "b": pairs.labels[b.committed[row]] if b.valid[row] else None,
            "gold": [labels[code] for code in scored.label[low:high][scored.accepted[low:high]]],
            "effect": effect.get((right[0], right[1]), "both wrong"),
            "tv": None if np.isnan(pairs.distance[row]) else float(pairs.distance[row]),
            "reordered": bool(pairs.reordered[row]),
        }
