"""A log in columns under a profile: what scoring, comparing and plotting read.

One pass over the rows; of each decision the metric columns are kept, its place (suite, case, question) and three
short hashes that say which question it was. Nothing is judged here but what the profile says.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.errors import UsageError
from arena.leaderboard.profiles.guard import check_input
from arena.leaderboard.profiles.readings import read, returned
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.rows import cluster_of, metric_row
from arena.log.reader import Row, RunReader
from arena.reliability.metrics.columns import Bools, Codes, Floats, Scored
from arena.reliability.metrics.credit import level_credit
from arena.reliability.metrics.rows import from_rows

Hashes = NDArray[np.bytes_]
HASH = 16


class Names:
    """Names to consecutive codes, in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.codes = array("i")

    def add(self, name: str) -> None:
        """Append the code of ``name``."""
        self.codes.append(self.known.setdefault(name, len(self.known)))

    def column(self) -> Codes:
        """The column so far."""
        return Codes(np.array(self.codes, dtype=np.int32), tuple(self.known))


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """n judged decisions of one run.

    ``scored``: metric columns. ``as_returned``: the same with the probabilities as the model gave them, where the
    profile uses others. ``suite``, ``case``, ``unit``, ``name`` (n,): codes; a case is one ask.
    ``failed`` (n,): the whole call failed. ``key``, ``asked``, ``shown`` (n,): hashes of the decision's place,
    of state and question whatever the option order, and of the question as shown. ``gold``: suite -> gold version.
    ``group`` (n,): cluster as the rank of its name, so that no draw depends on the order of the log.
    """

    scored: Scored
    as_returned: Scored
    suite: Codes
    case: Codes
    unit: Codes
    name: Codes
    split: Codes
    failed: Bools
    key: Hashes
    asked: Hashes
    shown: Hashes
    group: NDArray[np.intp]
    gold: dict[str, str]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.scored)

    @property
    def credit(self) -> Floats:
        """Credit of each decision (n,): 1 / 0.5 / 0 for levels, else 1 or 0."""
        s = self.scored
        return level_credit(s.kind, s.committed, s.correct, s.accepted, s.offsets)

    def select(self, chosen: Bools) -> Table:
        """The decisions where ``chosen`` (n,) is True."""
        changed: dict[str, Any] = {n: getattr(self, n).select(chosen) for n in ("scored", "as_returned")}
        for n in ("suite", "case", "unit", "name", "split"):
            column: Codes = getattr(self, n)
            changed[n] = Codes(column.codes[chosen], column.names)
        changed |= {n: getattr(self, n)[chosen] for n in ("failed", "key", "asked", "shown", "group")}
        return replace(self, **changed)


@dataclass(slots=True)
class _Place:
    """What stands beside the metric columns while rows stream by."""

    rules: Profile
    reader: RunReader
    suite: Names = field(default_factory=Names)
    case: Names = field(default_factory=Names)
    unit: Names = field(default_factory=Names)
    name: Names = field(default_factory=Names)
    split: Names = field(default_factory=Names)
    group: Names = field(default_factory=Names)
    failed: array[int] = field(default_factory=lambda: array("b"))
    key: bytearray = field(default_factory=bytearray)
    asked: bytearray = field(default_factory=bytearray)
    shown: bytearray = field(default_factory=bytearray)
    changed: dict[int, dict[str, float]] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def watch(self, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
        """Metric rows of the judged base decisions; notes their place."""
        for row in rows:
            if row["variant"]["kind"] != "base" or row["phase"] != "teacher":
                continue
            if row["gold"] is None:
                self.left_out["no gold"] = self.left_out.get("no gold", 0) + 1
                continue
            check_input(row, self.reader, self.rules)
            yield self._one(row)

    def _one(self, row: Row) -> dict[str, Any]:
        found, number = read(row, self.rules), len(self.failed)
        self._place(row)
        metric = metric_row(row)
        metric["slices"]["split"] = row["split"]
        if found is None:
            return {**metric, "committed": None, "confidence": None, "probabilities": None, "expected": None}
        raw = returned(row) if self.rules.probabilities == "gated" else None
        if raw is not None and raw != found.probabilities:
            self.changed[number] = raw
        return {
            **metric,
            "committed": found.committed,
            "confidence": found.confidence,
            "probabilities": found.probabilities,
            "expected": found.expected,
        }

    def _place(self, row: Row) -> None:
        suite, version = row["suite"], row["gold"]["version"]
        if self.gold.setdefault(suite, version) != version:
            raise UsageError(
                f"{self.reader.folder}: suite {suite} holds two gold versions, {self.gold[suite]} and {version}",
                hint="two gold versions never share a table: choose one with --gold",
            )
        self.suite.add(suite)
        self.case.add(f"{suite}\x1f{row['ask']}")
        self.unit.add(row["unit"])
        self.name.add(row["question_name"])
        self.split.add(row["split"])
        self.group.add(cluster_of(row))
        self.failed.append(row["outcome"] != "ok")
        self.key += _hash(suite, row["unit"], row["step"], row["question_name"], row["repeat"])
        self.asked += _hash(row["state_id"], row["question_id"])
        self.shown += _hash(row["presented_id"])


def _hash(*parts: object) -> bytes:
    # Hex, because numpy strips trailing NUL bytes of a bytes column.
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=HASH // 2).hexdigest().encode()


def _ranked(names: Names) -> NDArray[np.intp]:
    rank = np.empty(len(names.known), dtype=np.intp)
    rank[[names.known[name] for name in sorted(names.known)]] = np.arange(len(names.known))
    ranks: NDArray[np.intp] = rank[np.array(names.codes, dtype=np.intp)]
    return ranks


def tabulate(reader: RunReader, rules: Profile) -> Table:
    """The judged base decisions of a run under ``rules``.

    Raises:
        UsageError: two gold versions in one suite, or an input that the profile refuses.
    """
    place = _Place(rules, reader)
    scored = from_rows(place.watch(reader.rows()))
    return Table(
        scored=scored,
        as_returned=_with(scored, place.changed),
        suite=place.suite.column(),
        case=place.case.column(),
        unit=place.unit.column(),
        name=place.name.column(),
        split=place.split.column(),
        failed=np.array(place.failed, dtype=np.bool_),
        key=np.frombuffer(bytes(place.key), dtype=f"S{HASH}"),
        asked=np.frombuffer(bytes(place.asked), dtype=f"S{HASH}"),
        shown=np.frombuffer(bytes(place.shown), dtype=f"S{HASH}"),
        group=_ranked(place.group),
        gold=place.gold,
        left_out=place.left_out,
    )


def _with(scored: Scored, changed: dict[int, dict[str, float]]) -> Scored:
    """``scored`` with other probabilities at some decisions; confidence is read off them."""
    if not changed:
        return scored
    p, confidence = scored.probabilities.copy(), scored.confidence.copy()
    for number, values in changed.items():
        low, high = scored.offsets[number], scored.offsets[number + 1]
        labels = scored.labels[scored.question.codes[number]]
        p[low:high] = [values[labels[code]] for code in scored.label[low:high]]
        confidence[number] = min(1.0, p[low + scored.committed[number]])
    return replace(scored, probabilities=p, confidence=confidence)
