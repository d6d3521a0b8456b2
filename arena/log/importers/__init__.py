"""Answer files that others published, as runs. One reader per format, one writer for all.

A reader yields ``Foreign`` answers and notes what it could not use, by file and line; ``convert`` gates each
answer like any other and writes a run whose header says that it was imported, and from which bytes.
"""

from __future__ import annotations

from arena.log.importers.convert import Imported, convert
from arena.log.importers.foreign import Foreign, Notice, Notices, Options, Reader, read_gold
from arena.registry import Registry

FORMATS: Registry[Reader] = Registry(
    "answer format",
    "arena.answer_formats",
    {
        "esen": "arena.log.importers.esen:read",
        "jsonl": "arena.log.importers.plain:read",
        "shisa": "arena.log.importers.shisa:read",
    },
)

__all__ = [
    "FORMATS",
    "Foreign",
    "Imported",
    "Notice",
    "Notices",
    "Options",
    "Reader",
    "convert",
    "read_gold",
]
