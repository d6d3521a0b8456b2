"""Exact tests and intervals for counts: McNemar, Clopper-Pearson, Wilson; Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from arena.errors import UsageError
from arena.leaderboard.stats.bootstrap import LEVEL, Interval


@dataclass(frozen=True, slots=True)
class McNemar:
    """``only_first`` and ``only_second``: discordant pairs; ``p``: exact two-sided, 1 when there are none."""

    only_first: int
    only_second: int
    p: float


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """Exact two-sided McNemar: p = min(1, 2 P(X <= min(b, c))), X ~ Binomial(b + c, 1/2).

    >>> mcnemar(4, 0).p
    0.125
    """
    from scipy.special import bdtr

    if only_first < 0 or only_second < 0:
        raise UsageError(f"discordant pairs are counts, found {only_first} and {only_second}")
    n = only_first + only_second
    tail = float(bdtr(float(min(only_first, only_second)), n, 0.5)) if n else 1.0
    return McNemar(only_first, only_second, min(1.0, 2.0 * tail))


def mcnemar_hits(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar on two columns (n,) of strict hits of the same items (half credit is a miss)."""
    a, b = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if a.shape != b.shape:
        raise UsageError(f"McNemar needs the same items, found {a.shape} and {b.shape}")
    return mcnemar(int((a & ~b).sum()), int((b & ~a).sum()))


def _count(hits: int, n: int) -> float:
    if not 0 <= hits <= n or n == 0:
        raise UsageError(f"a rate needs 0 <= hits <= n and n > 0, found {hits} of {n}")
    return hits / n


def clopper_pearson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Exact interval of a binomial rate (for agreement), from beta quantiles; range 0..1.

    >>> interval = clopper_pearson(918, 924); round(100 * interval.low, 2), round(100 * interval.high, 2)
    (98.59, 99.76)
    """
    from scipy.special import betaincinv

    rate, tail = _count(hits, n), (1 - level) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Interval(rate, low, high, level)


def wilson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson score interval of a rate; range 0..1.

    >>> round(100 * wilson(918, 924).high, 2)
    99.7
    """
    rate, z = _count(hits, n), NormalDist().inv_cdf((1 + level) / 2)
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return Interval(rate, low, high, level)


def holm(family: Sequence[str], p_values: Mapping[str, float | None]) -> dict[str, float]:
    """Holm-adjusted p of every member of a family declared beforehand, in the family's order.

    A member without a p value (missing or None: an empty cell) enters with p = 1, so that leaving cells
    out never makes the others look better.

    >>> holm(["a", "b", "c"], {"a": 0.01, "b": 0.04})
    {'a': 0.03, 'b': 0.08, 'c': 1.0}
    """
    strangers = sorted(set(p_values) - set(family))
    if strangers or len(set(family)) != len(family):
        raise UsageError(
            f"p values outside the declared family, or a member twice: {strangers or list(family)}",
            hint="declare the whole family before the run",
        )
    filled = {name: p_values.get(name) for name in family}
    known = {name: 1.0 if p is None else float(p) for name, p in filled.items()}
    if not all(0.0 <= p <= 1.0 for p in known.values()):
        raise UsageError(f"p values must lie in 0..1, found {known}")
    adjusted, running = {}, 0.0
    for rank, name in enumerate(sorted(family, key=lambda member: known[member])):
        running = max(running, min(1.0, (len(family) - rank) * known[name]))
        adjusted[name] = running
    return {name: adjusted[name] for name in family}
