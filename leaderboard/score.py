"""Score a log under a profile: suites, questions, metrics, composites. Reads logs alone; no model is ever asked.

Nothing is rounded here: figures that others published must come out to the last digit.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.errors import NothingSelected, UsageError
from arena.leaderboard.capability import capability, cell_row, collect
from arena.leaderboard.golds import Regolded
from arena.leaderboard.logs import BareLog
from arena.leaderboard.profiles.composites import s1_composite
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.profiles.table import Table, tabulate
from arena.leaderboard.reliability import reliability
from arena.leaderboard.statistics import adjusted_interval, bootstrap_means, case_interval, cluster_interval
from arena.leaderboard.summary import floors_of, tiers_of
from arena.log.reader import RunReader
from arena.reliability.metrics.columns import INVALID, Floats, Scored
from arena.reliability.metrics.credit import level_credit
from arena.reliability.metrics.ece import ece
from arena.reliability.metrics.majority import majority
from arena.reliability.metrics.summary import per_item, summarise
from arena.reliability.metrics.sums import mean
from arena.tasks import domains, hardest_tier

SHORT = ("n", "valid", "coverage", "accuracy", "macro_f1", "ece", "brier", "nll", "mae", "spearman", "latency_s")
"""The metrics that also stand in each suite."""


def score(reader: RunReader, rules: Profile) -> dict[str, Any]:
    """The result of one run under ``rules``.

    Keys: ``run``, ``model``, ``protocol``, ``profile``, ``rules``, ``marks``, ``gold``, ``suites``, ``total``,
    ``metrics``, ``metrics_ci95``, ``adjusted``, ``composite``; under ``arena-v1`` also cells, capability, ceilings,
    reliability.

    Raises:
        NothingSelected: the log holds no judged decision.
        UsageError: what the profile or the gold versions forbid.
    """
    table = tabulate(reader, rules)
    if not len(table):
        raise NothingSelected(
            f"{reader.folder} holds no decision with a gold", hint=f"see: arena replay {reader.folder}"
        )
    counted = table.select(~table.failed) if rules.failed_cases == "left out" else table
    suites = [_suite(table.select(table.suite.codes == code), name, rules) for code, name in _present(table)]
    result = {
        "run": str(reader.folder),
        "model": reader.config["resolved"]["model"],
        "protocol": reader.config["resolved"]["protocol"],
        "profile": rules.name,
        "rules": rules.rules(),
        "marks": _marks(reader, table, rules),
        "gold": _gold(reader, table),
        "suites": suites,
        "total": _total(table, suites, rules),
        "metrics": figures(counted, rules),
        "metrics_ci95": _metric_intervals(counted, rules),
        **_composites(reader, table, suites, rules),
    }
    return result | (_arena(reader) if rules.name == "arena-v1" else {})


def _present(table: Table) -> list[tuple[int, str]]:
    """(code, name) of the suites, in the order of the log."""
    return list(enumerate(table.suite.names))


def case_values(table: Table, rules: Profile) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Credit of each counted case, the mean over its questions, shape (cases,), and its cluster; in log order."""
    part = table.select(~table.failed) if rules.failed_cases == "left out" else table
    return _by_case(part, part.credit)


def _by_case(table: Table, values: Floats) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    _, first, codes = np.unique(table.case.codes, return_index=True, return_inverse=True)
    means = np.bincount(codes, values) / np.bincount(codes)
    order = np.argsort(first, kind="stable")
    return means[order], table.group[first[order]]


def _percent(values: Floats) -> float | None:
    found = mean(values)
    return None if found is None else 100.0 * found


def _suite(part: Table, name: str, rules: Profile) -> dict[str, Any]:
    values, groups = case_values(part, rules)
    counted = part.select(~part.failed) if rules.failed_cases == "left out" else part
    cases = len(np.unique(part.case.codes))
    constant, _ = _by_case(part, _majority_credit(part.scored))
    found = figures(counted, rules)
    return {
        "suite": name,
        "cases": cases,
        "answered": len(np.unique(part.case.codes[~part.failed])),
        "pct": _percent(values),
        "majority_pct": _percent(constant),
        "ci95": interval_of_cases(values, groups, rules),
        "questions": questions(part, counted),
        "metrics": {key: found[key] for key in (*SHORT, "as_returned")},
    }


def interval_of_cases(values: Floats, groups: NDArray[np.intp], rules: Profile) -> list[float] | None:
    """95 % interval of 100 x the mean of case values by the profile's draws; None without a case."""
    if not len(values):
        return None
    if rules.interval == "bootstrap":
        found = bootstrap_means(values, groups).interval(0)
    elif len(np.unique(groups)) == len(groups):
        found = case_interval(values.tolist())
    else:
        order: dict[int, list[float]] = {}
        for group, value in zip(groups.tolist(), values.tolist(), strict=True):
            order.setdefault(group, []).append(value)
        found = cluster_interval(list(order.values()))
    return [100.0 * found.low, 100.0 * found.high]


def questions(part: Table, counted: Table) -> dict[str, dict[str, Any]]:
    """Per question name: ``n``, strict ``hits``, ``credit``, what the constant majority earns, and hits by gold label.

    ``by_gold``: the gold (several accepted ones joined by "|") -> n and hits: recall of a class is hits / n, a false
    alarm on a class is 1 - hits / n.
    """
    rows = {}
    for code, name in enumerate(part.name.names):
        asked, given = part.select(part.name.codes == code), counted.select(counted.name.codes == code)
        if not len(asked):
            continue
        constant = _majority_credit(asked.scored)
        rows[name] = {
            "n": len(given),
            "hits": int(given.scored.correct.sum()),
            "credit": math.fsum(given.credit),
            "valid": int(given.scored.valid.sum()),
            "majority_hits": int((constant == 1.0).sum()),
            "majority_credit": math.fsum(constant),
            "by_gold": _by_gold(given.scored),
        }
    return rows


def _by_gold(scored: Scored) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for i in range(len(scored)):
        low, high = scored.offsets[i], scored.offsets[i + 1]
        labels = scored.labels[scored.question.codes[i]]
        name = "|".join(sorted(labels[code] for code in scored.label[low:high][scored.accepted[low:high]]))
        row = found.setdefault(name, {"n": 0, "hits": 0})
        row["n"] += 1
        row["hits"] += int(scored.correct[i])
    return dict(sorted(found.items()))


def _majority_credit(scored: Scored) -> Floats:
    """What the constant majority answer of each question earns at each decision, shape (n,)."""
    credit = np.zeros(len(scored))
    for code in np.unique(scored.question.codes):
        rows = np.flatnonzero(scored.question.codes == code)
        part = scored.select(scored.question.codes == code)
        best = majority(int(part.kind[0]), part.accepted, part.label, part.offsets)
        assert best is not None
        sizes = part.options
        decision, offered = np.repeat(np.arange(len(part)), sizes), part.label == best.label
        committed = np.full(len(part), INVALID, dtype=np.int64)
        committed[decision[offered]] = np.flatnonzero(offered) - part.offsets[:-1][decision[offered]]
        right = np.zeros(len(part), dtype=np.bool_)
        right[decision[offered & part.accepted]] = True
        credit[rows] = level_credit(part.kind, committed, right, part.accepted, part.offsets)
    return credit


def _total(table: Table, suites: list[dict[str, Any]], rules: Profile) -> dict[str, Any]:
    """All cases of all suites together; the majority is each suite's own."""
    values, groups = case_values(table, rules)
    merged: dict[str, dict[str, Any]] = {}
    for suite in suites:
        for name, row in suite["questions"].items():
            into = merged.setdefault(name, {key: 0 for key in row if key != "by_gold"} | {"by_gold": {}})
            for key, value in row.items():
                if key != "by_gold":
                    into[key] += value
            for gold, counts in row["by_gold"].items():
                cell = into["by_gold"].setdefault(gold, {"n": 0, "hits": 0})
                cell["n"], cell["hits"] = cell["n"] + counts["n"], cell["hits"] + counts["hits"]
    cases = sum(suite["cases"] for suite in suites)
    return {
        "cases": cases,
        "answered": sum(suite["answered"] for suite in suites),
        "pct": _percent(values),
        "majority_pct": sum(suite["majority_pct"] * suite["cases"] for suite in suites) / cases,
        "ci95": interval_of_cases(values, groups, rules),
        "questions": merged,
    }


def figures(table: Table, rules: Profile) -> dict[str, Any]:
    """All metrics of protocol 3 over the table's decisions; ``as_returned``: the three that depend on it, computed on
    the probabilities exactly as the model returned them."""
    found = asdict(summarise(table.scored, rules.conventions))
    del found["conventions"]
    raw = table.as_returned
    if raw is table.scored or rules.probabilities == "returned":
        found["as_returned"] = {key: found[key] for key in ("brier", "ece", "nll")}
        return found
    items = per_item(raw, rules.conventions)
    found["as_returned"] = {
        "brier": mean(items["brier"][raw.valid]),
        "ece": ece(raw.confidence[raw.valid], raw.correct[raw.valid], rules.conventions.bins, rules.conventions.edges),
        "nll": mean(items["nll"][raw.valid]),
    }
    return found


def _metric_intervals(table: Table, rules: Profile) -> dict[str, list[float]] | None:
    """95 % intervals of accuracy, Brier and NLL by cluster; None under the draws of ``esen``, which has none."""
    if rules.interval == "esen" or not len(table):
        return None
    columns = per_item(table.scored, rules.conventions)
    names = [name for name, values in columns.items() if not np.isnan(values).all()]
    draws = bootstrap_means(np.column_stack([columns[name] for name in names]), table.group)
    found = {name: draws.interval(i) for i, name in enumerate(names)}
    return {name: [each.low, each.high] for name, each in found.items()}


def _composites(reader: RunReader, table: Table, suites: list[dict[str, Any]], rules: Profile) -> dict[str, Any]:
    """``adjusted`` and ``composite`` with their parts; None where the profile has none."""
    result: dict[str, Any] = {"adjusted": None, "adjusted_ci95": None, "composite": None, "composite_parts": None}
    if rules.adjusted:
        phases = []
        for (code, _), suite in zip(_present(table), suites, strict=True):
            if suite["answered"] == suite["cases"]:
                values, _ = case_values(table.select(table.suite.codes == code), rules)
                phases.append((values.tolist(), suite["majority_pct"]))
        found = adjusted_interval(phases)
        if found is not None:
            result |= {"adjusted": found.estimate, "adjusted_ci95": [found.low, found.high]}
        result["complete_suites"] = len(phases)
    if rules.composite == "s1-v1":
        probes = (reliability(reader) or {}).get("probes") or {}
        pooled = s1_composite([suite["metrics"] for suite in suites], probes.get("robustness"))
        for suite in suites:
            alone = s1_composite([suite["metrics"]], None)
            suite["composite"] = None if alone is None else alone["score"]
        result |= {"composite": None if pooled is None else pooled["score"], "composite_parts": pooled}
    return result


def _marks(reader: RunReader, table: Table, rules: Profile) -> list[str]:
    """What a reader must know of the row: imported, limited, unfinished, cases left out."""
    marks = []
    if reader.config.get("imported"):
        marks.append("imported")
    if reader.config.get("limited"):
        marks.append("limited")
    inner = reader.inner if isinstance(reader, Regolded) else reader
    if not isinstance(inner, BareLog) and not inner.finished:
        marks.append("unfinished")
    failed = len(np.unique(table.case.codes[table.failed]))
    if failed and rules.failed_cases == "left out":
        marks.append(f"* {failed} case{'s' if failed > 1 else ''} with a request error left out")
    marks += [f"{count} decisions left out: {why}" for why, count in table.left_out.items()]
    dropped = (reader.config.get("imported") or {}).get("left_out") or []
    if dropped:
        marks.append(f"{len(dropped)} rows of the source left out on import")
    if isinstance(reader, Regolded) and reader.changes.missing:
        lost = reader.changes
        marks.append(f"{lost.missing} decisions have no gold in {reader.golds.version} (first: {lost.first_missing})")
    return marks


def _gold(reader: RunReader, table: Table) -> dict[str, Any]:
    """Gold version of each suite, and where it comes from."""
    golds = reader.golds if isinstance(reader, Regolded) else None
    return {
        "versions": dict(sorted(table.gold.items())),
        "source": "the log" if golds is None else golds.source,
        "sha256": None if golds is None else golds.sha256,
    }


def _arena(reader: RunReader) -> dict[str, Any]:
    """C, cells, ceilings and S, N, R by protocol 4 and 5, by the functions of the run's own summary."""
    cells = collect(reader.rows(), reader.episode_rows())
    rows = [
        cell_row(cells[name, tier], floors_of(name, tier))
        for name in dict.fromkeys(key[0] for key in sorted(cells))
        for tier in tiers_of(name, cells)
    ]
    found = capability(cells, rows, {name: hardest_tier(name) for name in domains()})
    return {"cells": rows, **found, "reliability": reliability(reader)}


def check_shared_table(results: list[dict[str, Any]]) -> None:
    """Refuse results that may not stand in one table: other protocol, or another gold version of a suite.

    Raises:
        UsageError: names the two runs.
    """
    seen: dict[str, tuple[str, str]] = {}
    for result in results:
        for suite, version in result["gold"]["versions"].items():
            before, other = seen.setdefault(suite, (version, result["run"]))
            if before != version:
                raise UsageError(
                    f"two gold versions of {suite}: {before} ({other}) and {version} ({result['run']})",
                    hint="two gold versions never share a table: score both under one with --gold VERSION",
                )
        before, other = seen.setdefault("protocol\x1f", (result["protocol"], result["run"]))
        if before != result["protocol"]:
            raise UsageError(
                f"two protocols: {before} ({other}) and {result['protocol']} ({result['run']})",
                hint="numbers of different protocols never share a table: score them apart",
            )


__all__ = ["case_values", "check_shared_table", "figures", "interval_of_cases", "questions", "score"]
