"""Boxes as containers of a Docker engine (or podman's Docker API), by the ``docker`` SDK.

Process 1 waits on an attached standard input, the lease: when the harness dies the connection closes, the
process ends, and the engine removes the container by itself. It runs as another user than the commands,
who therefore cannot kill it. No network, no capabilities, read-only root, nothing mounted from the host,
nothing ever pulled.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import docker.types

from arena.envs.tools import cgroups, owner
from arena.envs.tools.docker_exec import Api, ContainerExec, Stream, engine_errors, ignore_errors
from arena.envs.tools.gc import LABEL_BOX, labels
from arena.envs.tools.image import Image
from arena.envs.tools.sandbox import (
    AGENT_UID,
    ENVIRONMENT,
    WORKDIR,
    ExecResult,
    Flag,
    Health,
    Isolation,
    Kind,
    Limits,
    SandboxFailure,
)
from arena.envs.tools.shellbox import BUSYBOX, HELPER_TIMEOUT_S, ShellSandbox
from arena.envs.tools.streams import Capture

AGENT = f"{AGENT_UID}:{AGENT_UID}"
IDLE = "1001:1001"
SIGNALLED = 128
"""Above this a return code says that a signal ended the command."""
ALIVE = "alive"
KILL_TRIES = 3
KILL_PAUSE_S = 0.1
CHECK_BYTES = 65536

CREATE_SLOTS = threading.BoundedSemaphore(2)
"""Engines stumble over bursts of creates and removes; two at a time lose nothing on few cores."""

WRAPPER = f"""
exec 5>&2 2>/dev/null
cd {WORKDIR} || {{
  mode=$({BUSYBOX} stat -c %a {WORKDIR}); {BUSYBOX} chmod u+x {WORKDIR}
  cd {WORKDIR}; {BUSYBOX} chmod $mode {WORKDIR}
}}
if [ "$1" = - ]; then shift; (exec {BUSYBOX} setsid "$@" </dev/null 2>&5 5>&-)
else shift; (exec {BUSYBOX} setsid "$@" 2>&5 5>&-); fi
rc=$?
kill -9 -1
exit $rc
"""
"""Runs a command and kills what it leaves: everything of the commands' user but this shell. A work folder
that a command closed to itself is entered all the same, as a process that is already in it would be."""

STATUS = f"""
echo {ALIVE}
{BUSYBOX} stat -c %u /proc/[0-9]*
{BUSYBOX} grep -h '^oom_kill ' /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events
"""


def host_options(limits: Limits, runtime: str | None) -> dict[str, Any]:
    """Isolation and limits of a box, as arguments of the SDK's ``create_host_config``."""
    size = f"rw,nosuid,nodev,size={limits.disk},nr_inodes={limits.inodes}"
    options: dict[str, Any] = {
        "init": True,
        "auto_remove": True,
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": limits.pids,
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": int(limits.cpus * 1e9),
        "ipc_mode": "none",
        "tmpfs": {
            WORKDIR: f"{size},exec,uid={AGENT_UID},gid={AGENT_UID},mode=0755",
            "/tmp": f"rw,nosuid,nodev,noexec,size={limits.scratch},mode=1777",
        },
        "ulimits": [
            docker.types.Ulimit(name=name, soft=value, hard=value)
            for name, value in (("nofile", limits.nofile), ("core", 0), ("fsize", limits.disk))
        ],
        "log_config": docker.types.LogConfig(type="none"),
    }
    return options | ({"runtime": runtime} if runtime else {})


def container_options(image: Image, box: str) -> dict[str, Any]:
    """What runs in a box and whose it is, as arguments of the SDK's ``create_container``."""
    return {
        "image": image.reference,
        "command": [BUSYBOX, "sh", "-c", f"exec {BUSYBOX} cat >/dev/null"],
        "stdin_open": True,
        "user": IDLE,
        "hostname": "arena",
        "environment": dict(ENVIRONMENT),
        "working_dir": WORKDIR,
        "labels": labels(box),
    }


class DockerSandbox(ShellSandbox):
    """One container."""

    kind: Kind = "docker"
    isolation: Isolation = "container"

    def __init__(self, api: Api, image: Image, limits: Limits, runtime: str | None = None) -> None:
        """``api``: ``docker.APIClient``. ``runtime``: an OCI runtime that the engine knows, e.g. ``runsc``."""
        super().__init__()
        self.api, self.image, self.limits, self.runtime = api, image, limits, runtime
        self.box = uuid.uuid4().hex
        self.container = ""
        self._lifecycle = threading.RLock()
        self._busy = threading.Lock()
        self._lease: Stream | None = None
        self._creating = False
        self._oom_kills = 0
        self.group: cgroups.Group | None = None

    # --- life --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """See ``Sandbox.start``. Not more than two containers are being made at any time."""
        with self._slot(), self._lifecycle:
            self._usable()
            with engine_errors("start", "start"):
                host = self.api.create_host_config(**host_options(self.limits, self.runtime))
                self._creating = True
                made = self.api.create_container(host_config=host, **container_options(self.image, self.box))
                self.container = made["Id"]
                self._usable()
                # The lease is attached before the start, so that there is no moment without one.
                self._lease = Stream(self.api.attach_socket(self.container, {"stdin": 1, "stream": 1}))
                self.api.start(self.container)
                self._usable()
                state = self.api.inspect_container(self.container)["State"]
            self.group = cgroups.of_container(int(state["Pid"]), self.container)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[None]:
        while not CREATE_SLOTS.acquire(timeout=0.1):
            self._usable()
        try:
            yield
        finally:
            CREATE_SLOTS.release()

    def _remove(self) -> None:
        """Remove the container; that it is gone already, or the engine is down, is as good."""
        with ignore_errors():
            if self.container:
                self.api.remove_container(self.container, force=True, v=True)
            elif self._creating:
                # A create whose answer was lost may still have made a container; its label is known.
                for found in self.api.containers(all=True, filters={"label": f"{LABEL_BOX}={self.box}"}):
                    self.api.remove_container(found["Id"], force=True, v=True)

    def _destroy(self) -> None:
        # First without the lock: this ends a start or a command under way in another thread.
        if self.container:
            self._remove()
        with self._lifecycle:
            self._remove()
            if self._lease is not None:
                self._lease.close()
                self._lease = None
            self.container, self._creating = "", False

    # --- commands ----------------------------------------------------------------------------------------

    def _kill_agents(self) -> None:
        """Start an exec that kills all processes of the commands. A refusal (no process left) is retried later."""
        kill = [BUSYBOX, "sh", "-c", "kill -9 -1"]
        with ignore_errors():
            made = self.api.exec_create(self.container, kill, user=AGENT, stdout=False, stderr=False)
            self.api.exec_start(made["Id"], detach=True)

    def _run(
        self, argv: Sequence[str], user: str, stdin: bytes | None, timeout_s: float, capture: Capture
    ) -> tuple[int, set[Flag]]:
        if not self.container:
            raise SandboxFailure("gone", "the box is not started")
        runner = ContainerExec(self.api, self.container, self._kill_agents, self._remove)
        try:
            return runner.run(argv, user, stdin, timeout_s, capture)
        except SandboxFailure as failure:
            if failure.cause == "gone":
                self._lost = failure.message
            raise

    def _command(
        self, argv: Sequence[str], stdin: bytes | None, timeout_s: float, keep: int, kill_at: int
    ) -> ExecResult:
        wrapped = [BUSYBOX, "sh", "-c", WRAPPER, "step", "-" if stdin is None else "+", *argv]
        with self._busy:
            began = time.monotonic()
            capture = Capture(keep, kill_at)
            rc, flags = self._run(wrapped, AGENT, stdin, timeout_s, capture)
            ms = (time.monotonic() - began) * 1e3
            self._look_after(rc, flags)
        if capture.dropped:
            flags.add("truncated")
        return ExecResult(rc, bytes(capture.out), bytes(capture.err), tuple(sorted(flags)), ms, capture.total)

    def _look_after(self, rc: int, flags: set[Flag]) -> None:
        """After a command that did not simply succeed: is the box alive and clean, was memory the reason?

        A container that dies kills the command, which then looks like any command that a signal ended, and
        for a moment its counters can still be read. Only a command that runs proves that it is alive.
        """
        if "unkillable" in flags:
            self._lost = "a command could not be killed, so the container was removed"
            return
        if self.group is None and rc == 0 and not flags:
            return
        health = self._look_inside() if rc > SIGNALLED and not flags else self._look(deep=bool(flags))
        for _ in range(KILL_TRIES):
            if not health.processes:
                break
            self._kill_agents()
            time.sleep(KILL_PAUSE_S)
            health = self._look(deep=True)
        if health.processes:
            flags.add("unkillable")
            self._lost = "a command left processes that could not be killed, so the container was removed"
            self._remove()
        if health.oom_kills > self._oom_kills:
            flags.add("oom")
            self._oom_kills = health.oom_kills

    def _script(self, script: str, args: Sequence[str], stdin: bytes | None, keep: int) -> ExecResult:
        argv = [BUSYBOX, "sh", "-c", "kill -9 -1 2>/dev/null\n" + script, "helper", *args]
        with self._busy:
            began = time.monotonic()
            capture = Capture(keep, 2 * keep)
            rc, flags = self._run(argv, AGENT, stdin, HELPER_TIMEOUT_S, capture)
            ms = (time.monotonic() - began) * 1e3
        if capture.dropped:
            flags.add("truncated")
        return ExecResult(rc, bytes(capture.out), bytes(capture.err), tuple(sorted(flags)), ms, capture.total)

    # --- state -------------------------------------------------------------------------------------------

    def health(self) -> Health:
        """See ``Sandbox.health``."""
        try:
            self._usable()
            with self._busy:
                self._running()
                return self._look(deep=True)
        except SandboxFailure as failure:
            return Health(alive=False, processes=0, oom_kills=self._oom_kills, detail=failure.message)

    def _look(self, *, deep: bool) -> Health:
        """Counters from the host's control group where the engine is local; else, if ``deep``, from inside."""
        if self.group is not None and self.group.processes():
            return Health(True, self._leftovers(self.group.processes()), self.group.oom_kills)
        self._running()
        return self._look_inside() if deep else Health(True, 0, self._oom_kills)

    def _look_inside(self) -> Health:
        """Run a command of ours in the container."""
        capture = Capture(CHECK_BYTES, CHECK_BYTES)
        self._run([BUSYBOX, "sh", "-c", STATUS], IDLE, None, HELPER_TIMEOUT_S, capture)
        lines = bytes(capture.out).decode(errors="replace").splitlines()
        if ALIVE not in lines:
            self._lost = "the container died while a command ran"
            raise SandboxFailure("gone", self._lost)
        kills = sum(int(line.rpartition(" ")[2]) for line in lines if line.startswith("oom_kill "))
        return Health(True, lines.count(str(AGENT_UID)), kills)

    def _running(self) -> None:
        """Ask the engine whether the container runs."""
        with engine_errors("health"):
            state = self.api.inspect_container(self.container)["State"]
        if not state["Running"]:
            raise SandboxFailure("gone", f"container is {state['Status']} (exit code {state['ExitCode']})")

    @staticmethod
    def _leftovers(pids: Sequence[int]) -> int:
        """How many of the processes belong to the commands' user; a zombie waits for init and is none."""
        return sum(1 for pid in pids if owner.started(pid) and owner.user(pid) == AGENT_UID)
