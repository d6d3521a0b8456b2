"""Brier score in the forms the sources use. [S0: sum form; S2: scalar noul, divided by total]

Where several options are accepted they are one outcome: their probabilities add up to one p, which is
compared with 1. With one accepted option this is the usual formula.
"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import NOUL, Bools, Floats, Ints
from arena.reliability.metrics.sums import normalised, row_sums


def brier_per_item(probabilities: Floats, accepted: Bools, offsets: Ints) -> Floats:
    """sum_k (p_k - y_k)^2 per decision, shape (n,), range 0..2; a noul is two outcomes.

    ``probabilities`` (m,) as given: they are not divided by their sum. ``accepted`` (m,) marks at least
    one option of every decision. Take the mean with ``sums.mean``.

    >>> brier_per_item(np.array([0.7, 0.2, 0.1]), np.array([True, False, False]), np.array([0, 3])).round(6)
    array([0.14])
    """
    sizes = np.diff(offsets)
    together = row_sums(np.where(accepted, probabilities, 0.0), offsets)
    squares = np.where(accepted, 0.0, probabilities**2)
    rows = np.repeat(np.arange(len(sizes)), sizes)[accepted]
    row, first = np.unique(rows, return_index=True)
    if len(row) != len(sizes):
        raise ValueError("every decision needs an accepted option")
    squares[np.flatnonzero(accepted)[first]] = (together - 1.0) ** 2
    return row_sums(squares, offsets)


def brier_esen_per_item(kind: Ints, probabilities: Floats, accepted: Bools, offsets: Ints) -> Floats:
    """The form of profile ``esen`` [S2], shape (n,): noul (p - y)^2, range 0..1; others after division.

    ``kind`` (n,): CHOICE, SCORE or NOUL; a noul's options are (false, true).

    >>> brier_esen_per_item(np.array([2]), np.array([0.2, 0.8]), np.array([False, True]), np.array([0, 2]))
    array([0.04])
    """
    values = brier_per_item(normalised(probabilities, offsets), accepted, offsets)
    yes = offsets[:-1][kind == NOUL] + 1
    values[kind == NOUL] = (probabilities[yes] - accepted[yes]) ** 2
    return values


def brier_soft_per_item(probabilities: Floats, distribution: Floats, offsets: Ints) -> Floats:
    """sum_k (p_k - q_k)^2 against a soft label q, shape (n,), range 0..2. [A]

    >>> brier_soft_per_item(np.array([0.7, 0.3]), np.array([0.5, 0.5]), np.array([0, 2])).round(6)
    array([0.08])
    """
    return row_sums((probabilities - distribution) ** 2, offsets)
