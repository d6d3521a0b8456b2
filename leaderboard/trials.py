"""pass^k: how surely an episode is won again and again, over trials that differ in fixture and option order.

Of a task that was won in c of n trials, C(c, k) / C(n, k) is the chance that k trials drawn without replacement are all
won; pass^k is its mean over the tasks (Yao et al., tau-bench, 2024). pass^1 is the mean success rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from arena.leaderboard.statistics import bootstrap_means

KS = (1, 2, 4)


def chance_all_won(won: int, trials: int, k: int) -> float:
    """C(won, k) / C(trials, k), 0..1; ``trials`` >= ``k``.

    >>> [chance_all_won(3, 4, k) for k in (1, 2, 4)]
    [0.75, 0.5, 0.0]
    """
    return comb(won, k) / comb(trials, k)


def pass_k(outcomes: Mapping[str, Sequence[bool]], groups: Mapping[str, str]) -> dict[str, Any] | None:
    """For each k with a task of k judged trials: ``rate``, ``ci95`` (bootstrap over tasks by group) and ``tasks``.

    ``outcomes``: task -> won or not, one per judged trial. ``groups``: task -> cluster. A task with fewer than k judged
    trials is left out of that k. None when no task was tried twice.
    """
    if max(map(len, outcomes.values()), default=0) < 2:
        return None
    found: dict[str, Any] = {}
    for k in KS:
        tried = [task for task in sorted(outcomes) if len(outcomes[task]) >= k]
        if tried:
            chances = [chance_all_won(sum(outcomes[task]), len(outcomes[task]), k) for task in tried]
            interval = bootstrap_means(np.array(chances), np.array([groups[task] for task in tried])).interval(0)
            ci = [interval.low, interval.high]
            found[str(k)] = {"rate": interval.estimate, "ci95": ci, "tasks": len(tried)}
    return found
