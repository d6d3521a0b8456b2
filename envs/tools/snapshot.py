"""The end state of a box as frozen data: what every path under ``/task`` is, read on the host.

A snapshot is taken with all processes of the commands dead, and read in memory from the box's tar; nothing
is unpacked. Two snapshots are the same state when their ``sha256`` agree: paths, kinds, permission bits,
contents and link targets count; times and owners do not.
"""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from arena.envs.tools.sandbox import Files
from arena.envs.tools.tarball import Member, TarError, TarTooLarge, read_tar, with_parents
from arena.errors import Failure
from arena.types import JSON, Frozen

EntryKind = Literal["file", "dir", "symlink", "fifo", "device", "socket"]


class SnapshotLimit(Failure):
    """The commands left more files or bytes than a snapshot reads: their doing, not the engine's."""

    def __init__(self, message: str) -> None:
        super().__init__("model", message)


class Change(Frozen):
    """One difference between two states. ``what``: the first of kind, content, mode that differs."""

    path: str
    what: Literal["added", "removed", "kind", "content", "mode"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One path. ``data``: content of a file; ``target``: of a symlink, as written, never followed."""

    kind: EntryKind
    mode: int
    data: bytes = b""
    target: str = ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Snapshot:
    """``entries``: path relative to ``/task`` (``.`` is the folder itself) -> entry, in path order."""

    entries: Mapping[str, Entry]

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", MappingProxyType(dict(sorted(self.entries.items()))))

    @cached_property
    def sha256(self) -> str:
        """Hex sha256 of the state."""
        state = hashlib.sha256()
        for path, entry in self.entries.items():
            content = hashlib.sha256(entry.data).digest()
            for field in (_bytes(path), entry.kind.encode(), b"%o" % entry.mode, content, _bytes(entry.target)):
                state.update(b"%d:" % len(field) + field)
        return state.hexdigest()

    def read(self, path: str) -> bytes | None:
        """Content of the regular file at ``path``; ``None`` when there is none. Links are not followed."""
        entry = self.entries.get(path)
        return entry.data if entry is not None and entry.kind == "file" else None

    def changes(self, later: Snapshot) -> tuple[Change, ...]:
        """What differs in ``later``, in path order."""
        return tuple(
            Change(path=path, what=what)
            for path in sorted({*self.entries, *later.entries})
            if (what := _difference(self.entries.get(path), later.entries.get(path))) is not None
        )

    def to_json(self) -> JSON:
        """The state as JSON; contents in base64, undecodable path bytes escaped as Python does (``\\udcff``)."""
        return {
            path: {"kind": e.kind, "mode": e.mode, "data": base64.b64encode(e.data).decode(), "target": e.target}
            for path, e in self.entries.items()
        }

    @classmethod
    def from_json(cls, state: JSON) -> Snapshot:
        """Inverse of ``to_json``."""
        return cls(
            {
                path: Entry(e["kind"], e["mode"], base64.b64decode(e["data"], validate=True), e["target"])
                for path, e in state.items()
            }
        )

    @classmethod
    def of_files(cls, files: Files) -> Snapshot:
        """The state that seeding ``files`` into an empty box gives."""
        return cls(
            {
                path: Entry(seed.kind, 0o777 if seed.kind == "symlink" else seed.mode, seed.data, seed.target)
                for path, seed in with_parents(files).items()
            }
        )

    @classmethod
    def of_tar(cls, archive: bytes, modes: Mapping[str, int] | None = None) -> Snapshot:
        """Read a box's tar. ``modes``: permission bits known from elsewhere, by path; what the tar lacks is a socket.

        Raises:
            SnapshotLimit: over the caps on members or bytes.
            TarError: not an archive that a box writes.
        """
        try:
            members = read_tar(archive)
        except TarTooLarge as error:
            raise SnapshotLimit(f"end state too large to read: {error}") from error
        return cls(_entries(members, modes or {}))


def _entries(members: Iterable[Member], modes: Mapping[str, int]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for member in members:
        mode = modes.get(member.path, member.mode)
        if member.kind == "hardlink":
            first = entries.get(member.target.removeprefix("./"))
            if first is None or first.kind == "dir":
                raise TarError(f"hard link {member.path!r} to {member.target!r}, which is nothing earlier")
            entries[member.path] = first
        elif member.kind == "symlink":
            entries[member.path] = Entry("symlink", 0o777, target=member.target)
        else:
            entries[member.path] = Entry(member.kind, mode, member.data)
    for path in modes.keys() - entries.keys():
        entries[path] = Entry("socket", modes[path])
    return entries


def _difference(
    before: Entry | None, after: Entry | None
) -> Literal["added", "removed", "kind", "content", "mode"] | None:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.kind != after.kind:
        return "kind"
    if (before.data, before.target) != (after.data, after.target):
        return "content"
    return "mode" if before.mode != after.mode else None


def database(data: bytes) -> sqlite3.Connection:
    """A database file as an in-memory connection; writing to it changes nothing else. Close it.

    An empty file is an empty database. One in WAL mode is read without its log, as it lies in the file.

    Raises:
        sqlite3.DatabaseError: not a database. UnicodeDecodeError: so damaged that not even the error is text.
    """
    connection = sqlite3.connect(":memory:")
    try:
        if data:
            # In memory there is no log, and the engine refuses a header that asks for one (format 2).
            connection.deserialize(data[:18] + b"\1\1" + data[20:] if data[18:20] == b"\2\2" else data)
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def database_bytes(sql: str) -> bytes:
    """The database file that a script of SQL statements makes: how a fixture writes a database as text."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql)
        return connection.serialize()
