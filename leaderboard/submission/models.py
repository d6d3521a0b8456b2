"""``submission.json`` and the header of a run as data, and the JSON Schemas that follow from the models.

The models that validate are the ones that the schemas are generated from, so the two cannot differ.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from arena.records import Decision, Episode, ModelCard
from arena.types import JSON, Frozen

FORMAT: Literal[1] = 1
SUBMISSION, SUMS, RUNS = "submission.json", "SHA256SUMS", "runs"

TrainSplit = Literal["yes", "no", "unknown"]

NEEDS_REVIEW = "publish"
"""Key of a model card's identity that says that a person must read the provider's terms first."""

_CONTACT = re.compile(r"@|https?://|www\.|\+?\d[\d ()/-]{7,}")


class Declared(Frozen):
    """What only the submitter can say.

    ``submitter``: a person, group or organisation, without any contact detail. ``train_split_seen``: whether the
    model was trained on the train split of a domain. ``answers_licence``: under which licence the answers may be
    used (SPDX id). ``terms_reviewed``: somebody read the provider's terms and found that results may be published.
    """

    submitter: Annotated[str, Field(min_length=1, max_length=120)]
    train_split_seen: TrainSplit
    answers_licence: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]{1,60}$")]
    terms_reviewed: bool = False
    note: Annotated[str, Field(max_length=2000)] = ""

    @field_validator("submitter")
    @classmethod
    def _no_contact(cls, value: str) -> str:
        if _CONTACT.search(value):
            raise ValueError("give a name without address, link or number: bundles are public")
        return value


class CellClaim(Frozen):
    """One measured cell: ``n`` as in the summary (decisions of static cells, episodes of the others)."""

    domain: str
    tier: str
    n: int


class RunClaim(Frozen):
    """One run of the bundle. ``folder``: relative to it. ``config``: sha256 of the resolved configuration."""

    folder: Annotated[str, Field(pattern=r"^runs/[A-Za-z0-9][A-Za-z0-9._+-]*$")]
    run: str
    config: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    lane: Literal["throughput", "latency"]
    started_at: str
    decisions: int
    cells: tuple[CellClaim, ...] = Field(strict=False)
    reliability: bool
    gold_versions: dict[str, str]


class Submission(Frozen):
    """``submission.json``. ``model``: the card that all runs share; ``verified`` repeats its label."""

    format: Literal[1] = FORMAT
    protocol: str
    arena: str
    declared: Declared
    model: ModelCard
    verified: Literal["embedded", "live", "not verified live"]
    runs: Annotated[tuple[RunClaim, ...], Field(strict=False, min_length=1)]


class Resolved(BaseModel):
    """What a submission reads of a resolved configuration; the rest is kept as it is."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)

    protocol: str
    model: str
    domains: list[str]
    tiers: list[str]
    split: str
    items: list[str]
    limit: int | None
    repeats: int
    lane: Literal["throughput", "latency"]
    reliability: dict[str, JSON] | None
    model_card: ModelCard
    environments: dict[str, JSON]
    data: dict[str, str]


class RunHeader(BaseModel):
    """``config.json`` of a run."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)

    run: str
    resolved: Resolved
    limited: bool
    started_at: str
    hardware: dict[str, JSON]
    packages: dict[str, str]
    git: dict[str, JSON] | None


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema (2020-12) of every file of a bundle, by name: submission, config, decision, episode."""
    models: dict[str, type[BaseModel]] = {
        "submission": Submission,
        "config": RunHeader,
        "decision": Decision,
        "episode": Episode,
    }
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: {**dialect, **model.model_json_schema()} for name, model in models.items()}
