"""Majority baseline: the best constant answer, taken on the test set itself. [S2]"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Bools, Ints
from arena.reliability.metrics.credit import level_credit


@dataclass(frozen=True, slots=True)
class Majority:
    """``label``: the constant answer (a label code); ``hits`` of ``n`` it gets right; ``credit`` it earns."""

    label: int
    hits: int
    credit: float
    n: int


def majority(kind: int, accepted: Bools, label: Ints, offsets: Ints) -> Majority | None:
    """The most frequently accepted label of one question, scored over its n decisions; None when n = 0.

    ``kind`` of the question; ``accepted`` (m,) and ``label`` (m,) per option. A tie goes to the label that
    is gold first in the file, which matters only for partial credit. A decision that does not offer the
    label is wrong. ``credit`` of a score counts a level off by one as 0.5.

    >>> majority(0, np.array([1, 0, 1, 0, 0, 1], bool), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 2, 4, 6]))
    Majority(label=0, hits=2, credit=2.0, n=3)
    """
    n = len(offsets) - 1
    if n == 0:
        return None
    golds = label[accepted]
    counts = np.bincount(golds)
    winner = int(golds[np.argmax(counts[golds])])  # argmax: the first of the most frequent
    sizes = np.diff(offsets)
    rows = np.repeat(np.arange(n), sizes)
    offered = label == winner
    committed = np.full(n, -1, dtype=np.int64)
    committed[rows[offered]] = np.flatnonzero(offered) - offsets[:-1][rows[offered]]
    right = np.zeros(n, dtype=np.bool_)
    right[rows[offered & accepted]] = True
    credit = level_credit(np.full(n, kind), committed, right, accepted, offsets)
    return Majority(winner, int(right.sum()), math.fsum(credit), n)
