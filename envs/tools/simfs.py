"""The simulation's file system: a tree in memory that behaves like a box's ``tmpfs``.

Only ``/task`` and ``/tmp`` can be written; permission bits of the owner, symlinks, sizes, link counts and
the limits on bytes and inodes behave as on Linux. Errors are ``OSError`` with the kernel's number.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator

from arena.envs.tools.image import GROUP, PASSWD
from arena.envs.tools.sandbox import WORKDIR, Files, Limits
from arena.envs.tools.snapshot import Entry, Snapshot
from arena.envs.tools.tarball import with_parents

PAGE = 4096
MAX_LINKS = 40
MAX_NAME = 255
R, W, X = 4, 2, 1


def fail(number: int, path: str = "") -> OSError:
    """The error that the kernel would give."""
    return OSError(number, os.strerror(number), path)


class Node:
    """File, folder or symlink. ``owned``: by the commands' user; the rest belongs to root and is read-only."""

    __slots__ = ("children", "data", "kind", "links", "mode", "mtime", "owned", "target")

    def __init__(self, kind: str, mode: int, *, data: bytes = b"", target: str = "", owned: bool = True) -> None:
        self.kind = kind
        self.mode = mode
        self.mtime: float = time.time()
        self.data = data
        self.target = target
        self.owned = owned
        self.links = 1
        self.children: dict[str, Node] = {}

    def may(self, bits: int) -> bool:
        """Whether the commands' user has these permissions."""
        mode = self.mode >> 6 if self.owned else self.mode
        return mode & bits == bits

    @property
    def size(self) -> int:
        """As ``stat`` reports it on ``tmpfs``: a folder counts 20 bytes per entry."""
        if self.kind == "dir":
            return 40 + 20 * len(self.children)
        return len(self.data) if self.kind == "file" else len(os.fsencode(self.target))

    @property
    def blocks(self) -> int:
        """Units of 512 bytes."""
        return -(-len(self.data) // PAGE) * 8

    @property
    def link_count(self) -> int:
        """A folder counts itself, its name and its subfolders."""
        return 2 + sum(c.kind == "dir" for c in self.children.values()) if self.kind == "dir" else self.links


class FileSystem:
    """The tree, and the operations that tools are made of. Paths are relative to ``/task`` or absolute."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pages = 0
        self._inodes = 0
        self.root = Node("dir", 0o755, owned=False)
        for name in ("bin", "dev", "etc", "proc", "sys", "task", "tmp", "usr"):
            self.root.children[name] = Node("dir", 0o755, owned=False)
        for name, text in (("passwd", PASSWD), ("group", GROUP)):
            self.root.children["etc"].children[name] = Node("file", 0o644, data=text.encode(), owned=False)
        self._null = self.root.children["dev"].children["null"] = Node("file", 0o666, owned=False)
        self.wipe()

    def wipe(self) -> None:
        """Empty ``/task`` and ``/tmp``."""
        for name, mode in (("task", 0o755), ("tmp", 0o1777)):
            self.root.children[name] = Node("dir", mode)
        self.work = self.root.children[WORKDIR.strip("/")]
        self._pages = 0
        self._inodes = 1

    # --- paths -------------------------------------------------------------------------------------------

    def _walk(self, path: str, *, follow: bool) -> list[tuple[str, Node]]:
        """The chain of (name, node) from the root to ``path``."""
        if not path:
            raise fail(errno.ENOENT)
        chain = [("", self.root)] if path.startswith("/") else [("", self.root), ("task", self.work)]
        return self._extend(chain, path, follow, 0)

    def _extend(self, chain: list[tuple[str, Node]], path: str, follow: bool, depth: int) -> list[tuple[str, Node]]:
        parts = [part for part in path.split("/") if part]
        for index, part in enumerate(parts):
            here = chain[-1][1]
            if here.kind != "dir":
                raise fail(errno.ENOTDIR)
            if not here.may(X):
                raise fail(errno.EACCES)
            if part == ".":
                continue
            if part == "..":
                if len(chain) > 1:
                    chain.pop()
                continue
            if len(os.fsencode(part)) > MAX_NAME:
                raise fail(errno.ENAMETOOLONG)
            node = here.children.get(part)
            if node is None:
                raise fail(errno.ENOENT)
            last = index == len(parts) - 1 and not path.endswith("/")
            if node.kind == "symlink" and (follow or not last):
                if depth >= MAX_LINKS:
                    raise fail(errno.ELOOP)
                base = [("", self.root)] if node.target.startswith("/") else chain
                chain = self._extend(list(base), node.target, True, depth + 1)
            else:
                chain.append((part, node))
        if path.endswith("/") and chain[-1][1].kind != "dir":
            raise fail(errno.ENOTDIR)
        return chain

    def find(self, path: str, *, follow: bool = True) -> Node:
        """The node at ``path``. Raises ``OSError``."""
        return self._walk(path, follow=follow)[-1][1]

    def exists(self, path: str, *, follow: bool = True) -> bool:
        """Whether there is something at ``path``."""
        try:
            self.find(path, follow=follow)
        except OSError:
            return False
        return True

    def parent(self, path: str) -> tuple[Node, str]:
        """The folder that holds ``path``, and the last name in it."""
        head, _, name = path.rstrip("/").rpartition("/")
        folder = self.find((head or "/") if path.startswith("/") else (head or "."))
        if folder.kind != "dir":
            raise fail(errno.ENOTDIR)
        if not folder.may(X):
            raise fail(errno.EACCES)
        return folder, name

    def require_writable(self, folder: Node) -> None:
        """Raise ``OSError`` unless names in the folder may be added and removed."""
        if not folder.owned:
            raise fail(errno.EROFS)
        if not folder.may(W | X):
            raise fail(errno.EACCES)

    # --- reading -----------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        """Content of a file; of a folder ``EISDIR``."""
        node = self.find(path)
        if not node.may(R):
            raise fail(errno.EACCES)
        if node.kind == "dir":
            raise fail(errno.EISDIR)
        return node.data

    def names(self, folder: Node) -> list[str]:
        """Entries in the order in which ``tmpfs`` lists them: the newest first."""
        if not folder.may(R):
            raise fail(errno.EACCES)
        return list(reversed(folder.children))

    # --- writing -----------------------------------------------------------------------------------------

    def _charge(self, pages: int, inodes: int = 0) -> None:
        over = (self._pages + pages) * PAGE > self._limits.disk and pages > 0
        if over or (self._inodes + inodes > self._limits.inodes and inodes > 0):
            raise fail(errno.ENOSPC)
        self._pages += pages
        self._inodes += inodes

    def add(self, path: str, node: Node) -> Node:
        """Put a new node at ``path``; ``EEXIST`` when something is there."""
        folder, name = self.parent(path)
        if name in ("", ".", "..") or name in folder.children:
            raise fail(errno.EEXIST)
        if len(os.fsencode(name)) > MAX_NAME:
            raise fail(errno.ENAMETOOLONG)
        self.require_writable(folder)
        if node.links == 1:
            self._charge(node.blocks // 8, 1)
        folder.children[name] = node
        folder.mtime = time.time()
        return node

    def set_data(self, node: Node, data: bytes) -> None:
        """Replace the content of a file."""
        self._charge(-(-len(data) // PAGE) - node.blocks // 8)
        node.data = data
        node.mtime = time.time()

    def write(self, path: str, data: bytes, *, append: bool = False, mode: int = 0o644) -> Node:
        """Open for writing, made with ``mode`` if new."""
        if not self.exists(path):
            if path.endswith("/"):
                raise fail(errno.EISDIR)
            target = self._dangling(path)
            return self.add(target, Node("file", mode, data=data))
        node = self.find(path)
        if node is self._null:
            return node
        if node.kind == "dir":
            raise fail(errno.EISDIR)
        if not node.owned:
            raise fail(errno.EROFS)
        if not node.may(W):
            raise fail(errno.EACCES)
        self.set_data(node, node.data + data if append else data)
        return node

    def _dangling(self, path: str) -> str:
        """Where a write through a symlink to nothing makes its file."""
        try:
            node = self.find(path, follow=False)
        except OSError:
            return path
        if node.target.startswith("/"):
            return node.target
        head, slash, _ = path.rpartition("/")
        return head + slash + node.target

    def unlink(self, path: str) -> None:
        """Remove a name of a file or symlink."""
        node = self.find(path, follow=False)
        folder, name = self.parent(path)
        self.require_writable(folder)
        if node.kind == "dir":
            raise fail(errno.EISDIR)
        del folder.children[name]
        folder.mtime = time.time()
        node.links -= 1
        if node.links == 0:
            self._charge(-(node.blocks // 8), -1)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        folder, name = self.parent(path)
        if not folder.owned:
            raise fail(errno.EROFS)
        node = self.find(path, follow=False)
        if name == ".":
            raise fail(errno.EINVAL)
        if node is self.work:
            raise fail(errno.EBUSY)
        self.require_writable(folder)
        if node.kind != "dir":
            raise fail(errno.ENOTDIR)
        if node.children:
            raise fail(errno.ENOTEMPTY)
        del folder.children[name]
        folder.mtime = time.time()
        self._charge(0, -1)

    def rename(self, old: str, new: str) -> None:
        """As the system call: replaces a file, or an empty folder by a folder."""
        source, name = self.parent(old)
        target, new_name = self.parent(new)
        if not source.owned and not target.owned:
            raise fail(errno.EROFS)
        node = self.find(old, follow=False)
        if not target.owned:
            raise fail(errno.EROFS)
        if {name, new_name} & {".", ".."}:
            raise fail(errno.EBUSY)
        if node.kind == "dir" and self._inside(new, node):
            raise fail(errno.EINVAL)
        there = target.children.get(new_name)
        if there is node:
            return
        self.require_writable(source)
        self.require_writable(target)
        if there is not None:
            if there.kind == "dir" and node.kind != "dir":
                raise fail(errno.EISDIR)
            if there.kind != "dir" and node.kind == "dir":
                raise fail(errno.ENOTDIR)
        if node.kind == "dir" and source is not target and not node.may(W):
            raise fail(errno.EACCES)  # its entry ".." would change
        if there is not None:
            if there.children:
                raise fail(errno.ENOTEMPTY)
            self._charge(-(there.blocks // 8), -1)
        del source.children[name]
        target.children.pop(new_name, None)
        target.children[new_name] = node
        source.mtime = target.mtime = time.time()

    def _inside(self, path: str, folder: Node) -> bool:
        head, slash, _ = path.rstrip("/").rpartition("/")
        return any(node is folder for _, node in self._walk(head + slash or ".", follow=True))

    def chmod(self, node: Node, mode: int) -> None:
        """Set permission bits; only the owner may."""
        if not node.owned:
            raise fail(errno.EROFS)
        node.mode = mode

    # --- fixtures and end states -------------------------------------------------------------------------

    def seed(self, files: Files) -> None:
        """Write a fixture, as unpacking it in a box would: over what is there, permissions aside."""
        # Folders first, as in the archive that boxes unpack: it decides the order of listings.
        entries = sorted(with_parents(files).items(), key=lambda item: item[1].kind != "dir")
        for path, entry in entries:
            folder, name = (self.work, "") if path == "." else self.parent(path)
            node = self.work if path == "." else folder.children.get(name)
            if node is None or node.kind != entry.kind:
                fresh = Node(entry.kind, 0o777, target=entry.target)
                self._charge(0, 1)
                node = folder.children[name] = fresh
            if entry.kind == "file":
                self.set_data(node, entry.data)
            node.target = entry.target
        for path, entry in reversed(with_parents(files).items()):
            node = self.find(path, follow=False)
            node.mode = 0o777 if entry.kind == "symlink" else entry.mode
            node.mtime = entry.mtime

    def _tree(self, node: Node, path: str) -> Iterator[tuple[str, Node]]:
        yield path or ".", node
        for name, child in node.children.items():
            yield from self._tree(child, f"{path}/{name}" if path else name)

    def snapshot(self) -> Snapshot:
        """The content of ``/task``."""
        return Snapshot(
            {
                path: Entry(node.kind, node.mode, node.data, node.target)  # type: ignore[arg-type]
                for path, node in self._tree(self.work, "")
            }
        )
