"""What a reader of the decisions table may ask for: from a URL to SQL and back to a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final
from urllib.parse import urlencode

from arena.errors import UsageError

VERDICTS: Final = {
    "right": "correct = 1",
    "wrong": "correct = 0 AND valid = 1",
    "invalid": "valid = 0",
    "ungraded": "correct IS NULL AND valid = 1",
}

SORTS: Final = {
    "log": ("seq", "ASC"),
    "sure": ("ifnull(confidence, -1)", "DESC"),
    "unsure": ("ifnull(confidence, 2)", "ASC"),
    "slow": ("ifnull(latency, -1)", "DESC"),
}
"""Order of the table: a key and its direction; equal keys go by place in the log."""

LOW_CONFIDENCE = 0.5

ALONG = "along"
"""The form of a question that was asked along unchanged while another question of its item was varied."""

FORMS: Final = {
    "base": "canonical",
    "trial": "trial",
    "reorder": "order",
    "repeat": "repeat",
    "null_intact": "null offered",
    "null_removed": "null, right removed",
    "removed": "right removed",
    "probe": "probe",
    ALONG: "asked along",
}
"""Forms in which a question is asked, in words."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Empty fields ask for everything.

    ``below``: confidence under it. ``slot``: of the chosen option, from 1. ``form``: a variant kind, or ``ALONG``.
    """

    verdict: str = ""
    flipped: str = ""
    below: str = ""
    slot: str = ""
    type: str = ""
    domain: str = ""
    tier: str = ""
    form: str = ""
    q: str = ""
    sort: str = "log"

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Filter:
        """Read URL parameters.

        Raises:
            UsageError: a value that no filter takes.
        """
        found = cls(**{field.name: query[field.name] for field in fields(cls) if query.get(field.name)})
        _one_of("verdict", found.verdict, VERDICTS)
        _one_of("sort", found.sort, SORTS)
        _one_of("form", found.form, FORMS)
        if found.flipped not in ("", "1"):
            raise UsageError(f"flipped={found.flipped!r}: expected 1")
        if found.slot and not (found.slot.isascii() and found.slot.isdecimal() and len(found.slot) < 6):
            raise UsageError(f"slot={found.slot!r}: expected a number from 1")
        if found.below:
            try:
                float(found.below)
            except ValueError as error:
                raise UsageError(f"below={found.below!r}: expected a probability") from error
        return found

    def where(self) -> tuple[str, list[Any]]:
        """A WHERE clause over ``decisions`` (without the word) and its parameters."""
        clauses: list[str] = ["1"]
        values: list[Any] = []
        if self.verdict:
            clauses.append(VERDICTS[self.verdict])
        if self.flipped:
            clauses.append("flipped = 1")
        if self.below:
            clauses.append("confidence < ?")
            values.append(float(self.below))
        if self.slot:
            clauses.append("slot = ?")
            values.append(int(self.slot))
        if self.form == ALONG:
            clauses.append("NOT varied")
        elif self.form:
            clauses.append("varied AND kind = ?")
            values.append(self.form)
        for name in ("type", "domain", "tier"):
            if value := getattr(self, name):
                clauses.append(f"{name} = ?")
                values.append(value)
        if self.q:
            clauses.append("instr(lower(unit), lower(?)) > 0")
            values.append(self.q)
        return " AND ".join(clauses), values

    def query(self, **more: Any) -> str:
        """``?...`` with what is set, and ``more`` over it (a value of None or "" takes a parameter out)."""
        given = {key: value for key, value in asdict(self).items() if value and (key, value) != ("sort", "log")}
        given |= more
        kept = {key: value for key, value in given.items() if value not in (None, "")}
        return "?" + urlencode(kept) if kept else ""

    @property
    def active(self) -> int:
        """How many fields narrow the table."""
        return sum(bool(value) for key, value in asdict(self).items() if key != "sort")


def _one_of(name: str, value: str, known: Mapping[str, Any]) -> None:
    if value and value not in known:
        raise UsageError(f"{name}={value!r}: expected one of {', '.join(known)}")
