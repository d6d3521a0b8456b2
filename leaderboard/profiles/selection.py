"""Profile ``foundation``: choose backend and threshold on held-out splits, report test and ood for the chosen one. [S3]

A run has one split. Runs on ``validation``, ``calibration`` or ``dev`` are for choosing; the others are reported.
The backend of lowest NLL on the held-out decisions is chosen (ties by name); its threshold is the one of the
profile's table with the highest selective accuracy there, ties by the lower one. The source leaves both criteria
open; these are arena's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arena.errors import UsageError
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.score import check_shared_table, score
from arena.log.reader import RunReader

HELD_OUT = frozenset({"validation", "calibration", "dev"})


def score_all(readers: Sequence[RunReader], rules: Profile) -> list[dict[str, Any]]:
    """Results of all runs under ``rules``; under ``foundation`` with held-out runs, of the chosen backend alone.

    Raises:
        UsageError: results that may not share a table.
    """
    results = [score(reader, rules) for reader in readers]
    splits = [reader.config["resolved"]["split"] for reader in readers]
    held = [r for r, split in zip(results, splits, strict=True) if split in HELD_OUT]
    if rules.name != "foundation" or not held:
        check_shared_table(results)
        return results
    rest = [r for r, split in zip(results, splits, strict=True) if split not in HELD_OUT]
    return _selected(held, rest)


def _selected(held: list[dict[str, Any]], rest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    order = sorted(held, key=lambda r: (math.inf if r["metrics"]["nll"] is None else r["metrics"]["nll"], r["model"]))
    best = order[0]
    tried = [row for row in best["metrics"]["selective"] if row["accepted"]]
    top = max(tried, key=lambda row: (row["accuracy"], -row["threshold"]), default=None)
    chosen = [result for result in rest if result["model"] == best["model"]]
    if rest and not chosen:
        raise UsageError(
            f"the chosen backend {best['model']} has no test or ood run here",
            hint="evaluate it on the test split, and score both runs together",
        )
    threshold = None if top is None else top["threshold"]
    for result in chosen:
        at = [row for row in result["metrics"]["selective"] if row["threshold"] == threshold]
        result["selection"] = {
            "backend": best["model"],
            "threshold": threshold,
            "candidates": [{"model": r["model"], "run": r["run"], "nll": r["metrics"]["nll"]} for r in order],
            "at_threshold": at[0] if at else None,
            "told": f"{best['model']} of {len(order)} by NLL on held-out decisions, threshold {threshold}",
        }
    return chosen or held
