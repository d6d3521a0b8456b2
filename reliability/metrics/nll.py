"""Negative log likelihood of the gold. [S0, S3: floor 1e-12; S2: floor 1e-6]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import Bools, Floats, Ints
from arena.reliability.metrics.sums import row_sums

FLOOR = 1e-12
FLOOR_ESEN = 1e-6


def nll_per_item(probabilities: Floats, accepted: Bools, offsets: Ints, floor: float = FLOOR) -> Floats:
    """-ln max(p, floor) per decision, shape (n,), range 0..-ln floor (in nats).

    p is the probability of the gold: the sum over the accepted options (m,). Valid decisions only.

    >>> nll_per_item(np.array([0.5, 0.5, 0.0, 1.0]), np.array([1, 0, 1, 0], bool), np.array([0, 2, 4])).round(4)
    array([ 0.6931, 27.631 ])
    """
    likelihood = row_sums(np.where(accepted, probabilities, 0.0), offsets)
    nats: Floats = -np.log(np.clip(likelihood, floor, 1.0)) + 0.0  # + 0.0: no -0.0
    return nats
