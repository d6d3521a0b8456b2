"""Simulated tools that change names and nodes: cp, mv, rm, mkdir, rmdir, touch, chmod, ln."""

from __future__ import annotations

import errno
import time

from arena.envs.tools.sim_tool import Call, Tool, change_mode, join, last
from arena.envs.tools.simfs import Node, fail


def _destination(call: Call, source: str, target: str) -> str:
    return join(target, last(source)) if call.into(target) else target


def _copy(call: Call, source: str, target: str, made: set[int]) -> int:
    """Copy one name. ``made``: folders made or filled by this call, which are never copied themselves."""
    fs, deep = call.fs, call.has("rRa")
    try:
        node = fs.find(source, follow=not deep and not call.has("dP"))
    except OSError as error:
        return call.complain(f"can't stat '{source}': {error.strerror}")
    there = None
    try:
        there = fs.find(target, follow=False)
    except OSError as error:
        if error.errno != errno.ENOENT:
            return call.complain(f"can't stat '{target}': {error.strerror}")
    if there is node:
        return call.complain(f"'{source}' and '{target}' are the same file")
    if node.kind == "dir":
        return (
            _copy_folder(call, node, source, target, made) if deep else call.complain(f"omitting directory '{source}'")
        )
    try:
        if node.kind == "symlink":
            if there is not None and call.has("f"):
                fs.unlink(target)
            copy = fs.add(target, Node("symlink", 0o777, target=node.target))
        else:
            try:
                data = fs.read(source)
            except OSError as error:
                return call.complain(f"can't open '{source}': {error.strerror}")
            if there is not None and fs.exists(target) and fs.find(target) is node:
                data = b""  # through a symlink the tool truncates the very file it is about to read
            copy = fs.write(target, data, mode=node.mode & 0o755)
        if call.has("pa"):
            copy.mode, copy.mtime = node.mode, node.mtime
    except OSError as error:
        link = node.kind == "symlink" and there is None
        what = f"symlink '{target}' to '{node.target}'" if link else f"'{target}'"
        return call.complain(f"can't create {what}: {error.strerror}")
    return 0


def _copy_folder(call: Call, node: Node, source: str, target: str, made: set[int]) -> int:
    fs = call.fs
    if id(node) in made:
        return call.complain(f"recursion detected, omitting directory '{source}'")
    fresh = not fs.exists(target)
    try:
        copy = fs.add(target, Node("dir", (node.mode | 0o700) & 0o755)) if fresh else fs.find(target)
    except OSError as error:
        return call.complain(f"can't create directory '{target}': {error.strerror}")
    if copy.kind != "dir":
        return call.complain(f"target '{target}' is not a directory")
    made.add(id(copy))
    try:
        names = fs.names(node)
    except OSError:
        names, rc, fresh = [], 1, False
    else:
        rc = 0
    for name in names:
        rc |= _copy(call, join(source, name), join(target, name), made)
    if fresh:
        copy.mode = node.mode & 0o755
    if call.has("pa"):
        copy.mode, copy.mtime = node.mode, node.mtime
    return rc


def _kind(call: Call, path: str, *, follow: bool = True) -> str | None:
    """Kind of what is at ``path``; ``None`` when there is nothing; empty after a complaint."""
    try:
        return call.fs.find(path, follow=follow).kind
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        reason = "Path has non-directory component" if error.errno == errno.ENOTDIR else error.strerror
        call.complain(f"can't stat '{path}': {reason}")
        return ""


def cp(call: Call) -> int:
    """Copy files; ``-r`` folders, ``-p`` modes and times."""
    call.parse("rRapdPf")
    if len(call.args) < 2:
        raise call.lacks("a usage message")
    *sources, target = call.args
    if len(sources) == 1:
        source_kind = _kind(call, sources[0], follow=not call.has("rRadP"))
        kind = _kind(call, target) if source_kind != "" else ""
        if kind == "":
            return 1
        if source_kind is None:
            return call.complain(f"can't stat '{sources[0]}': No such file or directory")
        if "dir" not in (source_kind, kind) or (call.has("rRa") and source_kind == "dir" and kind is None):
            return _copy(call, sources[0], target, set())
    rc = 0
    made: set[int] = set()
    for source in sources:
        rc |= _copy(call, source, join(target, last(source)), made)
    return rc


def mv(call: Call) -> int:
    """Rename."""
    call.parse("fn")
    if len(call.args) < 2:
        raise call.lacks("a usage message")
    *sources, target = call.args
    rc = 0
    for source in sources:
        there = _destination(call, source, target) if len(sources) == 1 else join(target, last(source))
        if _kind(call, there) == "":
            rc = 1
            continue
        if call.has("n") and call.fs.exists(there, follow=False):
            continue
        try:
            call.fs.rename(source, there)
        except OSError as error:
            crossing = error.errno == errno.EROFS and call.fs.parent(source)[0].owned
            what = _crossing(call, source, there) if crossing else f"can't rename '{source}'"
            rc = call.complain(f"{what}: {error.strerror}")
    return rc


def _crossing(call: Call, source: str, target: str) -> str:
    """Into another file system the tool falls back to copying, and that fails to create."""
    node = call.fs.find(source, follow=False)
    if node.kind == "symlink":
        return f"can't create symlink '{target}' to '{node.target}'"
    return f"can't create directory '{target}'" if node.kind == "dir" else f"can't create '{target}'"


def _remove(call: Call, path: str) -> int:
    try:
        node = call.fs.find(path, follow=False)
    except OSError as error:
        absent = error.errno == errno.ENOENT
        if call.has("f") and absent:
            return 0
        return call.complain(f"can't {'remove' if absent else 'stat'} '{path}': {error.strerror}")
    if node.kind == "dir" and not call.has("rR"):
        return call.complain(f"'{path}' is a directory")
    rc = 0
    try:
        if node.kind == "dir":
            try:
                names = call.fs.names(node)
            except OSError:
                return 1
            for name in names:
                rc |= _remove(call, join(path, name))
            if rc == 0:
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
        if call.has("p"):
            rc |= _mkdir_parents(call, path, mode)
            continue
        if path == ".":
            continue
        try:
            call.fs.add(path.rstrip("/"), Node("dir", mode))
        except OSError as error:
            rc = call.complain(f"can't create directory '{path}': {error.strerror}")
    return rc


def _mkdir_parents(call: Call, path: str, mode: int) -> int:
    """Make each folder on the way. The message names the path up to the slash after the one that failed."""
    ends = [i for i, c in enumerate(path.rstrip("/")) if c == "/" and i] + [len(path)]
    for end in ends:
        step, is_last = path[:end].rstrip("/") or "/", end == ends[-1]
        shown = path if is_last else path[: end + 1]
        try:
            if call.fs.exists(step, follow=False):
                if call.fs.find(step).kind != "dir":
                    raise fail(errno.EEXIST if is_last else errno.ENOTDIR)
            else:
                call.fs.add(step, Node("dir", mode if is_last else 0o755))
        except OSError as error:
            return call.complain(f"can't create directory '{shown}': {error.strerror}")
    return 0


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
    if call.has("R") and call.fs.find(path, follow=False).kind == "dir":
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
    if not call.has("s"):
        try:
            call.fs.find(source, follow=False)
        except OSError as error:
            return call.complain_of(source, error)
    try:
        if call.has("f") and call.fs.exists(target, follow=False):
            call.fs.unlink(target)
        if call.has("s"):
            call.fs.add(target, Node("symlink", 0o777, target=source))
        else:
            node = call.fs.find(source, follow=False)
            folder = call.fs.parent(target)[0]
            if call.fs.exists(target, follow=False):
                raise fail(errno.EEXIST)
            call.fs.require_writable(folder)
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


TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in (cp, mv, rm, mkdir, rmdir, touch, chmod, ln)}
