"""Verdicts from intervals and tests: non-inferiority, superiority, primacy, replica stability; tie groups.

Every verdict is a pure function of figures that were fixed before the run, so that a pre-registration can
be judged again from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from arena.errors import UsageError
from arena.leaderboard.stats.bootstrap import LEVEL, RESAMPLES, SEED, Draws, Interval, bootstrap_means

Verdict = Literal["passes", "fails", "inconclusive"]
PrimacyVerdict = Literal["confirmed", "refuted", "inconclusive"]
ReplicaVerdict = Literal["stable", "unstable", "not evaluable"]

PRIMACY_POINTS = 5.0
PRIMACY_ALPHA = 0.05
REPLICA_AGREEMENT = 0.95


def superiority(difference: Interval, margin: float = 0.0) -> Verdict:
    """Passes if the whole interval of (candidate - reference) lies above ``margin``, fails if none of it does.

    >>> superiority(Interval(0.02, 0.01, 0.03)), superiority(Interval(0.0, -0.01, 0.01))
    ('passes', 'inconclusive')
    """
    if difference.low > margin:
        return "passes"
    return "fails" if difference.high <= margin else "inconclusive"


def non_inferiority(difference: Interval, margin: float) -> Verdict:
    """Passes if the interval of (candidate - reference) lies above -margin; ``margin`` > 0, same unit.

    Fails if it lies at or below -margin: shown to be worse than allowed. Else inconclusive.

    >>> non_inferiority(Interval(-0.01, -0.018, 0.0), 0.02)
    'passes'
    """
    if margin <= 0:
        raise UsageError(f"the margin must be positive, found {margin}")
    return superiority(difference, -margin)


def primacy(points: float, interval: Interval, holm_p: float) -> PrimacyVerdict:
    """Does the option shown first draw errors? Difference of error rates, first minus last, in points. [S2]

    Confirmed at >= 5 points with the interval above 0 and Holm p < .05; refuted when the interval's upper
    end is below 5 points; else inconclusive. ``interval`` is that of ``points``, by clusters.

    >>> primacy(35.1, Interval(35.1, 20.0, 50.0), 0.009), primacy(-1.0, Interval(-1.0, -4.0, 2.0), 1.0)
    ('confirmed', 'refuted')
    """
    if points >= PRIMACY_POINTS and interval.low > 0 and holm_p < PRIMACY_ALPHA:
        return "confirmed"
    return "refuted" if interval.high < PRIMACY_POINTS else "inconclusive"


def replica_stability(agreements: int, n: int, versions: Sequence[str | None]) -> ReplicaVerdict:
    """Do two replicas of a run agree? Stable at >= 95 % of n decisions, one verified model version. [S2]

    ``versions``: the model version of every answer of both runs; one that is unknown (None or "") or
    differs makes the contrast not evaluable, whatever the agreement.

    >>> replica_stability(918, 924, ["m-1", "m-1"]), replica_stability(918, 924, ["m-1", "m-2"])
    ('stable', 'not evaluable')
    """
    if n == 0 or not versions or not all(versions) or len(set(versions)) != 1:
        return "not evaluable"
    return "stable" if agreements / n >= REPLICA_AGREEMENT else "unstable"


def pairwise(draws: Draws, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Ends (low, high), each (M, M), of the paired interval of row i minus row j."""
    rows = range(len(draws.estimate))
    ends = [[draws.difference(i, j, level) for j in rows] for i in rows]
    return np.array([[e.low for e in row] for row in ends]), np.array([[e.high for e in row] for row in ends])


def tie_groups(low: ArrayLike, high: ArrayLike) -> tuple[tuple[int, ...], ...]:
    """Maximal sets of rows that are all tied in pairs: the paired interval of each difference contains 0.

    ``low``, ``high`` (M, M). A tie is not transitive, so a row may stand in several groups; every row
    stands in one. Built by insert and absorb: start with one group and split it at every real difference.
    Rows ascending within a group, groups ascending.

    >>> tie_groups([[0, -1, 2], [-3, 0, -1], [-4, -2, 0]], [[0, 3, 4], [1, 0, 2], [-2, 1, 0]])
    ((0, 1), (1, 2))
    """
    tied = (np.asarray(low) <= 0) & (np.asarray(high) >= 0)
    groups = [frozenset(range(len(tied)))] if len(tied) else []
    for i, j in zip(*np.nonzero(np.triu(~tied, 1)), strict=True):
        split: list[frozenset[int]] = []
        for group in groups:
            split += [group - {int(i)}, group - {int(j)}] if {i, j} <= group else [group]
        unique = set(split)
        groups = [group for group in unique if not any(group < other for other in unique)]
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def ties(
    values: ArrayLike, groups: ArrayLike | None = None, *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[tuple[int, ...], ...]:
    """Tie groups of M models from their per-item values (n, M) on the same items, clusters in ``groups``."""
    return tie_groups(*pairwise(bootstrap_means(values, groups, resamples=resamples, seed=seed)))
