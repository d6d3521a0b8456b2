"""Boxes by bubblewrap: no engine, the kernel's namespaces alone; one step costs about a millisecond.

With root: control groups, and a work folder with an inode limit (``namespaces+cgroup``). Without: resource
limits, of which memory counts per process only (``namespaces+rlimits``).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from arena.envs.tools import cgroups, owner
from arena.envs.tools.bwrap_launch import Lines, command_line, quote
from arena.envs.tools.image import Image
from arena.envs.tools.sandbox import KILLED, ExecResult, Flag, Health, Isolation, Kind, Limits, SandboxFailure
from arena.envs.tools.shellbox import BUSYBOX, HELPER_TIMEOUT_S, ShellSandbox
from arena.envs.tools.spawn import Child
from arena.envs.tools.streams import Capture

GRACE_S = 3.0
"""How long killed processes may take to die before the box is destroyed."""
REKILL_S = 0.05
START_S = 10.0
CHUNK = 65536


class _BoxGone(Exception):
    """The control pipe closed: process 1 is dead."""


@dataclass(slots=True)
class _Step:
    """One command under way."""

    capture: Capture
    deadline: float
    pending: memoryview | None
    flags: set[Flag] = field(default_factory=set)
    rc: int | None = None
    report: bytes = b""

    @property
    def killing(self) -> bool:
        return "timeout" in self.flags or "output_limit" in self.flags


class BwrapSandbox(ShellSandbox):
    """One bubblewrap box."""

    kind: Kind = "bwrap"

    def __init__(self, image: Image, limits: Limits, isolation: Isolation) -> None:
        """``isolation``: ``namespaces+cgroup`` (needs root) or ``namespaces+rlimits``."""
        super().__init__()
        self.image, self.limits, self.isolation = image, limits, isolation
        self._busy = threading.Lock()
        self._lines = Lines()
        self._child: Child | None = None
        self._init = 0
        self._pidfd = -1
        self.group: cgroups.Group | None = None

    def start(self) -> None:
        """See ``Sandbox.start``."""
        with self._busy:
            self._usable()
            grouped = self.isolation == "namespaces+cgroup"
            try:
                self.group = cgroups.create(self.limits) if grouped else None
                self._lines.open(self.image)
                env = {"PATH": os.environ.get("PATH", "") + ":/usr/bin:/bin:/usr/sbin:/sbin"}
                env["JOIN"] = " ".join(self.group.joins) if self.group else ""
                self._child = self._lines.spawn(command_line(self.image, self.limits, grouped=grouped), env)
                self._handshake()
            except OSError as error:
                raise SandboxFailure("start", f"bubblewrap cannot start: {error}", error=error) from error

    def _handshake(self) -> None:
        """Wait for process 1; what the launcher said on stderr becomes the message when it fails."""
        info = b""
        deadline = time.monotonic() + START_S
        done = b""
        while not done.endswith(b"ready\n"):
            waiting = [self._lines.done] + ([self._lines.info] if not info.endswith(b"}\n") else [])
            ready, _, _ = select.select(waiting, [], [], max(0.0, deadline - time.monotonic()))
            said = os.read(self._lines.done, 64) if self._lines.done in ready else b""
            told = os.read(self._lines.info, 4096) if self._lines.info in ready else b""
            info += told
            done += said
            if not ready or (self._lines.done in ready and not said) or self._closing.is_set():
                with contextlib.suppress(BlockingIOError):
                    info = os.read(self._lines.err, 2000)
                why = info.decode(errors="replace").strip() or "no answer"
                raise SandboxFailure("start", f"bubblewrap box did not start: {why}")
        self._init = int(json.loads(info)["child-pid"])
        self._pidfd = os.pidfd_open(self._init)

    # --- commands ----------------------------------------------------------------------------------------

    def _command(
        self, argv: Sequence[str], stdin: bytes | None, timeout_s: float, keep: int, kill_at: int
    ) -> ExecResult:
        with self._busy:
            self._usable()
            if self._child is None:
                raise SandboxFailure("gone", "the box is not started")
            began = time.monotonic()
            kills = self.group.oom_kills if self.group else 0
            pending = memoryview(stdin) if stdin else None
            step = _Step(Capture(keep, kill_at), began + timeout_s, pending)
            size = b"-" if stdin is None else b"%d" % len(stdin)
            try:
                os.write(self._lines.control, size + b"\n" + quote(argv) + b"\n")
                self._pump(step)
            except (OSError, _BoxGone) as error:
                self._lost = "the box died while a command ran"
                raise SandboxFailure("gone", self._lost, error=error) from error
            if self.group and self.group.oom_kills > kills:
                step.flags.add("oom")
        return self._result(step, began)

    def _result(self, step: _Step, began: float) -> ExecResult:
        capture = step.capture
        if capture.dropped:
            step.flags.add("truncated")
        rc = KILLED if step.rc is None or step.killing else step.rc
        ms = (time.monotonic() - began) * 1e3
        flags = tuple(sorted(step.flags))
        return ExecResult(rc, bytes(capture.out), bytes(capture.err), flags, ms, capture.total)

    def _pump(self, step: _Step) -> None:
        """Move bytes until process 1 reports; kill at the deadline or in a flood; give up after the grace."""
        lines = self._lines
        poll = select.poll()
        for fd in (lines.out, lines.err, lines.done):
            poll.register(fd, select.POLLIN)
        if step.pending is not None:
            poll.register(lines.data, select.POLLOUT)
        give_up = rekill = float("inf")
        while step.rc is None:
            now = time.monotonic()
            if not step.killing and (step.capture.flooded or now >= step.deadline):
                step.flags.add("output_limit" if step.capture.flooded else "timeout")
                give_up, rekill = now + GRACE_S, now
            if now >= give_up:
                step.flags.add("unkillable")
                self._lost = "a command could not be killed, so the box was destroyed"
                self._kill_box()
                return
            if now >= rekill:
                self._kill_command()
                rekill = now + REKILL_S
            wake = min(step.deadline if not step.killing else give_up, rekill)
            for fd, _ in poll.poll(max(0.0, wake - now) * 1000 + 0.1):
                if fd == lines.data:
                    if self._write(step):
                        poll.unregister(lines.data)
                else:
                    self._read(step, fd)
        self._drain(step)

    def _write(self, step: _Step) -> bool:
        """Feed the command's standard input; whether all is written."""
        assert step.pending is not None
        with contextlib.suppress(BlockingIOError):
            step.pending = step.pending[os.write(self._lines.data, step.pending[:CHUNK]) :]
        return not step.pending

    def _read(self, step: _Step, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if fd != self._lines.done:
            step.capture.feed(data, error=fd == self._lines.err)
            return
        if not data:
            raise _BoxGone
        step.report += data
        if step.report.endswith(b"\n"):
            step.rc = int(step.report)

    def _drain(self, step: _Step) -> None:
        """Take what still lies in the pipes; every writer is dead, so the kernel has all of it."""
        for fd in (self._lines.out, self._lines.err):
            with contextlib.suppress(BlockingIOError):
                while data := os.read(fd, CHUNK):
                    step.capture.feed(data, error=fd == self._lines.err)
        if step.pending is not None:
            os.set_blocking(self._lines.unread, False)
            with contextlib.suppress(BlockingIOError):
                while os.read(self._lines.unread, CHUNK):
                    pass
            # The file description is shared with the box, whose readers expect to block.
            os.set_blocking(self._lines.unread, True)

    def _kill_command(self) -> None:
        """Kill what process 1 waits for; it then kills all the rest at once, which a fork bomb cannot outrun."""
        for pid in owner.children(self._init):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _script(self, script: str, args: Sequence[str], stdin: bytes | None, keep: int) -> ExecResult:
        argv = [BUSYBOX, "sh", "-c", script, "helper", *args]
        return self._command(argv, stdin, HELPER_TIMEOUT_S, keep, 2 * keep)

    # --- state -------------------------------------------------------------------------------------------

    def health(self) -> Health:
        """See ``Sandbox.health``. Process 1 reports only when nothing else lives, so ``processes`` is 0."""
        kills = self.group.oom_kills if self.group else 0
        try:
            self._usable()
            self._command([BUSYBOX, "true"], None, HELPER_TIMEOUT_S, 1024, 4096)
        except SandboxFailure as failure:
            return Health(alive=False, processes=0, oom_kills=kills, detail=failure.message)
        return Health(alive=True, processes=0, oom_kills=kills)

    def _kill_box(self) -> None:
        """Kill process 1, and by that everything in its namespace; reap the launcher."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if self._child is not None:
            if self._pidfd < 0 or not self._child.wait(GRACE_S):
                self._child.kill()
            self._child.wait(GRACE_S)

    def _destroy(self) -> None:
        self._kill_box()
        with self._busy:
            self._kill_box()
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1
            self._child = None
            self._lines.close()
            if self.group is not None:
                self.group.remove()
                self.group = None
