"""Engines and images: cleaning up, what is missing, what was tampered with, what is chosen instead."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from sandbox_engines import IMAGE
from sandbox_traces import quiet

from arena.envs.tools import docker as boxes
from arena.envs.tools import gc
from arena.envs.tools.backends import (
    BwrapBackend,
    build_image,
    collect_garbage,
    doctor_report,
    open_backend,
    open_sandbox,
)
from arena.envs.tools.engine import DockerBackend
from arena.envs.tools.image import Image, verify
from arena.envs.tools.sandbox import Limits
from arena.errors import MissingNeed, UnknownName

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("sandbox")]


def labelled(backend: DockerBackend, labels: dict[str, str]) -> str:
    return str(backend.api.create_container(backend.image.reference, ["/bin/true"], labels=labels)["Id"])


def test_gc_removes_what_dead_runs_left_and_nothing_else(docker_backend: DockerBackend) -> None:
    mine = gc.labels(uuid.uuid4().hex)
    dead = {**mine, gc.LABEL_OWNER: "4194303-1"}
    doomed = labelled(docker_backend, dead)
    expired = labelled(docker_backend, {**dead, gc.LABEL_HOST: "elsewhere", gc.LABEL_DEADLINE: "1"})
    kept = [
        labelled(docker_backend, mine),
        labelled(docker_backend, {**dead, gc.LABEL_HOST: "elsewhere"}),
        labelled(docker_backend, {}),
        labelled(docker_backend, {"other.run": "4194303-1"}),
    ]
    try:
        removed = {one.what: one.why for one in collect_garbage() if one.kind == "container"}
        assert removed == {doomed[:12]: "its process 4194303 is dead", expired[:12]: "its deadline has passed"}
        left = {found["Id"] for found in docker_backend.api.containers(all=True)}
        assert left >= set(kept)
    finally:
        for container in kept:
            docker_backend.api.remove_container(container, force=True)


def test_opening_cleans_up_and_says_so(docker_backend: DockerBackend) -> None:
    doomed = labelled(docker_backend, {**gc.labels("x"), gc.LABEL_OWNER: "4194303-1"})
    said: list[str] = []
    with open_backend("docker", image=IMAGE, notice=said.append):
        pass
    assert said[0] == f"removed container {doomed[:12]} of an earlier run: its process 4194303 is dead"
    assert said[1].startswith("sandbox docker: isolation container, docker ")


def test_a_missing_image_is_named_and_never_pulled(docker_backend: DockerBackend, tmp_path: Path) -> None:
    with pytest.raises(MissingNeed, match="'nope' is not built") as absent:
        open_backend("docker", image="nope", notice=quiet)
    assert absent.value.hint == "arena sandbox build nope"
    reference = docker_backend.image.reference
    docker_backend.api.remove_image(reference, force=True, noprune=True)
    try:
        with pytest.raises(MissingNeed, match="has no image") as unknown:
            open_backend("docker", image=IMAGE, notice=quiet)
        assert unknown.value.hint == f"arena sandbox build {IMAGE}"
        assert unknown.value.code == 4
    finally:
        build_image(IMAGE, notice=quiet)


def test_another_image_under_the_same_name_is_refused(docker_backend: DockerBackend, tmp_path: Path) -> None:
    reference, _, tag = docker_backend.image.reference.partition(":")
    (tmp_path / "Dockerfile").write_text(f"FROM {reference}:{tag}\nLABEL changed=yes\nRUN echo > /etc/more\n")
    list(
        docker_backend.api.build(
            path=str(tmp_path), tag=f"{reference}:{tag}", rm=True, decode=True, network_mode="none"
        )
    )
    try:
        with pytest.raises(MissingNeed, match="has layers"):
            open_backend("docker", image=IMAGE, notice=quiet)
    finally:
        build_image(IMAGE, notice=quiet)


def test_a_dockerfile_gives_an_image_for_every_backend(docker_backend: DockerBackend, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(
        f"FROM {docker_backend.image.reference}\nUSER 0\nRUN echo 'echo hello' > /bin/hello && chmod 755 /bin/hello\n"
    )
    built = build_image("custom", dockerfile=file, notice=quiet)
    assert "hello" in built.tools
    for kind in ("docker", "bwrap"):
        with open_sandbox(kind, image="custom", notice=quiet) as box:
            assert box.exec(["sh", "/bin/hello"]).out == b"hello\n"


def test_without_an_engine(image: Image, bwrap_backend: BwrapBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DOCKER_HOST", "unix:///nowhere/sock")
    with pytest.raises(MissingNeed, match="no Docker engine answers at unix:///nowhere/sock") as caught:
        open_backend("docker", image=IMAGE, notice=quiet)
    assert caught.value.code == 4
    said: list[str] = []
    with open_backend("auto", image=IMAGE, notice=said.append) as backend:
        assert (backend.kind, backend.isolation) == ("bwrap", "namespaces+cgroup")
    assert said[0].startswith("sandbox docker cannot be used: no Docker engine answers")
    assert said[1].startswith("sandbox bwrap: isolation namespaces+cgroup")
    report = {finding.name: finding for finding in doctor_report(IMAGE)}
    assert report["sandbox bwrap"].ok
    assert not report["sandbox docker"].ok
    assert report["sandbox docker"].hint
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(
        MissingNeed, match=r"never run on the host: no Docker engine .*; bubblewrap .* not installed"
    ) as none:
        open_backend("auto", image=IMAGE, notice=quiet)
    assert none.value.code == 4


def test_an_unknown_kind() -> None:
    with pytest.raises(UnknownName, match="did you mean docker"):
        open_backend("dockr", notice=quiet)  # type: ignore[arg-type]


def test_a_tree_that_was_changed_is_refused(image: Image, bwrap_backend: BwrapBackend) -> None:
    verify.cache_clear()
    extra = image.root / "bin" / "planted"
    extra.write_text("#!/bin/sh\n")
    try:
        with pytest.raises(MissingNeed, match="changed"):
            open_backend("bwrap", image=IMAGE, notice=quiet)
    finally:
        extra.unlink()
    with open_backend("bwrap", image=IMAGE, notice=quiet):
        pass


def test_what_a_container_is_created_with(docker_backend: DockerBackend) -> None:
    with docker_backend.sandbox() as box:
        found = docker_backend.api.inspect_container(box.container)
    host = found["HostConfig"]
    limits = Limits()
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Privileged"] is False
    assert not host["Binds"]
    assert (host["PidsLimit"], host["Memory"], host["MemorySwap"]) == (limits.pids, limits.memory, limits.memory)
    assert host["LogConfig"]["Type"] == "none"
    assert host["AutoRemove"] is True
    assert host["IpcMode"] == "none"
    assert found["Config"]["User"] == boxes.IDLE
    names = {entry.partition("=")[0] for entry in found["Config"]["Env"]}
    assert names == {"PATH", "HOME", "LC_ALL", "TZ", "PYTHONHASHSEED"}
