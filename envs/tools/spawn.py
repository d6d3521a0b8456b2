"""Start processes from one thread that never ends, with exact file descriptors.

The kernel's parent-death signal, which bubblewrap uses to die with the harness, fires when the *thread*
that spawned it ends; worker threads of an event loop end whenever they are idle. ``posix_spawn`` gives the
child exactly the descriptors named, whatever else this process holds open.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

FIRST_FREE = 32
"""Sources are lifted above every descriptor number a child is given, so that no copy overwrites another."""

_Job = tuple[Sequence[str], Mapping[int, int], Mapping[str, str], "Future[int]"]
_lock = threading.Lock()
_queues: dict[int, queue.SimpleQueue[_Job]] = {}


def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        argv, fds, env, done = jobs.get()
        try:
            copies = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in fds.items()]
            done.set_result(os.posix_spawnp(argv[0], list(argv), dict(env), file_actions=copies))
        except BaseException as error:
            done.set_exception(error)


def lift(fd: int) -> int:
    """Move a descriptor out of the way of a child's numbers; closes the old one."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    os.close(fd)
    return high


def pipe() -> tuple[int, int]:
    """A pipe whose both ends are lifted and closed on exec."""
    read, write = os.pipe()
    return lift(read), lift(write)


class Child:
    """A process of ours: poll it, kill it, reap it. Thread-safe."""

    def __init__(self, argv: Sequence[str], fds: Mapping[int, int], env: Mapping[str, str]) -> None:
        """Start ``argv``. ``fds``: number in the child -> descriptor here, lifted.

        Raises:
            OSError: the program cannot be started.
        """
        with _lock:
            jobs = _queues.get(os.getpid())
            if jobs is None:
                jobs = _queues[os.getpid()] = queue.SimpleQueue()
                threading.Thread(target=_serve, args=(jobs,), name="arena-spawn", daemon=True).start()
        done: Future[int] = Future()
        jobs.put((argv, fds, env, done))
        self.pid = done.result()
        self._status: int | None = None
        self._reap = threading.Lock()

    def poll(self) -> int | None:
        """Return code, negative for a signal; ``None`` while it runs."""
        with self._reap:
            if self._status is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self._status = -signal.SIGKILL
                else:
                    self._status = os.waitstatus_to_exitcode(status) if pid else None
            return self._status

    def kill(self) -> None:
        """SIGKILL, unless it is already reaped."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self, patience_s: float) -> bool:
        """Whether it ended within ``patience_s``; reaps it."""
        deadline = time.monotonic() + patience_s
        while self.poll() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True
