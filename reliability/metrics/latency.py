"""Latency percentiles, from the client clock of the serial lane. [S0]"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from arena.reliability.metrics.columns import Floats

Method = Literal["linear", "nearest-rank"]
"""``linear``: position h = (n - 1) q between order statistics. ``nearest-rank``: the ceil(q n)-th one."""


def percentile(values: Floats, share: float, method: Method = "linear") -> float | None:
    """The ``share`` (0..1) percentile of ``values`` (n,), in their unit; None when n = 0.

    ``linear`` is numpy's default definition, computed as (1 - f) a + f b: this form reproduces published
    percentiles to the last digit, where numpy's own differs by one unit in the last place.

    >>> percentile(np.array([1.0, 2.0, 4.0]), 0.95), percentile(np.array([1.0, 2.0, 4.0]), 0.5, "nearest-rank")
    (3.8, 2.0)
    """
    if not 0 <= share <= 1 or method not in ("linear", "nearest-rank"):
        raise ValueError(f"share in 0..1 and a known method expected, found {share} and {method!r}")
    n = len(values)
    if n == 0:
        return None
    if method == "nearest-rank":
        rank = max(1, math.ceil(share * n)) - 1
        return float(np.partition(values, rank)[rank])
    position = (n - 1) * share
    low = math.floor(position)
    high, part = min(low + 1, n - 1), position - low
    ordered = np.partition(values, [low, high])
    return float(ordered[low]) * (1 - part) + float(ordered[high]) * part


def latency(seconds: Floats, method: Method = "linear") -> dict[str, float | None]:
    """p50, p95 and p99 of the known latencies (nan = unknown), in seconds; None when there are none.

    >>> latency(np.array([1.0, 2.0, 3.0, np.nan]))["p50"]
    2.0
    """
    known = seconds[~np.isnan(seconds)]
    return {f"p{q}": percentile(known, q / 100, method) for q in (50, 95, 99)}
