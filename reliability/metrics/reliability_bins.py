"""Reliability bins: confidence against accuracy in equal-width bins. [S0, S2, S3]"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats, Ints

Edges = Literal["[lo,hi)", "(lo,hi]"]
"""``[lo,hi)``: the last bin also takes 1. ``(lo,hi]``: the first bin also takes 0."""


@dataclass(frozen=True, slots=True)
class ReliabilityBins:
    """Per bin, shape (B,): ``count``, mean ``confidence`` and ``accuracy`` (nan where a bin is empty).

    ``low`` and ``high`` are the bin edges; ``edges`` says which end is closed.
    """

    edges: Edges
    low: Floats
    high: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats


def bin_index(confidence: Floats, bins: int = 10, edges: Edges = "[lo,hi)") -> Ints:
    """The bin 0..B-1 of each confidence (n,). Edges are k / B as doubles, compared exactly.

    >>> bin_index(np.array([0.0, 0.1, 0.3, 1.0])), bin_index(np.array([0.0, 0.1, 0.3, 1.0]), edges="(lo,hi]")
    (array([0, 1, 3, 9]), array([0, 0, 2, 9]))
    """
    if edges not in get_args(Edges):
        raise ValueError(f"edges must be one of {get_args(Edges)}, found {edges!r}")
    if not np.all((confidence >= 0) & (confidence <= 1)):  # also False for nan
        raise ValueError("confidence must be a number in 0..1: leave invalid answers out")
    inner = np.arange(1, bins) / bins
    return np.searchsorted(inner, confidence, side="right" if edges == "[lo,hi)" else "left")


def reliability_bins(confidence: Floats, right: Bools, bins: int = 10, edges: Edges = "[lo,hi)") -> ReliabilityBins:
    """Count, mean confidence and accuracy of each bin; ``confidence`` (n,), ``right`` (n,), valid only.

    Confidences are summed in row order, as the published figures were.

    >>> reliability_bins(np.array([0.95, 1.0]), np.array([True, False])).count
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
    """
    index = bin_index(confidence, bins, edges)
    count = np.bincount(index, minlength=bins)
    filled, empty = count > 0, np.full(bins, np.nan)
    mean = np.divide(np.bincount(index, confidence, bins), count, out=empty.copy(), where=filled)
    hits = np.divide(np.bincount(index, right, bins), count, out=empty.copy(), where=filled)
    grid = np.arange(bins + 1) / bins
    return ReliabilityBins(edges, grid[:-1], grid[1:], count, mean, hits)
