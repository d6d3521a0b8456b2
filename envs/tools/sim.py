"""The simulation: the sandbox interface in pure Python, for unit tests, model development and other systems.

No command runs: a small table of tools acts on a file system in memory, with the output of the real
busybox (a differential test compares them). A tool or option that the table lacks is an error of the
caller, never a wrong answer. Its isolation label is ``simulated``, and only tasks that allow it use it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from arena.envs.tools import sim_files, sim_grep, sim_list, sim_misc, sim_sed, sim_text
from arena.envs.tools.sandbox import (
    KILL_FACTOR,
    KILLED,
    OUTPUT_LIMIT,
    ExecResult,
    Files,
    Flag,
    Health,
    Isolation,
    Kind,
    Limits,
    Sandbox,
    SandboxFailure,
)
from arena.envs.tools.shellbox import check_argv
from arena.envs.tools.sim_tool import Call, Tool
from arena.envs.tools.simfs import FileSystem
from arena.envs.tools.snapshot import Snapshot
from arena.envs.tools.streams import Capture

TOOLS: dict[str, Tool] = {
    **sim_files.TOOLS,
    **sim_list.TOOLS,
    **sim_grep.TOOLS,
    **sim_text.TOOLS,
    **sim_sed.TOOLS,
    **sim_misc.TOOLS,
}
"""Program name -> what simulates it."""
TOOL_FOLDERS = ("", "/bin", "/usr/bin")


class SimSandbox(Sandbox):
    """One simulated box."""

    kind: Kind = "sim"
    isolation: Isolation = "simulated"

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.seen: set[Flag] = set()
        self._fs: FileSystem | None = None
        self._closed = False
        self._busy = threading.Lock()

    def start(self) -> None:
        """See ``Sandbox.start``."""
        if self._closed:
            raise SandboxFailure("closed", "the box is closed")
        self._fs = FileSystem(self.limits)

    @property
    def _live(self) -> FileSystem:
        if self._closed or self._fs is None:
            raise SandboxFailure("closed" if self._closed else "gone", "the box is not open")
        return self._fs

    def seed(self, files: Files) -> None:
        """See ``Sandbox.seed``."""
        with self._busy:
            self._seed(self._live, files)

    @staticmethod
    def _seed(fs: FileSystem, files: Files) -> None:
        try:
            fs.seed(files)
        except OSError as error:
            raise SandboxFailure("seed", f"fixture does not fit: {error.strerror}", error=error) from error

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout_s: float = 10.0,
        output_limit: int = OUTPUT_LIMIT,
    ) -> ExecResult:
        """See ``Sandbox.exec``. Also raises ``UsageError`` for what the simulation lacks."""
        words = check_argv(argv)
        with self._busy:
            began = time.monotonic()
            folder, _, name = words[0].rpartition("/")
            call = Call(name, self._live, words[1:], stdin or b"", timeout_s)
            tool = TOOLS.get(name) if folder in TOOL_FOLDERS else None
            if tool is None:
                call.err += f"setsid: can't execute '{words[0]}': No such file or directory\n".encode()
                rc = 127
            else:
                rc = tool(call)
        capture = Capture(output_limit, KILL_FACTOR * output_limit)
        capture.feed(bytes(call.out), error=False)
        capture.feed(bytes(call.err), error=True)
        flags: list[Flag] = []
        if capture.flooded:
            flags.append("output_limit")
        if call.timed_out:
            flags.append("timeout")
        rc = KILLED if flags else rc
        if capture.dropped:
            flags.append("truncated")
        self.seen.update(flags)
        ms = (time.monotonic() - began) * 1e3
        return ExecResult(rc, bytes(capture.out), bytes(capture.err), tuple(flags), ms, capture.total)

    def snapshot(self) -> Snapshot:
        """See ``Sandbox.snapshot``."""
        with self._busy:
            return self._live.snapshot()

    def reset(self, files: Files) -> None:
        """See ``Sandbox.reset``."""
        with self._busy:
            self._live.wipe()
            self._seed(self._live, files)

    def health(self) -> Health:
        """See ``Sandbox.health``."""
        return Health(alive=self._fs is not None and not self._closed, processes=0, oom_kills=0)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._closed = True
        self._fs = None
