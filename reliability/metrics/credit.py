"""Credit rules: what a decision earns. [S2: 1 / 0.5 / 0 by level distance; others: right or wrong]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import INVALID, SCORE, Bools, Floats, Ints


def level_distance(level: Floats | Ints, accepted: Bools, offsets: Ints) -> Floats:
    """Distance of a level (n,) to the nearest accepted level, shape (n,); inf where none is accepted.

    ``level`` may be fractional (the expected level). ``accepted`` (m,) and ``offsets`` (n + 1,).

    >>> level_distance(np.array([2.0, 0.4]), np.array([1, 0, 0, 1, 1, 0], bool), np.array([0, 3, 6]))
    array([2. , 0.4])
    """
    sizes = np.diff(offsets)
    if len(sizes) == 0:
        return np.zeros(0)
    if sizes.min() == 0:
        raise ValueError("every decision needs options")
    position = np.arange(len(accepted)) - np.repeat(offsets[:-1], sizes)
    far = np.where(accepted, np.abs(np.repeat(level, sizes) - position), np.inf)
    nearest: Floats = np.minimum.reduceat(far, offsets[:-1])
    return nearest


def exact_credit(right: Bools) -> Floats:
    """1 where right, else 0, shape (n,).

    >>> exact_credit(np.array([True, False]))
    array([1., 0.])
    """
    return right.astype(np.float64)


def level_credit(kind: Ints, committed: Ints, right: Bools, accepted: Bools, offsets: Ints) -> Floats:
    """Credit of profile ``esen``, shape (n,): a score off by 0 / 1 / more earns 1 / 0.5 / 0. [S2]

    Other kinds earn 1 or 0. An invalid answer (``committed`` = -1) earns 0.

    >>> level_credit(np.array([1, 1, 0]), np.array([1, 2, 1]), np.array([False, False, True]),
    ...              np.array([1, 0, 0, 1, 0, 0, 0, 1], bool), np.array([0, 3, 6, 8]))
    array([0.5, 0. , 1. ])
    """
    distance = level_distance(committed, accepted, offsets)
    near = np.select([distance == 0, distance == 1], [1.0, 0.5], 0.0)
    credit: Floats = np.where(kind == SCORE, near, exact_credit(right))
    credit[committed == INVALID] = 0.0
    return credit
