"""The end state of an episode as pure data: what the verifier judges, now or years later from a log.

Every path is described by kind, mode, size and sha256; contents are kept of the files that a predicate names.
Databases are asked here, on a copy in memory, because a verifier gets data only.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from math import isfinite

from arena.envs.tools.guide import Deed
from arena.envs.tools.snapshot import Entry, Snapshot, database
from arena.envs.tools.task import Task
from arena.identity import sha256
from arena.types import JSON

KEPT_BYTES = 64 * 1024
SQL_OPCODES = 1_000_000
"""A query on a file that the commands left is ended after this many of the engine's instructions."""
SQL_ROWS = 4096
"""A query that gives more rows, or a value or all of them over ``KEPT_BYTES``, has no answer."""


def _described(entry: Entry, *, content: bool = False) -> dict[str, JSON]:
    found: dict[str, JSON] = {"kind": entry.kind, "mode": f"{entry.mode:o}"}
    if entry.kind == "symlink":
        return found | {"target": entry.target}
    if entry.kind != "file":
        return found
    found |= {"size": len(entry.data), "sha256": sha256(entry.data)}
    if content and len(entry.data) <= KEPT_BYTES:
        try:
            found["text"] = entry.data.decode()
        except UnicodeDecodeError:
            found["base64"] = base64.b64encode(entry.data).decode()
    return found


def described(snapshot: Snapshot, named: Sequence[str] = ()) -> dict[str, JSON]:
    """Path -> description; with contents for the paths ``named``."""
    shown = set(named)
    return {path: _described(entry, content=path in shown) for path, entry in snapshot.entries.items()}


def _rows(data: bytes | None, select: str) -> JSON:
    """Rows as lists; ``{"error": ...}`` when there is no such database, or the query fails in it or gives too much."""
    if data is None:
        return {"error": "there is no file"}
    rows: list[JSON] = []
    size = 0
    try:
        with closing(database(data)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, KEPT_BYTES)
            connection.set_progress_handler(lambda: 1, SQL_OPCODES)
            for row in connection.execute(select):
                size += sum(len(value) for value in row if isinstance(value, str | bytes))
                if len(rows) == SQL_ROWS or size > KEPT_BYTES:
                    return {"error": f"more than {SQL_ROWS} rows or {KEPT_BYTES} bytes"}
                rows.append([_cell(value) for value in row])
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return {"error": str(error)}
    return rows


def _cell(value: JSON) -> JSON:
    """A value as JSON; what JSON has no type for is told from a text or null that looks like it."""
    if isinstance(value, bytes):
        return {"blob": value.hex()}
    return {"real": str(value)} if isinstance(value, float) and not isfinite(value) else value


def _predicates(task: Task, *kinds: str) -> Iterator[dict[str, JSON]]:
    return (each for each in task.verify["final"] if each["kind"] in kinds)


def end_state(task: Task, fixture: Snapshot, final: Snapshot, deeds: Sequence[Deed], claimed: str | None) -> JSON:
    """All that the verifier may look at."""
    named = [each["path"] for each in _predicates(task, "file", "json")]
    return {
        "files": described(final, named),
        "fixture": described(fixture),
        "trace": [{"tool": deed.tool, "rc": deed.rc, "risk": deed.risk, "flags": list(deed.flags)} for deed in deeds],
        "sqlite": [_rows(final.read(each["path"]), each["select"]) for each in _predicates(task, "sqlite")],
        "claimed": claimed,
    }


def differences(before: Snapshot, after: Snapshot, limit: int = 2000) -> list[JSON]:
    """What an action changed, for the replay: path, change, and the first ``limit`` characters of either side.

    ``mode``: both modes, where they changed along with the content.
    """
    found: list[JSON] = []
    for change in before.changes(after):
        what = change.what if change.what in ("added", "removed") else "changed"
        row: dict[str, JSON] = {"path": change.path, "change": what}
        for side, snapshot in (("before", before), ("after", after)):
            entry = snapshot.entries.get(change.path)
            if entry is not None:
                row[side] = _shown(entry, change.what == "mode", limit)
        if change.what == "content":
            modes = [f"{side.entries[change.path].mode:o}" for side in (before, after)]
            if len(set(modes)) == 2:
                row["mode"] = modes
        found.append(row)
    return found


def _shown(entry: Entry, mode_only: bool, limit: int) -> str:
    if mode_only or entry.kind == "dir":
        return f"mode {entry.mode:o}"
    if entry.kind == "symlink":
        return f"-> {entry.target}"
    if b"\0" in entry.data:
        return f"{len(entry.data)} bytes, sha256 {sha256(entry.data)[:16]}"
    return entry.data.decode(errors="replace")[:limit]
