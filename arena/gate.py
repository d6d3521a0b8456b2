"""The schema gate: the one parser that says whether an answer is valid, for every backend (protocol 2).

Invalid: type mismatch; an option missing, unknown or not a finite number; a negative probability; a sum
outside [0.98, 1.02] or of 0; a choice that is not a mode; a noul outside [0, 1]; no answer at all. A sum
inside the band but off 1 by more than 1e-9 is renormalised and flagged. The band never widens.

No tie break depends on the order shown: ties go to the ascending Unicode key, or the lower level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, isfinite

from arena.types import (
    JSON,
    Choice,
    ChoiceAnswer,
    Committed,
    Noul,
    NoulAnswer,
    Score,
    ScoreAnswer,
)

SUM_LOW, SUM_HIGH = 0.98, 1.02
EXACT = 1e-9
_SLACK = 1e-12
"""Room for the rounding of the sum itself, so that a band edge written in decimals is inside the band."""


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate says of one answer.

    ``answer`` and ``committed`` and ``confidence`` are None when the answer is invalid; ``reason`` says
    why. ``confidence`` is the probability of the committed decision, 0..1 (noul: max(p, 1-p)).
    ``provider_confidence`` is stored and never scored.
    """

    valid: bool
    reason: str | None = None
    answer: ChoiceAnswer | ScoreAnswer | NoulAnswer | None = None
    committed: Committed | None = None
    confidence: float | None = None
    renormalized: bool = False
    provider_confidence: float | None = None


def number(value: JSON) -> float | None:
    """A finite number, or None. Booleans, strings, null, NaN and infinities are not numbers; -0.0 is 0."""
    if type(value) is float:
        return value + 0.0 if isfinite(value) else None
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def commit_choice(probabilities: Mapping[str, float]) -> str:
    """The mode; ties by ascending Unicode key. ``probabilities`` must not be empty."""
    top = max(probabilities.values())
    return min(key for key, p in probabilities.items() if p == top)


def commit_level(probabilities: Mapping[str, float]) -> int:
    """The most probable level; ties by the lower level. Keys are "0" .. "L-1"."""
    top = max(probabilities.values())
    return min(int(key) for key, p in probabilities.items() if p == top)


def gate(question: Choice | Score | Noul, raw: JSON) -> Gated:
    """Judge one raw answer (the JSON value under ``answers.<name>``) against its question."""
    if not isinstance(raw, dict):
        return Gated(False, "no answer" if raw is None else f"answer is {_kind(raw)}, not an object")
    if raw.get("type") != question.type:
        return Gated(False, f"type {raw.get('type')!r} for a {question.type} question")
    provider = number(raw.get("confidence"))
    if isinstance(question, Noul):
        return _noul(raw, provider)
    values, reason = _distribution(question.labels(), raw.get("probabilities"))
    if values is None:
        return Gated(False, reason, provider_confidence=provider)
    if isinstance(question, Choice) and (reason := _not_a_mode(raw.get("choice"), values)):
        return Gated(False, reason, provider_confidence=provider)
    total = fsum(values.values())
    renormalized = abs(total - 1.0) > EXACT
    probabilities = {label: p / total for label, p in values.items()} if renormalized else values
    # The commitment is read off the numbers as returned: a division could make a tie that was none.
    if isinstance(question, Choice):
        key = commit_choice(values)
        choice = ChoiceAnswer.model_construct(type="choice", choice=key, probabilities=probabilities)
        return Gated(True, None, choice, key, probabilities[key], renormalized, provider)
    level = commit_level(values)
    expected = fsum(int(key) * p for key, p in probabilities.items())
    score = ScoreAnswer.model_construct(type="score", score=expected, probabilities=probabilities)
    return Gated(True, None, score, level, probabilities[str(level)], renormalized, provider)


def _noul(raw: Mapping[str, JSON], provider: float | None) -> Gated:
    p = number(raw.get("noul"))
    if p is None:
        return Gated(False, f"noul is {_kind(raw.get('noul'))}, not a finite number", provider_confidence=provider)
    if not 0.0 <= p <= 1.0:
        return Gated(False, f"noul {p} is outside [0, 1]", provider_confidence=provider)
    answer = NoulAnswer.model_construct(type="noul", noul=p)
    return Gated(True, None, answer, p >= 0.5, max(p, 1.0 - p), False, provider)


def _not_a_mode(named: JSON, values: Mapping[str, float]) -> str | None:
    if not isinstance(named, str) or named not in values:
        return f"choice {named!r} is not an option"
    if values[named] != max(values.values()):
        return f"choice {named!r} is not a mode of its distribution"
    return None


def _distribution(labels: tuple[str, ...], raw: JSON) -> tuple[dict[str, float] | None, str | None]:
    """Check a distribution over ``labels``: (probabilities as returned, in the order shown) or (None, reason)."""
    if not isinstance(raw, dict):
        return None, f"probabilities are {_kind(raw)}, not an object"
    values: dict[str, float] = {}
    for label in labels:
        if label not in raw:
            return None, f"option {label!r} is missing"
        p = number(raw[label])
        if p is None:
            return None, f"probability of {label!r} is {_kind(raw[label])}, not a finite number"
        if p < 0.0:
            return None, f"probability of {label!r} is negative ({p})"
        values[label] = p
    if len(raw) != len(labels):
        unknown = next(key for key in raw if key not in values)
        return None, f"option {unknown!r} is unknown"
    # fsum refuses sums beyond the floats; where one option alone is past the band, exactness is of no use.
    total = fsum(values.values()) if max(values.values()) <= SUM_HIGH + _SLACK else sum(values.values())
    if total == 0.0:
        return None, "all probabilities are zero"
    if not SUM_LOW - _SLACK <= total <= SUM_HIGH + _SLACK:
        return None, f"probabilities sum to {total:.6g}, outside [{SUM_LOW}, {SUM_HIGH}]"
    return values, None


def _kind(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, bool | int | float | str):
        return repr(value)[:40]
    return type(value).__name__
