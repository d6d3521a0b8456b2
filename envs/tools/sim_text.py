"""Simulated tools that read text: cat, head, tail, wc, sort, uniq, cut, tr, tee, cmp."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from itertools import groupby

from arena.envs.tools.sim_tool import Call, Tool, lines


def cat(call: Call) -> int:
    """Print files; ``-n`` numbers the lines."""
    call.parse("n")
    rc = 0
    number = 0
    for path in call.args or ["-"]:
        try:
            data = call.read(path)
        except OSError as error:
            if error.errno == errno.EISDIR:
                rc = call.complain(f"read error: {error.strerror}")
            else:
                rc = call.complain(f"can't open '{path}': {error.strerror}")
            continue
        if not call.has("n"):
            call.print(data)
            continue
        for line in lines(data):
            number += 1
            call.print(b"%6d\t%s\n" % (number, line))
    return rc


def _show_each(call: Call, found: list[tuple[str, bytes]], titled: bool, show: Callable[[bytes], None]) -> None:
    """For head and tail: perhaps a title before each file."""
    for index, (path, data) in enumerate(found):
        if titled and not call.has("q"):
            name = "standard input" if path == "-" else path
            call.print(("\n" if index else "") + f"==> {name} <==\n")
        show(data)


def _dash_number(call: Call) -> None:
    """``head -3`` is ``head -n 3``."""
    if call.argv and re.fullmatch(r"-\d+", call.argv[0]):
        call.argv = ["-n", call.argv[0][1:], *call.argv[1:]]


def head(call: Call) -> int:
    """First lines (``-n N``; negative: all but the last N) or bytes (``-c N``)."""
    _dash_number(call)
    call.parse("n:c:q")
    text = call.value("c") or call.value("n", "10")
    if not re.fullmatch(r"-?\d+", text):
        return call.complain(f"invalid number '{text}'")
    count = int(text)

    def show(data: bytes) -> None:
        call.print(data[:count] if call.has("c") else b"".join(data.splitlines(keepends=True)[:count]))

    found = []
    rc = 0
    for path in call.args or ["-"]:
        try:
            found.append((path, call.read(path)))
        except OSError as error:
            isdir = error.errno == errno.EISDIR
            rc = call.complain(f"{path}: {'Input/output error' if isdir else error.strerror}")
    _show_each(call, found, len(call.args) > 1, show)
    return rc


def tail(call: Call) -> int:
    """Last lines (``-n N``; ``+N``: from line N on) or bytes (``-c N``)."""
    _dash_number(call)
    call.parse("n:c:q")
    text = call.value("c") or call.value("n", "10")
    if not re.fullmatch(r"[+-]?\d+", text):
        return call.complain(f"invalid number '{text}'")
    count = int(text.lstrip("+-"))
    first = slice(max(count - 1, 0), None) if text.startswith("+") else slice(-count, None) if count else slice(0, 0)

    def show(data: bytes) -> None:
        call.print(data[first] if call.has("c") else b"".join(_ended(data)[first]))

    found = []
    rc = 0
    for path in call.args or ["-"]:
        try:
            found.append((path, call.read(path)))
        except OSError as error:
            if error.errno == errno.EISDIR:
                rc = call.complain("read error: Is a directory")
                found.append((path, b""))
            else:
                rc = call.complain(f"can't open '{path}': {error.strerror}")
    if not found:
        call.complain("no files")
    _show_each(call, found, len(found) > 1, show)
    return rc


def _ended(data: bytes) -> list[bytes]:
    """Lines with their newline; only newline ends a line."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _words(data: bytes) -> int:
    """Runs between white space; one without a printable ASCII character is none."""
    return sum(any(33 <= byte < 127 for byte in run) for run in data.split())


def wc(call: Call) -> int:
    """Count lines, words, bytes."""
    call.parse("lwc")
    wanted = [c for c in "lwc" if call.has(c)] or list("lwc")
    rows: list[tuple[list[int], str]] = []
    rc = 0
    for path in call.args or [""]:
        try:
            data = call.read(path or "-")
        except OSError as error:
            rc = call.complain_of(path, error)
            if error.errno == errno.EISDIR:
                rows.append(([0] * len(wanted), path))
            continue
        counts = {"l": data.count(b"\n"), "w": _words(data), "c": len(data)}
        rows.append(([counts[c] for c in wanted], path))
    if len(call.args) > 1:
        totals = [sum(row[0][i] for row in rows) for i in range(len(wanted))]
        rows.append((totals, "total"))
    for counts_row, path in rows:
        wide = len(wanted) > 1 or len(call.args) > 1
        shown = " ".join(f"{n:9d}" if wide else str(n) for n in counts_row)
        call.print(shown + (f" {path}" if path else "") + "\n")
    return rc


def _number(text: bytes) -> float:
    found = re.match(rb"[ \t]*(-?\d*\.?\d*)", text)
    digits = found.group(1) if found else b""
    return float(digits) if digits.strip(b"-.") else 0.0


def _sort_key(call: Call, spec: str) -> Callable[[bytes], bytes]:
    """The part of a line that ``-k`` names: whole fields ``N`` or ``N,M``."""
    found = re.fullmatch(r"(\d+)(?:,(\d+))?([nr]*)", spec)
    if found is None:
        raise call.lacks(f"-k {spec}")
    first, final = int(found[1]) - 1, int(found[2]) if found[2] else None
    separator = call.value("t").encode()

    def key(line: bytes) -> bytes:
        if separator:
            return separator.join(line.split(separator)[first:final])
        return b"".join(re.findall(rb"[ \t]*[^ \t]+", line)[first:final])

    return key


def sort(call: Call) -> int:
    """Sort lines: ``-n -r -u -f -t CHAR -k N[,M] -o FILE``."""
    call.parse("nrufst:k:o:")
    data = []
    for path in call.args or ["-"]:
        try:
            data += lines(call.read_lax(path))
        except OSError as error:
            call.complain_of(path, error)
            return 2
    keys = [(spec, _sort_key(call, spec)) for spec in call.options.get("k", [])]

    def by(line: bytes, part: Callable[[bytes], bytes], flags: str) -> tuple[float, bytes]:
        field = part(line)
        if "n" in flags or call.has("n"):
            return _number(field), b""
        return 0.0, field.upper() if call.has("f") else field

    wanted = keys or [("", lambda line: line)]

    def rank(line: bytes) -> tuple[tuple[float, bytes], ...]:
        return tuple(by(line, part, spec) for spec, part in wanted)

    if any("r" in spec for spec, _ in keys):
        raise call.lacks("r within -k")
    if call.has("u"):
        seen: dict[tuple[tuple[float, bytes], ...], bytes] = {}
        for line in data:
            seen.setdefault(rank(line), line)
        data = list(seen.values())
    if not call.has("su"):
        data.sort()
        if call.has("r"):
            data.reverse()
    data.sort(key=rank, reverse=call.has("r"))
    text = b"".join(line + b"\n" for line in data)
    if call.has("o"):
        try:
            call.fs.write(call.value("o"), text)
        except OSError as error:
            return call.complain(f"can't open '{call.value('o')}': {error.strerror}")
    else:
        call.print(text)
    return 0


def uniq(call: Call) -> int:
    """Drop repeated lines: ``-c -d -u``."""
    call.parse("cdu")
    path = call.args[0] if call.args else "-"
    try:
        data = lines(call.read(path))
    except OSError as error:
        folder = error.errno == errno.EISDIR
        return call.complain(f"{path}: I/O error" if folder else f"can't open '{path}': {error.strerror}")
    for line, group in groupby(data):
        count = sum(1 for _ in group)
        if (call.has("d") and count == 1) or (call.has("u") and count > 1):
            continue
        call.print((b"%7d " % count if call.has("c") else b"") + line + b"\n")
    return 0


def _ranges(call: Call, text: str) -> list[tuple[int, int]]:
    ranges = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if found is None or part in ("", "-"):
            raise call.lacks(f"list {text}")
        first = int(found[1] or 1)
        final = int(found[3]) if found[3] else (10**9 if found[2] else first)
        ranges.append((first, final))
    return ranges


def cut(call: Call) -> int:
    """Fields (``-d C -f LIST``) or bytes (``-c LIST``) of each line."""
    call.parse("d:f:c:b:s")
    ranges = _ranges(call, call.value("f") or call.value("c") or call.value("b"))
    separator = call.value("d", "\t").encode()
    rc = 0

    def pick(count: int) -> list[int]:
        return [i for i in range(count) if any(first <= i + 1 <= final for first, final in ranges)]

    for path in call.args or ["-"]:
        try:
            data = lines(call.read_lax(path))
        except OSError as error:
            rc = call.complain_of(path, error)
            continue
        for line in data:
            if not call.has("f"):
                line = bytes(line[i] for i in pick(len(line)))
            elif separator in line:
                fields = line.split(separator)
                line = separator.join(fields[i] for i in pick(len(fields)))
            elif call.has("s") and line:
                continue
            call.print(line + b"\n")
    return rc


def _set(call: Call, text: str) -> list[int]:
    """The bytes that a ``tr`` set names: literals, ranges, classes, escapes."""
    found: list[int] = []
    index = 0
    names = {"upper": range(65, 91), "lower": range(97, 123), "digit": range(48, 58)}
    raw = text.encode("utf-8", "surrogateescape").decode("latin-1")
    while index < len(raw):
        if raw.startswith("[:", index):
            end = raw.find(":]", index)
            name = raw[index + 2 : end]
            if name not in names:
                raise call.lacks(f"class {name}")
            found += names[name]
            index = end + 2
        elif raw[index] == "\\" and index + 1 < len(raw):
            found.append(ord({"n": "\n", "t": "\t"}.get(raw[index + 1], raw[index + 1])))
            index += 2
        elif raw[index + 1 : index + 2] == "-" and index + 2 < len(raw):
            found += range(ord(raw[index]), ord(raw[index + 2]) + 1)
            index += 3
        else:
            found.append(ord(raw[index]))
            index += 1
    return found


def tr(call: Call) -> int:
    """Translate, ``-d`` delete, ``-s`` squeeze bytes of standard input."""
    call.parse("dsc", permute=False)
    first = _set(call, call.args[0])
    if call.has("c"):
        first = [byte for byte in range(256) if byte not in first]
    second = _set(call, call.args[1]) if len(call.args) > 1 else []
    data = call.stdin
    if call.has("d"):
        data = data.translate(None, bytes(first))
    elif second:
        table = list(range(256))
        for place, byte in enumerate(first):
            table[byte] = second[min(place, len(second) - 1)]
        data = data.translate(bytes(table))
    if call.has("s"):
        squeezed = set(second or first)
        data = bytes(b for i, b in enumerate(data) if i == 0 or b != data[i - 1] or b not in squeezed)
    call.print(data)
    return 0


def tee(call: Call) -> int:
    """Copy standard input to files and to standard output."""
    call.parse("a")
    rc = 0
    for path in call.args:
        try:
            call.fs.write(path, call.stdin, append=call.has("a"))
        except OSError as error:
            rc = call.complain_of(path, error)
    call.print(call.stdin)
    return rc


def cmp(call: Call) -> int:
    """Compare two files."""
    call.parse("s")
    if len(call.args) != 2:
        raise call.lacks("other than two files")
    contents = []
    for path in call.args:
        try:
            contents.append(call.read(path))
        except OSError as error:
            call.complain_of(path, error)
            return 2
    one, two = contents
    if one == two:
        return 0
    place = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    if call.has("s"):
        return 1
    if place is None:
        shorter = call.args[0] if len(one) < len(two) else call.args[1]
        return call.complain(f"EOF on {shorter}")
    line = one[:place].count(b"\n") + 1
    call.print(f"{call.args[0]} {call.args[1]} differ: char {place + 1}, line {line}\n")
    return 1


TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in (cat, head, tail, wc, sort, uniq, cut, tr, tee, cmp)}
