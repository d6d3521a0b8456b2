"""Tar in and out of a box: fixtures are written, end states read, both in memory.

The reader takes what ``busybox tar`` writes (ustar with GNU long names) and nothing else: no pax headers,
no sparse maps, no base-256 sizes. It never extracts, follows no link, and holds caps on members and
bytes, so an archive made of hostile content costs at most the cap. The general reader of the standard
library accepts far more than a box can send, and some of that has looped or filled memory before.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from arena.envs.tools.sandbox import AGENT_UID, Files, SeedFile
from arena.errors import UsageError

BLOCK = 512
MAX_MEMBERS = 8192
MAX_BYTES = 32 * 2**20
MAX_NAME = 4096
ROOT_MODE = 0o755

MemberKind = Literal["file", "dir", "symlink", "hardlink", "fifo", "device"]
_KINDS: dict[bytes, MemberKind] = {
    b"\0": "file",
    b"0": "file",
    b"1": "hardlink",
    b"2": "symlink",
    b"3": "device",
    b"4": "device",
    b"5": "dir",
    b"6": "fifo",
}


class TarError(ValueError):
    """The archive is not one that a box's own tar wrote."""


class TarTooLarge(TarError):
    """The archive holds more members or bytes than the caps allow."""


@dataclass(frozen=True, slots=True)
class Member:
    """One archive member. ``path``: relative and normalised, ``.`` for the top; undecodable bytes escaped."""

    path: str
    kind: MemberKind
    mode: int
    mtime: int
    data: bytes = b""
    target: str = ""


def clean_path(path: str) -> str:
    """A path below the top, normalised.

    Raises:
        TarError: absolute, empty, with ``..`` or NUL, or too long.
    """
    if not path or path.startswith("/") or "\0" in path or len(path) > MAX_NAME:
        raise TarError(f"path {path[:80]!r} is empty, absolute, too long or holds NUL")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise TarError(f"path {path[:80]!r} leaves the work folder")
    return "/".join(parts) or "."


def with_parents(files: Files) -> dict[str, SeedFile]:
    """The fixture with normalised paths, missing parent folders and the top added, in path order.

    Raises:
        UsageError: a path leaves the work folder, is named twice, or lies below something that is no folder.
    """
    named: dict[str, SeedFile] = {}
    for path, entry in files.items():
        try:
            clean = clean_path(path)
        except TarError as error:
            raise UsageError(f"fixture: {error}", hint="paths are relative to /task") from error
        if clean in named:
            raise UsageError(f"fixture: {clean!r} is named twice")
        named[clean] = entry
    for path in list(named):
        for parent in PurePosixPath(path).parents:
            found = named.setdefault(str(parent), SeedFile(kind="dir", mode=ROOT_MODE))
            if found.kind != "dir":
                raise UsageError(f"fixture: {path!r} lies below {str(parent)!r}, which is a {found.kind}")
    named.setdefault(".", SeedFile(kind="dir", mode=ROOT_MODE))
    return dict(sorted(named.items()))


def _header(path: str, entry: SeedFile, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.uid = info.gid = AGENT_UID
    info.mtime = entry.mtime
    info.mode = mode
    if entry.kind == "dir":
        info.type = tarfile.DIRTYPE
    elif entry.kind == "symlink":
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    else:
        info.size = len(entry.data)
    return info


def write_tar(files: Files) -> bytes:
    """A fixture as an archive for ``busybox tar`` under ``umask 0``.

    Folders come twice: first, so that their content can be made, and again at the end, deepest first, for
    their times, which unpacking the content has touched. That tar sets the mode of a folder only when it
    makes it, so folders that their owner could not write to are made open; see ``closed_folders``.
    """
    entries = with_parents(files)
    folders = [(path, entry) for path, entry in entries.items() if entry.kind == "dir"]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, entry in folders:
            tar.addfile(_header(path, entry, entry.mode | 0o700))
        for path, entry in entries.items():
            if entry.kind != "dir":
                tar.addfile(_header(path, entry, entry.mode), io.BytesIO(entry.data))
        for path, entry in reversed(folders):
            tar.addfile(_header(path, entry, entry.mode | 0o700))
    return buffer.getvalue()


def closed_folders(files: Files) -> list[tuple[int, str]]:
    """Mode and path of the folders whose mode must be set after unpacking, deepest first; the top always."""
    entries = with_parents(files)
    folders = [(entry.mode, path) for path, entry in entries.items() if entry.kind == "dir"]
    return [(mode, path) for mode, path in reversed(folders) if path == "." or mode & 0o700 != 0o700]


def link_times(files: Files) -> list[tuple[str, int]]:
    """Path and time of the symlinks; that tar leaves their times alone."""
    return [(path, entry.mtime) for path, entry in with_parents(files).items() if entry.kind == "symlink"]


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _octal(field: bytes, what: str) -> int:
    digits = field.strip(b" \0")
    if not digits:
        return 0
    if not all(0x30 <= digit <= 0x37 for digit in digits):
        raise TarError(f"{what} is not octal: {field!r}")
    return int(digits, 8)


def _check(block: bytes) -> None:
    """The header checksum: the sum of all bytes with the checksum field read as spaces."""
    expected = _octal(block[148:156], "checksum")
    if expected != sum(block[:148]) + 8 * 0x20 + sum(block[156:]):
        raise TarError("header checksum does not match")


def _blocks(archive: bytes, max_members: int) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of header block and content, until the end mark."""
    offset = count = 0
    while True:
        block = archive[offset : offset + BLOCK]
        if len(block) < BLOCK:
            raise TarError("archive ends without an end mark")
        if not any(block):
            return
        count += 1
        if count > max_members:
            raise TarTooLarge(f"more than {max_members} members")
        _check(block)
        size = _octal(block[124:136], "size") if block[156:157] in (b"0", b"\0", b"L", b"K") else 0
        offset += BLOCK
        if offset + size > len(archive):
            raise TarError(f"a member claims {size} bytes, the archive has {len(archive) - offset}")
        yield block, archive[offset : offset + size]
        offset += -(-size // BLOCK) * BLOCK


def read_tar(archive: bytes, *, max_members: int = MAX_MEMBERS, max_bytes: int = MAX_BYTES) -> list[Member]:
    """The members in archive order.

    Raises:
        TarTooLarge: over the caps.
        TarError: anything that ``busybox tar`` does not write; a path twice; a path out of the work folder.
    """
    if len(archive) > max_bytes:
        raise TarTooLarge(f"archive of {len(archive)} bytes, at most {max_bytes} are read")
    members: dict[str, Member] = {}
    long_name = long_target = ""
    for block, content in _blocks(archive, max_members):
        flag = block[156:157]
        if flag in (b"L", b"K"):
            if len(content) > MAX_NAME + 1:
                raise TarError("name too long")
            if flag == b"L":
                long_name = _text(content)
            else:
                long_target = _text(content)
            continue
        if flag not in _KINDS:
            raise TarError(f"member type {flag!r} is none that a box writes")
        prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
        short = _text(block[:100])
        path = clean_path(long_name or (f"{prefix}/{short}" if prefix else short))
        if path in members:
            raise TarError(f"{path!r} comes twice")
        members[path] = Member(
            path=path,
            kind=_KINDS[flag],
            mode=_octal(block[100:108], "mode") & 0o7777,
            mtime=_octal(block[136:148], "mtime"),
            data=content,
            target=long_target or _text(block[157:257]),
        )
        long_name = long_target = ""
    return list(members.values())
