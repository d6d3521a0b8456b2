"""A profile as data: read once from ``profiles.toml``, and told in words beside every result."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from arena.errors import UnknownName
from arena.reliability.metrics.summary import Conventions
from arena.types import Frozen

DEFAULT = "arena-v1"

_COMMIT = {
    "gate": {
        "choice": "the mode of the probabilities; ties by ascending Unicode key",
        "score": "the mode of the level probabilities; ties by the lower level",
    },
    "source": {
        "choice": "the option the answer names",
        "score": "the returned score, rounded half to even and clipped to the scale",
    },
}
_VALID = {
    "gate": "arena's schema gate: sum in [.98, 1.02], every option once, choice is a mode",
    "source": "the label is an option, every option has a number >= 0, and not all are zero",
}
_CREDIT = "pct: a level off by 0 / 1 / more earns 1 / 0.5 / 0, other questions 1 or 0; hits and accuracy are strict"


class Profile(Frozen):
    """One set of scoring rules. The fields are explained in ``profiles.toml``.

    ``threshold``: a noul commits to yes iff p >= this (protocol 2: 0.5; another value is named in the rules).
    """

    name: str
    source: str
    reading: Literal["gate", "source"]
    score_commit: Literal["mode", "rounded"]
    probabilities: Literal["gated", "returned"]
    failed_cases: Literal["wrong", "left out"]
    interval: Literal["bootstrap", "esen"]
    composite: Literal["none", "s1-v1"]
    adjusted: bool
    guarded_keys: Annotated[tuple[str, ...], Field(strict=False)]
    conventions: Conventions
    told: dict[str, str]
    threshold: float = 0.5

    def rules(self) -> dict[str, Any]:
        """The rules as they stand beside a result: decision, credit, bins, denominators, intervals, composites."""
        left_out = self.failed_cases == "left out"
        drawn = self.interval == "esen"
        return {
            "source": self.source,
            "decision": {**_COMMIT[self.reading], "noul": f"yes iff p >= {self.threshold:g}"},
            "validity": _VALID[self.reading],
            "confidence": "probability of the committed decision; noul: max(p, 1 - p)"
            if self.reading == "gate"
            else "the largest probability; noul: max(p, 1 - p)",
            "probabilities": "renormalised inside the band"
            if self.probabilities == "gated"
            else "as the model returned them",
            "credit": _CREDIT,
            "bin_edges": self.conventions.edges,
            "bins": self.conventions.bins,
            "brier": "noul (p - y)^2, others a sum over options after division by their total"
            if self.conventions.brier == "esen"
            else "sum over options of (p - y)^2, noul as two outcomes",
            "nll_floor": self.conventions.nll_floor,
            "denominators": {
                "pct": "cases that got a reply" if left_out else "all cases asked; a failed call is wrong",
                "accuracy": "decisions of cases that got a reply; an invalid answer is wrong"
                if left_out
                else "all decisions asked; an invalid answer is wrong",
                "ece, brier, nll, mae, spearman": "decisions with a valid answer",
                "majority_pct": "all cases of the suite, the constant answers taken on the suite itself",
            },
            "interval": "2,000 resamples of the cases, random.Random(0), sorted draws [50] and [1949]"
            if drawn
            else "95 % percentile bootstrap, 1,000 resamples, seed 20261006, by cluster",
            **self.told,
        }


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name, in file order."""
    table = tomllib.loads(Path(__file__).with_name("profiles.toml").read_text("utf-8"))
    return {
        name: Profile.model_validate({"name": name, **body, "conventions": Conventions(**body["conventions"])})
        for name, body in table.items()
    }


def profile(name: str = DEFAULT, threshold: float | None = None) -> Profile:
    """A profile by name, with another noul threshold where one is given.

    Raises:
        UnknownName: no such profile.
    """
    if name not in profiles():
        raise UnknownName("profile", name, profiles(), hint="arena score RUN --profile arena-v1")
    found = profiles()[name]
    return found if threshold is None else found.model_copy(update={"threshold": threshold})
