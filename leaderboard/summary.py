"""A run's summary, computed from its log alone; the runner writes it and publishing computes it again.

Floats are rounded to twelve significant digits: a summary must not depend on the order in which answers came in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from arena.leaderboard.capability import MAX_INFRA_RATE, capability, cell_row, collect, counts_for_capability
from arena.leaderboard.reliability import reliability
from arena.leaderboard.rows import metric_row
from arena.log.reader import Row, RunReader
from arena.reliability.metrics.rows import from_rows
from arena.reliability.metrics.summary import summarise as metrics
from arena.tasks import domain, domains, hardest_tier
from arena.tasks.floors import episode_floors

DIGITS = 12
MAX_BAD_SHARE = 0.05
"""Above this share of failed calls or invalid answers a finished run ends with exit code 1."""


class _Counts:
    """Counts that need no columns, taken while rows stream by."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.versions: set[str] = set()

    def watch(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self.total["decisions"] += 1
            for name in ("valid", "renormalized", "cached"):
                self.total[name] += bool(row[name])
            self.outcomes[row["outcome"]] += 1
            if not row["valid"]:
                self.reasons[str(row["invalid_reason"])[:80]] += 1
            if row["model_version"]:
                self.versions.add(row["model_version"])
            yield row


def summarise(reader: RunReader) -> dict[str, Any]:
    """Cells, capability, metrics and counts of a run. Streams the log twice; holds columns only."""
    header, counts = reader.config, _Counts()
    resolved = header["resolved"]
    cells = collect(counts.watch(reader.rows()), reader.episode_rows())
    rows = []
    for name in dict.fromkeys(key[0] for key in sorted(cells)):
        for tier in tiers_of(name, cells):
            rows.append(cell_row(cells[name, tier], floors_of(name, tier)))
    scored = from_rows(metric_row(row) for row in reader.rows() if counts_for_capability(row))
    decisions = counts.total["decisions"]
    bad = decisions - counts.total["valid"]
    plays = sum(row.get("plays", 0) for row in rows)
    infra = round(sum(row.get("infra_rate", 0.0) * row.get("plays", 0) for row in rows))
    summary = {
        "run": reader.folder.name,
        "protocol": resolved["protocol"],
        "model": resolved["model"],
        "model_versions": sorted(counts.versions),
        "verified": resolved["model_card"]["verified"],
        "split": resolved["split"],
        "lane": resolved["lane"],
        "canary": reader.canary,
        "limited": header["limited"],
        "imported": bool(header.get("imported")),
        "cells": rows,
        **capability(cells, rows, {name: hardest_tier(name) for name in domains()}),
        "reliability": reliability(reader),
        "metrics": asdict(metrics(scored)) if len(scored) else None,
        "counts": {
            "decisions": decisions,
            "valid": counts.total["valid"],
            "invalid": bad,
            "renormalized": counts.total["renormalized"],
            "cached": counts.total["cached"],
            "outcomes": dict(sorted(counts.outcomes.items())),
            "episode_errors": infra,
        },
        "invalid_reasons": dict(sorted(counts.reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:10]),
        "failed": (decisions > 0 and bad / decisions > MAX_BAD_SHARE) or infra > MAX_INFRA_RATE * plays,
    }
    return rounded(summary)  # type: ignore[no-any-return]


def tiers_of(name: str, cells: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The tiers of a domain that ``cells`` hold, easy to hard; of a foreign (imported) domain by name."""
    found = {tier for each, tier in cells if each == name}
    known = domain(name).tier_names if name in domains() else sorted(found)
    return tuple(tier for tier in known if tier in found)


def floors_of(name: str, tier: str) -> dict[str, float]:
    """Episode floors of a registered domain; a foreign one has none."""
    return episode_floors(name, tier) if name in domains() else {}


def rounded(value: Any) -> Any:
    """The same structure with every float rounded to twelve significant digits and tuples as lists."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return value
