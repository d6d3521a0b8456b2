"""Write a run: whole lines, appended; gzip at the end; nothing lost by a crash at any point.

While running, logs are plain JSONL and each record is one ``write`` of a whole line. A line that a crash
tore is cut off when the run is opened again, and costs that record alone. At the end each log is packed
aside, synced and renamed; the plain form goes only after that. One writer at a time holds ``.lock``.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import orjson

from arena.errors import ArenaError, MissingNeed, UsageError
from arena.identity import dump
from arena.log.blobs import Blobs
from arena.log.reader import CONFIG, DECISIONS, EPISODES, SUMMARY, iter_lines
from arena.records import Decision, Episode
from arena.types import JSON

STATE_INLINE = 4096
"""States up to this many bytes stand in the line; larger ones go to ``blobs/``."""


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    aside = path.with_name(f"{path.name}.tmp")
    with aside.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    aside.replace(path)


class RunWriter:
    """The open log of one run. Use as a context manager."""

    def __init__(self, folder: Path, config: JSON) -> None:
        """Open ``folder`` for appending; a new one gets ``config`` as its header.

        Raises:
            MissingNeed: the folder cannot be written.
            UsageError: another process writes to it.
        """
        self.folder = folder
        self.blobs = Blobs(folder / "blobs")
        self._torn = False
        with ExitStack() as stack:  # closes what was opened when a later step fails
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _take_lock(folder, stack.enter_context((folder / ".lock").open("w")))
                if not (folder / CONFIG).exists():
                    write_atomic(folder / CONFIG, orjson.dumps(config, option=orjson.OPT_INDENT_2) + b"\n")
                # A finished run that is opened again (--retry-errors) is unfinished until it is summarised again.
                (folder / SUMMARY).unlink(missing_ok=True)
                self._decisions = stack.enter_context(_open_log(folder, DECISIONS))
                self._episodes = stack.enter_context(_open_log(folder, EPISODES))
            except OSError as error:
                raise _unwritable(folder, error) from error
            self._files = stack.pop_all()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decisions(self, records: Iterable[Decision]) -> None:
        """Append the decisions of one ask in one write."""
        self._append(self._decisions, records)

    def episode(self, record: Episode) -> None:
        """Append one finished episode."""
        self._append(self._episodes, (record,))

    def store_state(self, state: JSON, encoded: bytes | None = None) -> tuple[JSON, str | None]:
        """(state, None) when it is small enough for the line, else (None, blob name)."""
        data = dump(state) if encoded is None else encoded
        return (state, None) if len(data) <= STATE_INLINE else (None, self.put_blob(data))

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their sha256."""
        try:
            return self.blobs.put(data)
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def _append(self, handle: IO[bytes], records: Iterable[Decision | Episode]) -> None:
        lines = b"".join(dump(record.model_dump(mode="python")) + b"\n" for record in records)
        if self._torn:
            raise MissingNeed(f"{self.folder} ends in an unfinished line", hint="run the same command again")
        try:
            written = handle.write(lines)
            while written < len(lines):  # an unbuffered write may stop short, as on a disk that is filling up
                written += handle.write(lines[written:])
        except OSError as error:
            self._torn = True  # nothing may follow half a line
            raise _unwritable(self.folder, error) from error

    def file(self, name: str, content: JSON) -> None:
        """Write a JSON file of the run, whole or not at all."""
        try:
            write_atomic(self.folder / name, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def finish(self, summary: JSON) -> None:
        """Pack the logs and write the summary: the run is complete."""
        self._decisions.close()
        self._episodes.close()
        try:
            for name in (DECISIONS, EPISODES):
                pack(self.folder / name)
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        self.file(SUMMARY, summary)

    def close(self) -> None:
        """Close files and release the lock; the run stays resumable."""
        self._files.close()


def _take_lock(folder: Path, lock: IO[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageError(
            f"{folder} is being written by another arena process", hint="wait for it, or choose another --out"
        ) from error


def pack(path: Path) -> None:
    """Replace a plain log by its gzip form, safely at every point; without timestamps, so bytes repeat."""
    if not path.exists():
        return
    packed, aside = path.with_name(f"{path.name}.gz"), path.with_name(f"{path.name}.gz.tmp")
    with path.open("rb") as source, aside.open("wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as target:
            while chunk := source.read(1 << 20):
                target.write(chunk)
        raw.flush()
        os.fsync(raw.fileno())
    aside.replace(packed)
    path.unlink()


def _open_log(folder: Path, name: str) -> IO[bytes]:
    """Open a log for appending whole lines; repairs what a crash left."""
    plain, packed = folder / name, folder / f"{name}.gz"
    (folder / f"{name}.gz.tmp").unlink(missing_ok=True)
    if packed.exists():
        # Packed and still plain: the crash came between rename and unlink, and the packed form is whole.
        # Packed alone on an unfinished run: the summary was not reached; unpack to append.
        if not plain.exists():
            aside = folder / f"{name}.tmp"
            with aside.open("wb") as target:
                for _, line in iter_lines(packed):
                    target.write(line + b"\n")
            aside.replace(plain)
        packed.unlink()
    cut_torn_line(plain)
    return plain.open("ab", buffering=0)


def cut_torn_line(path: Path) -> int:
    """Cut an unfinished last line off a log; returns how many bytes went (0 when it was whole)."""
    if not path.exists():
        return 0
    with path.open("r+b") as handle:
        size = handle.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - (1 << 16))
            handle.seek(start)
            chunk = handle.read(end - start)
            spot = chunk.rfind(b"\n")
            if spot >= 0:
                end = start + spot + 1
                break
            end = start
        handle.truncate(end)
        return size - end


def _unwritable(folder: Path, error: OSError) -> ArenaError:
    if error.errno == errno.ENOSPC:
        return MissingNeed(
            f"the disk is full: {folder} could not be written",
            hint="what was recorded is kept; free some space and run the same command again",
        )
    return MissingNeed(
        f"{folder} cannot be written: {error.strerror or error}", hint="choose a folder you may write with --out"
    )
