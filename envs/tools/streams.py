"""Bounded capture of a command's two output streams: the head is kept, everything is counted."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Capture:
    """``keep``: bytes kept per stream; ``kill_at``: total bytes after which the command is to be killed."""

    keep: int
    kill_at: int
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    total: int = 0
    dropped: bool = False

    def feed(self, data: bytes, *, error: bool) -> None:
        """Take bytes of standard output, or of standard error."""
        head = self.err if error else self.out
        room = self.keep - len(head)
        head += data[:room] if room > 0 else b""
        self.total += len(data)
        self.dropped |= len(data) > room

    @property
    def flooded(self) -> bool:
        """Whether the command wrote so much that it must be stopped."""
        return self.total > self.kill_at
