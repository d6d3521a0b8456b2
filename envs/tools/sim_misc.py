"""Simulated tools without much to do with files: echo, printf, test, checksums, sleep, sqlite3."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from arena.envs.tools.sandbox import WORKDIR
from arena.envs.tools.sim_tool import Call, Tool, last, lines

SQLITE_MAGIC = b"SQLite format 3\0"


def echo(call: Call) -> int:
    """Print the arguments; ``-n``: no newline."""
    words = call.argv
    newline = b"\n"
    if words and words[0] == "-n":
        words, newline = words[1:], b""
    elif words and re.fullmatch(r"-[neE]+", words[0]):
        raise call.lacks(words[0])
    call.print(" ".join(words))
    call.print(newline)
    return 0


def _escapes(text: str) -> str:
    names = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "r": "\r"}
    return re.sub(r"\\(.)", lambda found: names.get(found[1], found[0]), text)


def printf(call: Call) -> int:
    """``printf FORMAT ARG...`` with %s, %d, %% and the common escapes; the format repeats."""
    if not call.argv:
        raise call.lacks("a usage message")
    words = list(call.argv[1:])
    pieces = re.findall(r"%%|%-?\d*[sd]|%.?|[^%]+", call.argv[0])
    while True:
        took = False
        for piece in pieces:
            if not piece.startswith("%"):
                call.print(_escapes(piece))
            elif piece == "%%":
                call.print("%")
            elif piece[-1] == "s":
                took = True
                call.print(piece % (words.pop(0) if words else ""))
            elif piece[-1] == "d":
                took = True
                word = words.pop(0) if words else "0"
                if not re.fullmatch(r"[+-]?\d+", word):
                    raise call.lacks("a message for a bad number")
                call.print(piece % int(word))
            else:
                raise call.lacks(f"the format {piece}")
        if not words or not took:
            return 0


def _number(call: Call, word: str) -> int:
    if not re.fullmatch(r"\s*[+-]?\d+\s*", word):
        raise call.lacks("a message for a bad number")
    return int(word)


def _file_test(call: Call, letter: str, path: str) -> bool:
    if letter in "Lh":
        return call.fs.exists(path, follow=False) and call.fs.find(path, follow=False).kind == "symlink"
    if not call.fs.exists(path):
        return False
    node = call.fs.find(path)
    tests: dict[str, Callable[[], bool]] = {
        "e": lambda: True,
        "f": lambda: node.kind == "file",
        "d": lambda: node.kind == "dir",
        "s": lambda: node.size > 0,
        "r": lambda: node.may(4),
        "w": lambda: node.may(2) and node.owned,
        "x": lambda: node.may(1),
    }
    return tests[letter]()


def _truth(call: Call, words: list[str]) -> bool:
    if not words:
        return False
    if words[0] == "!" and len(words) > 1:
        return not _truth(call, words[1:])
    if len(words) == 1:
        return words[0] != ""
    if len(words) == 2 and re.fullmatch(r"-[efdsrwxLh]", words[0]):
        return _file_test(call, words[0][1], words[1])
    if len(words) == 2 and words[0] in ("-z", "-n"):
        return (words[1] == "") == (words[0] == "-z")
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        return (words[0] == words[2]) == (words[1] != "!=")
    compare = {"-eq": "__eq__", "-ne": "__ne__", "-lt": "__lt__", "-le": "__le__", "-gt": "__gt__", "-ge": "__ge__"}
    if len(words) == 3 and words[1] in compare:
        return bool(getattr(_number(call, words[0]), compare[words[1]])(_number(call, words[2])))
    raise call.lacks(" ".join(words))


def test(call: Call) -> int:
    """One condition, perhaps negated; also as ``[ ... ]``."""
    words = list(call.argv)
    if call.name == "[" and (not words or words.pop() != "]"):
        call.complain("missing ]")
        return 2
    return 0 if _truth(call, words) else 1


def true(call: Call) -> int:
    """Succeed."""
    return 0


def false(call: Call) -> int:
    """Fail."""
    return 1


def pwd(call: Call) -> int:
    """Print the work folder."""
    call.print(WORKDIR + "\n")
    return 0


def basename(call: Call) -> int:
    """Last part of a path, without a suffix."""
    name = last(call.argv[0]) or ("/" if call.argv[0] else "")
    suffix = call.argv[1] if len(call.argv) > 1 else ""
    call.print((name.removesuffix(suffix) if suffix != name else name) + "\n")
    return 0


def dirname(call: Call) -> int:
    """All but the last part of a path."""
    head, slash, _ = call.argv[0].rstrip("/").rpartition("/")
    call.print((head.rstrip("/") or ("/" if slash or call.argv[0].startswith("/") else ".")) + "\n")
    return 0


def _sum(call: Call) -> int:
    call.parse("c")
    return _check(call) if call.has("c") else _sums(call)


def _sums(call: Call) -> int:
    rc = 0
    for path in call.args or ["-"]:
        if (found := _digest(call, path)) is None:
            rc = 1
        else:
            call.print(f"{found}  {path}\n")
    return rc


def _digest(call: Call, path: str) -> str | None:
    """Of a file's content; None, with a message, when it cannot be read."""
    try:
        return hashlib.new(call.name.removesuffix("sum"), call.read(path)).hexdigest()
    except OSError as error:
        verb = "read" if error.errno == errno.EISDIR else "open"
        call.complain(f"can't {verb} '{path}': {error.strerror}")
        return None


def _check(call: Call) -> int:
    """Lists are checked in turn; one that cannot be opened ends it all, as the real tool dies of it."""
    rc = 0
    for path in call.args or ["-"]:
        try:
            listing = call.read_lax(path)
        except OSError as error:
            return call.complain_of(path, error)
        rc |= _check_list(call, path, listing)
    return rc


def _check_list(call: Call, name: str, listing: bytes) -> int:
    """Every line counts; one without two spaces or `` *`` is a failure without a word."""
    marked = lines(listing.replace(b"\0", b"\n"))
    if not marked:
        return call.complain(f"{name}: no checksum lines found")
    bad = 0
    for line in marked:
        separator = b"  " if b"  " in line else b" *"
        expected, found, named = line.partition(separator)
        path = os.fsdecode(named)
        good = bool(found) and _digest(call, path) == os.fsdecode(expected)
        bad += not good
        if found:
            call.print(f"{path}: {'OK' if good else 'FAILED'}\n")
    if bad:
        call.complain(f"WARNING: {bad} of {len(marked)} computed checksums did NOT match")
    return 1 if bad else 0


def sleep(call: Call) -> int:
    """Time is not spent: only whether the deadline would pass counts."""
    call.timed_out = sum(float(word) for word in call.argv) >= call.timeout_s
    return 0


def sqlite3_tool(call: Call) -> int:
    """``sqlite3 [-csv] [-header] [-readonly] FILE SQL``, one transaction per call."""
    words = list(call.argv)
    flags = set()
    while words and words[0].startswith("-"):
        flags.add(words.pop(0).lstrip("-"))
    if flags - {"csv", "header", "readonly"} or len(words) != 2 or words[1].lstrip().startswith("."):
        raise call.lacks("these arguments")
    path, sql = words
    data = call.fs.read(path) if call.fs.exists(path) else b""
    if data and not data.startswith(SQLITE_MAGIC):
        raise call.lacks("a message for a file that is no database")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        if data:
            connection.deserialize(data)
        rc = _statements(call, connection, sql, flags)
        after = connection.serialize() if connection.execute("PRAGMA page_count").fetchone()[0] else b""
    if after != data and "readonly" not in flags:
        call.fs.write(path, after)
    return rc


def _statements(call: Call, connection: sqlite3.Connection, sql: str, flags: set[str]) -> int:
    rest = sql
    statement = ""
    while rest:
        piece, found, rest = rest.partition(";")
        statement += piece + found
        if rest.strip() and not sqlite3.complete_statement(statement):
            continue
        if statement.strip("; \n\t"):
            try:
                cursor = connection.execute(statement)
                _rows(call, cursor, flags)
            except sqlite3.Error as error:
                raise call.lacks(f"sqlite3's message for: {error}") from error
        statement = ""
    return 0


def _value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        mantissa, e, exponent = f"{value:.15g}".partition("e")
        return mantissa + ("" if "." in mantissa or "n" in mantissa else ".0") + e + exponent
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _rows(call: Call, cursor: sqlite3.Cursor, flags: set[str]) -> None:
    rows = [[_value(value) for value in row] for row in cursor]
    if "header" in flags and rows:
        rows.insert(0, [column[0] for column in cursor.description])
    if "csv" in flags:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        call.print(text.getvalue())
    else:
        call.print("".join("|".join(row) + "\n" for row in rows))


_NAMED: tuple[Tool, ...] = (echo, printf, test, true, false, pwd, basename, dirname, sleep)
TOOLS: dict[str, Tool] = {
    **{tool.__name__: tool for tool in _NAMED},
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "sha512sum"), _sum),
    "[": test,
    "sqlite3": sqlite3_tool,
}
