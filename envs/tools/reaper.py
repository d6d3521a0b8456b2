"""Nothing outlives a run: every box is registered before it exists and closed when the process ends.

Four nets, each for what the one before misses: leaving the ``with`` block; ``atexit``; ``exit_on_sigterm``,
which turns SIGTERM into an ordinary exit so that the first two run; and, against SIGKILL, the lease: a box
ends when its standard input closes. What even that leaves (a container created and never started) is
removed by ``gc`` in the next run.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.envs.tools.sandbox import Sandbox

_lock = threading.Lock()
_open: dict[int, tuple[int, Sandbox]] = {}


def register(box: Sandbox) -> None:
    """Remember a box until ``forget``. Boxes of a parent process are not ours after a fork."""
    with _lock:
        _open[id(box)] = (os.getpid(), box)


def forget(box: Sandbox) -> None:
    """The box is closed."""
    with _lock:
        _open.pop(id(box), None)


def open_boxes() -> list[Sandbox]:
    """Boxes of this process that are not closed."""
    with _lock:
        return [box for pid, box in _open.values() if pid == os.getpid()]


def close_all() -> int:
    """Close every box of this process; returns how many there were."""
    boxes = open_boxes()
    for box in boxes:
        box.close()
    return len(boxes)


atexit.register(close_all)


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Inside the block SIGTERM unwinds the stack like Ctrl-C does, with exit code 143. Main thread only."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
