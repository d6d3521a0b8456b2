"""Average ranks: the base of Spearman's rho and of the AUROC."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arena.reliability.metrics.columns import Floats


def average_ranks(values: ArrayLike) -> Floats:
    """Ranks 1..n of ``values`` (n,); equal values share the mean of the ranks they take.

    >>> average_ranks([10, 30, 20, 20])
    array([1. , 4. , 2.5, 2.5])
    """
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2.0)[inverse]
    return ranks
