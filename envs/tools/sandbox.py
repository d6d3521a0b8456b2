"""The sandbox interface: what a box can do, and the frozen records that cross it.

A ``Sandbox`` is one isolated box with a work folder ``/task``; a ``Backend`` makes boxes of one kind. All
calls block and are thread-safe as far as ``close`` goes: ``close`` from another thread ends a running
``exec``. Async callers go through ``anyio.to_thread.run_sync``.

A command's own misfortune (timeout, killed for memory) is a result. A box that broke is a
``SandboxFailure``: an infrastructure error, never command output.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from arena.errors import Failure
from arena.types import Frozen

if TYPE_CHECKING:
    from arena.envs.tools.selfcheck import SelfCheck
    from arena.envs.tools.snapshot import Snapshot

Kind = Literal["docker", "bwrap", "sim"]
Isolation = Literal["container", "namespaces+cgroup", "namespaces+rlimits", "simulated"]
Flag = Literal["oom", "output_limit", "timeout", "truncated", "unkillable"]
"""What happened to a command besides its return code.

``truncated``: more output than was kept. ``output_limit``: so much that the command was killed.
``timeout``: killed at the deadline. ``oom``: the kernel killed a process of it for memory.
``unkillable``: its processes would not die, so the box was destroyed.
"""

WORKDIR = "/task"
AGENT_UID = 1000
KILLED = 137
"""Return code of a command that the sandbox killed: 128 + SIGKILL, as a shell reports it."""

OUTPUT_LIMIT = 64 * 1024
KILL_FACTOR = 16
"""A command is killed once it wrote this many times the output limit; in between it is only truncated."""

DEFAULT_MTIME = 1_704_067_200
"""2024-01-01T00:00:00Z: the time on every seeded file, so that listings repeat."""

ENVIRONMENT: dict[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": WORKDIR,
    "LC_ALL": "C",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
}
"""The whole environment of a command; nothing of the host's environment enters a box."""


class Limits(Frozen):
    """What one box may use. Sizes in bytes; ``cpus`` in cores."""

    pids: int = Field(default=64, ge=8)
    memory: int = Field(default=128 * 2**20, ge=16 * 2**20)
    cpus: float = Field(default=1.0, gt=0)
    disk: int = Field(default=16 * 2**20, ge=2**16)
    inodes: int = Field(default=4096, ge=16)
    nofile: int = Field(default=256, ge=32)
    scratch: int = Field(default=4 * 2**20, ge=2**16)


class SeedFile(Frozen):
    """One entry of a fixture. ``mode``: permission bits; ``mtime``: seconds since 1970; ``target``: of a symlink."""

    kind: Literal["file", "dir", "symlink"] = "file"
    data: bytes = b""
    mode: int = Field(default=0o644, ge=0, le=0o777)
    mtime: int = Field(default=DEFAULT_MTIME, ge=0)
    target: str = ""


Files = Mapping[str, SeedFile]
"""Path relative to ``/task`` (posix, no ``..``) -> entry. Missing parent folders are made with mode 755."""


def text_files(texts: Mapping[str, str], mode: int = 0o644) -> dict[str, SeedFile]:
    """A fixture from path -> text, in UTF-8."""
    return {path: SeedFile(data=text.encode(), mode=mode) for path, text in texts.items()}


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What one command did.

    ``rc``: 0..255, 137 whenever the sandbox killed it. ``out``, ``err``: the head of each stream, raw
    bytes, at most the output limit each. ``total_bytes``: bytes seen on both, dropped ones included (of a
    killed command: a lower bound). ``ms``: wall time of the call on the host.
    """

    rc: int
    out: bytes
    err: bytes
    flags: tuple[Flag, ...]
    ms: float
    total_bytes: int

    @property
    def truncated(self) -> bool:
        """Whether output was dropped."""
        return "truncated" in self.flags

    @property
    def out_text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 become U+FFFD."""
        return self.out.decode(errors="replace")

    @property
    def err_text(self) -> str:
        """Standard error as text; bytes that are no UTF-8 become U+FFFD."""
        return self.err.decode(errors="replace")

    @property
    def output_sha256(self) -> str:
        """Hex sha256 over the kept raw bytes (stdout, NUL, stderr): the text forms may lose bytes."""
        return hashlib.sha256(self.out + b"\0" + self.err).hexdigest()


@dataclass(frozen=True, slots=True)
class Health:
    """State of a box between commands. ``processes``: left over from commands, 0 when clean."""

    alive: bool
    processes: int
    oom_kills: int
    detail: str = ""


Cause = Literal["closed", "engine", "gone", "reset", "seed", "snapshot", "start"]


class SandboxFailure(Failure):
    """The box or its engine broke: an infrastructure error, counted apart from every score."""

    def __init__(self, cause: Cause, message: str, *, error: BaseException | None = None) -> None:
        super().__init__("env", message, cause=error)
        self.cause: Cause = cause


class Sandbox(ABC):
    """One box. Use as a context manager: entering starts it, leaving closes it.

    Every method but ``close`` raises ``SandboxFailure`` when the box or its engine is broken.
    """

    kind: Kind
    isolation: Isolation
    limits: Limits
    seen: set[Flag]
    """Flags of all commands so far."""

    @abstractmethod
    def start(self) -> None:
        """Make the box run. Registered for clean-up before anything exists, so a cancel leaks nothing."""

    @abstractmethod
    def seed(self, files: Files) -> None:
        """Write a fixture into ``/task``, on top of what is there.

        Raises:
            arena.errors.UsageError: a path leaves the work folder.
        """

    @abstractmethod
    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout_s: float = 10.0,
        output_limit: int = OUTPUT_LIMIT,
    ) -> ExecResult:
        """Run one command in ``/task`` and kill whatever it leaves behind.

        ``argv`` is a list and passes through no shell. Without ``stdin`` the command reads ``/dev/null``.
        A missing program gives rc 127. The files that the command wrote stay for the next call.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The content of ``/task`` with every process of the commands dead; changes nothing.

        Raises:
            arena.envs.tools.snapshot.SnapshotLimit: the commands left more than can be read.
        """

    @abstractmethod
    def reset(self, files: Files) -> None:
        """Kill, wipe ``/task`` and ``/tmp``, and seed again, in place."""

    @abstractmethod
    def health(self) -> Health:
        """Whether the box still answers, and what is left running in it."""

    @abstractmethod
    def close(self) -> None:
        """Destroy the box. Never raises, may be called twice and from any thread."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Backend(ABC):
    """Boxes of one kind from one image; checked once from inside before it is handed out."""

    kind: Kind
    isolation: Isolation
    limits: Limits
    check: SelfCheck

    @abstractmethod
    def sandbox(self) -> Sandbox:
        """A new box, not yet started."""

    @abstractmethod
    def require(self, tools: Iterable[str]) -> None:
        """Refuse a task that needs programs that the boxes do not have.

        Raises:
            MissingNeed: names them.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
