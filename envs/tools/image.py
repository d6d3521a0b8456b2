"""Sandbox images without a registry: one file tree, one tar, one sha256, shared by docker and bwrap.

``build_image`` lays out a tree (busybox of the host; with sqlite3; or what a Dockerfile builds), packs it
with sorted names, fixed times and owner 0, and keeps tree and tar in the store under the tar's sha256.
That hash is the image's identity: Docker's layer digest of the imported tar is the same number, and
bubblewrap mounts the tree read-only after ``verify`` packed it again and compared.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import platformdirs
from pydantic import ValidationError

from arena.envs.tools.sandbox import DEFAULT_MTIME
from arena.errors import MissingNeed, UnknownName
from arena.types import Frozen

REPOSITORY = "arena-sandbox"
DEFAULT_IMAGE = "busybox"
TOOL_FOLDERS = ("usr/local/bin", "usr/bin", "bin")
INIT = "etc/busybox-init"
"""Empty file of every tree; bubblewrap binds a box's first program over it (see ``bwrap_launch``)."""
EMPTY_FOLDERS = ("bin", "dev", "etc", "proc", "sys", "task", "tmp", "usr/bin")
PASSWD = "root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/task:/bin/sh\nidle:x:1001:1001::/:/bin/false\n"
GROUP = "root:x:0:\nagent:x:1000:\nidle:x:1001:\n"
PACKAGES = {"busybox": "busybox-static", "sqlite3": "sqlite3", "ldd": "libc-bin"}


class Image(Frozen):
    """A built image. ``sha256``: of its tar; ``tools``: program names on the PATH, sorted; ``size``: tar bytes."""

    name: str
    sha256: str
    size: int
    tools: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where the store keeps tree and tar."""
        return store() / self.sha256[:16]

    @property
    def root(self) -> Path:
        """The tree, to be mounted read-only."""
        return self.folder / "root"

    @property
    def tar(self) -> Path:
        """The archive that was hashed."""
        return self.folder / "root.tar"

    @property
    def reference(self) -> str:
        """The name under which a Docker engine holds the image."""
        return f"{REPOSITORY}:{self.sha256[:16]}"

    def require(self, tools: Iterable[str]) -> None:
        """Refuse a task whose programs are not in the image.

        Raises:
            MissingNeed: names what is missing and what builds an image that has it.
        """
        absent = sorted(set(tools) - set(self.tools))
        if absent:
            raise MissingNeed(
                f"image {self.name!r} has no {', '.join(absent)}",
                hint=f"images: {', '.join(RECIPES)}; build one with: arena sandbox build IMAGE",
            )


def store() -> Path:
    """Folder of built images: ``$ARENA_SANDBOX_HOME``, or the cache folder (system-wide for root).

    Root's boxes run as another user, who must be able to reach the tree: hence not below ``/root``.
    """
    named = os.environ.get("ARENA_SANDBOX_HOME")
    if named:
        return Path(named)
    cache = platformdirs.site_cache_path if os.geteuid() == 0 else platformdirs.user_cache_path
    return Path(cache("arena")) / "sandbox"


def _find(program: str) -> Path:
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        raise MissingNeed(
            f"{program} is not installed, and the image is made {'with' if program == 'ldd' else 'of'} it",
            hint=f"apt-get install {PACKAGES[program]}",
        )
    return Path(found).resolve()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _add_program(tree: Path, program: str) -> None:
    """Copy a program of the host and the libraries that its loader would map, to the same paths."""
    binary = _find(program)
    _copy(binary, tree / "bin" / program)
    listed = subprocess.run([str(_find("ldd")), str(binary)], capture_output=True, text=True, check=False)
    for line in listed.stdout.splitlines():
        path = next((word for word in line.split() if word.startswith("/")), None)
        if path is not None:
            _copy(Path(path), tree / path.lstrip("/"))


def _skeleton(tree: Path) -> None:
    for folder in EMPTY_FOLDERS:
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / INIT).touch()


def _busybox(tree: Path) -> None:
    _skeleton(tree)
    _add_program(tree, "busybox")
    listed = subprocess.run([str(tree / "bin/busybox"), "--list"], capture_output=True, text=True, check=True)
    for applet in listed.stdout.split():
        link = tree / "bin" / applet
        if applet != "busybox" and not link.exists():
            link.symlink_to("busybox")
    (tree / "etc/passwd").write_text(PASSWD)
    (tree / "etc/group").write_text(GROUP)


def _busybox_sqlite(tree: Path) -> None:
    _busybox(tree)
    _add_program(tree, "sqlite3")


RECIPES: dict[str, Callable[[Path], None]] = {"busybox": _busybox, "busybox-sqlite": _busybox_sqlite}
"""Image name -> what fills its tree. Every image has busybox: the sandbox's own helpers run on it."""


def _info(tree: Path, path: Path) -> tarfile.TarInfo:
    """Header of one path with everything left out that differs between two builds."""
    found = path.lstat()
    info = tarfile.TarInfo(str(path.relative_to(tree)))
    info.mtime = DEFAULT_MTIME
    if stat.S_ISLNK(found.st_mode):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
    elif stat.S_ISDIR(found.st_mode):
        # Runtimes give a mounted /tmp the mode of the image's folder, whatever the mount options say.
        info.type, info.mode = tarfile.DIRTYPE, 0o1777 if info.name == "tmp" else 0o755
    else:
        info.size = found.st_size
        info.mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
    return info


def pack(tree: Path) -> bytes:
    """The tree as a reproducible tar: sorted names, one time, owner 0, no setuid bits, no device nodes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(tree.rglob("*")):
            info = _info(tree, path)
            if info.isreg():
                with path.open("rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)
    return buffer.getvalue()


def _tools(tree: Path) -> tuple[str, ...]:
    names = {path.name for folder in TOOL_FOLDERS if (tree / folder).is_dir() for path in (tree / folder).iterdir()}
    return tuple(sorted(names))


def _keep(name: str, tree: Path) -> Image:
    """Move a finished tree into the store. Two builders of the same tree meet in the same folder."""
    archive = pack(tree)
    image = Image(name=name, sha256=hashlib.sha256(archive).hexdigest(), size=len(archive), tools=_tools(tree))
    (tree.parent / "root.tar").write_bytes(archive)
    for path in (tree.parent, *tree.parent.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if executable else 0o644)
    try:
        tree.parent.rename(image.folder)
    except OSError:
        if pack(image.root) != archive:
            shutil.rmtree(image.folder)
            tree.parent.rename(image.folder)
    manifest = store() / f".{name}.{os.getpid()}.json"
    manifest.write_text(image.model_dump_json())
    manifest.replace(store() / f"{name}.json")
    return image


def build_tree(name: str, fill: Callable[[Path], None]) -> Image:
    """Build the image ``name`` from a function that fills an empty tree, and keep it in the store.

    Raises:
        MissingNeed: the store cannot be written, or is full; what was begun is gone.
    """
    try:
        store().mkdir(parents=True, exist_ok=True, mode=0o755)
        work = Path(tempfile.mkdtemp(prefix=".build-", dir=store()))
        try:
            (work / "root").mkdir()
            fill(work / "root")
            return _keep(name, work / "root")
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise MissingNeed(
            f"image {name!r} cannot be written to {store()}: {error.strerror or error}",
            hint="make room there, or set ARENA_SANDBOX_HOME to a folder that can be written",
        ) from error


def build_tree_image(name: str = DEFAULT_IMAGE) -> Image:
    """Build one of ``RECIPES`` from programs of this host. 2 MB (busybox) or 6 MB (with sqlite3), under 1 s.

    Raises:
        UnknownName: no such recipe.
        MissingNeed: busybox or sqlite3 is not installed here.
    """
    if name not in RECIPES:
        raise UnknownName("sandbox image", name, RECIPES)
    return build_tree(name, RECIPES[name])


def unpack_export(archive: Path, tree: Path) -> None:
    """Unpack the export of a container into a tree. Device nodes and special bits are dropped.

    Raises:
        tarfile.FilterError: a member leaves the tree.
    """
    with tarfile.open(archive) as tar:
        members = (m for m in tar if m.isreg() or m.isdir() or m.issym() or m.islnk())
        tar.extractall(tree, members=members, filter="tar")
    _skeleton(tree)
    if not (tree / "bin/busybox").exists():
        raise MissingNeed("the built image has no /bin/busybox", hint="install busybox-static in the Dockerfile")


def load_image(name: str = DEFAULT_IMAGE) -> Image:
    """The image ``name`` from the store. Nothing is ever pulled or built on the way.

    Raises:
        MissingNeed: not built yet; names the command that builds it.
    """
    manifest = store() / f"{name}.json"
    if not manifest.is_file():
        known = sorted(path.stem for path in store().glob("*.json"))
        raise MissingNeed(
            f"sandbox image {name!r} is not built in {store()} (built: {', '.join(known) or 'none'})",
            hint=f"arena sandbox build {name}",
        )
    try:
        image = Image.model_validate_json(manifest.read_bytes())
    except ValidationError as error:
        raise MissingNeed(f"{manifest} is damaged", hint=f"arena sandbox build {name}") from error
    if not image.root.is_dir():
        raise MissingNeed(f"the tree of image {name!r} is gone from {image.folder}", hint=f"arena sandbox build {name}")
    return image


@lru_cache(maxsize=16)
def verify(image: Image) -> None:
    """Check once per process that the stored tree is still what was hashed.

    Raises:
        MissingNeed: it is not.
    """
    found = hashlib.sha256(pack(image.root)).hexdigest()
    if found != image.sha256:
        raise MissingNeed(
            f"the tree {image.root} changed: built with sha256 {image.sha256}, found {found}",
            hint=f"arena sandbox build {image.name}",
        )
