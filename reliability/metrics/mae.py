"""Mean absolute error of the expected level. [S0, S3]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats, Ints
from arena.reliability.metrics.credit import level_distance
from arena.reliability.metrics.sums import mean


def mae(expected: Floats, accepted: Bools, offsets: Ints) -> float | None:
    """mean |expected level - gold level|, range 0..L-1 (in levels); None when n = 0.

    ``expected`` (n,): sum_k k p_k. Where several levels are accepted, the nearest one counts. Valid score
    decisions only.

    >>> mae(np.array([1.5, 0.0]), np.array([0, 1, 0, 1, 0, 0], bool), np.array([0, 3, 6]))
    0.25
    """
    return mean(level_distance(expected, accepted, offsets))


def expected_level(probabilities: Floats, offsets: Ints) -> Floats:
    """sum_k k p_k per decision, shape (n,); 0 for an empty row.

    >>> expected_level(np.array([0.25, 0.5, 0.25]), np.array([0, 3]))
    array([1.])
    """
    sizes = np.diff(offsets)
    position = np.arange(len(probabilities)) - np.repeat(offsets[:-1], sizes)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    levels: Floats = np.zeros(len(sizes))
    np.add.at(levels, rows, probabilities * position)
    return levels
