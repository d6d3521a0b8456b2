"""Read a run: header, decisions, episodes. Streams; never splits on anything but a newline byte.

A line that ends without its newline is torn: it was never finished and is not read. Any other line that
cannot be read is an error with file and line number. Ids are unique: a second line under the same id and
retry number is an error; under a higher retry number it replaces the first.
"""

from __future__ import annotations

import gzip
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape as glob_escape
from pathlib import Path
from typing import IO, Any, cast

from arena.errors import LogCorrupt, UsageError
from arena.identity import load
from arena.log.blobs import Blobs
from arena.records import SCHEMA, Decision, Episode
from arena.types import JSON

CONFIG, SUMMARY = "config.json", "summary.json"
CANARY = "canary.json"
DECISIONS, EPISODES = "decisions.jsonl", "episodes.jsonl"

_64_BITS = (1 << 64) - 1

Row = dict[str, Any]

RESTORE = "restore the file from a copy, or evaluate again with --fresh"


@dataclass(frozen=True, slots=True)
class Header:
    """What ``arena list runs`` shows: the config and, once finished, the summary; or why they cannot be read."""

    folder: Path
    config: Row
    summary: Row | None
    damage: str | None = None


def log_file(folder: Path, name: str) -> Path | None:
    """The finished (gzip) or running (plain) form of a log, or None. A finished one wins: it was renamed whole."""
    packed, plain = folder / f"{name}.gz", folder / name
    return packed if packed.exists() else plain if plain.exists() else None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rb") as packed:
            yield cast(IO[bytes], packed)
    else:
        with path.open("rb") as handle:
            yield handle


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line without its newline) of a plain or gzip log; a torn last line is left out.

    Raises:
        LogCorrupt: a gzip log that is cut short or damaged.
    """
    number = 0
    try:
        with _opened(path) as handle:
            for number, line in enumerate(handle, 1):
                if line.endswith(b"\n"):
                    yield number, line[:-1]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LogCorrupt(f"{path} is damaged after line {number}: {error}", hint=RESTORE) from error


def iter_rows(path: Path) -> Iterator[Row]:
    """Every complete line as a dict, in file order.

    Raises:
        LogCorrupt: a line that is not one JSON object of a known schema; names file and line.
    """
    for number, line in iter_lines(path):
        try:
            row = load(line)
        except ValueError as error:
            raise LogCorrupt(f"{path}:{number}: not JSON: {error}", hint=RESTORE) from error
        if not isinstance(row, dict):
            raise LogCorrupt(f"{path}:{number}: expected an object, found {type(row).__name__}", hint=RESTORE)
        if row.get("schema_version") != SCHEMA:
            found = row.get("schema_version")
            raise LogCorrupt(f"{path}:{number}: schema {found!r}, this arena reads {SCHEMA}", hint="update arena")
        yield row


class RunReader:
    """A run folder, read only. Which lines a retry replaced is remembered as long as a log stays as it is."""

    def __init__(self, folder: Path) -> None:
        if not (folder / CONFIG).is_file():
            raise UsageError(f"{folder} is not a run: it has no {CONFIG}", hint="see: arena list runs")
        self.folder = folder
        self.config: Row = _read_json(folder / CONFIG)
        self.blobs = Blobs(folder / "blobs")
        self._superseded: dict[tuple[Path, int, int], dict[str, int]] = {}

    @property
    def summary(self) -> Row | None:
        """The stored summary, or None while the run is unfinished."""
        path = self.folder / SUMMARY
        return _read_json(path) if path.is_file() else None

    @property
    def canary(self) -> Row | None:
        """The visibility canary's result, or None when it was not asked."""
        path = self.folder / CANARY
        return _read_json(path) if path.is_file() else None

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        return (self.folder / SUMMARY).is_file()

    def rows(self) -> Iterator[Row]:
        """Decisions as dicts, each id once (its highest retry), in file order of that line."""
        yield from self._unique(DECISIONS)

    def decisions(self) -> Iterator[Decision]:
        """Decisions, validated."""
        for row in self.rows():
            yield Decision.model_validate(row)

    def episode_rows(self) -> Iterator[Row]:
        """Episodes as dicts, each id once."""
        yield from self._unique(EPISODES)

    def episodes(self) -> Iterator[Episode]:
        """Episodes, validated."""
        for row in self.episode_rows():
            yield Episode.model_validate(row)

    def state(self, row: Row) -> JSON:
        """The state of a decision row, from the line or from its blob."""
        name = row.get("state_blob")
        return row["state"] if name is None else load(self.blobs.get(name))

    def _unique(self, name: str) -> Iterator[Row]:
        """Rows of a log, each id once. Memory: eight bytes an id while ids are checked, then only the retried ids."""
        path = log_file(self.folder, name)
        if path is None:
            return
        stat = path.stat()
        key = (path, stat.st_size, stat.st_mtime_ns)
        if key not in self._superseded:
            self._superseded[key] = _latest_retries(path)
        latest = self._superseded[key]
        for row in iter_rows(path):
            if row.get("retry", 0) == latest.get(str(row.get("id")), 0):
                yield row


def _latest_retries(path: Path) -> dict[str, int]:
    """Id -> its highest retry number, for ids that were asked more than once.

    Raises:
        LogCorrupt: an id occurs twice under one retry number, or a retry comes before what it replaces.
    """
    import numpy as np  # listing runs reads no log and needs none

    first, latest = array("Q"), dict[str, int]()
    for number, row in enumerate(iter_rows(path), 1):
        name, retry = str(row.get("id")), row.get("retry", 0)
        if retry == 0 and name not in latest:
            first.append(hash(name) & _64_BITS)
        elif retry > latest.get(name, 0):
            latest[name] = retry
        else:
            raise _twice(path, number, name)
    hashes = np.sort(np.frombuffer(first, dtype=np.uint64))
    if (hashes[1:] == hashes[:-1]).any():
        _refuse_twice(path)
    return latest


def _refuse_twice(path: Path) -> None:
    """Find the id that occurs twice; two ids of one hash are not one."""
    seen: set[str] = set()
    for number, row in enumerate(iter_rows(path), 1):
        name = str(row.get("id"))
        if row.get("retry", 0) == 0 and name in seen:
            raise _twice(path, number, name)
        seen.add(name)


def _twice(path: Path, number: int, name: str) -> LogCorrupt:
    return LogCorrupt(f"{path}:{number}: id {name} occurs twice", hint=RESTORE)


def run_folder(name: str | Path, root: Path) -> Path | None:
    """The folder of a run by its path, its name under ``root``, or its name one folder further down; else None.

    A board keeps its runs together in a folder of its own (``runs/board/NAME``); ``runs/NAME`` finds them there.
    """
    given = Path(name)
    deeper = sorted(root.glob(f"*/{glob_escape(given.name)}")) if given.name else []
    found = (folder for folder in (given, root / given, *deeper) if (folder / CONFIG).is_file())
    return next(found, None)


def read_header(folder: Path) -> Header:
    """Config and summary of a run, without opening its logs."""
    summary = folder / SUMMARY
    return Header(folder, _read_json(folder / CONFIG), _read_json(summary) if summary.is_file() else None)


def find_runs(root: Path) -> Iterator[Header]:
    """Headers of all runs under ``root``, by folder name. Opens no log; a damaged header does not hide the others."""
    if root.is_dir():
        for folder in sorted(root.iterdir()):
            if (folder / CONFIG).is_file():
                try:
                    yield read_header(folder)
                except LogCorrupt as error:
                    yield Header(folder, {}, None, error.message)


def _read_json(path: Path) -> Row:
    try:
        value = load(path.read_bytes())
    except ValueError as error:
        raise LogCorrupt(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise LogCorrupt(f"{path}: expected an object, found {type(value).__name__}")
    return value
