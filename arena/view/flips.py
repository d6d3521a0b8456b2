"""Which decisions flip: an order that commits to another option than the canonical order of the same question.

The canonical order is ``reorder`` 0 where it was asked, else the recorded base form (as in ``reliability.collect``).
It is marked as flipped itself when any of its orders is. Invalid answers are not comparable and carry no mark, nor does
a step of an episode whose recorded step was asked by itself: a model may come to that number by another way.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from arena.log.reader import Row

_GROUP = """SELECT seq, kind, idx, committed FROM decisions WHERE grp = ? AND varied AND repeat = 0
  AND phase = 'teacher' AND kind IN ('base', 'reorder')"""
_GRP = 6
"""Where ``grp`` stands among the columns of a decision."""


class Flips:
    """Collects the groups that new rows belong to; ``mark`` writes the marks of these groups."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._reordered = {row[0] for row in db.execute("SELECT DISTINCT grp FROM decisions WHERE kind = 'reorder'")}
        self._touched: set[str] = set()

    def see(self, row: Row, columns: tuple[Any, ...]) -> None:
        """Note one row that is about to be written."""
        kind, group = row["variant"]["kind"], columns[_GRP]
        if kind == "reorder" and row["variant"]["question"] == row["question_name"]:
            self._reordered.add(group)
            self._touched.add(group)
        elif kind == "base" and group in self._reordered:
            self._touched.add(group)

    def mark(self) -> None:
        """Write the marks of the groups seen since the last call."""
        marks: list[tuple[int | None, int]] = []
        for group in self._touched:
            marks += _marks(self._db.execute(_GROUP, (group,)).fetchall())
        self._db.executemany("UPDATE decisions SET flipped = ? WHERE seq = ?", marks)
        self._touched.clear()


def _marks(rows: list[sqlite3.Row]) -> list[tuple[int | None, int]]:
    firsts = [row for row in rows if row["kind"] == "reorder" and row["idx"] == 0]
    bases = [row for row in rows if row["kind"] == "base"]
    canonical = next(iter(firsts or bases), None)
    if canonical is None or canonical["committed"] is None:
        return [(None, row["seq"]) for row in rows]
    others = [row for row in rows if row["kind"] == "reorder" and row["idx"] > 0]
    found = [
        (None if row["committed"] is None else int(row["committed"] != canonical["committed"]), row["seq"])
        for row in others
    ]
    any_flip = int(any(flag for flag, _ in found))
    marked = [(any_flip, row["seq"]) for row in firsts or bases]
    return found + marked + [(None, row["seq"]) for row in bases if firsts]
