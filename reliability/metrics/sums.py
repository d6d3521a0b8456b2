"""Sums that do not depend on the order of the rows.

Published figures are reproduced to the last digit only if the summation is named: a mean is the exactly
rounded sum (``math.fsum``) over n, and the sum over one decision's options is compensated (Neumaier),
vectorised over the decisions. Both give the same digits however rows are ordered, sharded or resumed.
"""

from __future__ import annotations

import math

import numpy as np

from arena.reliability.metrics.columns import Floats, Ints


def mean(values: Floats) -> float | None:
    """Exactly rounded sum of ``values`` (n,) over n; None when n = 0.

    >>> mean(np.array([0.1] * 10))
    0.1
    >>> mean(np.array([])) is None
    True
    """
    return math.fsum(values) / len(values) if len(values) else None


def row_sums(values: Floats, offsets: Ints) -> Floats:
    """Compensated sum of each decision's entries: ``values`` (m,), ``offsets`` (n + 1,) -> (n,).

    Neumaier's algorithm, one step per option position over all decisions at once. An empty row sums to 0.

    >>> row_sums(np.array([1.0, 1e100, 1.0, -1e100, 0.5]), np.array([0, 4, 5, 5]))
    array([2. , 0.5, 0. ])
    """
    sizes = np.diff(offsets)
    total = np.zeros(len(sizes))
    lost = np.zeros(len(sizes))
    for position in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > position)
        old, new = total[rows], values[offsets[rows] + position]
        both = old + new
        lost[rows] += np.where(np.abs(old) >= np.abs(new), (old - both) + new, (new - both) + old)
        total[rows] = both
    return total + lost


def normalised(probabilities: Floats, offsets: Ints) -> Floats:
    """Each decision's entries divided by their total (m,); a total of 0 is left as it is.

    >>> normalised(np.array([0.5, 0.49, 0.0]), np.array([0, 2, 3])).round(4)
    array([0.5051, 0.4949, 0.    ])
    """
    totals = row_sums(probabilities, offsets)
    totals[totals == 0] = 1.0
    return probabilities / np.repeat(totals, np.diff(offsets))
