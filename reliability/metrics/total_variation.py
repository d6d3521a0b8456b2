"""Total variation between two answers to the same question. [S0: drift]"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arena.reliability.metrics.columns import Floats


def total_variation(first: ArrayLike, second: ArrayLike) -> Floats:
    """0.5 sum_k |p_k - p'_k| over the last axis, range 0..1; for a noul this is |p(yes) - p'(yes)|.

    Both (..., K), aligned by option (not by slot); leading axes broadcast.

    >>> total_variation([[0.7, 0.2, 0.1]], [[0.5, 0.2, 0.3]]).round(6)
    array([0.2])
    """
    gap = np.abs(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    half: Floats = 0.5 * gap.sum(axis=-1)
    return half
