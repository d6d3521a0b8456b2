"""What is asked and what comes back, in the wire format of ``POST /v1/systemone``.

Questions and answers are frozen, strict pydantic models: no coercion, no NaN. Option order is data
(the order shown), so nothing here sorts keys. Whether an answer is *valid* is the gate's business
(``arena.gate``); these types only say what the words mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from arena.errors import UsageError

JSON: TypeAlias = Any
"""Any JSON value. (A recursive alias costs validation time on every state and buys nothing.)"""

NONE_OF_THE_ABOVE = "none_of_the_above"
"""The option key of an explicit null."""

NONE_DESCRIPTION = "None of the listed options is right."

MIN_OPTIONS, MAX_OPTIONS = 2, 255


class Frozen(BaseModel):
    """Base of all data in arena: immutable, strict, closed, finite."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Choice(Frozen):
    """Pick one option. ``criteria``: option key -> description or null, in the order shown, 2..255."""

    type: Literal["choice"] = "choice"
    instructions: JSON
    criteria: dict[str, JSON]

    @field_validator("criteria")
    @classmethod
    def _count(cls, value: dict[str, JSON]) -> dict[str, JSON]:
        if not MIN_OPTIONS <= len(value) <= MAX_OPTIONS:
            raise ValueError(f"a choice has {MIN_OPTIONS}..{MAX_OPTIONS} options, found {len(value)}")
        return value

    def labels(self) -> tuple[str, ...]:
        """Option keys in the order shown, shape (K,)."""
        return tuple(self.criteria)

    def wire(self) -> dict[str, JSON]:
        """The question as it goes on the wire, key order kept."""
        return {"type": "choice", "instructions": self.instructions, "criteria": dict(self.criteria)}


class Score(Frozen):
    """Place on a scale. ``criteria``: 2..255 level descriptions, low to high."""

    type: Literal["score"] = "score"
    instructions: JSON
    criteria: Annotated[tuple[JSON, ...], Field(strict=False, min_length=MIN_OPTIONS, max_length=MAX_OPTIONS)]

    def labels(self) -> tuple[str, ...]:
        """Level keys ``"0" .. str(L-1)``, shape (L,)."""
        return tuple(str(level) for level in range(len(self.criteria)))

    def wire(self) -> dict[str, JSON]:
        """The question as it goes on the wire."""
        return {"type": "score", "instructions": self.instructions, "criteria": list(self.criteria)}


class Noul(Frozen):
    """Yes or no. ``criteria``: descriptions under "true" and "false", or absent."""

    type: Literal["noul"] = "noul"
    instructions: JSON
    criteria: dict[Literal["true", "false"], JSON] | None = None

    def labels(self) -> tuple[str, ...]:
        """("false", "true"), shape (2,)."""
        return ("false", "true")

    def wire(self) -> dict[str, JSON]:
        """The question as it goes on the wire; no ``criteria`` key when there are none."""
        body: dict[str, JSON] = {"type": "noul", "instructions": self.instructions}
        if self.criteria is not None:
            body["criteria"] = dict(self.criteria)
        return body


Question: TypeAlias = Annotated[Choice | Score | Noul, Field(discriminator="type")]

_QUESTION: TypeAdapter[Choice | Score | Noul] = TypeAdapter(Question)


def parse_question(body: Mapping[str, JSON], where: str = "question") -> Choice | Score | Noul:
    """Read a question in wire form.

    Raises:
        UsageError: the body is not a question; the message names ``where`` and the first fault.
    """
    try:
        return _QUESTION.validate_python(dict(body))
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: not a question at {spot or 'the top'}: {first['msg']}") from error


class ChoiceAnswer(Frozen):
    """A valid answer to a choice. ``probabilities``: every option -> p, sum 1, in the order shown."""

    type: Literal["choice"] = "choice"
    choice: str
    probabilities: dict[str, float]


class ScoreAnswer(Frozen):
    """A valid answer to a score. ``score``: expected level 0..L-1; ``probabilities``: "0".. -> p, sum 1."""

    type: Literal["score"] = "score"
    score: float
    probabilities: dict[str, float]


class NoulAnswer(Frozen):
    """A valid answer to a noul. ``noul``: p(yes), 0..1."""

    type: Literal["noul"] = "noul"
    noul: float


Answer: TypeAlias = Annotated[ChoiceAnswer | ScoreAnswer | NoulAnswer, Field(discriminator="type")]

Committed: TypeAlias = str | int | bool
"""The committed decision: an option key (choice), a level (score), yes or no (noul)."""
