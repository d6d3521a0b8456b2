"""Open a sandbox backend by name, build its image, clean up, and say what works on this machine.

``auto`` is docker, else bubblewrap with a notice, else a refusal with every reason. The host itself is no
backend, and neither ``auto`` nor a failure ever falls to the simulation: what isolates a run is printed
and recorded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from arena.envs.tools import cgroups, gc
from arena.envs.tools.bwrap import BwrapSandbox
from arena.envs.tools.image import DEFAULT_IMAGE, RECIPES, Image, build_tree_image, load_image, store, verify
from arena.envs.tools.sandbox import Backend, Isolation, Kind, Limits, Sandbox, SandboxFailure
from arena.envs.tools.selfcheck import SelfCheck, self_check
from arena.envs.tools.sim import TOOLS, SimSandbox
from arena.errors import MissingNeed, UnknownName, UsageError
from arena.types import Frozen

if TYPE_CHECKING:
    from arena.envs.tools.docker_exec import Api
    from arena.envs.tools.engine import DockerBackend

Choice = Literal["auto", "docker", "bwrap", "sim"]
KINDS: tuple[Choice, ...] = ("auto", "docker", "bwrap", "sim")
Notice = Callable[[str], None]
IMAGE_NAME = re.compile("[a-z0-9]+(?:[._-][a-z0-9]+){0,7}")
DEBIAN = "debian"
DEBIAN_DOCKERFILE = Path(__file__).resolve().parents[2] / "docker" / "sandbox-debian.Dockerfile"


def _print(text: str) -> None:
    print(f"arena: {text}", file=sys.stderr)


def _bwrap_version() -> str:
    try:
        return subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        raise SandboxFailure("start", f"bubblewrap does not run: {str(said).strip()[:500]}", error=error) from error


class BwrapBackend(Backend):
    """Boxes by bubblewrap; with control groups when root may write them."""

    kind: Kind = "bwrap"

    def __init__(self, image: str, limits: Limits, isolation: Isolation | None = None) -> None:
        """``isolation``: ``namespaces+cgroup`` or ``namespaces+rlimits``; ``None`` takes the stronger possible.

        Raises:
            MissingNeed: no bubblewrap, no image, or the kernel does not enforce what was asked for.
        """
        if sys.platform != "linux" or shutil.which("bwrap") is None:
            raise MissingNeed("bubblewrap (bwrap) is not installed", hint="apt-get install bubblewrap")
        grouped = os.geteuid() == 0 and cgroups.version() is not None
        self.isolation = isolation or ("namespaces+cgroup" if grouped else "namespaces+rlimits")
        self.limits = limits
        self.image = load_image(image)
        verify(self.image)
        self.removed = gc.collect_groups()
        version = _bwrap_version()
        with self.sandbox() as box:
            outside: dict[str, str] = {}
            if box.group is not None:
                outside["pids"], outside["memory"] = box.group.limits_read_back()
            self.check = self_check(box, version, self.image.sha256, outside)

    def sandbox(self) -> BwrapSandbox:
        """See ``Backend.sandbox``."""
        return BwrapSandbox(self.image, self.limits, self.isolation)

    def require(self, tools: Iterable[str]) -> None:
        """See ``Backend.require``."""
        self.image.require(tools)

    def close(self) -> None:
        """See ``Backend.close``."""


class SimBackend(Backend):
    """Boxes that are simulated in this process; for model development and for hosts without Linux."""

    kind: Kind = "sim"
    isolation: Isolation = "simulated"

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.removed: list[gc.Removed] = []
        self.check = SelfCheck(
            kind="sim", isolation="simulated", engine="python", image="", facts={}, problems=(), weaker=()
        )

    def sandbox(self) -> SimSandbox:
        """See ``Backend.sandbox``."""
        return SimSandbox(self.limits)

    def require(self, tools: Iterable[str]) -> None:
        """See ``Backend.require``."""
        absent = sorted(set(tools) - set(TOOLS))
        if absent:
            raise MissingNeed(
                f"the simulation has no {', '.join(absent)}", hint="use --sandbox docker or --sandbox bwrap"
            )

    def close(self) -> None:
        """See ``Backend.close``."""


def _docker(image: str, limits: Limits, runtime: str | None) -> DockerBackend:
    try:
        from arena.envs.tools.engine import DockerBackend
    except ImportError as error:
        raise MissingNeed(
            f"the Docker SDK is not installed ({error})", hint="pip install 'system-one-arena[tools]'"
        ) from error
    return DockerBackend(image, limits, runtime)


def _make(kind: Kind, image: str, limits: Limits, runtime: str | None) -> DockerBackend | BwrapBackend | SimBackend:
    if kind == "sim":
        return SimBackend(limits)
    try:
        backend = _docker(image, limits, runtime) if kind == "docker" else BwrapBackend(image, limits)
    except SandboxFailure as failure:
        raise MissingNeed(f"{kind}: {failure.message}", hint="arena doctor shows what is missing") from failure
    if backend.check.problems:
        backend.close()
        raise MissingNeed(
            f"{kind} ({backend.check.engine}) does not isolate as asked: {'; '.join(backend.check.problems)}",
            hint="use another --sandbox, or repair the engine; nothing runs in a box that is weaker than its label",
        )
    return backend


def open_backend(
    kind: Choice = "auto",
    *,
    image: str = DEFAULT_IMAGE,
    limits: Limits | None = None,
    runtime: str | None = None,
    notice: Notice = _print,
) -> Backend:
    """Open a backend and say on stderr what isolates its boxes. Close it after use.

    Args:
        kind: ``auto`` takes docker, else bwrap; never sim.
        image: name of a built image; no image for ``sim``.
        limits: what each box may use.
        runtime: OCI runtime for docker, passed through (``runsc``).
        notice: takes one line per message.

    Raises:
        UnknownName: no such kind.
        MissingNeed: it cannot run here, with every reason (exit code 4).
    """
    if kind not in KINDS:
        raise UnknownName("sandbox", kind, KINDS)
    wanted: tuple[Kind, ...] = ("docker", "bwrap") if kind == "auto" else (kind,)
    reasons: list[str] = []
    for name in wanted:
        try:
            backend = _make(name, image, limits or Limits(), runtime)
        except MissingNeed as error:
            if len(wanted) == 1:
                raise
            reasons.append(error.message)
            continue
        for removed in backend.removed:
            notice(f"removed {removed.kind} {removed.what} of an earlier run: {removed.why}")
        for reason in reasons:
            notice(f"sandbox docker cannot be used: {reason}")
        notice(f"sandbox {name}: isolation {backend.isolation}, {backend.check.engine}")
        for weakness in backend.check.weaker:
            notice(f"sandbox {name}: {weakness}")
        return backend
    raise MissingNeed(
        "no sandbox can run here, and commands never run on the host: " + "; ".join(reasons),
        hint="install Docker or bubblewrap, then: arena sandbox build; or --sandbox sim for tasks that allow it",
    )


@contextmanager
def open_sandbox(
    kind: Choice = "auto", *, image: str = DEFAULT_IMAGE, limits: Limits | None = None, notice: Notice = _print
) -> Iterator[Sandbox]:
    """One started box of a backend opened for it; both are closed at the end. See ``open_backend``."""
    with open_backend(kind, image=image, limits=limits, notice=notice) as backend, backend.sandbox() as box:
        yield box


def _engine() -> Api | None:
    """The Docker engine, if there is one."""
    try:
        from arena.envs.tools.engine import connect

        return connect()
    except (ImportError, MissingNeed):
        return None


def build_image(name: str = DEFAULT_IMAGE, *, dockerfile: Path | None = None, notice: Notice = _print) -> Image:
    """Build an image into the store, and into the Docker engine if one answers. Needs no registry.

    Args:
        name: ``busybox`` or ``busybox-sqlite`` (from programs of this host), ``debian``, or any name with
            ``dockerfile``, which does need the registry its ``FROM`` names.
        dockerfile: builds this file instead.
        notice: takes one line per message.

    Raises:
        UnknownName: no such recipe. UsageError: a name that an engine would refuse.
        MissingNeed: a program, room or the engine is missing, or the engine failed on the way.
    """
    if not IMAGE_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for an image", hint="small letters, digits, and . _ - between them")
    if name == DEBIAN and dockerfile is None:
        dockerfile = DEBIAN_DOCKERFILE
    if dockerfile is None and name not in RECIPES:
        raise UnknownName("sandbox image", name, [*RECIPES, DEBIAN])
    api = _engine()
    try:
        if dockerfile is None:
            image = build_tree_image(name)
        elif api is None:
            raise MissingNeed("a Dockerfile needs a Docker engine, and none answers", hint="start Docker")
        else:
            from arena.envs.tools.engine import build_dockerfile

            image = build_dockerfile(api, name, dockerfile)
        if api is None:
            notice(f"image {name} is in {image.folder}; no Docker engine answers, so only bwrap can use it")
        else:
            from arena.envs.tools.engine import import_image

            import_image(api, image)
            notice(f"image {name} is in {image.folder} and in the Docker engine as {image.reference}")
        return image
    except SandboxFailure as failure:
        raise MissingNeed(
            f"the Docker engine did not build {name!r}: {failure.message}",
            hint="arena doctor shows whether the engine is well; a FROM needs its registry",
        ) from failure
    finally:
        if api is not None:
            api.close()


def collect_garbage(notice: Notice = _print) -> list[gc.Removed]:
    """Remove containers and control groups that dead runs left. What ``arena sandbox gc`` does.

    Raises:
        MissingNeed: the engine failed on the way.
    """
    removed = gc.collect_groups()
    api = _engine()
    if api is None:
        notice("no Docker engine answers, so only what bubblewrap left was looked for")
        return removed
    try:
        return removed + gc.collect_containers(api)
    except SandboxFailure as failure:
        raise MissingNeed(failure.message, hint="arena doctor shows whether the engine is well") from failure
    finally:
        api.close()


class Finding(Frozen):
    """One line of a doctor's report. ``hint``: the next command when it is not well."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


def doctor_report(image: str = DEFAULT_IMAGE) -> list[Finding]:
    """What of the sandboxes works here, by really opening each backend: about 1 s."""
    findings = []
    for program, package in (("busybox", "busybox-static"), ("bwrap", "bubblewrap"), ("sqlite3", "sqlite3")):
        path = shutil.which(program)
        hint = "" if path else f"apt-get install {package}"
        findings.append(Finding(name=program, ok=path is not None, detail=path or "not installed", hint=hint))
    try:
        found = load_image(image)
        verify(found)
        detail = f"{found.sha256[:16]} in {store()}"
        findings.append(Finding(name=f"image {image}", ok=True, detail=detail))
    except MissingNeed as error:
        findings.append(Finding(name=f"image {image}", ok=False, detail=error.message, hint=error.hint or ""))
    kinds: tuple[Kind, ...] = ("docker", "bwrap")
    for kind in kinds:
        try:
            with _make(kind, image, Limits(), None) as backend:
                detail = f"{backend.isolation}, {backend.check.engine}"
                findings.append(Finding(name=f"sandbox {kind}", ok=True, detail=detail))
        except MissingNeed as error:
            findings.append(Finding(name=f"sandbox {kind}", ok=False, detail=error.message, hint=error.hint or ""))
    return findings
