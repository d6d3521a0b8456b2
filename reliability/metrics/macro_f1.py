"""Macro-F1: the unweighted mean of F1 over a question's labels. [S0]"""

from __future__ import annotations

from typing import Literal

import numpy as np

from arena.reliability.metrics.columns import Floats, Ints
from arena.reliability.metrics.confusion import confusion

Absent = Literal["zero", "skip"]
"""What a label counts that is neither gold nor committed anywhere: F1 of 0, or nothing."""


def f1_per_label(gold: Ints, predicted: Ints, labels: int) -> Floats:
    """F1 = 2 TP / (2 TP + FP + FN) per label, shape (L,); nan where a label occurs nowhere.

    An invalid answer (-1) is a false negative of its gold label and a false positive of none.

    >>> f1_per_label(np.array([0, 0, 1]), np.array([0, -1, 0]), 3)
    array([0.5, 0. , nan])
    """
    counts = confusion(gold, predicted, labels)
    hits = np.diagonal(counts).astype(np.float64)
    seen = counts.sum(axis=1) + counts[:, :labels].sum(axis=0)
    scores: Floats = np.full(labels, np.nan)
    np.divide(2 * hits, seen, out=scores, where=seen > 0)
    return scores


def macro_f1(gold: Ints, predicted: Ints, labels: int, absent: Absent = "zero") -> float | None:
    """Mean F1 over the question's L labels, range 0..1; None when n = 0.

    ``gold`` (n,), ``predicted`` (n,) with -1 for invalid. ``absent``: a label that occurs neither as gold
    nor as committed counts 0 (the question's labels are the question's labels) or is skipped.

    >>> macro_f1(np.array([0, 0, 1]), np.array([0, 0, 1]), 3)
    0.6666666666666666
    >>> macro_f1(np.array([0, 0, 1]), np.array([0, 0, 1]), 3, absent="skip")
    1.0
    """
    if len(gold) == 0:
        return None
    scores = f1_per_label(gold, predicted, labels)
    return float(np.nanmean(scores) if absent == "skip" else np.nan_to_num(scores).mean())
