"""Questions to a run's index: pages, counts, neighbours, variants; and log lines by their place.

All paging happens in SQLite; no method reads more lines than it returns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.identity import load
from arena.log.reader import DECISIONS, EPISODES, Row, log_file
from arena.view.blocks import unpack
from arena.view.filters import ALONG, LOW_CONFIDENCE, SORTS, Filter
from arena.view.index import RunIndex

PAGE = 50

_NAMES = {"decisions": DECISIONS, "episodes": EPISODES}


@dataclass(frozen=True, slots=True)
class State:
    """How far an index is. ``fraction`` of the decisions log read, 0..1; ``decisions`` and ``episodes`` so far."""

    decisions: int
    episodes: int
    fraction: float
    complete: bool


@dataclass(frozen=True, slots=True)
class Spot:
    """A decision among those that a filter lets through: its position from 1, and the ids next to it."""

    position: int
    total: int
    before: str | None
    after: str | None


class Store:
    """One connection; use it as a context manager, in one thread at a time."""

    def __init__(self, index: RunIndex) -> None:
        self._index, self._folder = index, index.folder
        self._db = index.connect()
        self._blocks: dict[tuple[str, int], bytes] = {}

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def state(self) -> State:
        """How far the index is."""
        known = {row["log"]: row for row in self._db.execute("SELECT * FROM sources")}
        decisions, episodes = known.get("decisions"), known.get("episodes")
        return State(
            decisions["lines"] if decisions else 0,
            episodes["lines"] if episodes else 0,
            decisions["fraction"] if decisions else 0.0,
            bool(decisions and decisions["complete"]),
        )

    def counts(self) -> list[sqlite3.Row]:
        """Per domain, tier, question type and form: decisions, right, wrong, invalid, flipped, unsure."""
        state = self.state()
        if self._index.counted[0] == state:
            return self._index.counted[1]
        rows = self._db.execute(
            f"""SELECT domain, tier, type, CASE WHEN varied THEN kind ELSE '{ALONG}' END form,
            count(*) n, sum(correct = 1) hits, sum(correct = 0 AND valid) wrong,
            sum(NOT valid) invalid, sum(flipped = 1) flipped, sum(confidence < {LOW_CONFIDENCE}) unsure,
            max(CASE WHEN type = 'choice' THEN slot END) slots
            FROM decisions GROUP BY domain, tier, type, form ORDER BY domain, tier, type, form"""
        ).fetchall()
        self._index.counted = (state, rows)
        return rows

    def total(self, chosen: Filter) -> int:
        """How many decisions a filter lets through."""
        where, values = chosen.where()
        return int(self._db.execute(f"SELECT count(*) FROM decisions WHERE {where}", values).fetchone()[0])

    def page(self, chosen: Filter, number: int, size: int = PAGE) -> list[sqlite3.Row]:
        """Page ``number`` (from 1) of the decisions that a filter lets through."""
        where, values = chosen.where()
        key, way = SORTS[chosen.sort]
        return self._db.execute(
            f"SELECT * FROM decisions WHERE {where} ORDER BY {key} {way}, seq LIMIT ? OFFSET ?",
            [*values, size, (number - 1) * size],
        ).fetchall()

    def spot(self, chosen: Filter, row: sqlite3.Row) -> Spot | None:
        """Where ``row`` stands under a filter; None when the filter does not let it through."""
        where, values = chosen.where()
        inside = self._db.execute(f"SELECT 1 FROM decisions WHERE seq = ? AND {where}", [row["seq"], *values])
        if inside.fetchone() is None:
            return None
        key, way = SORTS[chosen.sort]
        mine = self._db.execute(f"SELECT {key} FROM decisions WHERE seq = ?", (row["seq"],)).fetchone()[0]
        past, ahead = ("<", ">") if way == "ASC" else (">", "<")
        place = [*values, mine, mine, row["seq"]]
        earlier = f"{where} AND ({key} {past} ? OR ({key} = ? AND seq < ?))"
        later = f"{where} AND ({key} {ahead} ? OR ({key} = ? AND seq > ?))"
        back = "DESC" if way == "ASC" else "ASC"
        before = self._one(f"SELECT id FROM decisions WHERE {earlier} ORDER BY {key} {back}, seq DESC LIMIT 1", place)
        after = self._one(f"SELECT id FROM decisions WHERE {later} ORDER BY {key} {way}, seq LIMIT 1", place)
        count = self._one(f"SELECT count(*) FROM decisions WHERE {earlier}", place)
        return Spot(int(count) + 1, self.total(chosen), before, after)

    def decision(self, identity: str) -> sqlite3.Row | None:
        """The index row of a decision."""
        found: sqlite3.Row | None = self._db.execute("SELECT * FROM decisions WHERE id = ?", (identity,)).fetchone()
        return found

    def variants(self, row: sqlite3.Row) -> list[sqlite3.Row]:
        """Every form in which the question of ``row`` was asked, itself included: base, orders, repeats, nulls..."""
        return self._db.execute(
            """SELECT * FROM decisions WHERE grp = ? AND varied ORDER BY
            CASE kind WHEN 'base' THEN 0 WHEN 'reorder' THEN 1 WHEN 'repeat' THEN 2 ELSE 3 END, idx, seq""",
            (row["grp"],),
        ).fetchall()

    def siblings(self, row: sqlite3.Row) -> list[sqlite3.Row]:
        """The decisions of the same ask, ``row`` included."""
        return self._db.execute("SELECT * FROM decisions WHERE ask = ? ORDER BY seq", (row["ask"],)).fetchall()

    def episodes(self, ending: str = "") -> list[sqlite3.Row]:
        """Episodes, those of one ``ending`` only when it is given."""
        where, values = ("WHERE ending = ?", [ending]) if ending else ("", [])
        return self._db.execute(
            f"SELECT * FROM episodes {where} ORDER BY domain, tier, unit, repeat", values
        ).fetchall()

    def episode(self, identity: str) -> sqlite3.Row | None:
        """The index row of an episode by its id."""
        found: sqlite3.Row | None = self._db.execute("SELECT * FROM episodes WHERE id = ?", (identity,)).fetchone()
        return found

    def episode_of(self, row: sqlite3.Row) -> sqlite3.Row | None:
        """The episode whose step a decision is, or was made from (``EPISODE#STEP``)."""
        if row["episode"] is not None:
            return self.episode(row["case_id"])
        unit = row["unit"].rpartition("#")[0]
        found: sqlite3.Row | None = self._db.execute(
            "SELECT * FROM episodes WHERE unit = ? AND domain = ? ORDER BY repeat LIMIT 1", (unit, row["domain"])
        ).fetchone()
        return found

    def asked(self, asks: Sequence[str]) -> list[sqlite3.Row]:
        """The decisions of several asks, in log order."""
        marks = ", ".join("?" * len(asks))
        return self._db.execute(f"SELECT * FROM decisions WHERE ask IN ({marks}) ORDER BY seq", asks).fetchall()

    def lines(self, log: str, rows: Iterable[sqlite3.Row]) -> list[Row]:
        """The log lines of index rows, parsed.

        Raises:
            FileNotFoundError: the plain log was packed meanwhile; refresh the index and ask again.
        """
        return [load(self._bytes(log, row)) for row in rows]

    def _bytes(self, log: str, row: sqlite3.Row) -> bytes:
        if row["chunk"] is None:
            path = log_file(self._folder, _NAMES[log])
            if path is None or path.suffix == ".gz":
                raise FileNotFoundError(self._folder / _NAMES[log])
            with path.open("rb") as handle:
                handle.seek(row["start"])
                return handle.read(row["length"])
        key = (log, row["chunk"])
        if key not in self._blocks:
            found = self._db.execute("SELECT data FROM chunks WHERE log = ? AND n = ?", key).fetchone()
            self._blocks[key] = unpack(found[0])
        return self._blocks[key][row["start"] : row["start"] + row["length"]]

    def _one(self, sql: str, values: Sequence[Any]) -> Any:
        found = self._db.execute(sql, values).fetchone()
        return None if found is None else found[0]
