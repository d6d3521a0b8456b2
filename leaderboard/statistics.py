"""Statistics of protocol 7, from one import: intervals, tests, agreement, verdicts.

The parts lie in ``arena.leaderboard.stats``: ``bootstrap`` (percentile, clusters, paired), ``exact``
(McNemar, Clopper-Pearson, Wilson, Holm), ``kappa``, ``esen`` (that profile's own draws) and ``verdicts``.
Pure functions on arrays and counts; nothing here reads a log or calls a model.
"""

from __future__ import annotations

from arena.leaderboard.stats.bootstrap import (
    LEVEL,
    RESAMPLES,
    SEED,
    Draws,
    Interval,
    bootstrap_mean,
    bootstrap_means,
    bootstrap_statistic,
    cluster_codes,
    paired_difference,
    percentile_interval,
    resample_counts,
)
from arena.leaderboard.stats.esen import adjusted_interval, case_interval, cluster_interval, order_statistics
from arena.leaderboard.stats.exact import McNemar, clopper_pearson, holm, mcnemar, mcnemar_hits, wilson
from arena.leaderboard.stats.kappa import kappa
from arena.leaderboard.stats.verdicts import (
    non_inferiority,
    pairwise,
    primacy,
    replica_stability,
    superiority,
    tie_groups,
    ties,
)

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "SEED",
    "Draws",
    "Interval",
    "McNemar",
    "adjusted_interval",
    "bootstrap_mean",
    "bootstrap_means",
    "bootstrap_statistic",
    "case_interval",
    "clopper_pearson",
    "cluster_codes",
    "cluster_interval",
    "holm",
    "kappa",
    "mcnemar",
    "mcnemar_hits",
    "non_inferiority",
    "order_statistics",
    "paired_difference",
    "pairwise",
    "percentile_interval",
    "primacy",
    "replica_stability",
    "resample_counts",
    "superiority",
    "tie_groups",
    "ties",
    "wilson",
]
