"""Fixtures of the sandbox tests: an image store of their own, a private Docker engine, every backend opened.

``ARENA_DOCKER_HOST`` or ``DOCKER_HOST`` name an engine to use; without them one is started by
``.ci/dockerd``. What is missing is skipped and says so, or fails when ``ARENA_REQUIRE`` names ``engine``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.envs.tools.backends import BwrapBackend, SimBackend, build_image, open_backend
from arena.envs.tools.image import Image
from arena.envs.tools.pool import SandboxPool
from arena.envs.tools.sandbox import Backend, Limits, Sandbox

ROOT = Path(__file__).resolve().parent.parent
DOCKERD = ROOT / ".ci" / "dockerd"
IMAGE = "busybox-sqlite"
REAL = ("bwrap", "bwrap-rlimits", "docker")


def missing(why: str) -> None:
    """Skip, or fail when the environment says that engines must be there."""
    if "engine" in os.environ.get("ARENA_REQUIRE", "").split(","):
        pytest.fail(f"ARENA_REQUIRE names 'engine', but {why}", pytrace=False)
    pytest.skip(f"engine: {why}")


@pytest.fixture(scope="session")
def sandbox_home() -> Iterator[Path]:
    """An image store that every user can reach, as boxes of root run as another one."""
    folder = Path(tempfile.mkdtemp(prefix="arena-images-"))
    folder.chmod(0o755)
    before = os.environ.get("ARENA_SANDBOX_HOME")
    os.environ["ARENA_SANDBOX_HOME"] = str(folder)
    yield folder
    os.environ.pop("ARENA_SANDBOX_HOME")
    if before is not None:
        os.environ["ARENA_SANDBOX_HOME"] = before
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """Address of a Docker engine for the tests."""
    named = os.environ.get("ARENA_DOCKER_HOST") or os.environ.get("DOCKER_HOST")
    if named:
        yield named
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        missing("dockerd is not installed, or this is not root (apt-get install docker.io; or set DOCKER_HOST)")
    for stale in Path("/tmp").glob("arena-dockerd-*"):
        if not Path("/proc", stale.name.rpartition("-")[2]).exists():
            subprocess.run([str(DOCKERD), "stop", str(stale)], check=False, capture_output=True)
    folder = f"/tmp/arena-dockerd-{os.getpid()}"
    started = subprocess.run([str(DOCKERD), "start", folder], capture_output=True, text=True, check=False)
    if started.returncode != 0:
        missing(f".ci/dockerd failed: {started.stderr}")
    os.environ["ARENA_DOCKER_HOST"] = started.stdout.strip()
    yield os.environ["ARENA_DOCKER_HOST"]
    os.environ.pop("ARENA_DOCKER_HOST")
    subprocess.run([str(DOCKERD), "stop", folder], check=True, capture_output=True)


@pytest.fixture(scope="session")
def image(sandbox_home: Path) -> Image:
    """The image with sqlite3, in the store; in the engine too where a test asks for ``docker_host`` first."""
    for program in ("busybox", "sqlite3"):
        if shutil.which(program) is None:
            missing(f"{program} is not installed")
    return build_image(IMAGE, notice=lambda _: None)


def _open(kind: str, request: pytest.FixtureRequest) -> Iterator[Backend]:
    if kind == "sim":
        yield SimBackend(Limits())
        return
    if kind == "docker":
        request.getfixturevalue("docker_host")
        request.getfixturevalue("image")
        build_image(IMAGE, notice=lambda _: None)
        with open_backend("docker", image=IMAGE, notice=lambda _: None) as backend:
            yield backend
        return
    if shutil.which("bwrap") is None:
        missing("bubblewrap is not installed (apt-get install bubblewrap)")
    request.getfixturevalue("image")
    isolation = "namespaces+rlimits" if kind == "bwrap-rlimits" else None
    with BwrapBackend(IMAGE, Limits(), isolation) as backend:
        assert backend.check.problems == ()
        if kind == "bwrap" and backend.isolation != "namespaces+cgroup":
            missing("control groups cannot be written here")
        yield backend


@pytest.fixture(scope="session", params=["sim", *(pytest.param(k, marks=pytest.mark.engine) for k in REAL)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each backend in turn."""
    yield from _open(request.param, request)


@pytest.fixture(scope="session", params=[pytest.param(k, marks=pytest.mark.engine) for k in REAL])
def real_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each backend that runs commands."""
    yield from _open(request.param, request)


@pytest.fixture(scope="session")
def docker_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """The Docker backend."""
    yield from _open("docker", request)


@pytest.fixture(scope="session")
def bwrap_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """The stronger bubblewrap backend."""
    yield from _open("bwrap", request)


@pytest.fixture(scope="session")
def pool(backend: Backend) -> Iterator[SandboxPool]:
    """Boxes of each backend, reused between tests after a verified reset."""
    with SandboxPool(backend, size=1) as boxes:
        yield boxes


@pytest.fixture
def box(pool: SandboxPool) -> Iterator[Sandbox]:
    """A started, empty box of each backend."""
    with pool.box({}) as sandbox:
        yield sandbox


@pytest.fixture
def real_box(real_backend: Backend) -> Iterator[Sandbox]:
    """A started, fresh box of each backend that runs commands."""
    with real_backend.sandbox() as sandbox:
        yield sandbox
