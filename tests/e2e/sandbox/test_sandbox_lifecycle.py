"""Engines, boxes and harnesses that die at a bad moment; what is left afterwards is nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import docker.errors
import pytest
from sandbox_engines import DOCKERD, IMAGE, missing

from arena.envs.tools import cgroups, gc, owner
from arena.envs.tools import docker as boxes
from arena.envs.tools.backends import (
    BwrapBackend,
    build_image,
    collect_garbage,
    doctor_report,
    open_backend,
    open_sandbox,
)
from arena.envs.tools.docker import DockerSandbox
from arena.envs.tools.engine import DockerBackend
from arena.envs.tools.image import Image, verify
from arena.envs.tools.pool import ResetWarning, SandboxPool
from arena.envs.tools.sandbox import Backend, Limits, Sandbox, SandboxFailure, text_files
from arena.errors import MissingNeed, UnknownName

pytestmark = pytest.mark.engine

HARNESS = """
import sys, time
from arena.envs.tools.backends import open_backend
from arena.envs.tools.reaper import exit_on_sigterm
with exit_on_sigterm(), open_backend(sys.argv[1], image="busybox-sqlite", notice=lambda _: None) as backend:
    with backend.sandbox() as one, backend.sandbox() as two:
        one.exec(["sh", "-c", "setsid sleep 5; true"], timeout_s=0.1)
        print("ready", flush=True)
        one.exec(["sleep", "100"], timeout_s=100)
"""


def quiet(_: str) -> None:
    """A notice that nobody needs to see."""


def within(seconds: float, done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def containers_of(backend: DockerBackend, label: str) -> list[str]:
    return [found["Id"] for found in backend.api.containers(all=True, filters={"label": label})]


def processes_of(group_owner: int) -> list[str]:
    """Command lines of box processes whose control group belongs to a process."""
    groups = [path for name in cgroups.V1_CONTROLLERS for path in (cgroups.MOUNT / name).glob(f"arena-{group_owner}-*")]
    groups += list(cgroups.MOUNT.glob(f"arena-{group_owner}-*"))
    return [pid for group in groups for pid in (group / "cgroup.procs").read_text().split()]


def harness(kind: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HARNESS, kind], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_harness_that_ends_leaves_no_container(docker_backend: DockerBackend, number: signal.Signals) -> None:
    process = harness("docker")
    tag = f"{process.pid}-{owner.started(process.pid)}"
    assert len(containers_of(docker_backend, f"{gc.LABEL_OWNER}={tag}")) == 2
    process.send_signal(number)
    assert within(
        10 if number != signal.SIGKILL else 2, lambda: not containers_of(docker_backend, f"{gc.LABEL_OWNER}={tag}")
    )
    with process:
        assert process.wait(10) == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: -2}[number]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_harness_that_ends_leaves_no_namespace(bwrap_backend: BwrapBackend, number: signal.Signals) -> None:
    process = harness("bwrap")
    assert len(processes_of(process.pid)) >= 4
    process.send_signal(number)
    assert within(2, lambda: not processes_of(process.pid))
    with process:
        process.wait(10)
    removed = collect_garbage()
    assert within(2, lambda: not list(cgroups.MOUNT.rglob(f"arena-{process.pid}-*")))
    assert (number == signal.SIGKILL) == any(str(process.pid) in one.what for one in removed)


def test_a_harness_without_root(bwrap_backend: BwrapBackend) -> None:
    script = (
        "from arena.envs.tools.backends import open_backend\n"
        "backend = open_backend('auto', image='busybox-sqlite')\n"
        "with backend.sandbox() as box:\n"
        "    print(backend.isolation, backend.check.problems, box.exec(['id', '-u']).out_text)\n"
    )
    dropped = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    env = {**os.environ, "ARENA_DOCKER_HOST": "unix:///nowhere", "HOME": "/nonexistent"}
    result = subprocess.run(
        [*dropped, sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert result.stdout.startswith("namespaces+rlimits () 1000"), result.stderr
    assert "sandbox docker cannot be used: no Docker engine answers at unix:///nowhere" in result.stderr
    assert "isolation namespaces+rlimits" in result.stderr
    assert "memory is limited per process, not per box" in result.stderr


def test_a_container_that_vanishes_is_no_command_output(docker_backend: DockerBackend) -> None:
    with docker_backend.sandbox() as box:
        docker_backend.api.remove_container(box.container, force=True)
        assert not box.health().alive
        with pytest.raises(SandboxFailure) as caught:
            box.exec(["true"])
        assert caught.value.cause == "gone"
        with pytest.raises(SandboxFailure):
            box.snapshot()


def test_a_container_that_vanishes_during_a_command(docker_backend: DockerBackend) -> None:
    with docker_backend.sandbox() as box:
        timer = threading.Timer(0.5, lambda: docker_backend.api.remove_container(box.container, force=True))
        timer.start()
        began = time.monotonic()
        with pytest.raises(SandboxFailure) as caught:
            box.exec(["sleep", "30"], timeout_s=30)
        assert caught.value.cause == "gone"
        assert time.monotonic() - began < 10
        timer.join()


def test_a_namespace_that_vanishes_is_no_command_output(bwrap_backend: BwrapBackend) -> None:
    with bwrap_backend.sandbox() as box:
        assert box.group is not None
        timer = threading.Timer(0.3, lambda: [os.kill(pid, signal.SIGKILL) for pid in box.group.processes()])
        timer.start()
        with pytest.raises(SandboxFailure) as caught:
            box.exec(["sleep", "30"], timeout_s=30)
        assert caught.value.cause == "gone"
        assert not box.health().alive
        timer.join()


def test_closing_from_another_thread_ends_the_command(real_backend: Backend) -> None:
    box = real_backend.sandbox()
    box.start()
    threading.Timer(0.3, box.close).start()
    began = time.monotonic()
    with pytest.raises(SandboxFailure) as caught:
        box.exec(["sleep", "30"], timeout_s=30)
    assert caught.value.cause == "closed"
    assert time.monotonic() - began < 10


def test_a_cancelled_async_caller(real_backend: Backend) -> None:
    async def episode() -> float:
        with real_backend.sandbox() as box:
            began = time.monotonic()
            with anyio.move_on_after(0.3):
                await anyio.to_thread.run_sync(lambda: box.exec(["sleep", "30"], timeout_s=30), abandon_on_cancel=True)
            return time.monotonic() - began

    assert anyio.run(episode) < 5


def test_a_box_outlives_the_thread_that_started_it(real_backend: Backend) -> None:
    box = real_backend.sandbox()
    starter = threading.Thread(target=box.start)
    starter.start()
    starter.join()
    with box_closed(box):
        time.sleep(0.2)
        assert box.exec(["echo", "here"]).out == b"here\n"


class box_closed:
    """Close a box that was started by hand."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self.box.close()


@pytest.mark.parametrize("moment", ["create_container", "attach_socket", "start"])
def test_a_cancel_during_the_start_leaves_nothing(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    reached = threading.Event()
    real = getattr(docker_backend.api, moment)

    def slow(*args: object, **options: object) -> object:
        reached.set()
        time.sleep(0.5)
        return real(*args, **options)

    monkeypatch.setattr(docker_backend.api, moment, slow)
    box = docker_backend.sandbox()
    caught: list[BaseException] = []

    def begin() -> None:
        try:
            box.start()
        except SandboxFailure as failure:
            caught.append(failure)

    thread = threading.Thread(target=begin)
    thread.start()
    assert reached.wait(10)
    box.close()
    thread.join()
    assert len(caught) == 1
    assert within(5, lambda: not containers_of(docker_backend, f"{gc.LABEL_BOX}={box.box}"))


def test_a_create_whose_answer_was_lost(docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    real = docker_backend.api.create_container

    def lost(*args: object, **options: object) -> object:
        real(*args, **options)
        raise docker.errors.DockerException("read timed out")

    monkeypatch.setattr(docker_backend.api, "create_container", lost)
    box = docker_backend.sandbox()
    with pytest.raises(SandboxFailure, match="read timed out"), box:
        pass
    assert containers_of(docker_backend, f"{gc.LABEL_BOX}={box.box}") == []


def test_at_most_two_containers_are_being_made(docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    real = docker_backend.api.create_container
    lock = threading.Lock()
    now = most = 0

    def counted(*args: object, **options: object) -> object:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.1)
        try:
            return real(*args, **options)
        finally:
            with lock:
                now -= 1

    monkeypatch.setattr(docker_backend.api, "create_container", counted)

    def episode() -> None:
        with docker_backend.sandbox() as box:
            assert box.exec(["true"]).rc == 0

    threads = [threading.Thread(target=episode) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_processes_that_will_not_die_cost_the_box(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DockerSandbox, "_kill_agents", lambda self: None)
    monkeypatch.setattr("arena.envs.tools.docker_exec.GRACE_S", 0.5)
    with docker_backend.sandbox() as box:
        result = box.exec(["sleep", "60"], timeout_s=0.3)
        assert (result.rc, result.flags) == (137, ("timeout", "unkillable"))
        with pytest.raises(SandboxFailure, match="could not be killed"):
            box.exec(["true"])
        assert within(5, lambda: not containers_of(docker_backend, f"{gc.LABEL_BOX}={box.box}"))


def test_an_engine_elsewhere(docker_backend: DockerBackend) -> None:
    with docker_backend.sandbox() as box:
        box.group = None  # as when the engine's control groups cannot be seen from here
        assert box.exec(["sh", "-c", "tail /dev/zero"]).flags == ("oom",)
        assert box.exec(["false"]).flags == ()
        result = box.exec(["sh", "-c", "setsid sleep 60 & kill -9 $PPID; sleep 60"], timeout_s=2)
        assert result.rc == 137
        assert box.health() == box.health().__class__(True, 0, box.health().oom_kills)


@pytest.fixture
def own_engine(image: Image, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An engine of the test's own, to be killed."""
    if not os.access(DOCKERD, os.X_OK) or os.geteuid() != 0:
        missing("an engine can be killed and restarted by root only")
    folder = Path(f"/tmp/arena-kill-{os.getpid()}")
    started = subprocess.run([str(DOCKERD), "start", str(folder)], capture_output=True, text=True, check=False)
    if started.returncode != 0:
        missing(f".ci/dockerd failed: {started.stderr}")
    monkeypatch.setenv("ARENA_DOCKER_HOST", started.stdout.strip())
    yield folder
    subprocess.run([str(DOCKERD), "stop", str(folder)], check=True, capture_output=True)


def test_an_engine_that_is_killed_and_comes_back(own_engine: Path) -> None:
    build_image(IMAGE, notice=quiet)
    with open_backend("docker", image=IMAGE, notice=quiet) as backend:
        assert isinstance(backend, DockerBackend)
        with backend.sandbox() as box:
            os.kill(int((own_engine / "pid").read_text()), signal.SIGKILL)
            began = time.monotonic()
            for _ in range(2):
                with pytest.raises(SandboxFailure) as caught:
                    box.exec(["sleep", "20"])
                assert caught.value.boundary == "env"
            assert time.monotonic() - began < 5
            assert not box.health().alive
        with pytest.raises(SandboxFailure), backend.sandbox():
            pass
        subprocess.run([str(DOCKERD), "start", str(own_engine)], check=True, capture_output=True)
        with backend.sandbox() as fresh:
            assert fresh.exec(["echo", "back"]).out == b"back\n"
        assert within(5, lambda: not containers_of(backend, gc.LABEL_OWNER))


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


FIXTURE = text_files({"a": "1", "b/c": "2"})


def test_a_pool_reuses_clean_boxes(real_backend: Backend) -> None:
    with SandboxPool(real_backend, size=1) as pool:
        seen = set()
        for _ in range(4):
            with pool.box(FIXTURE) as box:
                seen.add(id(box))
                assert box.exec(["ls"]).out == b"a\nb\n"
                box.exec(["rm", "a"])
        assert len(seen) == 1
        assert (pool.created, pool.reused, pool.discarded) == (1, 3, 0)
    assert pool.discarded == 1


def test_a_pool_without_size_gives_fresh_boxes(bwrap_backend: Backend) -> None:
    pool = SandboxPool(bwrap_backend)
    for _ in range(2):
        with pool.box(FIXTURE) as box:
            assert box.exec(["cat", "a"]).out == b"1"
    assert (pool.created, pool.reused, pool.discarded) == (2, 0, 2)


def test_a_pool_replaces_a_box_that_did_not_come_back(real_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with SandboxPool(real_backend, size=1) as pool:
        with pool.box(FIXTURE) as first:
            pass
        real = first.reset
        monkeypatch.setattr(first, "reset", lambda files: (real(files), first.exec(["touch", "dirt"])))
        with pytest.warns(ResetWarning, match=r"dirt \(added\)"):
            second = pool.box(FIXTURE).__enter__()
        assert second is not first
        assert second.exec(["ls"]).out == b"a\nb\n"
        second.close()
        assert not first.health().alive


def test_a_pool_retires_boxes(bwrap_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.envs.tools.pool.MAX_USES", 5)
    with SandboxPool(bwrap_backend, size=1) as pool:
        with pool.box(FIXTURE) as box:
            assert box.exec(["sleep", "9"], timeout_s=0.1).flags == ("timeout",)
        assert pool.discarded == 1
        with pytest.raises(KeyError), pool.box(FIXTURE):
            raise KeyError
        assert pool.discarded == 2
        for _ in range(5 + 1):
            with pool.box(FIXTURE):
                pass
        assert (pool.created, pool.discarded) == (4, 3)


def test_many_episodes_leave_nothing(bwrap_backend: BwrapBackend, docker_backend: DockerBackend) -> None:
    mine = f"{gc.LABEL_OWNER}={owner.tag()}"
    before = set(containers_of(docker_backend, mine))
    with SandboxPool(bwrap_backend) as fresh, SandboxPool(docker_backend, size=2) as pooled:
        for pool, episodes in ((fresh, 60), (pooled, 10)):
            ends = set()
            for _ in range(episodes):
                with pool.box(FIXTURE) as box:
                    box.exec(["cp", "a", "d"])
                    box.exec(["grep", "-r", "2", "."])
                    ends.add(box.snapshot().sha256)
            assert len(ends) == 1
    assert within(5, lambda: set(containers_of(docker_backend, mine)) <= before)
    assert within(2, lambda: not processes_of(os.getpid()))
    verify.cache_clear()
    verify(bwrap_backend.image)


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
