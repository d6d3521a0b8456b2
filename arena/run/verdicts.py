"""The verdict on a pre-registration, from the logs of its runs: passes, fails or inconclusive, with every figure used.

Pure functions of logs and the file. What cannot be judged as declared (a run that stopped, pairs that are missing,
another number of positives) is inconclusive and says why; nothing is judged on what happens to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena.leaderboard.compare import part
from arena.leaderboard.pairs import Pairs, pair
from arena.leaderboard.profiles.rules import Profile, profile
from arena.leaderboard.profiles.table import tabulate
from arena.leaderboard.statistics import (
    Interval,
    bootstrap_mean,
    clopper_pearson,
    holm,
    mcnemar,
    mcnemar_hits,
    non_inferiority,
    paired_difference,
    primacy,
    replica_stability,
    superiority,
)
from arena.log.reader import Row, RunReader
from arena.reliability.collect import Unit, collect
from arena.run.prereg import Registered, find_run

LOWER_IS_BETTER = frozenset({"brier", "nll"})
TESTED = frozenset({"accuracy", "pct"})
Found = dict[str, Any]


def verdict(registered: Registered, root: Path) -> Found:
    """Judge a pre-registration on the runs under ``root``.

    Keys: ``file``, ``sha256``, ``kind``, ``hypothesis``, ``verdict``, ``why``, ``runs``, and the figures.

    Raises:
        UsageError: a run is missing, or is not what the file declares.
    """
    says = registered.says
    runs = {arm: find_run(registered, root, arm) for arm in registered.arms()}
    open_runs = [arm for arm, reader in runs.items() if not reader.finished]
    if open_runs:
        found: Found = {
            "verdict": "inconclusive",
            "why": f"not finished: {', '.join(open_runs)} (interrupted, or ended by the stop rule)",
        }
    else:
        judges: dict[str, Callable[[Any, Mapping[str, RunReader]], Found]] = {
            "superiority": _difference,
            "non-inferiority": _difference,
            "replica-stability": _replicas,
            "primacy": _primacy,
            "alert": _alert,
            "thinking-gain": _thinking_gain,
        }
        found = judges[says.kind](says, runs)
    return {
        "file": str(registered.path),
        "sha256": registered.sha256,
        "kind": says.kind,
        "hypothesis": says.hypothesis,
        "runs": {arm: str(reader.folder) for arm, reader in runs.items()},
        **found,
    }


def overall(verdicts: Sequence[str]) -> str:
    """Passes if all pass, fails if any fails, else inconclusive."""
    if any(each == "fails" for each in verdicts):
        return "fails"
    return "passes" if all(each == "passes" for each in verdicts) else "inconclusive"


def raised(level: float, family: int) -> float:
    """The level of one interval so that all ``family`` of them hold together (Bonferroni).

    >>> round(raised(0.95, 2), 6)
    0.975
    """
    return 1.0 - (1.0 - level) / family


def _paired(runs: Mapping[str, RunReader], rules: Profile) -> tuple[Pairs, str | None]:
    """The pairs of the two arms, and why they are not all there (None: they are)."""
    first, second = (tabulate(reader, rules) for reader in runs.values())
    found = pair(first, second, rules)
    missing = found.only_a + found.only_b + found.other_question
    return found, f"{missing} decisions have no counterpart" if missing else None


def _difference(says: Any, runs: Mapping[str, RunReader]) -> Found:
    """Superiority and non-inferiority of the candidate, cell by cell."""
    rules, criteria = profile(), says.criteria
    pairs, fault = _paired(runs, rules)
    if fault:
        return {"verdict": "inconclusive", "why": fault}
    level = raised(says.level, len(criteria.family))
    cells = {cell: _chosen(pairs, cell) for cell in criteria.family}
    figures = {cell: part(pairs, chosen, rules, level) for cell, chosen in cells.items() if chosen.any()}
    adjusted = holm(criteria.family, {cell: figure["mcnemar"]["p"] for cell, figure in figures.items()})
    rows = [_cell(says, cell, figures.get(cell), adjusted[cell], level) for cell in criteria.family]
    told = overall([row["verdict"] for row in rows])
    return {
        "verdict": told,
        "why": _why(rows),
        "level_of_each": level,
        "criteria": criteria.model_dump(),
        "cells": rows,
    }


def _chosen(pairs: Pairs, cell: str) -> Any:
    if cell == "all":
        return np.ones(len(pairs), dtype=np.bool_)
    for column in (pairs.table.suite, pairs.table.scored.question):
        if cell in column.names:
            return column.codes == column.names.index(cell)
    return np.zeros(len(pairs), dtype=np.bool_)


def _cell(says: Any, cell: str, figure: Found | None, holm_p: float, level: float) -> Found:
    criteria = says.criteria
    row: Found = {"cell": cell, "holm_p": holm_p, "pairs": 0 if figure is None else figure["pairs"]}
    measured = None if figure is None else figure["differences"][criteria.metric]
    if measured is None or measured["ci"] is None:
        return {**row, "verdict": "inconclusive", "why": "no pair in this cell"}
    sign = -1.0 if criteria.metric in LOWER_IS_BETTER else 1.0
    ends = sorted(sign * bound for bound in measured["ci"])
    gain = Interval(sign * measured["difference"], ends[0], ends[1], level)
    row |= {"gain": gain.estimate, "ci": ends, "mcnemar": figure["mcnemar"] if figure else None}
    told = f"gain {gain.estimate:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"
    if says.kind == "non-inferiority":
        judged = non_inferiority(gain, criteria.margin)
        return {**row, "verdict": judged, "why": f"{told} against -{criteria.margin:g}"}
    judged = superiority(gain, criteria.margin)
    if criteria.metric in TESTED:
        told += f", Holm p {holm_p:.4g}"
        judged = "inconclusive" if judged == "passes" and holm_p >= criteria.alpha else judged
    return {**row, "verdict": judged, "why": f"{told}, margin {criteria.margin:g}"}


def _why(rows: Sequence[Found]) -> str:
    return "; ".join(f"{row['cell']}: {row['verdict']} ({row['why']})" for row in rows)


def _replicas(says: Any, runs: Mapping[str, RunReader]) -> Found:
    """Agreement of two runs over all decisions; an invalid answer agrees with nothing."""
    pairs, fault = _paired(runs, profile())
    if fault:
        return {"verdict": "inconclusive", "why": fault}
    same = pairs.comparable & (pairs.a.committed == pairs.b.committed)
    hits, n = int(same.sum()), len(pairs)
    versions = [row["model_version"] for reader in runs.values() for row in reader.rows() if row["outcome"] == "ok"]
    told = replica_stability(hits, n, versions)
    exact = clopper_pearson(hits, n)
    return {
        "verdict": {"stable": "passes", "unstable": "fails", "not evaluable": "inconclusive"}[told],
        "why": told,
        "agreements": hits,
        "decisions": n,
        "agreement": exact.estimate,
        "ci95": [exact.low, exact.high],
        "model_versions": sorted({str(version) for version in versions}),
    }


def _units(reader: RunReader) -> list[Unit]:
    return [unit for unit in collect(reader.rows(), reader.rows()) if unit.kind == "choice"]


def first_minus_last(unit: Unit) -> float:
    """Share of orders with the error of naming the first option, minus that of naming the last; -1..1."""
    signs = 0
    for answer in unit.orders.values():
        if answer.committed is not None and not answer.correct:
            signs += (answer.committed == answer.order[0]) - (answer.committed == answer.order[-1])
    return signs / len(unit.orders)


def _primacy(says: Any, runs: Mapping[str, RunReader]) -> Found:
    """Does the first place draw errors? Paired within the item, over its balanced orders."""
    units = _units(runs["run"])
    family = says.criteria.family
    cells = {cell: [unit for unit in units if cell in ("all", unit.domain)] for cell in family}
    gaps = {cell: np.array([first_minus_last(unit) for unit in chosen]) for cell, chosen in cells.items() if chosen}
    tests = {cell: mcnemar(int((gap > 0).sum()), int((gap < 0).sum())) for cell, gap in gaps.items()}
    adjusted = holm(family, {cell: test.p for cell, test in tests.items()})
    rows: list[Found] = []
    for cell in family:
        if cell not in gaps:
            rows.append({"cell": cell, "items": 0, "verdict": "inconclusive", "why": "no choice in this cell"})
            continue
        interval = bootstrap_mean(100.0 * gaps[cell], np.array([unit.cluster for unit in cells[cell]]))
        told = primacy(interval.estimate, interval, adjusted[cell])
        rows.append(
            {
                "cell": cell,
                "items": len(gaps[cell]),
                "points": interval.estimate,
                "ci95": [interval.low, interval.high],
                "more_first": tests[cell].only_first,
                "more_last": tests[cell].only_second,
                "p": tests[cell].p,
                "holm_p": adjusted[cell],
                "verdict": {"confirmed": "passes", "refuted": "fails"}.get(told, "inconclusive"),
                "why": told,
            }
        )
    return {"verdict": overall([row["verdict"] for row in rows]), "why": _why(rows), "cells": rows}


def _alert(says: Any, runs: Mapping[str, RunReader]) -> Found:
    """Hits among exactly the declared number of alerts, and false alarms among the rest."""
    criteria = says.criteria
    rows = [row for row in runs["run"].rows() if _asks_alert(row, criteria.question)]
    positives = [row for row in rows if True in row["gold"]["accepted"]]
    negatives = [row for row in rows if True not in row["gold"]["accepted"]]
    hits = sum(row["committed"] is True for row in positives)
    false = sum(row["committed"] is True for row in negatives)
    found: Found = {
        "hits": hits,
        "positives": len(positives),
        "false_positives": false,
        "negatives": len(negatives),
        "invalid": sum(not row["valid"] for row in rows),
        "criteria": criteria.model_dump(),
    }
    if len(positives) != criteria.positives:
        told = f"{len(positives)} decisions have the gold yes, {criteria.positives} were declared"
        return {"verdict": "inconclusive", "why": told, **found}
    good = hits >= criteria.hits and false <= criteria.false_positives
    told = f"{hits} of {len(positives)} alerts, {false} false alarms of {len(negatives)}"
    return {"verdict": "passes" if good else "fails", "why": told, **found}


def _asks_alert(row: Row, question: str) -> bool:
    base = row["variant"]["kind"] == "base" and row["phase"] == "teacher" and row["gold"] is not None
    return base and row["question"]["type"] == "noul" and question in ("", row["question_name"])


def _thinking_gain(says: Any, runs: Mapping[str, RunReader]) -> Found:
    """Superiority of the candidate in accuracy under the first two orders, each on its own."""
    candidate, reference = ({_key(unit): unit for unit in _units(reader)} for reader in runs.values())
    shared = sorted(candidate.keys() & reference.keys())
    if not shared or len(shared) != len(candidate) or len(shared) != len(reference):
        return {"verdict": "inconclusive", "why": f"{len(candidate)} and {len(reference)} items, {len(shared)} shared"}
    level = raised(says.level, 2)
    rows: list[Found] = []
    for order in (0, 1):
        kept = [key for key in shared if order in candidate[key].orders and order in reference[key].orders]
        hits = [np.array([bool(side[key].orders[order].correct) for key in kept]) for side in (candidate, reference)]
        clusters = np.array([candidate[key].cluster for key in kept])
        gain = paired_difference(hits[0] * 1.0, hits[1] * 1.0, clusters, level=level)
        test = mcnemar_hits(hits[0], hits[1])
        rows.append(
            {
                "cell": f"order {order}",
                "items": len(kept),
                "gain": gain.estimate,
                "ci": [gain.low, gain.high],
                "p": test.p,
                "verdict": superiority(gain, says.criteria.margin),
                "why": f"gain {gain.estimate:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]",
            }
        )
    told = overall([row["verdict"] for row in rows])
    return {"verdict": told, "why": _why(rows), "level_of_each": level, "cells": rows}


def _key(unit: Unit) -> tuple[str, str, str]:
    return unit.domain, unit.unit, unit.question
