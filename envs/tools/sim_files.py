"""Simulated tools that work on names and nodes: ls, cp, mv, rm, mkdir, rmdir, touch, chmod, ln, stat, find."""

from __future__ import annotations

import errno
import fnmatch
import time

from arena.envs.tools.sim_tool import Call, Tool, change_mode, join, last
from arena.envs.tools.simfs import Node, fail

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
    if title:
        call.print(("" if first else "\n") + f"{path}:\n")
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


def _destination(call: Call, source: str, target: str) -> str:
    return join(target, last(source)) if call.into(target) else target


def _copy(call: Call, source: str, target: str, top: bool) -> int:
    deep = call.has("rRa")
    try:
        node = call.fs.find(source, follow=not deep and not call.has("dP"))
    except OSError as error:
        return call.complain(f"can't stat '{source}': {error.strerror}")
    if node.kind == "dir":
        return _copy_folder(call, node, source, target) if deep else call.complain(f"omitting directory '{source}'")
    try:
        if call.fs.exists(target) and call.fs.find(target) is node:
            return call.complain(f"'{source}' and '{target}' are the same file")
        if node.kind == "symlink":
            if call.fs.exists(target, follow=False):
                call.fs.unlink(target)
            copy = call.fs.add(target, Node("symlink", 0o777, target=node.target))
        else:
            try:
                data = call.fs.read(source)
            except OSError as error:
                return call.complain(f"can't open '{source}': {error.strerror}")
            copy = call.fs.write(target, data, mode=node.mode & 0o755)
        if call.has("pa"):
            copy.mode, copy.mtime = node.mode, node.mtime
    except OSError as error:
        return call.complain(f"can't create '{target}': {error.strerror}")
    return 0


def _copy_folder(call: Call, node: Node, source: str, target: str) -> int:
    fs = call.fs
    if fs.exists(target) and fs.find(target) is node:
        return call.complain(f"recursion detected, omitting directory '{source}'")
    try:
        names = sorted(fs.names(node))
        there = fs.exists(target)
        copy = fs.find(target) if there else fs.add(target, Node("dir", 0o700))
    except OSError as error:
        return call.complain(f"can't create directory '{target}': {error.strerror}")
    rc = 0
    for name in names:
        if node.children[name] is not copy:
            rc |= _copy(call, join(source, name), join(target, name), False)
    if not there:
        copy.mode = node.mode & 0o755
    if call.has("pa"):
        copy.mode, copy.mtime = node.mode, node.mtime
    return rc


def cp(call: Call) -> int:
    """Copy files; ``-r`` folders, ``-p`` modes and times."""
    call.parse("rRapdPf")
    if len(call.args) < 2:
        raise call.lacks("a usage message")
    *sources, target = call.args
    if len(sources) > 1 and call.into(target) is None:
        return call.complain(f"target '{target}' is not a directory")
    rc = 0
    for source in sources:
        rc |= _copy(call, source, _destination(call, source, target), True)
    return rc


def mv(call: Call) -> int:
    """Rename."""
    call.parse("fn")
    if len(call.args) < 2:
        raise call.lacks("a usage message")
    *sources, target = call.args
    if len(sources) > 1 and call.into(target) is None:
        return call.complain(f"target '{target}' is not a directory")
    rc = 0
    for source in sources:
        there = _destination(call, source, target)
        if call.has("n") and call.fs.exists(there, follow=False):
            continue
        try:
            call.fs.rename(source, there)
        except OSError as error:
            rc = call.complain(f"can't rename '{source}': {error.strerror}")
    return rc


def _remove(call: Call, path: str) -> int:
    try:
        node = call.fs.find(path, follow=False)
    except OSError as error:
        if call.has("f") and error.errno == errno.ENOENT:
            return 0
        return call.complain(f"can't remove '{path}': {error.strerror}")
    if node.kind == "dir" and not call.has("rR"):
        return call.complain(f"'{path}' is a directory")
    rc = 0
    try:
        if node.kind == "dir":
            try:
                names = call.fs.names(node)
            except OSError as error:
                return call.complain(f"can't open '{path}': {error.strerror}")
            for name in names:
                rc |= _remove(call, join(path, name))
            call.fs.rmdir(path)
        else:
            call.fs.unlink(path)
    except OSError as error:
        return call.complain(f"can't remove '{path}': {error.strerror}")
    return rc


def rm(call: Call) -> int:
    """Remove names; never asks, there is no terminal."""
    call.parse("rRf")
    rc = 0
    for path in call.args:
        if last(path) in (".", ".."):
            rc = call.complain("can't remove '.' or '..'")
        else:
            rc |= _remove(call, path)
    return rc


def mkdir(call: Call) -> int:
    """Make folders; ``-p`` with parents."""
    call.parse("pm:")
    mode = change_mode(0o777, call.value("m", "755"), folder=True)
    if mode is None:
        return call.complain(f"invalid mode '{call.value('m')}'")
    rc = 0
    for path in call.args:
        try:
            if call.has("p"):
                steps = [path[:i] for i, c in enumerate(path) if c == "/" and i] + [path.rstrip("/") or "/"]
                for step in steps:
                    there = call.into(step)
                    if there is None:
                        call.fs.add(step, Node("dir", mode if step == steps[-1] else 0o755))
            else:
                call.fs.add(path.rstrip("/"), Node("dir", mode))
        except OSError as error:
            rc = call.complain(f"can't create directory '{path}': {error.strerror}")
    return rc


def rmdir(call: Call) -> int:
    """Remove empty folders."""
    call.parse("")
    rc = 0
    for path in call.args:
        try:
            call.fs.rmdir(path)
        except OSError as error:
            rc = call.complain(f"'{path}': {error.strerror}")
    return rc


def touch(call: Call) -> int:
    """Set the time of files to now, or make them."""
    call.parse("c")
    rc = 0
    for path in call.args:
        try:
            if call.fs.exists(path):
                node = call.fs.find(path)
                if not node.owned:
                    raise fail(errno.EROFS)
                node.mtime = time.time()
            elif not call.has("c"):
                call.fs.write(path, b"")
        except OSError as error:
            rc = call.complain_of(path, error)
    return rc


def _chmod(call: Call, path: str, change: str) -> int:
    try:
        node = call.fs.find(path)
        mode = change_mode(node.mode, change, folder=node.kind == "dir")
        if mode is None:
            return call.complain(f"invalid mode '{change}'")
        call.fs.chmod(node, mode)
    except OSError as error:
        return call.complain_of(path, error)
    rc = 0
    if call.has("R") and node.kind == "dir":
        try:
            names = call.fs.names(node)
        except OSError as error:
            return call.complain_of(path, error)
        for name in names:
            if node.children[name].kind != "symlink":
                rc |= _chmod(call, join(path, name), change)
    return rc


def chmod(call: Call) -> int:
    """Change permission bits."""
    first = call.argv[0] if call.argv else ""
    minus = first.startswith("-") and first != "-R"
    call.argv = ["--", *call.argv] if minus else call.argv
    call.parse("R")
    if len(call.args) < 2:
        raise call.lacks("a usage message")
    rc = 0
    for path in call.args[1:]:
        rc |= _chmod(call, path, call.args[0])
    return rc


def ln(call: Call) -> int:
    """Link; ``-s`` by name."""
    call.parse("sf")
    if len(call.args) != 2:
        raise call.lacks("other than two operands")
    source, target = call.args
    target = _destination(call, source, target)
    try:
        if call.has("f") and call.fs.exists(target, follow=False):
            call.fs.unlink(target)
        if call.has("s"):
            call.fs.add(target, Node("symlink", 0o777, target=source))
        else:
            node = call.fs.find(source)
            if node.kind == "dir":
                raise fail(errno.EPERM)
            node.links += 1
            try:
                call.fs.add(target, node)
            except OSError:
                node.links -= 1
                raise
    except OSError as error:
        return call.complain_of(target, error)
    return 0


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


TOOLS: dict[str, Tool] = {
    tool.__name__: tool for tool in (ls, cp, mv, rm, mkdir, rmdir, touch, chmod, ln, stat, readlink, find)
}
