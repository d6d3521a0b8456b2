"""Cost in US dollars. [S0]"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Floats


@dataclass(frozen=True, slots=True)
class Cost:
    """``usd``: sum over the decisions whose price is known, None (blank) when none is; and how many they are."""

    usd: float | None
    priced: int
    unpriced: int


def cost(usd: Floats) -> Cost:
    """Total of ``usd`` (n,), nan where no price is set. An unknown price is never taken as 0.

    >>> cost(np.array([0.25, 0.5, np.nan])), cost(np.array([np.nan])).usd
    (Cost(usd=0.75, priced=2, unpriced=1), None)
    """
    known = usd[~np.isnan(usd)]
    return Cost(math.fsum(known) if len(known) else None, len(known), len(usd) - len(known))
