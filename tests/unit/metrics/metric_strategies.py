"""Random decisions as plain rows, for the property tests of the metrics."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

LABELS = ("alpha", "beta", "gamma", "delta")


@st.composite
def distributions(draw: st.DrawFn, size: int) -> list[float]:
    """Probabilities over ``size`` options that sum to 1 up to rounding; zeros are common."""
    weights = draw(st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any))
    return [weight / sum(weights) for weight in weights]


@st.composite
def rows(draw: st.DrawFn, kind: str | None = None, golds: int = 1) -> dict[str, Any]:
    """One row for ``from_rows``: a choice over LABELS, a score with 4 levels or a noul; some are invalid."""
    kind = kind or draw(st.sampled_from(["choice", "score", "noul"]))
    options = {"choice": LABELS, "score": ("0", "1", "2", "3"), "noul": ("false", "true")}[kind]
    shown = draw(st.permutations(options)) if kind == "choice" else list(options)
    accepted = draw(st.lists(st.sampled_from(options), min_size=1, max_size=golds, unique=True))
    row: dict[str, Any] = {"type": kind, "question": kind, "options": shown, "gold": accepted}
    if draw(st.integers(0, 4)) == 0:
        return row
    values = draw(distributions(len(shown)))
    row["probabilities"] = dict(zip(shown, values, strict=True))
    row["committed"] = shown[values.index(max(values))]
    return row


def batches(kind: str | None = None, golds: int = 1, least: int = 1) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of rows."""
    return st.lists(rows(kind, golds), min_size=least, max_size=25)
