"""Simulated tools that look at names and nodes: ls, stat, readlink, find."""

from __future__ import annotations

import fnmatch
import time

from arena.envs.tools.sim_tool import Call, Tool, join, last
from arena.envs.tools.simfs import Node

HALF_YEAR_S = 3600 * 24 * 365 // 2
TYPES = {"file": "-", "dir": "d", "symlink": "l"}
TYPE_NAMES = {"dir": "directory", "symlink": "symbolic link"}


def mode_text(node: Node) -> str:
    """Ten characters as in ``ls -l``."""
    bits = "".join(c if node.mode >> (8 - i) & 1 else "-" for i, c in enumerate("rwxrwxrwx"))
    if node.mode & 0o1000:
        bits = bits[:-1] + ("t" if bits[-1] == "x" else "T")
    return TYPES[node.kind] + bits


def _when(mtime: float) -> str:
    stamp = time.gmtime(mtime)
    head = f"{time.strftime('%b', stamp)} {stamp.tm_mday:2d}"
    age = time.time() - mtime
    if age > HALF_YEAR_S or age < -15 * 60:
        return f"{head}  {stamp.tm_year}"
    return f"{head} {stamp.tm_hour:02d}:{stamp.tm_min:02d}"


def _owner(node: Node) -> str:
    return "agent" if node.owned else "root"


def _ls_line(call: Call, name: str, node: Node) -> str:
    shown = name
    if call.has("l"):
        who = _owner(node)
        shown = f"{mode_text(node)} {node.link_count:4d} {who:<8} {who:<8} {node.size:9d} {_when(node.mtime)} {name}"
        if node.kind == "symlink":
            shown += f" -> {node.target}"
    if call.has("pF") and node.kind == "dir":
        shown += "/"
    elif call.has("F"):
        shown += "@" if node.kind == "symlink" and not call.has("l") else "*" if node.mode & 0o111 else ""
    return shown + "\n"


def _ls_order(call: Call, found: list[tuple[str, Node]]) -> list[tuple[str, Node]]:
    found = sorted(found, key=lambda pair: pair[0].encode("utf-8", "surrogateescape"))
    if call.has("t"):
        found.sort(key=lambda pair: -int(pair[1].mtime))
    elif call.has("S"):
        found.sort(key=lambda pair: -pair[1].size)
    return found[::-1] if call.has("r") else found


def _ls_folder(call: Call, path: str, node: Node, title: bool, first: bool) -> int:
    if title:
        call.print(("" if first else "\n") + f"{path}:\n")
    try:
        found = [(name, node.children[name]) for name in call.fs.names(node)]
        if found and not node.may(1):
            raise call.lacks("a folder that may be read but not searched")
    except OSError as error:
        return call.complain(f"can't open '{path}': {error.strerror}")
    if not call.has("aA"):
        found = [pair for pair in found if not pair[0].startswith(".")]
    elif call.has("a"):
        found += [(".", node), ("..", call.fs.find(join(path, "..")))]
    if call.has("l"):
        call.print(f"total {sum(child.blocks for _, child in found) // 2}\n")
    for name, child in _ls_order(call, found):
        call.print(_ls_line(call, name, child))
    rc = 0
    if call.has("R"):
        for name, child in _ls_order(call, found):
            if child.kind == "dir" and name not in (".", ".."):
                rc |= _ls_folder(call, join(path, name), child, True, False)
    return rc


def ls(call: Call) -> int:
    """List names; one per line, as on a pipe."""
    call.parse("1aAlRpFtSrd")
    rc = 0
    names: list[tuple[str, Node]] = []
    folders: list[tuple[str, Node]] = []
    for path in call.args or ["."]:
        try:
            node = call.fs.find(path, follow=not call.has("lFd"))
        except OSError as error:
            rc = call.complain_of(path, error)
            continue
        (folders if node.kind == "dir" and not call.has("d") else names).append((path, node))
    for name, node in _ls_order(call, names):
        call.print(_ls_line(call, name, node))
    title = len(call.args) > 1 or call.has("R")
    for index, (path, node) in enumerate(_ls_order(call, folders)):
        rc |= _ls_folder(call, path, node, title, first=index == 0 and not names)
    return rc


def stat(call: Call) -> int:
    """``stat -c FORMAT``: %a %A %F %h %n %N %s %u %g %U %G %Y."""
    call.parse("c:L")
    if not call.has("c"):
        raise call.lacks("the long form; give -c FORMAT")
    rc = 0
    for path in call.args:
        try:
            node = call.fs.find(path, follow=call.has("L"))
        except OSError as error:
            rc = call.complain(f"can't stat '{path}': {error.strerror}")
            continue
        call.print(_stat_line(call, path, node) + "\n")
    return rc


def _stat_line(call: Call, path: str, node: Node) -> str:
    empty = node.kind == "file" and not node.data
    kind = "regular empty file" if empty else TYPE_NAMES.get(node.kind, "regular file")
    name = f"'{path}' -> '{node.target}'" if node.kind == "symlink" else path
    uid = "1000" if node.owned else "0"
    values = {"a": f"{node.mode:o}", "A": mode_text(node), "F": kind, "h": str(node.link_count), "n": path, "N": name}
    values |= {"s": str(node.size), "u": uid, "g": uid, "U": _owner(node), "G": _owner(node)}
    values |= {"Y": str(int(node.mtime)), "%": "%"}
    shown = ""
    rest = iter(call.value("c"))
    for char in rest:
        letter = next(rest, "%") if char == "%" else ""
        if letter and letter not in values:
            raise call.lacks(f"%{letter}")
        shown += values[letter] if letter else char
    return shown


def readlink(call: Call) -> int:
    """Print where a symlink points."""
    call.parse("")
    node = call.fs.find(call.args[0], follow=False) if call.fs.exists(call.args[0], follow=False) else None
    if node is None or node.kind != "symlink":
        return 1
    call.print(node.target + "\n")
    return 0


def _find(call: Call, path: str, node: Node, depth: int, tests: dict[str, str]) -> int:
    deepest, shallowest = int(tests.get("-maxdepth", "1000")), int(tests.get("-mindepth", "0"))
    base = last(path) or path
    wanted = tests.get("-type", {"file": "f", "dir": "d", "symlink": "l"}[node.kind])
    if (
        depth >= shallowest
        and {"file": "f", "dir": "d", "symlink": "l"}[node.kind] == wanted
        and fnmatch.fnmatchcase(base, tests.get("-name", "*"))
    ):
        call.print(path + "\n")
    rc = 0
    if node.kind == "dir" and depth < deepest:
        try:
            names = call.fs.names(node)
        except OSError as error:
            return call.complain_of(path, error)
        for name in names:
            rc |= _find(call, join(path, name), node.children[name], depth + 1, tests)
    return rc


def find(call: Call) -> int:
    """``find PATH... -name -type -maxdepth -mindepth``; the order is that of the file system."""
    words = list(call.argv)
    paths: list[str] = []
    while words and not words[0].startswith("-"):
        paths.append(words.pop(0))
    tests: dict[str, str] = {}
    while words:
        test = words.pop(0)
        if test == "-print" and not words:
            break
        if test not in ("-name", "-type", "-maxdepth", "-mindepth") or not words or test in tests:
            raise call.lacks(test)
        tests[test] = words.pop(0)
    rc = 0
    for path in paths or ["."]:
        try:
            rc |= _find(call, path, call.fs.find(path, follow=False), 0, tests)
        except OSError as error:
            rc = call.complain_of(path, error)
    return rc


TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in (ls, stat, readlink, find)}
