"""Decisions in columns: the carrier that every metric reads.

``Scored`` holds n decisions as flat numpy columns. What is ragged (one entry per option of a decision)
is one flat array of m entries plus ``offsets``: decision i owns ``flat[offsets[i]:offsets[i + 1]]``. So a
million decisions are a dozen arrays, not a million objects. ``arena.reliability.metrics.rows`` builds it
from plain dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.integer]
Bools: TypeAlias = NDArray[np.bool_]

CHOICE, SCORE, NOUL = 0, 1, 2
KINDS = {"choice": CHOICE, "score": SCORE, "noul": NOUL}

INVALID = -1
"""``committed`` of a decision whose answer is invalid."""


@dataclass(frozen=True, slots=True)
class Codes:
    """A column of names as integers: ``codes`` (n,) index into ``names``; -1 where a decision has none."""

    codes: Ints
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """n decisions, m = sum of their option counts.

    Per decision, shape (n,): ``kind`` (CHOICE, SCORE, NOUL); ``question`` (whose labels are pooled);
    ``valid``; ``correct`` (False where invalid); ``confidence`` 0..1 (nan where invalid); ``committed``:
    position among the decision's options, INVALID where invalid; ``gold``: position of the reference
    gold, which is the committed option when that is accepted, else the first accepted one; ``expected``:
    expected level (nan where invalid or not a score); ``group``: cluster for the bootstrap;
    ``latency_s``, ``cost_usd``: nan where unknown.

    Per option, shape (m,): ``probabilities`` (0 where invalid); ``accepted``; ``label``: index into the
    question's labels; ``distribution``: soft label (nan where a decision has none), or None when no
    decision has one. ``offsets``: shape (n + 1,). A score's options are its levels in order; a noul's are
    (false, true).
    """

    kind: Ints
    question: Codes
    valid: Bools
    correct: Bools
    confidence: Floats
    committed: Ints
    gold: Ints
    expected: Floats
    group: Ints
    latency_s: Floats
    cost_usd: Floats
    offsets: Ints
    probabilities: Floats
    accepted: Bools
    label: Ints
    labels: tuple[tuple[str, ...], ...]
    distribution: Floats | None = None
    slices: Mapping[str, Codes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, m = len(self.valid), int(self.offsets[-1])
        for name in _PER_DECISION:
            column = getattr(self, name)
            if column.shape != (n,):
                raise ValueError(f"column {name}: expected shape ({n},), found {column.shape}")
        for name in _PER_OPTION:
            column = getattr(self, name)
            if column is not None and column.shape != (m,):
                raise ValueError(f"column {name}: expected shape ({m},), found {column.shape}")
        for name, codes in (("question", self.question), *self.slices.items()):
            if codes.codes.shape != (n,):
                raise ValueError(f"codes {name}: expected shape ({n},), found {codes.codes.shape}")
        if len(self.labels) != len(self.question.names):
            raise ValueError(f"{len(self.question.names)} questions, but labels of {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def options(self) -> Ints:
        """Number of options of each decision, shape (n,)."""
        return np.diff(self.offsets)

    def entries(self, chosen: Bools) -> Bools:
        """The mask (m,) of the option entries that belong to the decisions in ``chosen`` (n,)."""
        return np.repeat(chosen, self.options)

    def select(self, chosen: Bools) -> Scored:
        """The decisions where ``chosen`` (n,) is True, in the same order, with the same names and labels."""
        entries = self.entries(chosen)
        changed: dict[str, object] = {name: getattr(self, name)[chosen] for name in _PER_DECISION}
        changed |= {name: None if getattr(self, name) is None else getattr(self, name)[entries] for name in _PER_OPTION}
        changed["question"] = Codes(self.question.codes[chosen], self.question.names)
        changed["slices"] = {name: Codes(s.codes[chosen], s.names) for name, s in self.slices.items()}
        changed["offsets"] = np.concatenate([[0], np.cumsum(self.options[chosen])]).astype(np.int64)
        return replace(self, **changed)  # type: ignore[arg-type]


_PER_OPTION = ("probabilities", "accepted", "label", "distribution")
_NOT_ARRAYS = ("question", "offsets", "labels", "slices")
_PER_DECISION = tuple(f.name for f in fields(Scored) if f.name not in _PER_OPTION + _NOT_ARRAYS)
