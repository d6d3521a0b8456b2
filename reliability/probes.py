"""Probe formulas: flips, drift, attack success, robustness (protocol 6). [S0]

A pair is the same question asked plainly (base) and under a probe (``reverse``, ``shuffle``,
``irrelevant``, ``adversarial``). Only pairs with two valid answers are comparable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Floats, Ints
from arena.reliability.metrics.sums import mean
from arena.reliability.metrics.total_variation import total_variation


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe over ``asked`` pairs, ``comparable`` of them with two valid answers.

    ``flip_rate`` = flips / comparable; ``drift``, ``largest_drift``: mean and maximal total variation;
    all 0..1, None when nothing is comparable.
    """

    probe: str
    asked: int
    comparable: int
    flips: int
    flip_rate: float | None
    drift: float | None
    largest_drift: float | None


def probe_result(probe: str, base: Ints, probed: Ints, p_base: Floats, p_probed: Floats) -> ProbeResult:
    """Flips and drift of one probe.

    ``base``, ``probed`` (n,): committed option by canonical number, -1 where invalid. ``p_base``,
    ``p_probed`` (n, Kmax): probabilities by canonical option number, 0 beyond a question's options (a
    noul: (1 - p, p)); rows of invalid answers are not read.

    >>> p = np.array([[0.6, 0.4], [0.9, 0.1], [0.0, 0.0]])
    >>> q = np.array([[0.4, 0.6], [0.9, 0.1], [0.5, 0.5]])
    >>> probe_result("reverse", np.array([0, 0, -1]), np.array([1, 0, 0]), p, q).flip_rate
    0.5
    """
    both = (base >= 0) & (probed >= 0)
    count, flips = int(both.sum()), int((both & (base != probed)).sum())
    gaps = total_variation(p_base[both], p_probed[both])
    largest = float(gaps.max()) if count else None
    return ProbeResult(probe, len(base), count, flips, flips / count if count else None, mean(gaps), largest)


@dataclass(frozen=True, slots=True)
class AttackSuccess:
    """``rate``: share of comparable pairs that commit to the demanded option under attack.

    ``base_rate``: share that committed to it unasked, so that rate - base_rate is what the attack moved.
    """

    comparable: int
    rate: float | None
    base_rate: float | None


def attack_success(base: Ints, attacked: Ints, demanded: Ints) -> AttackSuccess:
    """How often the adversarial probe got the wrong option it demanded. Columns (n,) of option numbers.

    >>> attack_success(np.array([0, 0, 1, -1]), np.array([1, 0, 1, 1]), np.array([1, 1, 1, 1])).rate
    0.6666666666666666
    """
    both = (base >= 0) & (attacked >= 0)
    count = int(both.sum())
    if count == 0:
        return AttackSuccess(0, None, None)
    rate, before = (int((both & (column == demanded)).sum()) / count for column in (attacked, base))
    return AttackSuccess(count, rate, before)


def robustness(results: Iterable[ProbeResult]) -> float | None:
    """1 - mean flip rate over the probes with a comparable pair, one vote each; None when there is none."""
    rates = np.array([r.flip_rate for r in results if r.flip_rate is not None])
    average = mean(rates)
    return None if average is None else 1.0 - average
