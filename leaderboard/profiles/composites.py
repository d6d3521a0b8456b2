"""The composite of ``s1-v1``: quality, validity and robustness in one number. [S0]

Suites are pooled by their number of decisions: each suite's figures are computed on the suite, then averaged with
its decisions as weights. That differs from figures over all decisions at once (an ECE is no mean).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WEIGHTS = {"quality": 0.70, "validity": 0.15, "robustness": 0.15}
QUALITY = {"macro_f1": 0.35, "accuracy": 0.25, "calibration": 0.20, "sharpness": 0.20}


def quality(macro_f1: float, accuracy: float, ece: float | None, brier: float | None) -> float:
    """.35 macro-F1 + .25 accuracy + .20 (1 - min(ECE, 1)) + .20 (1 - min(Brier / 2, 1)), range 0..1.

    Without a valid answer there is no ECE and no Brier; both parts are then 0.

    >>> quality(1.0, 1.0, 0.0, 0.0), quality(0.0, 0.0, None, None)
    (1.0, 0.0)
    """
    calibration = 0.0 if ece is None else 1.0 - min(ece, 1.0)
    sharpness = 0.0 if brier is None else 1.0 - min(brier / 2.0, 1.0)
    parts = {"macro_f1": macro_f1, "accuracy": accuracy, "calibration": calibration, "sharpness": sharpness}
    return sum(QUALITY[name] * value for name, value in parts.items())


def s1_score(found_quality: float, validity: float, robustness: float | None) -> float:
    """100 (.70 quality + .15 validity + .15 robustness); without robustness the other two weights are divided by .85.

    >>> round(s1_score(1.0, 1.0, None), 9), round(s1_score(0.8, 1.0, 0.9), 9)
    (100.0, 84.5)
    """
    parts = {"quality": found_quality, "validity": validity, "robustness": robustness}
    known = {name: value for name, value in parts.items() if value is not None}
    weight = sum(WEIGHTS[name] for name in known)
    return 100.0 * sum(WEIGHTS[name] * value for name, value in known.items()) / weight


def s1_composite(suites: Sequence[Mapping[str, Any]], robustness: float | None) -> dict[str, Any] | None:
    """The pooled score with its parts; None without a decision. ``suites``: {``n``, ``valid``, metrics}."""
    n = sum(suite["n"] for suite in suites)
    if not n:
        return None
    measured = [suite for suite in suites if suite["n"]]
    good = sum(
        suite["n"] * quality(suite["macro_f1"], suite["accuracy"], suite["ece"], suite["brier"]) for suite in measured
    )
    validity = sum(suite["valid"] for suite in measured) / n
    return {
        "score": s1_score(good / n, validity, robustness),
        "quality": good / n,
        "validity": validity,
        "robustness": robustness,
    }
