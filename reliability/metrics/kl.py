"""Kullback-Leibler divergence from a soft label. [A]"""

from __future__ import annotations

import numpy as np

from arena.reliability.metrics.columns import Floats, Ints
from arena.reliability.metrics.nll import FLOOR
from arena.reliability.metrics.sums import row_sums


def kl_per_item(probabilities: Floats, distribution: Floats, offsets: Ints, floor: float = FLOOR) -> Floats:
    """sum_k q_k ln(q_k / max(p_k, floor)) per decision, shape (n,), in nats; 0 where q = p.

    ``distribution`` q (m,) is the label distribution, ``probabilities`` p (m,) the answer; a term with
    q_k = 0 is 0. Decisions with a soft label and a valid answer only.

    >>> kl_per_item(np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([0, 2])).round(6)
    array([0.693147])
    """
    some = distribution > 0
    ratio = np.divide(distribution, np.maximum(probabilities, floor), out=np.ones_like(distribution), where=some)
    return row_sums(np.where(some, distribution * np.log(ratio), 0.0), offsets)
