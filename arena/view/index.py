"""The index of one run: built in the background from its logs, kept beside the run, never trusted over the log.

It follows a growing log from where it stopped and is built anew when a finished log's size or time has changed.
Batches are committed as they come, so the first page of a run can be shown long before its last line was read.
One process at a time builds; others read what is there.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from arena.errors import ArenaError, LogCorrupt, UsageError
from arena.identity import load, sha256
from arena.log.reader import DECISIONS, EPISODES, Row, log_file
from arena.records import SCHEMA
from arena.view.blocks import Block, blocks, lines, pack
from arena.view.flips import Flips
from arena.view.schema import (
    DECISION_NAMES,
    EPISODE_NAMES,
    TABLES,
    VERSION,
    decision_columns,
    episode_columns,
    upsert,
)

COMMIT_EVERY_S = 0.2
CREATE_WAIT_S = 10.0
TAIL = 8192
"""Bytes before the place where reading stopped: a line or two with their ids. They must still be there to read on."""

LOGS = {
    "decisions": (DECISIONS, decision_columns, upsert("decisions", DECISION_NAMES)),
    "episodes": (EPISODES, episode_columns, upsert("episodes", EPISODE_NAMES)),
}


def index_path(folder: Path) -> Path:
    """``.view.sqlite`` in the run, or in the cache (``$ARENA_CACHE``) where the run cannot be written."""
    if os.access(folder, os.W_OK):
        return folder / ".view.sqlite"
    from arena.log.cache import cache_path

    return cache_path().parent / "view" / f"{sha256(str(folder.resolve()).encode())[:24]}.sqlite"


class RunIndex:
    """The index of ``folder``. ``refresh`` keeps it up to date; ``error`` says why it could not be.

    ``counted``: the last counts asked for, with the state they were taken at.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = index_path(folder)
        self.error: str | None = None
        self.counted: tuple[Any, list[sqlite3.Row]] = (None, [])
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failed: tuple[Any, ...] | None = None

    def refresh(self, wait_s: float = 0.5) -> None:
        """Start a build if the logs changed and none is running; wait a little for one just started."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._open_or_create()
            stamps = self._stamps()
            if stamps == self._failed or self._current(stamps):
                return
            thread = self._thread = threading.Thread(target=self._build, args=(stamps,), daemon=True)
            thread.start()
        thread.join(wait_s)

    def connect(self) -> sqlite3.Connection:
        """A connection for reading. Close it."""
        db = sqlite3.connect(self.path, check_same_thread=False, timeout=10.0)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA query_only = 1")
        return db

    def _open_or_create(self) -> None:
        """Make sure that there is an index of this version; of two processes one makes it, the other waits."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + CREATE_WAIT_S
        while not self._usable():
            with _sole_builder(self.path) as sole:
                if sole and not self._usable():
                    self._create()
            if not sole:
                if time.monotonic() > until:
                    raise UsageError(f"{self.path} is being made by another arena view, and not ready")
                time.sleep(0.05)

    def _usable(self) -> bool:
        if not self.path.exists():
            return False
        try:
            with closing(self.connect()) as db:
                return [row[0] for row in db.execute("SELECT version FROM meta")] == [VERSION]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return False
            raise
        except sqlite3.DatabaseError:
            return False  # no database at all: derived data, made anew

    def _create(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        with closing(_writer(self.path)) as db:
            db.executescript(f"BEGIN; {TABLES} INSERT INTO meta VALUES ({VERSION}); COMMIT;")

    def _stamps(self) -> tuple[Any, ...]:
        return tuple(_stamp(log_file(self.folder, name)) for name, _, _ in LOGS.values())

    def _current(self, stamps: tuple[Any, ...]) -> bool:
        with closing(self.connect()) as db:
            known = {row["log"]: row for row in db.execute("SELECT * FROM sources")}
        pairs = zip(LOGS, stamps, strict=True)
        return all(
            stamp is None or (log in known and known[log]["complete"] and _same(known[log], stamp))
            for log, stamp in pairs
        )

    def _build(self, stamps: tuple[Any, ...]) -> None:
        try:
            with _sole_builder(self.path) as sole:
                if not sole:
                    return
                with closing(_writer(self.path)) as db:
                    for log in ("episodes", "decisions"):
                        _Filler(db, log, self.folder).fill()
            self.error = self._failed = None
        except FileNotFoundError:
            pass  # the log was packed while it was read; the next refresh finds its new form
        except (ArenaError, sqlite3.Error, OSError) as error:
            self.error, self._failed = str(error), stamps


def _stamp(path: Path | None) -> tuple[str, int, int] | None:
    if path is None:
        return None
    found = path.stat()
    return path.name, found.st_size, found.st_mtime_ns


def _same(row: sqlite3.Row, stamp: tuple[str, int, int]) -> bool:
    return (row["name"], row["size"], row["mtime"]) == stamp


def _writer(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=30.0, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    return db


@contextmanager
def _sole_builder(path: Path) -> Iterator[bool]:
    """True while no other process builds this index."""
    with path.with_name(path.name + "-lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


class _Filler:
    """Brings the rows of one log up to date."""

    def __init__(self, db: sqlite3.Connection, log: str, folder: Path) -> None:
        self.db, self.log = db, log
        name, self._columns, self._insert = LOGS[log]
        self.path = log_file(folder, name)
        self.lines = self.consumed = self.chunk = 0
        self.flips = Flips(db) if log == "decisions" else None

    def fill(self) -> None:
        """Read on, or from the beginning where what was read is not what is there now."""
        stamp = _stamp(self.path)
        if self.path is None or stamp is None:
            return
        known = self.db.execute("SELECT * FROM sources WHERE log = ?", (self.log,)).fetchone()
        if known is not None and known["complete"] and _same(known, stamp):
            return
        self.db.execute("BEGIN IMMEDIATE")
        if known is not None and self._grown(known):
            self.consumed, self.lines = known["consumed"], known["lines"]
        else:
            self._wipe()
        last, tail, fraction = time.monotonic(), b"" if known is None else known["tail"] or b"", 0.0
        try:
            for block in blocks(self.path, self.consumed):
                self._take(block)
                tail, fraction = (tail + block.data)[-TAIL:], block.fraction
                if time.monotonic() - last > COMMIT_EVERY_S:
                    self._commit(stamp, tail, fraction, complete=False)
                    self.db.execute("BEGIN IMMEDIATE")
                    last = time.monotonic()
        except BaseException:
            self._commit(stamp, tail, fraction, complete=False)
            raise
        self._commit(stamp, tail, 1.0, complete=True)

    def _grown(self, known: sqlite3.Row) -> bool:
        """Whether the plain log still begins with what was read of it."""
        assert self.path is not None
        if self.path.suffix == ".gz" or known["name"] != self.path.name:
            return False
        consumed, tail = known["consumed"], known["tail"] or b""
        with self.path.open("rb") as handle:
            handle.seek(max(0, consumed - len(tail)))
            return handle.read(len(tail)) == tail and self.path.stat().st_size >= consumed

    def _wipe(self) -> None:
        self.db.execute(f"DELETE FROM {self.log}")
        self.db.execute("DELETE FROM chunks WHERE log = ?", (self.log,))

    def _commit(self, stamp: tuple[str, int, int], tail: bytes, fraction: float, *, complete: bool) -> None:
        if self.flips is not None:
            self.flips.mark()
        self.db.execute(
            "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.log, *stamp, self.consumed, self.lines, tail, fraction, complete),
        )
        self.db.execute("COMMIT")

    def _take(self, block: Block) -> None:
        assert self.path is not None
        packed = self.path.suffix == ".gz"
        rows = []
        for number, (offset, line) in enumerate(lines(block), self.lines + 1):
            row = self._read(line, number)
            columns = self._extract(row, number)
            start = offset if packed else block.start + offset
            rows.append((number, *columns, self.chunk if packed else None, start, len(line)))
            if self.flips is not None:
                self.flips.see(row, columns)
        if packed:
            self.db.execute("INSERT INTO chunks VALUES (?, ?, ?)", (self.log, self.chunk, pack(block.data)))
            self.chunk += 1
        before = self.db.total_changes
        self.db.executemany(self._insert, rows)
        if self.db.total_changes - before != len(rows):
            span = f"lines {self.lines + 1} to {self.lines + len(rows)}"
            raise LogCorrupt(f"{self.path}: an id occurs twice under one retry number in {span}")
        self.lines += len(rows)
        self.consumed = block.start + len(block.data)

    def _read(self, line: bytes, number: int) -> Row:
        where = f"{self.path}:{number}"
        try:
            row = orjson.loads(line)
        except ValueError:
            try:
                row = load(line)
            except ValueError as error:
                raise LogCorrupt(f"{where}: not JSON: {error}") from error
        if not isinstance(row, dict) or row.get("schema_version") != SCHEMA:
            raise LogCorrupt(f"{where}: not a line of schema {SCHEMA}")
        return row

    def _extract(self, row: Row, number: int) -> tuple[Any, ...]:
        columns: Callable[[Row], tuple[Any, ...]] = self._columns
        try:
            return columns(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LogCorrupt(f"{self.path}:{number}: not a record of {self.log}: {error!r}") from error
