"""Selective prediction at fixed confidence thresholds. [S0, S3]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats

THRESHOLDS = (0.50, 0.60, 0.70, 0.80, 0.90, 0.95)


@dataclass(frozen=True, slots=True)
class Selected:
    """What stands at one threshold.

    ``coverage`` = accepted / asked; ``accuracy`` among the accepted; ``risk`` = 1 - accuracy, None when
    nothing is accepted.
    """

    threshold: float
    accepted: int
    coverage: float | None
    accuracy: float | None
    risk: float | None


def selective_table(
    confidence: Floats,
    right: Bools,
    thresholds: Sequence[float] = THRESHOLDS,
    when_empty: float | None = None,
) -> tuple[Selected, ...]:
    """One row per threshold t: the decisions with confidence >= t are accepted.

    ``confidence`` (n,) holds nan for invalid answers, which are asked but never accepted. ``when_empty``:
    the accuracy when nothing is accepted: None (undefined), or 0 in profile ``foundation``.

    >>> selective_table(np.array([0.9, 0.6, np.nan]), np.array([True, False, False]), [0.6, 0.95])[0]
    Selected(threshold=0.6, accepted=2, coverage=0.6666666666666666, accuracy=0.5, risk=0.5)
    """
    asked, rows = len(confidence), []
    for threshold in thresholds:
        taken = confidence >= threshold  # nan compares False
        count, hits = int(np.count_nonzero(taken)), int(np.count_nonzero(right & taken))
        accuracy = hits / count if count else when_empty
        risk = (count - hits) / count if count else None
        rows.append(Selected(threshold, count, count / asked if asked else None, accuracy, risk))
    return tuple(rows)
