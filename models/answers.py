"""From label probabilities to an answer in wire form: what every model that runs in process returns.

The answer passes through the same gate as any server's. Ties are named by ascending Unicode key, as the
gate commits them, so no answer made here depends on the order shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

from arena.gate import commit_choice
from arena.types import JSON, Choice, Noul, Score


def one_hot(labels: tuple[str, ...], label: str) -> dict[str, float]:
    """All probability on ``label``; shape (K,)."""
    return {key: 1.0 if key == label else 0.0 for key in labels}


def uniform(labels: tuple[str, ...]) -> dict[str, float]:
    """Equal probability on every label; shape (K,)."""
    return dict.fromkeys(labels, 1.0 / len(labels))


def wire_answer(question: Choice | Score | Noul, probabilities: Mapping[str, float]) -> dict[str, JSON]:
    """The wire answer for ``probabilities``: ``question.labels()`` -> p, sum 1.

    Choice confidence is (n max - 1) / (n - 1), the formula of the original API; it is stored, never scored.
    """
    if isinstance(question, Noul):
        return {"type": "noul", "noul": probabilities["true"]}
    if isinstance(question, Score):
        expected = fsum(int(level) * p for level, p in probabilities.items())
        return {"type": "score", "score": expected, "probabilities": dict(probabilities)}
    key = commit_choice(probabilities)
    count = len(probabilities)
    confidence = (count * probabilities[key] - 1.0) / (count - 1)
    return {"type": "choice", "choice": key, "probabilities": dict(probabilities), "confidence": confidence}
