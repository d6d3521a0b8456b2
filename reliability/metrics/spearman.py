"""Spearman's rank correlation. [S0, S2]"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arena.reliability.metrics.ranks import average_ranks


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Pearson correlation of the average ranks of two (n,) columns, range -1..1.

    None where it is undefined: fewer than two pairs, or one column constant.

    >>> spearman([1, 2, 3], [10, 30, 20])
    0.5
    >>> spearman([1, 1, 1], [1, 2, 3]) is None
    True
    """
    a, b = average_ranks(first), average_ranks(second)
    if a.shape != b.shape:
        raise ValueError(f"two columns of one length expected, found {a.shape} and {b.shape}")
    if len(a) < 2:
        return None
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale > 0 else None
