"""All metrics of one set of decisions, under named conventions.

``Conventions`` holds what the sources do differently; the defaults are protocol 3 (``arena-v1``, ``s1-v1``).
``per_item`` gives the columns that the bootstrap resamples; ``summarise`` the point figures. Invalid
answers are wrong in accuracy, false negatives in F1, never accepted in selection, and left out of ECE,
Brier, NLL, KL, MAE and rho. Every summary carries the conventions it used.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from arena.reliability.metrics.accuracy import accuracy
from arena.reliability.metrics.brier import brier_esen_per_item, brier_per_item, brier_soft_per_item
from arena.reliability.metrics.columns import SCORE, Floats, Scored
from arena.reliability.metrics.cost import Cost, cost
from arena.reliability.metrics.coverage import coverage
from arena.reliability.metrics.ece import ece
from arena.reliability.metrics.kl import kl_per_item
from arena.reliability.metrics.latency import latency
from arena.reliability.metrics.macro_f1 import Absent, macro_f1
from arena.reliability.metrics.mae import mae
from arena.reliability.metrics.nll import FLOOR, nll_per_item
from arena.reliability.metrics.reliability_bins import Edges
from arena.reliability.metrics.risk_coverage import RiskPoint, risk_coverage
from arena.reliability.metrics.selective import THRESHOLDS, Selected, selective_table
from arena.reliability.metrics.slices import Slice, slice_accuracy, worst_group
from arena.reliability.metrics.spearman import spearman
from arena.reliability.metrics.sums import mean, normalised


@dataclass(frozen=True, slots=True)
class Conventions:
    """What the sources do differently.

    ``brier``: "sum" over options with the probabilities as given, or "esen" (scalar noul, others divided
    by their total). ``nll_floor``: smallest probability taken. ``selective_empty``: selective accuracy
    when nothing is accepted. ``absent_labels``: see ``macro_f1``.
    """

    bins: int = 10
    edges: Edges = "[lo,hi)"
    brier: Literal["sum", "esen"] = "sum"
    nll_floor: float = FLOOR
    selective_empty: float | None = None
    absent_labels: Absent = "zero"
    thresholds: tuple[float, ...] = THRESHOLDS

    def as_dict(self) -> dict[str, object]:
        """The conventions as they stand beside a result."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Summary:
    """Point figures of n decisions asked; None where a figure is undefined."""

    conventions: Conventions
    n: int
    valid: int
    coverage: float | None
    accuracy: float | None
    macro_f1: float | None
    ece: float | None
    brier: float | None
    nll: float | None
    mae: float | None
    spearman: float | None
    kl: float | None
    brier_soft: float | None
    selective: tuple[Selected, ...]
    risk_coverage: tuple[RiskPoint, ...]
    slices: dict[str, tuple[Slice, ...]]
    worst: dict[str, Slice | None]
    latency_s: dict[str, float | None]
    cost: Cost


def per_item(scored: Scored, conventions: Conventions | None = None) -> dict[str, Floats]:
    """``accuracy``, ``brier`` and ``nll`` per decision, each (n,); nan where a decision is left out."""
    rules = conventions or Conventions()
    given = scored if scored.valid.all() else scored.select(scored.valid)
    p, accepted, offsets = given.probabilities, given.accepted, given.offsets
    if rules.brier == "esen":
        brier = brier_esen_per_item(given.kind, p, accepted, offsets)
        nll = nll_per_item(normalised(p, offsets), accepted, offsets, rules.nll_floor)
    else:
        brier = brier_per_item(p, accepted, offsets)
        nll = nll_per_item(p, accepted, offsets, rules.nll_floor)
    columns = {"accuracy": scored.correct.astype(np.float64)}
    for name, values in (("brier", brier), ("nll", nll)):
        columns[name] = np.full(len(scored), np.nan)
        columns[name][scored.valid] = values
    return columns


def pooled_macro_f1(scored: Scored, absent: Absent = "zero") -> float | None:
    """Macro-F1 of each question over its own labels, averaged by the number of its decisions."""
    valid = scored.valid
    first = scored.offsets[:-1]
    gold = scored.label[first + scored.gold]
    predicted = np.full(len(scored), -1, dtype=np.int64)
    predicted[valid] = scored.label[first[valid] + scored.committed[valid]]
    total = 0.0
    for code, labels in enumerate(scored.labels):
        rows = scored.question.codes == code
        value = macro_f1(gold[rows], predicted[rows], len(labels), absent)
        total += (value or 0.0) * int(rows.sum())
    return total / len(scored) if len(scored) else None


def _soft(scored: Scored, floor: float) -> tuple[float | None, float | None]:
    if scored.distribution is None:
        return None, None
    has = ~np.isnan(scored.distribution[scored.offsets[:-1]])
    given = scored.select(scored.valid & has)
    assert given.distribution is not None
    columns = given.probabilities, given.distribution, given.offsets
    return mean(kl_per_item(*columns, floor)), mean(brier_soft_per_item(*columns))


def summarise(scored: Scored, conventions: Conventions | None = None) -> Summary:
    """Every metric of protocol 3 over the decisions of ``scored``."""
    rules = conventions or Conventions()
    valid, confidence, right = scored.valid, scored.confidence, scored.correct
    columns = per_item(scored, rules)
    levels = scored.select(valid & (scored.kind == SCORE))
    kl, brier_soft = _soft(scored, rules.nll_floor)
    slices = {name: slice_accuracy(right, column) for name, column in scored.slices.items()}
    return Summary(
        conventions=rules,
        n=len(scored),
        valid=int(valid.sum()),
        coverage=coverage(valid),
        accuracy=accuracy(right),
        macro_f1=pooled_macro_f1(scored, rules.absent_labels),
        ece=ece(confidence[valid], right[valid], rules.bins, rules.edges),
        brier=mean(columns["brier"][valid]),
        nll=mean(columns["nll"][valid]),
        mae=mae(levels.expected, levels.accepted, levels.offsets),
        spearman=spearman(levels.expected, levels.gold),
        kl=kl,
        brier_soft=brier_soft,
        selective=selective_table(confidence, right, rules.thresholds, rules.selective_empty),
        risk_coverage=risk_coverage(confidence, right),
        slices=slices,
        worst={name: worst_group(rows) for name, rows in slices.items()},
        latency_s=latency(scored.latency_s),
        cost=cost(scored.cost_usd),
    )
