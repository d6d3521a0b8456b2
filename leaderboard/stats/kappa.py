"""Cohen's kappa, plain and weighted: agreement of two annotators beyond chance. [S2]"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from arena.errors import UsageError

Weights = Literal["none", "linear", "quadratic"]


def kappa(first: ArrayLike, second: ArrayLike, levels: int, weights: Weights = "none") -> float | None:
    """1 - observed / expected disagreement, range -1..1; None when undefined (no pair, or one level only).

    ``first``, ``second`` (n,): codes 0..levels-1. ``weights`` of a disagreement: "none" (all equal; for
    choice and noul), "linear" |i - j| or "quadratic" (i - j)^2 (for ordered levels only).

    >>> round(kappa([0, 1, 2, 2], [0, 1, 1, 2], 3, "linear"), 6)
    0.714286
    """
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if a.shape != b.shape or (a.size and not (min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < levels)):
        raise UsageError(f"kappa needs two columns of one length with codes in 0..{levels - 1}")
    if a.size == 0:
        return None
    gap = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels)))
    forms = {"none": gap > 0, "linear": gap, "quadratic": gap**2}
    if weights not in forms:
        raise UsageError(f"weights must be one of {', '.join(forms)}, found {weights!r}")
    observed = np.bincount(a * levels + b, minlength=levels * levels).reshape(levels, levels)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / a.size
    disagreement = float((forms[weights] * expected).sum())
    return 1.0 - float((forms[weights] * observed).sum()) / disagreement if disagreement > 0 else None
