"""JSONL that others wrote: every object that is whole is read; what is not is named by file and line.

Lines end at a newline byte and nowhere else (U+0085 and U+2028 occur in states). Two objects on one line, as two
writers or a lost newline leave them, are both read.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from arena.errors import MissingNeed
from arena.identity import load
from arena.log.importers.foreign import Notices
from arena.types import JSON

Line = tuple[str, dict[str, JSON]]
"""(``file:line``, object)."""


def objects(path: Path, notices: Notices) -> Iterator[Line]:
    """Every object of a JSONL file (plain or gzip), in file order.

    Raises:
        MissingNeed: the file cannot be read.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise MissingNeed(f"{path} cannot be read: {why}", hint="give the path of a file that is there") from error
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    last = len(lines)
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield from _line(line, f"{path}:{number}", number == last, notices)


def _line(line: bytes, where: str, unended: bool, notices: Notices) -> Iterator[Line]:
    try:
        values = [load(line)]
    except ValueError as error:
        values = _several(line)
        if not values:
            torn = "torn line: the file ends inside it" if unended else f"not JSON: {error}"
            notices.leave_out(where, torn)
            return
        notices.keep(where, f"{len(values)} objects on one line; each was read")
    if unended:
        notices.keep(where, "no newline at the end of the file; the line is whole and was read")
    for value in values:
        if isinstance(value, dict):
            yield where, value
        else:
            found = "null" if value is None else type(value).__name__
            notices.leave_out(where, f"the row is {found}, not an object")


def _several(line: bytes) -> list[JSON]:
    """The values of a line that holds several and nothing else; empty when it does not."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return []
    decoder, values, spot = json.JSONDecoder(), [], 0
    while spot < len(text):
        try:
            value, spot = decoder.raw_decode(text, spot)
        except ValueError:
            return []
        values.append(value)
        while spot < len(text) and text[spot] in " \t\r":
            spot += 1
    return values if len(values) > 1 else []
