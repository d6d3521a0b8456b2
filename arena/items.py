"""What is asked: items, golds, variants. Frozen data without behaviour.

A static item is an episode of one step. Gold lives apart from the item and has its own version, so a
log can be scored again under new golds without a model.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from arena.identity import case_id, digest
from arena.types import JSON, Choice, Committed, Frozen, Noul, Question, Score

VariantKind = Literal["base", "trial", "repeat", "reorder", "null_intact", "null_removed", "removed", "probe"]


class Gold(Frozen):
    """What counts as right for one question.

    ``accepted``: one or more committed decisions that are right (option keys, levels, or booleans).
    ``label_distribution``: soft label over the question's labels, when annotators disagreed.
    ``version``: the gold version; figures of two versions never share a table.
    """

    accepted: Annotated[tuple[str | int | bool, ...], Field(strict=False, min_length=1)]
    label_distribution: dict[str, float] | None = None
    version: str = "v1"

    def accepts(self, committed: Committed | None) -> bool:
        """Whether the committed decision is right. A bool never equals a level: types must agree."""
        return any(type(value) is type(committed) and value == committed for value in self.accepted)


class Variant(Frozen):
    """How a case differs from its item. One question is varied; the others are asked as they are.

    A ``trial`` is an episode played once more, its ``index``-th further time: over another drawing of its fixture where
    one is frozen, with the options of every question in another order.

    ``question``: name of the varied question. ``order``: its option keys in the order shown. ``removed``:
    option keys taken away. ``null_slot``: where ``none_of_the_above`` was put. ``probe``: ``reverse``,
    ``shuffle``, ``irrelevant`` or ``adversarial``; ``demanded``: what the adversarial lead-in asks for.
    """

    kind: VariantKind = "base"
    index: int = 0
    question: str | None = None
    order: Annotated[tuple[str, ...] | None, Field(strict=False)] = None
    removed: Annotated[tuple[str, ...], Field(strict=False)] = ()
    null_slot: int | None = None
    probe: str | None = None
    demanded: str | int | bool | None = None

    def key(self) -> str:
        """Short stable identity of the variant, part of the case id."""
        if self.kind == "base":
            return "base"
        return f"{self.kind}:{self.index}:{digest(self.model_dump())}"


BASE = Variant()


class Item(Frozen):
    """One frozen unit of a static suite: a state and its typed questions.

    ``group`` clusters items that are not independent (paraphrases, translations) for the bootstrap.
    """

    id: str
    suite: str
    domain: str
    tier: str
    split: str
    state: JSON
    questions: dict[str, Question]
    group: str | None = None
    provenance: dict[str, JSON] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _some_question(self) -> Item:
        if not self.questions:
            raise ValueError("an item has at least one question")
        return self


class Recording(Frozen):
    """One frozen file that an environment opens."""

    path: str
    sha256: str


class EpisodeRef(Frozen):
    """One frozen episode of an environment: which recording, and where it stands in the registry.

    ``env`` and ``verifier`` are registry ids; ``path`` is the recording (file or key) the environment opens.
    ``steps``: recorded gold steps, the ending included. ``trials``: other drawings of it, which may be none.
    """

    id: str
    suite: str
    domain: str
    tier: str
    split: str
    env: str
    verifier: str
    path: str
    sha256: str
    steps: int = 1
    group: str | None = None
    trials: Annotated[tuple[Recording, ...], Field(strict=False)] = ()

    def recording(self, trial: int) -> Recording:
        """What a trial plays: 0 the episode itself, then its other drawings in turn, itself among them."""
        every = (Recording(path=self.path, sha256=self.sha256), *self.trials)
        return every[trial % len(every)]


Unit = Item | EpisodeRef


class Case(Frozen):
    """The unit of planning, caching, resume and sharding: a unit under one variant, asked once."""

    unit: str
    domain: str
    tier: str
    variant: Variant = BASE
    repeat: int = 0

    @property
    def id(self) -> str:
        """24 hex digits; see ``arena.identity.case_id``."""
        return case_id(self.unit, self.variant.key(), self.repeat)


__all__ = [
    "BASE",
    "Case",
    "Choice",
    "EpisodeRef",
    "Gold",
    "Item",
    "Noul",
    "Question",
    "Recording",
    "Score",
    "Unit",
    "Variant",
    "VariantKind",
]
