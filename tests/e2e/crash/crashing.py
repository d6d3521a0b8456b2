"""The ``arena`` command that kills itself at a chosen point: ``python crashing.py POINT COUNT eval ...``.

``mid-line``: half of the COUNT-th write to the log is on disk. ``cached``: the COUNT-th reply is in the cache,
its line is not written. ``gzip``: part of the packed log is on disk. ``renamed``: a packed log is in place and the
plain one not yet gone. ``packed``: all is packed and the summary not yet written. ``header``: the run's
header is half written.
"""

from __future__ import annotations

import gzip
import os
import signal
import sys
from pathlib import Path
from typing import Any

from arena.log import writer
from arena.log.cache import ResponseCache


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def mid_line(count: int) -> None:
    original = writer._open_log

    class Tearing:
        def __init__(self, raw: Any) -> None:
            self.raw, self.left = raw, count

        def write(self, data: bytes) -> int:
            self.left -= 1
            if self.left == 0:
                self.raw.write(data[: len(data) // 2])
                die()
            return int(self.raw.write(data))

        def __enter__(self) -> Tearing:
            return self

        def __exit__(self, *_: object) -> None:
            self.raw.close()

    writer._open_log = lambda *place: Tearing(original(*place))  # type: ignore[assignment, return-value]


def cached(count: int) -> None:
    original, left = ResponseCache.put, [count]

    def put(self: ResponseCache, *what: Any) -> None:
        original(self, *what)
        left[0] -= 1
        if left[0] == 0:
            die()

    ResponseCache.put = put  # type: ignore[method-assign]


def in_gzip(_: int) -> None:
    original = gzip.GzipFile.write

    def write(self: gzip.GzipFile, data: Any) -> int:
        original(self, data[: len(data) // 2])
        self.flush()
        die()
        return 0

    gzip.GzipFile.write = write  # type: ignore[method-assign, assignment]


def renamed(_: int) -> None:
    original = Path.unlink

    def unlink(self: Path, *how: Any, **more: Any) -> None:
        if self.name == "decisions.jsonl":
            die()
        original(self, *how, **more)

    Path.unlink = unlink  # type: ignore[method-assign]


def before(name: str) -> Any:
    original = writer.write_atomic

    def write_atomic(path: Path, data: bytes) -> None:
        if path.name == name:
            path.with_name(f"{name}.tmp").write_bytes(data[: len(data) // 2])
            die()
        original(path, data)

    def install(_: int) -> None:
        writer.write_atomic = write_atomic

    return install


POINTS = {
    "mid-line": mid_line,
    "cached": cached,
    "gzip": in_gzip,
    "renamed": renamed,
    "packed": before("summary.json"),
    "header": before("config.json"),
}

if __name__ == "__main__":
    from arena.cli.main import main

    point, number, *arguments = sys.argv[1:]
    POINTS[point](int(number))
    sys.argv = ["arena", *arguments]
    main()
