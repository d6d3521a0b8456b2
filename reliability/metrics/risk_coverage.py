"""Risk-coverage curve: error rate among the most confident 10 %..100 %. [S0]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """The ``kept`` most confident decisions: ``coverage`` = nominal share, ``risk`` = their error rate 0..1."""

    coverage: float
    kept: int
    risk: float


def risk_coverage(confidence: Floats, right: Bools, steps: int = 10) -> tuple[RiskPoint, ...]:
    """The points at 1/steps, 2/steps .. 1 of the n asked decisions; empty when n = 0.

    ``confidence`` (n,) is nan for invalid answers: they rank last and are wrong. kept = ceil(share n).
    Where the cut falls among equal confidences, that block enters with its mean accuracy, so the curve
    does not depend on the order of the rows.

    >>> [(p.kept, p.risk) for p in risk_coverage(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 1, 0, 0], bool), 4)]
    [(1, 0.0), (2, 0.25), (3, 0.3333333333333333), (4, 0.5)]
    """
    n = len(confidence)
    if n == 0:
        return ()
    rank = np.where(np.isnan(confidence), -np.inf, confidence)
    _, block = np.unique(-rank, return_inverse=True)
    sizes, hits = np.bincount(block), np.bincount(block, right & ~np.isnan(confidence))
    before = np.concatenate([[0], np.cumsum(sizes)])
    hits_before = np.concatenate([[0.0], np.cumsum(hits)])
    points = []
    for step in range(1, steps + 1):
        kept = -(-step * n // steps)
        cut = int(np.searchsorted(before, kept, side="left")) - 1
        inside = hits_before[cut] + (kept - before[cut]) * hits[cut] / sizes[cut]
        points.append(RiskPoint(step / steps, kept, float(kept - inside) / kept))
    return tuple(points)
