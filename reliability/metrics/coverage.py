"""Coverage: how many of the asked decisions got a valid answer. [S0]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import Bools


def coverage(valid: Bools) -> float | None:
    """valid / asked, range 0..1; None when nothing was asked. Stands beside every figure.

    >>> coverage(np.array([True, True, False, True]))
    0.75
    """
    return int(np.count_nonzero(valid)) / len(valid) if len(valid) else None
