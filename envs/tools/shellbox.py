"""What docker and bwrap boxes share: seed, snapshot and reset by small scripts on the image's busybox.

The scripts run in the box as the commands' user, with all processes of earlier commands dead, and talk
through standard streams only: no file is copied in or out by the engine, so a read-only root and a
``tmpfs`` work folder are no obstacle, and nothing is ever unpacked on the host.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby

from arena.envs.tools import reaper
from arena.envs.tools.sandbox import (
    KILL_FACTOR,
    OUTPUT_LIMIT,
    WORKDIR,
    Cause,
    ExecResult,
    Files,
    Flag,
    Sandbox,
    SandboxFailure,
)
from arena.envs.tools.snapshot import Snapshot, SnapshotLimit
from arena.envs.tools.tarball import MAX_BYTES, TarError, clean_path, closed_folders, link_times, write_tar
from arena.errors import UsageError

BUSYBOX = "/bin/busybox"
HELPER_TIMEOUT_S = 30.0
CHMOD_BATCH = 200

RESTORE = f"""
while [ $# -gt 0 ]; do
  case $1 in
    @*) {BUSYBOX} touch -h -d "$1" "{WORKDIR}/$2" ;;
    *) {BUSYBOX} chmod "$1" "{WORKDIR}/$2" ;;
  esac || exit 1
  shift 2
done
"""
"""Arguments: mode or @time, path, and so on."""

CHMOD = f"""
cd {WORKDIR} || exit 1
while [ $# -gt 0 ]; do
  mode=$1 count=$2 at=1 paths=
  shift 2
  while [ $at -le $count ]; do paths="$paths \\"\\${{$at}}\\""; at=$((at + 1)); done
  eval "{BUSYBOX} chmod $mode $paths" || exit 1
  shift $count
done
"""
"""Arguments: mode, number of paths, the paths, and so on. A process for each mode, not for each path."""

UNPACK = f"""
umask 0
{BUSYBOX} tar -C {WORKDIR} -xf - || exit 1
{RESTORE}"""

READ = f"""
exec 9>&2
{BUSYBOX} find {WORKDIR} -type d ! -perm -500 -exec {BUSYBOX} sh -c '
  {BUSYBOX} stat -c %a "$1" >&9; printf "%s\\0" "$1" >&9; exec {BUSYBOX} chmod u+rwx "$1"' x {{}} \\; \\
  -o \\( -type f ! -perm -400 -o -type s \\) -exec {BUSYBOX} sh -c '
  modes=$({BUSYBOX} stat -c %a "$@"); {BUSYBOX} chmod u+rwx "$@"
  for mode in $modes; do printf "%s\\n%s\\0" "$mode" "$1" >&9; shift; done' x {{}} + 2>/dev/null
cd {WORKDIR} && exec {BUSYBOX} tar -cf - . 2>/dev/null
"""
"""Tar on stdout. What its owner may not read is first opened up; old mode and path go to stderr. So do those of
sockets, which no tar holds."""

WIPE = f"""
{BUSYBOX} chmod u+rwx {WORKDIR} || exit 1
for top in {WORKDIR} /tmp; do
  {BUSYBOX} find $top -mindepth 1 -type d ! -perm -700 -exec {BUSYBOX} chmod u+rwx {{}} \\; 2>/dev/null
  {BUSYBOX} find $top -mindepth 1 -maxdepth 1 -exec {BUSYBOX} rm -rf {{}} +
  {BUSYBOX} ls -A $top
done
"""
"""Prints what could not be removed: nothing, or the reset failed."""


def check_argv(argv: Sequence[str]) -> list[str]:
    """The command as a list of arguments.

    Raises:
        UsageError: empty, a plain string, or an argument with NUL.
    """
    if isinstance(argv, str) or not argv or any("\0" in word for word in argv):
        raise UsageError(f"a command is a non-empty list of arguments without NUL, found {argv!r}")
    return list(argv)


def _modes(listing: bytes) -> dict[str, int]:
    """Parse ``MODE newline PATH NUL`` records."""
    modes = {}
    for record in listing.split(b"\0"):
        mode, found, path = record.partition(b"\n")
        if found:
            below = path.decode("utf-8", "surrogateescape").removeprefix(WORKDIR).lstrip("/")
            modes[clean_path(below or ".")] = int(mode, 8)
    return modes


def _chmod_words(pairs: Iterable[tuple[int, str]]) -> list[str]:
    return [word for mode, path in pairs for word in (f"{mode:o}", f"./{path}")]


def _fixture_words(files: Files) -> list[str]:
    """What unpacking does not set: times of symlinks, modes of folders that their owner may not write to."""
    links = [word for path, time in link_times(files) for word in (f"@{time}", f"./{path}")]
    return links + _chmod_words(closed_folders(files))


class ShellSandbox(Sandbox):
    """A box with a shell in it. Subclasses say how one command runs."""

    def __init__(self) -> None:
        self.seen: set[Flag] = set()
        self._closing = threading.Event()
        self._lost = ""
        reaper.register(self)

    @abstractmethod
    def _command(
        self, argv: Sequence[str], stdin: bytes | None, timeout_s: float, keep: int, kill_at: int
    ) -> ExecResult:
        """Run a command of the model."""

    @abstractmethod
    def _script(self, script: str, args: Sequence[str], stdin: bytes | None, keep: int) -> ExecResult:
        """Run a script of ours as the commands' user, after killing all that commands left."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        timeout_s: float = 10.0,
        output_limit: int = OUTPUT_LIMIT,
    ) -> ExecResult:
        """See ``Sandbox.exec``."""
        words = check_argv(argv)
        self._usable()
        with self._blamed():
            result = self._command(words, stdin, timeout_s, output_limit, KILL_FACTOR * output_limit)
        self.seen.update(result.flags)
        return result

    def _usable(self) -> None:
        if self._closing.is_set():
            raise SandboxFailure("closed", "the box is closed")
        if self._lost:
            raise SandboxFailure("gone", self._lost)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """A failure while another thread closes the box is that thread's doing."""
        try:
            yield
        except SandboxFailure as failure:
            if self._closing.is_set():
                raise SandboxFailure("closed", "the box was closed while a command ran") from failure
            raise

    def _helper(
        self, cause: Cause, script: str, args: Sequence[str] = (), stdin: bytes | None = None, keep: int = OUTPUT_LIMIT
    ) -> ExecResult:
        self._usable()
        with self._blamed():
            result = self._script(script, args, stdin, keep)
        if cause == "snapshot" and result.rc == 1 and not result.flags:
            # The box is well and its tar could not get at a file: a path longer than the kernel takes, for one.
            raise SnapshotLimit("end state cannot be read: its tar failed, as on paths that are too long")
        if "timeout" in result.flags or (result.rc != 0 and not result.truncated):
            said = result.err_text.strip()[:500] or "nothing on stderr"
            raise SandboxFailure(cause, f"{cause}: helper ended with rc {result.rc} {result.flags}: {said}")
        return result

    def seed(self, files: Files) -> None:
        """See ``Sandbox.seed``."""
        self._helper("seed", UNPACK, _fixture_words(files), write_tar(files))

    def snapshot(self) -> Snapshot:
        """See ``Sandbox.snapshot``."""
        result = self._helper("snapshot", READ, keep=MAX_BYTES)
        try:
            modes = _modes(result.err)
        except ValueError as error:
            raise SandboxFailure("snapshot", f"mode listing cannot be read: {error}", error=error) from error
        self._restore(modes)
        if result.truncated:
            raise SnapshotLimit(f"end state too large to read: more than {MAX_BYTES} bytes")
        try:
            return Snapshot.of_tar(result.out, modes)
        except TarError as error:
            raise SandboxFailure("snapshot", f"the box's tar cannot be read: {error}", error=error) from error

    def _restore(self, modes: Mapping[str, int]) -> None:
        """Set modes back, what lies in a folder before the folder: the deepest first, the top last."""
        order = sorted(modes, key=lambda path: (path == ".", -path.count("/"), modes[path]))
        for first in range(0, len(order), CHMOD_BATCH):
            words: list[str] = []
            for mode, group in groupby(order[first : first + CHMOD_BATCH], modes.__getitem__):
                paths = [f"./{path}" for path in group]
                words += [f"{mode:o}", str(len(paths)), *paths]
            self._helper("snapshot", CHMOD, words)

    def reset(self, files: Files) -> None:
        """See ``Sandbox.reset``."""
        left = self._helper("reset", WIPE + UNPACK, _fixture_words(files), write_tar(files)).out
        if left:
            raise SandboxFailure("reset", f"reset left {left[:200]!r}")

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._closing.set()
        try:
            self._destroy()
        finally:
            reaper.forget(self)

    @abstractmethod
    def _destroy(self) -> None:
        """Remove everything the box holds; idempotent, does not raise."""
