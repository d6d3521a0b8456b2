"""The tables of a run's index, and how one log line becomes one row of them.

Only what is filtered, sorted or listed stands in columns; everything else is read from the log line itself, which
is found by ``chunk``, ``start`` and ``length`` (``chunk`` is NULL while the log is plain: then ``start`` is a file
offset). Derived data: it can be thrown away at any time.
"""

from __future__ import annotations

from typing import Any

from arena.log.reader import Row

VERSION = 2

TABLES = """
CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sources (
  log TEXT PRIMARY KEY, name TEXT, size INTEGER, mtime INTEGER, consumed INTEGER, lines INTEGER, tail BLOB,
  fraction REAL, complete INTEGER
);
CREATE TABLE IF NOT EXISTS chunks (log TEXT, n INTEGER, data BLOB, PRIMARY KEY (log, n)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decisions (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, retry INTEGER, ask TEXT, case_id TEXT, unit TEXT, question TEXT,
  grp TEXT, type TEXT, domain TEXT, tier TEXT, kind TEXT, idx INTEGER, probe TEXT, varied INTEGER, repeat INTEGER,
  phase TEXT, step INTEGER, episode TEXT, valid INTEGER, correct INTEGER, committed TEXT, gold TEXT, confidence REAL,
  slot INTEGER, options INTEGER, latency REAL, flipped INTEGER, chunk INTEGER, start INTEGER, length INTEGER
);
CREATE INDEX IF NOT EXISTS by_group ON decisions (grp);
CREATE INDEX IF NOT EXISTS by_ask ON decisions (ask);
CREATE TABLE IF NOT EXISTS episodes (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, retry INTEGER, unit TEXT, domain TEXT, tier TEXT, repeat INTEGER,
  ending TEXT, claimed TEXT, flags TEXT, error TEXT, steps INTEGER, teacher INTEGER, hits INTEGER, free INTEGER,
  seconds REAL, chunk INTEGER, start INTEGER, length INTEGER
);
CREATE INDEX IF NOT EXISTS by_unit ON episodes (unit);
"""


def upsert(table: str, names: tuple[str, ...]) -> str:
    """Insert a row; under an id that is there already, a higher retry number replaces it and any other is left."""
    settings = ", ".join(f"{name} = excluded.{name}" for name in names if name != "id")
    marks = ", ".join("?" * len(names))
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) "
        f"ON CONFLICT (id) DO UPDATE SET {settings} WHERE excluded.retry > {table}.retry"
    )


def text_of(value: str | int | bool | None) -> str | None:
    """A committed value or gold as an option key."""
    if value is None:
        return None
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def decision_columns(row: Row) -> tuple[Any, ...]:
    """``id`` .. ``latency`` of a decision, in the order of the table."""
    variant, question, gold = row["variant"], row["question"], row["gold"]
    kind, name, committed = variant["kind"], row["question_name"], text_of(row["committed"])
    choice = question["type"] == "choice"
    criteria = question.get("criteria")
    options = 2 if question["type"] == "noul" else len(criteria)
    slot = list(criteria).index(committed) + 1 if choice and committed is not None else None
    return (
        row["id"],
        row["retry"],
        row["ask"],
        row["case"],
        row["unit"],
        name,
        group_of(row),
        question["type"],
        row["domain"],
        row["tier"],
        kind,
        variant["index"],
        variant["probe"],
        kind in ("base", "trial") or variant["question"] == name,
        row["repeat"],
        row["phase"],
        row["step"],
        row["episode"],
        row["valid"],
        row["correct"],
        committed,
        ", ".join(str(text_of(value)) for value in gold["accepted"]) if gold else None,
        row["confidence"],
        slot,
        options,
        row["latency_ms"],
    )


def group_of(row: Row) -> str:
    """What its variants share: domain, unit (``EPISODE#STEP`` for a recorded step) and question."""
    unit = row["unit"]
    if row["episode"] is not None:
        unit = f"{unit}#{row['step']}" if row["phase"] == "teacher" else f"{unit}#free-{row['step']}"
        if row["variant"]["kind"] == "trial":
            unit += f" trial {row['variant']['index']}"  # another fixture: no form of the same question
    return f"{row['domain']}\x1f{unit}\x1f{row['question_name']}"


def episode_columns(row: Row) -> tuple[Any, ...]:
    """``id`` .. ``seconds`` of an episode, in the order of the table."""
    teacher = [step for step in row["steps"] if step["phase"] == "teacher"]
    return (
        row["id"],
        row["retry"],
        row["unit"],
        row["domain"],
        row["tier"],
        row["repeat"],
        row["ending"],
        row["claimed"],
        ", ".join(row["flags"]),
        (row["error"] or {}).get("message"),
        len(row["steps"]),
        len(teacher),
        sum(bool(step["correct"]) for step in teacher),
        len(row["steps"]) - len(teacher),
        row["seconds"],
    )


def _names(*texts: str) -> tuple[str, ...]:
    return tuple(" ".join(texts).split())


DECISION_NAMES = _names(
    "seq id retry ask case_id unit question grp type domain tier kind idx probe varied repeat phase step episode",
    "valid correct committed gold confidence slot options latency chunk start length",
)
EPISODE_NAMES = _names(
    "seq id retry unit domain tier repeat ending claimed flags error steps teacher hits free seconds",
    "chunk start length",
)
