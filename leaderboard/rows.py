"""From log rows to the columns that metrics read: one place that knows both forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.log.reader import Row


def labels_of(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Option keys of a question in wire form, in the order shown; levels "0"..; ("false", "true")."""
    kind = question["type"]
    if kind == "choice":
        return tuple(question["criteria"])
    if kind == "score":
        return tuple(str(level) for level in range(len(question["criteria"])))
    return ("false", "true")


def probabilities_of(row: Row) -> dict[str, float] | None:
    """The valid answer's probabilities over ``labels_of``; None when the answer is invalid."""
    answer = row["answer"]
    if answer is None:
        return None
    if answer["type"] == "noul":
        return {"false": 1.0 - answer["noul"], "true": answer["noul"]}
    found: dict[str, float] = answer["probabilities"]
    return found


def cluster_of(row: Row) -> str:
    """What the bootstrap resamples: the item's group, else the item or episode itself."""
    return str(row["group"] or row["unit"])


def metric_row(row: Row) -> dict[str, Any]:
    """A decision as ``arena.reliability.metrics.rows.from_rows`` wants it. The row must have a gold.

    Latency counts only from the serial lane and never from the cache.
    """
    answer, serial = row["answer"], row["lane"] == "latency" and not row["cached"]
    return {
        "type": row["question"]["type"],
        "question": f"{row['suite']}/{row['question_name']}",
        "options": labels_of(row["question"]),
        "probabilities": probabilities_of(row),
        "committed": row["committed"],
        "confidence": row["confidence"],
        "expected": answer["score"] if answer is not None and answer["type"] == "score" else None,
        "gold": row["gold"]["accepted"],
        "label_distribution": row["gold"]["label_distribution"],
        "group": cluster_of(row),
        "slices": {
            "domain": row["domain"],
            "tier": f"{row['domain']}/{row['tier']}",
            "suite": row["suite"],
            "type": row["question"]["type"],
        },
        "latency_s": row["latency_ms"] / 1000.0 if serial and row["latency_ms"] is not None else None,
        "cost_usd": row["cost_usd"],
    }
