"""Reliability of a run from its log: S, N, R with intervals, per domain and overall, and what stands beside.

Definitions are protocol 5 and 6; the formulas are in ``arena.reliability``. Intervals come from one paired
bootstrap over items (by cluster): S, N and R of a draw are computed from the same drawn items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from arena.leaderboard.statistics import bootstrap_means
from arena.log.reader import RunReader
from arena.reliability.abstention import explicit_auroc, implicit_auroc, null_detection
from arena.reliability.collect import Unit, collect, confidences, matrices, p_none, said_none
from arena.reliability.index import reliability_index
from arena.reliability.probes import attack_success, probe_result, robustness
from arena.reliability.stability import (
    accuracy_by_slot,
    accuracy_over_orders,
    chosen_slot_chi_square,
    drift_from_canonical,
    flips_from_canonical,
    item_stability,
    order_stability,
    share_stable,
)
from arena.reliability.variants import ORDERS, PROBES

PER_DOMAIN = 50


def reliability(reader: RunReader) -> dict[str, Any] | None:
    """The reliability block of a summary; None when the run measured none.

    ``partial`` names what departs from the protocol (other order count, fewer items); such a row is marked.
    """
    planned = reader.config["resolved"]["reliability"]
    if planned is None:
        return None
    units = collect(reader.rows(), reader.rows())
    choices = [unit for unit in units if unit.kind == "choice" and unit.varied]
    if not choices:
        return None
    domains = sorted({unit.domain for unit in choices})
    partial = []
    if planned["orders"] != ORDERS:
        partial.append(f"{planned['orders']} orders instead of {ORDERS}")
    if planned["per_domain"] != PER_DOMAIN:
        partial.append(f"{planned['per_domain']} items per domain instead of {PER_DOMAIN}")
    return {
        **measure(choices),
        "per_domain": {name: measure([unit for unit in choices if unit.domain == name]) for name in domains},
        "probes": _probes(units),
        "planned": planned,
        "partial": partial,
    }


def invariance(found: Mapping[str, Any], card: Mapping[str, Any]) -> str | None:
    """What became of a model's claim that option order does not matter to it; None where it makes none."""
    flips = found.get("flips")
    if not card.get("order_invariant") or not flips:
        return None
    if flips["flips"] == 0:
        return f"confirmed: no flip in {flips['comparable']} pairs"
    return f"NOT confirmed: {flips['flips']} of {flips['comparable']} pairs flip"


def measure(units: Sequence[Unit]) -> dict[str, Any]:
    """S, N, R and all side figures of a set of choice questions. Rates 0..1."""
    orders = matrices(units, [unit.orders for unit in units])
    repeats = matrices(units, [unit.repeats for unit in units])
    stable = item_stability(orders.committed, orders.options)
    removed, intact = [unit.removed for unit in units], [unit.intact for unit in units]
    hit, false = np.array(list(said_none(removed))), np.array(list(said_none(intact)))
    detected = null_detection(hit[~np.isnan(hit)] > 0, false[~np.isnan(false)] > 0)
    s = order_stability(orders.committed, orders.options)
    slots = chosen_slot_chi_square(orders.chosen_slot, orders.options)
    spread = accuracy_over_orders(orders.correct, orders.committed)
    dropped = [unit.without for unit in units]
    whole = [unit.orders[0] for unit in units]
    return {
        "S": s,
        "N": detected.n,
        "R": reliability_index(s, detected.n),
        **_intervals(stable, hit, false, [unit.cluster for unit in units]),
        "items": len(units),
        "orders": sorted({len(unit.orders) for unit in units}),
        "noise_floor": order_stability(repeats.committed, repeats.options) if repeats.committed.size else None,
        "flips": asdict(flips_from_canonical(orders.committed)),
        "drift": asdict(drift_from_canonical(orders.probabilities, orders.committed)),
        "share_stable": share_stable(orders.committed),
        "accuracy_over_orders": None if spread is None else asdict(spread),
        "accuracy_by_slot": [asdict(row) for row in accuracy_by_slot(orders.correct, orders.right_slot)],
        "chosen_slots": None
        if slots is None
        else {"counts": slots.counts.tolist(), "chi_square": slots.statistic, "dof": slots.dof, "p": slots.p},
        "null": asdict(detected),
        "auroc_explicit": explicit_auroc(list(p_none(removed)), list(p_none(intact))),
        "auroc_implicit": implicit_auroc(list(confidences(dropped)), list(confidences(whole))),
    }


def _intervals(stable: Any, hit: Any, false: Any, clusters: Sequence[str]) -> dict[str, Any]:
    """95 % intervals of S, N and R from one paired bootstrap."""
    draws = bootstrap_means(np.stack([stable, hit, false], axis=1), np.array(clusters)).values
    s = np.clip(draws[:, 0], 0.0, 1.0)
    n = np.clip(draws[:, 1] - draws[:, 2], 0.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where((s == 0) | (n == 0), 0.0, 2 * s * n / (s + n))
    found: dict[str, Any] = {}
    for name, values in (("S", s), ("N", n), ("R", r)):
        known = values[~np.isnan(values)]
        bounds = np.percentile(known, [2.5, 97.5]) if len(known) else None
        found[f"{name}_ci95"] = None if bounds is None else [float(bound) for bound in bounds]
    return found


def _probes(units: Iterable[Unit]) -> dict[str, Any] | None:
    """Flip rate and drift per probe against the base form, attack success, robustness; None without probes."""
    results, attack = [], None
    for name in PROBES:
        asked = [unit for unit in units if name in unit.probes]
        if not asked:
            continue
        base = matrices(asked, [{0: unit.orders[0]} for unit in asked])
        probed = matrices(asked, [{0: unit.probes[name][0]} for unit in asked])
        first, second = base.committed[:, 0], probed.committed[:, 0]
        results.append(probe_result(name, first, second, base.probabilities[:, 0], probed.probabilities[:, 0]))
        if name == "adversarial":
            demanded = np.array([unit.labels.index(unit.probes[name][1] or "") for unit in asked])
            attack = asdict(attack_success(first, second, demanded))
    if not results:
        return None
    return {"probes": [asdict(result) for result in results], "attack": attack, "robustness": robustness(results)}
