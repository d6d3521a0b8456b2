"""A box per episode: fresh by default, or reused after a reset that was verified.

A reused box is wiped and seeded in place, and its snapshot must hash to the fixture's; else it is destroyed
and a fresh one takes its place. A box is retired after ``MAX_USES`` episodes, after any flag but
``truncated``, and whenever its episode ended by an exception.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from arena.envs.tools.sandbox import Backend, Files, Sandbox, SandboxFailure
from arena.envs.tools.snapshot import Snapshot, SnapshotLimit

MAX_USES = 50
HARMLESS = frozenset({"truncated"})


class ResetWarning(UserWarning):
    """A reused box did not come back clean and was replaced; no result is affected."""


class SandboxPool:
    """Boxes of one backend. ``size``: idle boxes kept for reuse; 0 makes every box fresh. Thread-safe.

    ``created``, ``reused``, ``discarded`` count boxes, for the run's summary.
    """

    def __init__(self, backend: Backend, size: int = 0) -> None:
        self.backend, self.size = backend, size
        self.created = self.reused = self.discarded = 0
        self._idle: list[Sandbox] = []
        self._uses: dict[int, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def box(self, files: Files) -> Iterator[Sandbox]:
        """A started box that holds exactly ``files``.

        Raises:
            SandboxFailure: none can be made.
        """
        box = self._reuse(files) or self._fresh(files)
        try:
            yield box
        except BaseException:
            self._discard(box)
            raise
        self._give_back(box)

    def _reuse(self, files: Files) -> Sandbox | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                box = self._idle.pop()
            try:
                box.reset(files)
                found, wanted = box.snapshot(), Snapshot.of_files(files)
                if found.sha256 == wanted.sha256:
                    with self._lock:
                        self.reused += 1
                    return box
                why = ", ".join(f"{change.path} ({change.what})" for change in wanted.changes(found)[:5])
            except (SandboxFailure, SnapshotLimit) as failure:
                why = failure.message
            except BaseException:
                self._discard(box)
                raise
            self._discard(box)
            warnings.warn(f"box replaced, its reset was incomplete: {why}", ResetWarning, stacklevel=4)

    def _fresh(self, files: Files) -> Sandbox:
        box = self.backend.sandbox()
        try:
            box.start()
            box.seed(files)
        except BaseException:
            box.close()
            raise
        with self._lock:
            self.created += 1
            self._uses[id(box)] = 0
        return box

    def _give_back(self, box: Sandbox) -> None:
        with self._lock:
            self._uses[id(box)] += 1
            spent = self._uses[id(box)] >= MAX_USES or box.seen - HARMLESS
            if not spent and len(self._idle) < self.size:
                self._idle.append(box)
                return
        self._discard(box)

    def _discard(self, box: Sandbox) -> None:
        box.close()
        with self._lock:
            self.discarded += 1
            self._uses.pop(id(box), None)

    def close(self) -> None:
        """Close the idle boxes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for box in idle:
            self._discard(box)

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
