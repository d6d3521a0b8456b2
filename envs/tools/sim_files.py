"""Simulated tools that change names and nodes: cp, mv, rm, mkdir, rmdir, touch, chmod, ln."""

from __future__ import annotations

import errno
import time

from arena.envs.tools.sim_tool import Call, Tool, change_mode, join, last
from arena.envs.tools.simfs import Node, fail


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


TOOLS: dict[str, Tool] = {tool.__name__: tool for tool in (cp, mv, rm, mkdir, rmdir, touch, chmod, ln)}
