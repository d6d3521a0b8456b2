"""What a logged answer says under a profile: the committed decision, its confidence, its probabilities.

Under ``gate`` the log's own verdict is taken (every runner and importer wrote it with the one gate). Under
``source`` the raw answer is read as that source reads it, so that its published totals come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

from arena.gate import number
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.rows import labels_of, probabilities_of
from arena.log.reader import Row
from arena.types import Committed


@dataclass(frozen=True, slots=True)
class Reading:
    """One valid answer. ``probabilities``: {option: p} over ``labels_of``; ``expected``: level, None if no score.

    ``gated``: the probabilities after the gate where they differ from the ones used, else None.
    """

    committed: Committed
    confidence: float
    probabilities: Mapping[str, float]
    expected: float | None = None


def returned(row: Row) -> dict[str, float] | None:
    """The probabilities as the model returned them, over ``labels_of``; None when they cannot be read."""
    raw = row["response"]
    if row["outcome"] != "ok" or not isinstance(raw, dict):
        return None
    if row["question"]["type"] == "noul":
        p = number(raw.get("noul"))
        return None if p is None or not 0.0 <= p <= 1.0 else {"false": 1.0 - p, "true": p}
    given = raw.get("probabilities")
    if not isinstance(given, dict):
        return None
    values: dict[str, float] = {}
    for label in labels_of(row["question"]):
        p = number(given.get(label))
        if p is None or p < 0.0:
            return None
        values[label] = p
    return values if fsum(values.values()) > 0.0 else None


def read(row: Row, rules: Profile) -> Reading | None:
    """The decision of a row under ``rules``; None when its answer is invalid there."""
    return _gated(row, rules) if rules.reading == "gate" else _source(row, rules)


def _gated(row: Row, rules: Profile) -> Reading | None:
    if not row["valid"]:
        return None
    answer: Mapping[str, Any] = row["answer"]
    committed, confidence = row["committed"], row["confidence"]
    probabilities = probabilities_of(row)
    if rules.probabilities == "returned" and (raw := returned(row)) is not None:
        probabilities = raw
    assert probabilities is not None
    if answer["type"] == "noul":
        committed = answer["noul"] >= rules.threshold
        if rules.threshold != 0.5:
            confidence = probabilities["true" if committed else "false"]
    elif rules.probabilities == "returned":
        confidence = min(1.0, probabilities[str(committed)])
    return Reading(committed, confidence, probabilities, answer["score"] if answer["type"] == "score" else None)


def _source(row: Row, rules: Profile) -> Reading | None:
    probabilities, raw = returned(row), row["response"]
    if probabilities is None or raw.get("type") != row["question"]["type"]:
        return None
    confidence = min(1.0, max(probabilities.values()))
    if raw["type"] == "noul":
        return Reading(probabilities["true"] >= rules.threshold, confidence, probabilities)
    if raw["type"] == "choice":
        label = raw.get("choice")
        return Reading(label, confidence, probabilities) if label in probabilities else None
    score = number(raw.get("score"))
    if score is None:
        return None
    level = min(len(probabilities) - 1, max(0, round(score)))
    return Reading(level, confidence, probabilities, score)
