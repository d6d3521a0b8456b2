"""Expected calibration error over equal-width bins. [S0, S2, S3]"""

from __future__ import annotations

import math

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats
from arena.reliability.metrics.reliability_bins import Edges, reliability_bins


def ece(confidence: Floats, right: Bools, bins: int = 10, edges: Edges = "[lo,hi)") -> float | None:
    """sum_b (n_b / n) |accuracy_b - mean confidence_b|, range 0..1; None when n = 0.

    ``confidence`` (n,) of the committed decision, 0..1; ``right`` (n,). Invalid answers are left out by
    the caller; empty bins are ignored. ``edges`` differ by source: ``[lo,hi)`` with the last bin closed
    [S0, S3], ``(lo,hi]`` with the first bin taking 0 [S2].

    >>> round(ece(np.array([0.95, 1.0]), np.array([True, False])), 12)
    0.475
    """
    if len(confidence) == 0:
        return None
    table = reliability_bins(confidence, right, bins, edges)
    filled = table.count > 0
    gaps = np.abs(table.accuracy - table.confidence)[filled]
    return math.fsum(table.count[filled] * gaps) / len(confidence)
