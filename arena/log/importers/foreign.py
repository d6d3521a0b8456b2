"""What a reader of foreign answers yields, and what it says of the rows it could not use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arena.types import JSON, Choice, Committed, Noul, Score


@dataclass(frozen=True, slots=True)
class Foreign:
    """One answer by somebody else's harness.

    ``item`` within ``suite``; ``name`` of the question; ``accepted``: the golds, typed like commitments.
    ``answer``: the wire answer as it was returned (None: none), or ``error``: why the call failed.
    ``where``: ``file:line``. ``latency_s`` in seconds; ``serial``: it was measured one call at a time.
    """

    suite: str
    item: str
    name: str
    question: Choice | Score | Noul
    accepted: tuple[Committed, ...]
    answer: JSON
    where: str
    error: str | None = None
    state: JSON = None
    group: str | None = None
    model: str | None = None
    version: str | None = None
    label_distribution: dict[str, float] | None = None
    latency_s: float | None = None
    serial: bool = False
    usage: dict[str, JSON] | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """What was found at ``where`` (``file:line``)."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(slots=True)
class Notices:
    """What an import has to say: rows that were left out, and rows that were kept but are odd."""

    left_out: list[Notice] = field(default_factory=list)
    kept: list[Notice] = field(default_factory=list)

    def leave_out(self, where: str, reason: str) -> None:
        """Note a row that cannot be used."""
        self.left_out.append(Notice(where, reason))

    def keep(self, where: str, reason: str) -> None:
        """Note a row that is used although something about it is odd."""
        self.kept.append(Notice(where, reason))


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may add: gold files, the model to take or its name, the name of the suite."""

    cases: tuple[Path, ...] = ()
    model: str | None = None
    suite: str | None = None


Reader = Callable[[Sequence[Path], Options, Notices], Iterator[Foreign]]


def read_gold(question: Choice | Score | Noul, gold: JSON) -> tuple[Committed, ...] | str:
    """The accepted values of a foreign gold, typed; or why it is none.

    A choice's gold is an option key, a score's a level (2 or "2"), a noul's true or false (1, 0, "yes", "no" are
    read as such); a list means that several are right.

    >>> from arena.types import Noul
    >>> read_gold(Noul(instructions="?"), 1)
    (True,)
    """
    values = gold if isinstance(gold, list) else [gold]
    if not values or any(value is None for value in values):
        return "no gold"
    found: list[Committed] = []
    for value in values:
        typed = _typed(question, value)
        if typed is None:
            labels = question.labels()
            shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
            return f"gold {value!r} is not an option ({shown})"
        if typed not in found:
            found.append(typed)
    return tuple(found)


_YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _typed(question: Choice | Score | Noul, value: JSON) -> Committed | None:
    if isinstance(question, Noul):
        return _YES_NO.get(str(value).lower())
    if isinstance(question, Choice):
        key = value if isinstance(value, str) else None if isinstance(value, bool) else str(value)
        return key if key in question.criteria else None
    if isinstance(value, bool):
        return None
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return int(text) if text in question.labels() else None
