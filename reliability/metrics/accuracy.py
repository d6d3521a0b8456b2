"""Accuracy: the share of decisions that are right. [S0, S2, S3]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import INVALID, Bools, Ints


def correct(committed: Ints, accepted: Bools, offsets: Ints) -> Bools:
    """Which decisions are right, shape (n,): the committed option is among the accepted ones.

    ``committed`` (n,): position among the decision's options, INVALID (-1) where the answer is invalid,
    which is wrong. ``accepted`` (m,) may mark several options of a decision. ``offsets`` (n + 1,).

    >>> correct(np.array([1, 0, -1]), np.array([0, 1, 1, 1, 0, 1, 0], bool), np.array([0, 3, 5, 7]))
    array([ True,  True, False])
    """
    right = np.zeros(len(committed), dtype=np.bool_)
    valid = committed != INVALID
    right[valid] = accepted[offsets[:-1][valid] + committed[valid]]
    return right


def accuracy(right: Bools) -> float | None:
    """sum(right) / n, range 0..1; None when n = 0. ``right`` (n,) is False where the answer is invalid.

    >>> accuracy(np.array([True, False, True, True]))
    0.75
    """
    return int(np.count_nonzero(right)) / len(right) if len(right) else None
