"""Percentile bootstrap over items or clusters, paired across models (protocol 7).

A resample is a column of counts: how often each cluster was drawn. The counts depend only on the number
of clusters, the seed and the draw, so every model, metric and call sees the same resamples: that is what
makes differences paired. A mean is a ratio of cluster sums, so one resample of a million decisions is one
count and one matrix product; no index array is ever kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arena.errors import UsageError

SEED = 20261006
RESAMPLES = 1000
LEVEL = 0.95
_BATCH = 8_000_000
"""Counts held at once (64 MB): one matrix product serves several resamples."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A point ``estimate`` with its interval ``low`` .. ``high`` at confidence ``level`` (0..1)."""

    estimate: float
    low: float
    high: float
    level: float = LEVEL

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the closed interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """``estimate`` (c,) on the data and ``values`` (B, c) on the B resamples, for c columns."""

    estimate: Floats
    values: Floats

    def interval(self, column: int, level: float = LEVEL) -> Interval:
        """Percentile interval of one column; a resample in which it is undefined (nan) is left out."""
        return percentile_interval(float(self.estimate[column]), self.values[:, column], level)

    def difference(self, first: int, second: int, level: float = LEVEL) -> Interval:
        """Percentile interval of column ``first`` minus column ``second``, paired by resample."""
        values = self.values[:, first] - self.values[:, second]
        return percentile_interval(float(self.estimate[first] - self.estimate[second]), values, level)


def percentile_interval(estimate: float, values: Floats, level: float = LEVEL) -> Interval:
    """The (1 - level) / 2 and (1 + level) / 2 percentiles of ``values`` (B,), linearly interpolated.

    Raises:
        UsageError: every value is nan.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        raise UsageError("no interval: the figure is undefined in every resample")
    low, high = np.percentile(known, [50 * (1 - level), 50 * (1 + level)])
    return Interval(estimate, float(low), float(high), level)


def resample_counts(clusters: int, resamples: int = RESAMPLES, seed: int = SEED) -> Iterator[Counts]:
    """``resamples`` columns (C,) of counts, each the result of C draws with replacement from C clusters.

    >>> [int(counts.sum()) for counts in resample_counts(5, resamples=2)]
    [5, 5]
    """
    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(generator.integers(0, clusters, size=clusters), minlength=clusters)


def cluster_codes(groups: ArrayLike | None, n: int) -> tuple[NDArray[np.intp], int]:
    """Cluster number of each of n items (n,) and the number of clusters; None: every item is its own."""
    if n == 0:
        raise UsageError("nothing to resample: no decisions are left")
    if groups is None:
        return np.arange(n), n
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if codes.shape != (n,):
        raise UsageError(f"groups: expected {n} of them, found shape {codes.shape}")
    return codes, len(names)


def _cluster_sums(columns: Floats, codes: NDArray[np.intp], clusters: int) -> Floats:
    if clusters == len(columns) and np.array_equal(codes, np.arange(clusters)):
        return columns
    return np.stack([np.bincount(codes, column, clusters) for column in columns.T], axis=1)


def bootstrap_means(
    values: ArrayLike, groups: ArrayLike | None = None, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Draws:
    """Means of c columns over n items, with B = ``resamples`` paired bootstrap draws of each.

    ``values`` (n, c) or (n,): e.g. one column per model and metric; nan = the item does not count in that
    column (its mean is over the others). ``groups`` (n,): items of one group are drawn together.
    Memory beside ``values``: about two copies of it and 64 MB of counts.
    """
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    codes, clusters = cluster_codes(groups, len(table))
    known, width = ~np.isnan(table), table.shape[1]
    masks: dict[bytes, int] = {}  # columns that miss the same items share one size column
    size_of = [masks.setdefault(known[:, column].tobytes(), len(masks)) for column in range(width)]
    sizes = [known[:, size_of.index(mask)] for mask in range(len(masks))]
    sums = _cluster_sums(np.column_stack([np.where(known, table, 0.0), *sizes]), codes, clusters)

    def ratio(counts: Floats) -> Floats:
        totals = counts @ sums
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = totals[:, :width] / totals[:, width:][:, size_of]
        return means

    draws, stream = [], resample_counts(clusters, resamples, seed)
    for start in range(0, resamples, max(1, _BATCH // clusters)):
        block = np.empty((min(max(1, _BATCH // clusters), resamples - start), clusters))
        for row in block:
            row[:] = next(stream)
        draws.append(ratio(block))
    return Draws(ratio(np.ones((1, clusters)))[0], np.concatenate(draws))


def bootstrap_statistic(
    statistic: Callable[[Floats], ArrayLike],
    n: int,
    groups: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Draws:
    """Draws of any figure that can be computed from item weights (n,), on the same resamples as the means.

    ``statistic`` maps weights (how often each item was drawn; all 1 on the data itself) to one number or
    (c,) numbers, nan where undefined. For figures that are no means: macro-F1, ECE, a composite.
    """
    codes, clusters = cluster_codes(groups, n)

    def at(counts: NDArray[np.generic]) -> Floats:
        return np.atleast_1d(np.asarray(statistic(counts[codes].astype(np.float64)), dtype=np.float64))

    draws = [at(counts) for counts in resample_counts(clusters, resamples, seed)]
    return Draws(at(np.ones(clusters)), np.array(draws))


def bootstrap_mean(
    values: ArrayLike, groups: ArrayLike | None = None, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Mean of one column (n,) with its 95 % percentile interval."""
    return bootstrap_means(values, groups, resamples=resamples, seed=seed).interval(0)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Interval:
    """mean(first) - mean(second) over the same n items, with the paired percentile interval.

    ``first``, ``second`` (n,): one value per item of two models, finite (drop items that one lacks).
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not np.isfinite(a - b).all():
        raise UsageError(f"a paired difference needs the same items, all finite: {a.shape} and {b.shape}")
    return bootstrap_means(a - b, groups, resamples=resamples, seed=seed).interval(0, level)
