"""The Docker engine as a backend: connect, find the image, check a first box, hand out more.

``$ARENA_DOCKER_HOST`` or ``$DOCKER_HOST`` name the engine (also podman's socket); without them it is the
SDK's default socket. An image is looked for by the sha256 of its tar and never pulled.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import docker.errors
import requests.exceptions
from docker.api import APIClient
from docker.utils import kwargs_from_env

from arena.envs.tools import gc
from arena.envs.tools.docker import DockerSandbox
from arena.envs.tools.docker_exec import Api, engine_errors
from arena.envs.tools.image import REPOSITORY, Image, build_tree, load_image, unpack_export
from arena.envs.tools.sandbox import ENVIRONMENT, WORKDIR, Backend, Isolation, Kind, Limits
from arena.envs.tools.selfcheck import self_check
from arena.errors import MissingNeed

TIMEOUT_S = 60
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
POOL_SIZE = 64
"""Connections kept; more threads than that would wait for each other."""


def connect() -> Api:
    """A client of the engine.

    Raises:
        MissingNeed: no engine answers; says where it was looked for.
    """
    settings = kwargs_from_env()
    if named := os.environ.get("ARENA_DOCKER_HOST"):
        settings = {"base_url": named}
    where = settings.get("base_url") or DEFAULT_SOCKET
    try:
        _knock(where)
        return APIClient(**settings, version="auto", timeout=TIMEOUT_S, max_pool_size=POOL_SIZE)
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise MissingNeed(
            f"no Docker engine answers at {where}: {error}",
            hint="start Docker (or set DOCKER_HOST), or use --sandbox bwrap",
        ) from error


def _knock(where: str) -> None:
    """Fail early where nobody listens: the SDK would leave its socket open."""
    scheme, _, path = where.partition("://")
    if scheme in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(TIMEOUT_S)
            knock.connect("/" + path.lstrip("/"))


def describe(api: Api) -> str:
    """Engine, version, API and hierarchy in one line, for results."""
    with engine_errors("version"):
        version, info = api.version(), api.info()
    name = next((part["Name"] for part in version.get("Components") or [] if "Podman" in part["Name"]), "docker")
    cgroup = f"cgroup v{info.get('CgroupVersion', '?')} ({info.get('CgroupDriver', '?')})"
    return f"{name} {version['Version']}, API {version['ApiVersion']}, {info.get('OSType', '?')}, {cgroup}"


def import_image(api: Api, image: Image) -> None:
    """Give the image to the engine, under its reference; a second time changes nothing."""
    changes = [f"ENV {name}={value}" for name, value in ENVIRONMENT.items()]
    changes += [f"WORKDIR {WORKDIR}", f"LABEL arena.image={image.sha256}"]
    tag = image.reference.partition(":")[2]
    with engine_errors("import"):
        api.import_image_from_file(str(image.tar), repository=REPOSITORY, tag=tag, changes=changes)
    find_image(api, image)


def find_image(api: Api, image: Image) -> None:
    """Check that the engine holds exactly this image.

    Raises:
        MissingNeed: it holds none, or another one under this name; nothing is pulled.
    """
    with engine_errors("image"):
        try:
            found = api.inspect_image(image.reference)
        except docker.errors.ImageNotFound as error:
            raise MissingNeed(
                f"the Docker engine has no image {image.reference} (image {image.name!r})",
                hint=f"arena sandbox build {image.name}",
            ) from error
    layers = found["RootFS"]["Layers"]
    if layers != [f"sha256:{image.sha256}"]:
        raise MissingNeed(
            f"image {image.reference} of the Docker engine has layers {', '.join(layers)}, expected {image.sha256}",
            hint=f"arena sandbox build {image.name}",
        )


def build_dockerfile(api: Api, name: str, dockerfile: Path) -> Image:
    """Build a Dockerfile, export its file system, and keep that as image ``name``, as any other tree.

    Raises:
        SandboxFailure: the build fails.
        MissingNeed: the built image has no busybox.
    """
    if not dockerfile.is_file():
        raise MissingNeed(f"no Dockerfile at {dockerfile}", hint="arena sandbox build NAME --dockerfile FILE")
    with engine_errors("build"):
        tag = f"{REPOSITORY}-build:{name}"
        for event in api.build(
            path=str(dockerfile.parent), dockerfile=dockerfile.name, tag=tag, rm=True, forcerm=True, decode=True
        ):
            if "error" in event:
                raise docker.errors.DockerException(f"docker build: {event['error']}")
        container = api.create_container(tag, ["/"], labels=gc.labels("build"))["Id"]
        try:
            with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
                for chunk in api.export(container):
                    archive.write(chunk)
                archive.flush()
                return build_tree(name, lambda tree: unpack_export(Path(archive.name), tree))
        finally:
            api.remove_container(container, force=True, v=True)


class DockerBackend(Backend):
    """Boxes of one engine. Opening it removes what dead runs left, and checks one box from inside."""

    kind: Kind = "docker"
    isolation: Isolation = "container"

    def __init__(self, image: str, limits: Limits, runtime: str | None = None) -> None:
        """Open the engine and check it.

        Raises:
            MissingNeed: no engine, no image, or the engine does not enforce what was asked for.
            SandboxFailure: the engine broke on the way.
        """
        self.limits, self.runtime = limits, runtime
        self.api: Any = connect()
        try:
            self.image = load_image(image)
            find_image(self.api, self.image)
            self.removed = gc.collect_containers(self.api)
            with self.sandbox() as box:
                self.check = self_check(box, describe(self.api), self.image.sha256)
        except BaseException:
            self.close()
            raise

    def sandbox(self) -> DockerSandbox:
        """See ``Backend.sandbox``."""
        return DockerSandbox(self.api, self.image, self.limits, self.runtime)

    def require(self, tools: Iterable[str]) -> None:
        """See ``Backend.require``."""
        self.image.require(tools)

    def close(self) -> None:
        """See ``Backend.close``."""
        self.api.close()
