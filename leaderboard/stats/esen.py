"""Intervals of profile ``esen``, draw for draw. [S2]

The source resamples with Python's ``random.Random`` and takes order statistics, so the generator, the
call that draws and the index formula are part of the definition: case resamples use ``randrange``,
cluster resamples ``choices``. Kept in plain Python: the sets are small and the draws must match.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from arena.errors import UsageError
from arena.leaderboard.stats.bootstrap import LEVEL, Interval

CASE_RESAMPLES, CASE_SEED = 2000, 0
CLUSTER_RESAMPLES, CLUSTER_SEED = 10_000, 271_828


def order_statistics(draws: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """The sorted draws at floor(B a) and floor(B (1 - a)) - 1, a = (1 - level) / 2: [50] and [1949] of 2,000."""
    tail, ordered = (1 - level) / 2, sorted(draws)
    return ordered[int(len(ordered) * tail)], ordered[int(len(ordered) * (1 - tail)) - 1]


def case_interval(values: Sequence[float], resamples: int = CASE_RESAMPLES, seed: int = CASE_SEED) -> Interval:
    """Mean of per-case values (n,) with its interval: 2,000 resamples of the n cases.

    Raises:
        UsageError: no case.
    """
    if not values:
        raise UsageError("no interval: no case was answered")
    generator, n = random.Random(seed), len(values)
    draws = [sum(values[generator.randrange(n)] for _ in range(n)) / n for _ in range(resamples)]
    return Interval(sum(values) / n, *order_statistics(draws))


def cluster_interval(
    clusters: Sequence[Sequence[float]],
    resamples: int = CLUSTER_RESAMPLES,
    seed: int = CLUSTER_SEED,
    level: float = LEVEL,
) -> Interval:
    """Mean over all members with its interval: whole clusters are drawn (translations of one case).

    ``clusters``: one sequence of member values per cluster, in order of first appearance. Give paired
    differences to get a paired interval. ``level`` is raised by Bonferroni where a family demands it.
    """
    sums = [(sum(members), len(members)) for members in clusters if members]
    if not sums:
        raise UsageError("no interval: no cluster has a member")
    generator, draws = random.Random(seed), []
    for _ in range(resamples):
        drawn = generator.choices(sums, k=len(sums))
        draws.append(sum(total for total, _ in drawn) / sum(size for _, size in drawn))
    estimate = sum(total for total, _ in sums) / sum(size for _, size in sums)
    return Interval(estimate, *order_statistics(draws, level), level)


def _adjusted(percents: Sequence[float], majorities: Sequence[float]) -> float:
    skills = [(pct - base) / (100 - base) for pct, base in zip(percents, majorities, strict=True)]
    return 100 * sum(skills) / len(skills)


def adjusted_interval(
    phases: Sequence[tuple[Sequence[float], float]], resamples: int = CASE_RESAMPLES, seed: int = CASE_SEED
) -> Interval | None:
    """The *adjusted* figure with its interval, cases resampled within each phase; None without a phase.

    ``phases``: (per-case values 0..1, majority %) of every complete phase; one whose majority is 100 says
    nothing and is dropped. adjusted = mean over phases of (pct - majority) / (100 - majority) x 100.

    >>> adjusted_interval([([1.0, 1.0], 50.0), ([1.0], 100.0)]).estimate
    100.0
    """
    kept = [(values, base) for values, base in phases if base < 100]
    if not kept:
        return None
    bases = [base for _, base in kept]
    generator, draws = random.Random(seed), []
    for _ in range(resamples):
        percents = []
        for values, _ in kept:
            n = len(values)
            percents.append(100 * sum(values[generator.randrange(n)] for _ in range(n)) / n)
        draws.append(_adjusted(percents, bases))
    estimate = _adjusted([100 * sum(values) / len(values) for values, _ in kept], bases)
    return Interval(estimate, *order_statistics(draws))
