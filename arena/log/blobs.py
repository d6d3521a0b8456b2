"""Content-addressed blobs of a run: states, screenshots, anything too large for a log line.

``blobs/ab/ab12...``: the name is the sha256 of the content, so equal pages are stored once and a
changed blob is noticed on read.
"""

from __future__ import annotations

import os
from pathlib import Path

from arena.errors import LogCorrupt
from arena.identity import sha256


class Blobs:
    """The ``blobs/`` folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Where the blob ``name`` (64 hex digits) lies."""
        return self.folder / name[:2] / name

    def put(self, data: bytes) -> str:
        """Store ``data`` and return its name. Whole or not at all: written aside, then renamed."""
        name = sha256(data)
        target = self.path(name)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = target.with_suffix(f".{os.getpid()}.tmp")
            aside.write_bytes(data)
            aside.replace(target)
        return name

    def get(self, name: str) -> bytes:
        """Read a blob.

        Raises:
            LogCorrupt: it is missing or its bytes do not match its name.
        """
        try:
            data = self.path(name).read_bytes()
        except OSError as error:
            raise LogCorrupt(f"blob {name} is missing from {self.folder}") from error
        if sha256(data) != name:
            raise LogCorrupt(f"blob {self.path(name)} does not hold what its name says (sha256 {sha256(data)})")
        return data
