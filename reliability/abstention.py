"""N, null detection, and the AUROCs beside it (protocol 5; the definition is arena's own).

Each item is asked twice with one extra option "none of the above": *intact* keeps the right option,
*removed* drops it. A model that knows a null says none on the second and not on the first. The
*implicit* contract drops the right option and offers no null: then only low confidence can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arena.reliability.metrics.columns import Bools
from arena.reliability.metrics.ranks import average_ranks


@dataclass(frozen=True, slots=True)
class NullDetection:
    """``hit``: share of ``removed`` variants committed to none; ``false``: the same share of ``intact``.

    ``n`` = clip(hit - false, 0, 1); None where a side was not asked.
    """

    hit: float | None
    false: float | None
    n: float | None
    removed: int
    intact: int


def null_detection(none_removed: Bools, none_intact: Bools) -> NullDetection:
    """N from two columns: did the model commit to none, per removed (R,) and per intact (I,) variant.

    An invalid answer is not a null: False in both columns.

    >>> null_detection(np.arange(40) < 30, np.arange(40) < 3).n
    0.675
    """
    removed, intact = len(none_removed), len(none_intact)
    hit = int(np.count_nonzero(none_removed)) / removed if removed else None
    false = int(np.count_nonzero(none_intact)) / intact if intact else None
    n = None if hit is None or false is None else min(1.0, max(0.0, hit - false))
    return NullDetection(hit, false, n, removed, intact)


def auroc(positive: ArrayLike, negative: ArrayLike) -> float | None:
    """P(positive > negative) + P(equal) / 2 over all pairs, range 0..1; None when a side is empty.

    >>> auroc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    high, low = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    n, m = len(high), len(low)
    if n == 0 or m == 0:
        return None
    ranks = average_ranks(np.concatenate([high, low]))
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def _known(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    column = np.asarray(values, dtype=np.float64)
    return column[~np.isnan(column)]


def explicit_auroc(p_none_removed: ArrayLike, p_none_intact: ArrayLike) -> float | None:
    """AUROC of p(none) for removed (R,) against intact (I,); nan = invalid answer, left out."""
    return auroc(_known(p_none_removed), _known(p_none_intact))


def implicit_auroc(confidence_removed: ArrayLike, confidence_whole: ArrayLike) -> float | None:
    """AUROC of 1 - confidence: the right option dropped (R,) against present (I,), no null offered; nan left out.

    >>> implicit_auroc([0.3, 0.4], [0.9, 0.8, float("nan")])
    1.0
    """
    return auroc(1.0 - _known(confidence_removed), 1.0 - _known(confidence_whole))
