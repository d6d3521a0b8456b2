"""What a sandbox command did, as a page shows it: words, output, exit code and the lines of every changed file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from arena.run.deeds import Change, deed
from arena.run.harmless import harmless

_KINDS = {"+": "plus", "-": "minus", "@": "at"}


def outcome(step: Mapping[str, Any], following: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the action of ``step`` did; None when neither it nor the step after it tells."""
    did = deed(step, following)
    if did is None:
        return None
    return {
        "command": None if did.command is None else harmless(did.command),
        "stdout": harmless(did.stdout),
        "stderr": harmless(did.stderr),
        "rc": did.rc,
        "diff": [(kind, harmless(line)) for change in did.changes for kind, line in _lines(change)],
    }


def command_of(step: Mapping[str, Any], following: Mapping[str, Any] | None) -> str | None:
    """The command line of a step, None when it ran none."""
    found = outcome(step, following)
    return None if found is None else found["command"]


def _lines(change: Change) -> Iterator[tuple[str, str]]:
    """(kind, line) of a change; its path first, where its own lines do not name it."""
    if change.path and change.lines[:1] not in ((f"--- {change.path}",), ("--- /dev/null",)):
        yield "file", f"{change.what} {change.path}"
    for line in change.lines:
        yield "file" if line.startswith(("+++ ", "--- ")) else _KINDS.get(line[:1], "same"), line
    if change.cut:
        yield "at", "the log keeps the head of this file only"
