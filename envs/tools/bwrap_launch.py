"""How a bubblewrap box is started: its command line, its descriptors, and the loop that is its process 1.

The loop is a busybox shell that reads commands from a pipe, runs each in a session of its own, kills
everything else in the box and reports the return code. Being process 1 of its namespace it cannot be
killed from inside; its binary is bound execute-only, so the kernel keeps the commands, which share its user
id, out of its memory and descriptors. When the pipe closes, because the harness died, it ends, and the box
with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arena.envs.tools import seccomp
from arena.envs.tools.image import INIT, Image
from arena.envs.tools.sandbox import AGENT_UID, ENVIRONMENT, WORKDIR, Limits
from arena.envs.tools.shellbox import BUSYBOX
from arena.envs.tools.spawn import Child, lift, pipe

HOST_UID = 60123
"""Unused user id that root drops to first: mapping 1000 onto root would make the commands own root's files."""
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@")
CONTROL_IN, OUT, ERR, CONTROL_OUT, DATA, FILTER, INFO, PROGRAM = range(8)
"""Descriptor numbers in the box; the last three are read by bubblewrap and closed."""
SHOWN = 5
"""The loop's copy of the error stream that commands write to; its own goes nowhere."""
CLOSED = f"{CONTROL_OUT}>&- {DATA}<&- {SHOWN}>&-"


LOOP = f"""
exec {SHOWN}>&2 2>/dev/null
echo ready >&{CONTROL_OUT}
while IFS= read -r size && IFS= read -r words; do
  eval "set -- $words"
  if [ "$size" = - ]; then
    (exec {BUSYBOX} setsid "$@" </dev/null 2>&{SHOWN} {CLOSED})
  else
    {BUSYBOX} head -c "$size" <&{DATA} {CLOSED} | {BUSYBOX} setsid "$@" 2>&{SHOWN} {CLOSED}
  fi
  rc=$?
  while kill -0 -1; do kill -9 -1; jobs >/dev/null; done
  echo "$rc" >&{CONTROL_OUT}
done
"""
"""The shell's own remarks (``Killed``) are not the command's. ``jobs`` makes the shell reap orphans without
forking: after a fork bomb no process could be made."""

LAUNCH = """
set -e
root=$1; disk=$2; scratch=$3; uid=$4; shift 4
for file in $JOIN; do echo $$ > "$file"; done
mount -t tmpfs -o "$disk,uid=$uid,gid=$uid,mode=0755,nosuid,nodev" arena "$root/task"
mount -t tmpfs -o "$scratch,mode=1777,nosuid,nodev,noexec" arena "$root/tmp"
unset JOIN
exec "$@"
"""
"""Run by root in a mount namespace of its own, which ends with the box, and the mounts with it."""


def quote(words: Sequence[str]) -> bytes:
    """Words for the loop's ``eval``: one line, every byte that a shell could read is an octal escape."""
    return b" ".join(
        b"$'" + b"".join(bytes([b]) if b in PLAIN else b"\\%03o" % b for b in os.fsencode(word)) + b"'"
        for word in words
    )


def command_line(image: Image, limits: Limits, *, grouped: bool) -> list[str]:
    """The whole chain of programs. ``grouped``: root, with control groups and a work folder mounted by us."""
    root = str(image.root)
    argv: list[str] = []
    if grouped:
        sizes = [f"size={limits.disk},nr_inodes={limits.inodes}", f"size={limits.scratch}"]
        argv = ["unshare", "-m", "--propagation", "private", "--", "sh", "-c", LAUNCH, "launch", root, *sizes]
        argv += [str(HOST_UID)]
    argv += ["prlimit", "--core=0", f"--fsize={limits.disk}", f"--nofile={limits.nofile}", "--"]
    if os.geteuid() == 0:
        argv += ["setpriv", f"--reuid={HOST_UID}", f"--regid={HOST_UID}", "--clear-groups", "--no-new-privs"]
        argv += ["--inh-caps=-all", "--bounding-set=-all", "--"]
    argv += ["bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "arena"]
    argv += ["--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    if grouped:
        argv += ["--bind", f"{root}/task", WORKDIR, "--bind", f"{root}/tmp", "/tmp"]
    else:
        argv += ["--perms", "0755", "--size", str(limits.disk), "--tmpfs", WORKDIR]
        argv += ["--perms", "1777", "--size", str(limits.scratch), "--tmpfs", "/tmp"]
    argv += ["--perms", "0111", "--ro-bind-data", str(PROGRAM), f"/{INIT}", "--chdir", WORKDIR, "--clearenv"]
    for name, value in ENVIRONMENT.items():
        argv += ["--setenv", name, value]
    argv += ["--uid", str(AGENT_UID), "--gid", str(AGENT_UID), "--cap-drop", "ALL"]
    argv += ["--seccomp", str(FILTER), "--info-fd", str(INFO), f"/{INIT}", "sh", "-c"]
    return [*argv, LOOP if grouped else _rlimits(limits) + LOOP, "loop"]


def _rlimits(limits: Limits) -> str:
    """Set inside, where the count of processes starts anew with the user namespace."""
    return f"ulimit -u {limits.pids} || ulimit -p {limits.pids}\nulimit -v {limits.memory // 1024}\n"


@dataclass(slots=True)
class Lines:
    """Our ends of a box's descriptors, all non-blocking but ``control``; -1 when closed.

    ``unread``: our own reading end of the data pipe, to drain what a command left unread.
    """

    control: int = -1
    out: int = -1
    err: int = -1
    done: int = -1
    data: int = -1
    unread: int = -1
    info: int = -1
    _theirs: dict[int, int] = field(default_factory=dict)

    def open(self, image: Image) -> None:
        """Make all pipes and the two files that bubblewrap reads.

        Raises:
            OSError: out of descriptors.
        """
        theirs = self._theirs
        theirs[CONTROL_IN], self.control = pipe()
        self.out, theirs[OUT] = pipe()
        self.err, theirs[ERR] = pipe()
        self.done, theirs[CONTROL_OUT] = pipe()
        self.unread, self.data = pipe()
        self.info, theirs[INFO] = pipe()
        theirs[PROGRAM] = lift(os.open(image.root / "bin/busybox", os.O_RDONLY | os.O_CLOEXEC))
        theirs[FILTER] = lift(os.memfd_create("arena-seccomp", os.MFD_CLOEXEC))
        os.write(theirs[FILTER], seccomp.program())
        os.lseek(theirs[FILTER], 0, os.SEEK_SET)
        for fd in (self.out, self.err, self.done, self.data):
            os.set_blocking(fd, False)

    def spawn(self, argv: Sequence[str], env: Mapping[str, str]) -> Child:
        """Start the box with its ends, and close them here."""
        try:
            return Child(argv, {**self._theirs, DATA: self.unread}, env)
        finally:
            for fd in self._theirs.values():
                os.close(fd)
            self._theirs.clear()

    def close(self) -> None:
        """Close every descriptor that is open."""
        for fd in (*self._theirs.values(), self.control, self.out, self.err, self.done):
            if fd >= 0:
                os.close(fd)
        for fd in (self.data, self.unread, self.info):
            if fd >= 0:
                os.close(fd)
        self._theirs.clear()
        self.control = self.out = self.err = self.done = self.data = self.unread = self.info = -1
