"""The simulated grep."""

from __future__ import annotations

import re

from arena.envs.tools.sim_regex import compiled
from arena.envs.tools.sim_tool import Call, Tool, join, lines


def _matcher(call: Call, patterns: list[str]) -> list[re.Pattern[bytes]]:
    found = []
    for pattern in (part for text in patterns for part in text.split("\n")):
        if call.has("F"):
            source = re.compile(re.escape(pattern.encode()), re.IGNORECASE if call.has("i") else 0)
        else:
            source = compiled(pattern, call.has("E"), call.has("i"))
        if call.has("wx"):
            around = (rb"\A(?:%s)\Z" if call.has("x") else rb"(?<!\w)(?:%s)(?!\w)") % source.pattern
            source = re.compile(around, source.flags)
        found.append(source)
    return found


def _grep_file(call: Call, matchers: list[re.Pattern[bytes]], data: bytes, title: bytes) -> bool:
    hits = 0
    limit = int(call.value("m", "-1"))
    for number, line in enumerate(lines(data), 1):
        if hits == limit:
            break
        found = [m for matcher in matchers for m in matcher.finditer(line)]
        if bool(found) == call.has("v"):
            continue
        hits += 1
        if call.has("lLcq"):
            if not call.has("c"):
                break
            continue
        prefix = title + (b"%d:" % number if call.has("n") else b"")
        if call.has("o"):
            for match in found:
                if match.group():
                    call.print(prefix + match.group() + b"\n")
        else:
            call.print(prefix + line + b"\n")
    if call.has("c") and not call.has("q"):
        call.print(title + b"%d\n" % hits)
    return hits > 0


def _grep_paths(call: Call, paths: list[str]) -> list[str]:
    """With ``-r`` the files below folders, in the file system's order."""
    found: list[str] = []
    for path in paths:
        node = call.into(path)
        if node is None:
            found.append(path)
            continue
        for name in call.fs.names(node):
            if node.children[name].kind != "symlink":
                found += _grep_paths(call, [join(path, name)])
    return found


def grep(call: Call) -> int:
    """Lines that match: ``-c -E -F -H -h -i -l -L -m N -n -o -q -r -s -v -w -x -e PATTERN``."""
    call.parse("cEFHhilLm:noqrsvwxe:")
    patterns = call.options.get("e") or [call.args.pop(0)]
    try:
        matchers = _matcher(call, patterns)
    except ValueError as error:
        raise call.lacks(f"a message for a bad pattern ({error})") from error
    paths = call.args or (["."] if call.has("r") else ["-"])
    titled = (len(call.args) > 1 or call.has("rH")) and not call.has("h")
    paths = _grep_paths(call, paths) if call.has("r") else paths
    matched = failed = False
    for path in paths:
        try:
            data = call.read_lax(path)
        except OSError as error:
            failed = True
            if not call.has("s"):
                call.complain_of(path, error)
            continue
        title = f"{'(standard input)' if path == '-' else path}"
        hit = _grep_file(call, matchers, data, title.encode() + b":" if titled else b"")
        if (call.has("l") and hit) or (call.has("L") and not hit):
            call.print(title + "\n")
        matched |= hit != call.has("L")
        if hit and call.has("q"):
            return 0
    return 2 if failed and not (call.has("q") and matched) else 0 if matched else 1


TOOLS: dict[str, Tool] = {"grep": grep}
