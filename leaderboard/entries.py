"""One row of the board: a model under one identity, from one run or from several over different domains.

Runs join a row only under an identical model card, and only where their cells do not overlap; of a run from the
latency lane over cells that are there already only the latencies are taken. Every figure is computed from the logs
by the functions that the run's own summary was computed with.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.identity import digest
from arena.leaderboard.audit import Audited
from arena.leaderboard.capability import CellData, capability, cell_row
from arena.leaderboard.evidence import Evidence, calibration, confusions, gather, serial_latencies
from arena.leaderboard.flips import Flips, flips
from arena.leaderboard.reproduce import command
from arena.leaderboard.summary import floors_of, rounded, tiers_of
from arena.reliability.metrics.latency import latency
from arena.reliability.metrics.summary import summarise as metrics
from arena.tasks import domains, hardest_tier

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """``row``: what the site and the data files show (JSON). ``c_draws``: C on each bootstrap resample (B,), or None.

    ``slug`` names its files. ``evidence`` and ``flips`` are what its page is drawn from.
    """

    slug: str
    row: dict[str, Any]
    c_draws: Floats | None
    evidence: Evidence
    flips: Flips


@cache
def baseline_names() -> dict[str, frozenset[str]]:
    """``baselines`` and ``degenerate``: model names, from ``baselines.toml``."""
    table = tomllib.loads(Path(__file__).with_name("baselines.toml").read_text("utf-8"))
    return {key: frozenset(names) for key, names in table.items()}


@dataclass(frozen=True, slots=True)
class Bundle:
    """The runs of one row: those that give its figures, and those that give only latencies."""

    runs: tuple[Audited, ...]
    latency_only: tuple[Audited, ...] = ()


def bundles(audited: Iterable[Audited]) -> list[Bundle]:
    """Sort runs into rows."""
    by_card: dict[str, list[Audited]] = {}
    for one in audited:
        by_card.setdefault(digest(one.resolved["model_card"], 64), []).append(one)
    found: list[Bundle] = []
    for group in by_card.values():
        group.sort(key=lambda one: (one.resolved["lane"] == "latency", one.reader.config["started_at"], _name(one)))
        rows: list[tuple[list[Audited], list[Audited]]] = []
        for one in group:
            free = next((row for row in rows if _joins(row[0], one)), None)
            if free is not None:
                free[0].append(one)
            elif one.resolved["lane"] == "latency" and (row := next((r for r in rows if _covers(r[0], one)), None)):
                row[1].append(one)
            else:
                rows.append(([one], []))
        found += [Bundle(tuple(runs), tuple(late)) for runs, late in rows]
    return found


def _name(one: Audited) -> str:
    return str(one.reader.config["run"])


def _covers(runs: Sequence[Audited], one: Audited) -> bool:
    return one.cells <= frozenset().union(*(run.cells for run in runs))


def _joins(runs: Sequence[Audited], one: Audited) -> bool:
    """Different domains, and at most one of the runs measured reliability: two such figures cannot be added up."""
    taken = {name for run in runs for name, _ in run.cells}
    measured = sum(run.summary["reliability"] is not None for run in [*runs, one])
    return not taken & {name for name, _ in one.cells} and measured <= 1


def build_entry(bundle: Bundle, slug: str, name: str) -> Entry:
    """The row of a bundle, every figure computed from its logs."""
    runs = bundle.runs
    evidence = gather([run.reader for run in runs])
    hardest = {each: hardest_tier(each) for each in domains()}
    cells = _cell_rows(evidence.cells)
    drawn = _c_draws(evidence.cells, cells, hardest)
    figures = rounded(asdict(metrics(evidence.scored))) if len(evidence.scored) else {}
    model, card = runs[0].resolved["model"], runs[0].resolved["model_card"]
    reliability = next((run.summary["reliability"] for run in runs if run.summary["reliability"] is not None), None)
    row = {
        "name": name,
        "slug": slug,
        "model": model,
        "version": card["version"],
        "model_versions": sorted({version for run in runs for version in run.summary["model_versions"]}),
        "model_card": card,
        "supervised": card["trained_on"],
        "verified": card["verified"],
        "baseline": model in baseline_names()["baselines"],
        "degenerate": model in baseline_names()["degenerate"],
        "imported": any(run.imported is not None for run in runs),
        "canary": next((run.summary["canary"] for run in runs if run.summary["canary"] is not None), None),
        "partial": sorted({f"{_name(run)}: {fault}" for run in runs for fault in run.faults}),
        **rounded(capability(evidence.cells, cells, hardest)),
        "cells": rounded(cells),
        "reliability": reliability,
        "validity": rounded(evidence.counts["valid"] / evidence.counts["decisions"]),
        "decisions": evidence.counts["decisions"],
        "coverage": figures.get("coverage"),
        "metrics": figures,
        "latency_s": rounded(_latency(bundle, evidence)),
        "cost_usd": figures["cost"]["usd"] if figures else None,
        "date": max(run.reader.config["started_at"] for run in runs),
        "protocol": runs[0].resolved["protocol"],
        "gold_versions": evidence.gold_versions,
        "calibration": rounded(calibration(evidence.scored)),
        "confusions": confusions(evidence.scored),
        "runs": [_run_row(run, False) for run in runs] + [_run_row(run, True) for run in bundle.latency_only],
        "ties": "",
        "front": False,
    }
    return Entry(slug, row, drawn, evidence, flips([run.reader for run in runs]))


def _cell_rows(cells: Mapping[tuple[str, str], CellData]) -> list[dict[str, Any]]:
    names = sorted({name for name, _ in cells})
    keys = [(name, tier) for name in names for tier in tiers_of(name, cells)]
    return [cell_row(cells[key], floors_of(*key)) for key in keys]


def _c_draws(
    cells: Mapping[tuple[str, str], CellData], rows: Iterable[Mapping[str, Any]], hardest: Mapping[str, str]
) -> Floats | None:
    """C on every resample (B,), by the formula of ``capability``; None while a domain is pending.

    Resamples depend on the number of clusters alone, so the draws of two models over the same units are paired.
    """
    by_cell = {(row["domain"], row["tier"]): row for row in rows}
    drawn = []
    for name, tier in hardest.items():
        row = by_cell.get((name, tier))
        draws = cells[name, tier].draws() if row is not None and row["skill"] is not None else None
        if row is None or draws is None:
            return None
        drawn.append(np.clip((draws.values[:, 0] - row["floor"]) / (1.0 - row["floor"]), 0.0, 1.0))
    mean: Floats = 100.0 * np.mean(drawn, axis=0)
    return mean if drawn else None


def _latency(bundle: Bundle, evidence: Evidence) -> dict[str, float | None]:
    extra = serial_latencies([run.reader for run in bundle.latency_only])
    return latency(np.concatenate([evidence.scored.latency_s, extra]))


def _run_row(run: Audited, latency_only: bool) -> dict[str, Any]:
    config = run.reader.config
    return {
        "run": config["run"],
        "command": None if run.imported else command(config["resolved"]),
        "imported": run.imported,
        "domains": sorted({name for name, _ in run.cells}),
        "lane": config["resolved"]["lane"],
        "latency_only": latency_only,
        "started_at": config["started_at"],
        "hardware": config["hardware"],
        "packages": config["packages"],
        "git": config["git"],
        "config": digest(config["resolved"], 64),
    }


def named(bundles: Sequence[Bundle]) -> list[tuple[str, str]]:
    """(slug, name) of each bundle, unique: where two rows share a model's name, version or run tell them apart."""
    cards = [bundle.runs[0].resolved["model_card"] for bundle in bundles]
    names = [str(card["name"]) for card in cards]
    for tell in ([str(card["version"]) for card in cards], [_name(bundle.runs[0])[-8:] for bundle in bundles]):
        twice = {name for name in names if names.count(name) > 1}
        names = [f"{name} ({mark})" if name in twice and mark else name for name, mark in zip(names, tell, strict=True)]
    slugs: list[str] = []
    for name in names:
        base = re.sub(r"[^a-z0-9.]+", "-", name.lower())[:60].strip("-.") or "model"
        slug, n = base, 2
        while slug in slugs:
            slug, n = f"{base}-{n}", n + 1
        slugs.append(slug)
    return list(zip(slugs, names, strict=True))
