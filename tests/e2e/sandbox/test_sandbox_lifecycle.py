"""Engines, boxes and harnesses that die at a bad moment; what is left afterwards is nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from gc import collect
from pathlib import Path

import anyio
import docker.errors
import pytest
from sandbox_engines import DOCKERD, IMAGE, missing
from sandbox_traces import containers_of, processes_of, quiet, within

from arena.envs.tools import cgroups, gc, owner
from arena.envs.tools.backends import (
    BwrapBackend,
    build_image,
    collect_garbage,
    open_backend,
)
from arena.envs.tools.docker import DockerSandbox
from arena.envs.tools.engine import DockerBackend
from arena.envs.tools.image import Image
from arena.envs.tools.sandbox import Backend, Sandbox, SandboxFailure

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("sandbox")]

DEAD = ("gone", "engine")
"""A container that is being removed is either not found or refused to run in, whichever comes first."""

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
        assert caught.value.cause in DEAD
        assert time.monotonic() - began < 10
        timer.join()


def test_a_container_that_is_dying_does_not_look_like_a_killed_command(
    docker_backend: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends by the container's death, and nothing else about the container has changed yet."""
    with docker_backend.sandbox() as box:
        monkeypatch.setattr(DockerSandbox, "_running", lambda self: None)
        threading.Timer(0.3, lambda: docker_backend.api.kill(box.container)).start()
        with pytest.raises(SandboxFailure) as caught:
            box.exec(["sleep", "30"], timeout_s=30)
        assert caught.value.cause in DEAD


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
    collect()


# The SDK leaves a socket open when nobody listens; it is collected here, not in a later test.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
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
