"""Confusion counts: which label was committed where which was right. [A]"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arena.reliability.metrics.columns import INVALID, Ints


def confusion(gold: Ints, predicted: Ints, labels: int) -> NDArray[np.int64]:
    """Counts of shape (L, L + 1): row = gold label, column = committed label, last column = invalid.

    ``gold`` (n,) in 0..L-1; ``predicted`` (n,) in 0..L-1 or INVALID (-1); ``labels`` = L.

    >>> confusion(np.array([0, 0, 1, 1]), np.array([0, 1, 1, -1]), 2)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    column = np.where(predicted == INVALID, labels, predicted)
    flat = np.bincount(gold.astype(np.int64) * (labels + 1) + column, minlength=labels * (labels + 1))
    if len(flat) != labels * (labels + 1) or np.any(gold < 0):
        raise ValueError(f"labels must lie in 0..{labels - 1}")
    return flat.reshape(labels, labels + 1).astype(np.int64)
