"""What a sandbox command did: its words, output, exit code and the files it changed, as a page shows them.

A step's view holds this itself (``command``, ``stdout``, ``stderr``, ``rc``, ``diff``), or the view of the step after
it holds it under ``last``: an environment knows what an action did when it looks again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

_PARTS = frozenset({"command", "stdout", "stderr", "diff"})


def outcome(step: Mapping[str, Any], following: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the action of ``step`` did; None when neither it nor the step after it tells."""
    own = _view(step)
    if _PARTS & own.keys():
        return _told(own)
    last = _view(following or {}).get("last")
    return _told(last) if isinstance(last, dict) and _PARTS & last.keys() else None


def command_of(step: Mapping[str, Any], following: Mapping[str, Any] | None) -> str | None:
    """The command line of a step, None when it ran none."""
    found = outcome(step, following)
    return None if found is None else found["command"]


def _view(step: Mapping[str, Any]) -> Mapping[str, Any]:
    found = step.get("view")
    return found if isinstance(found, dict) else {}


def _told(view: Mapping[str, Any]) -> dict[str, Any]:
    command = view.get("command")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    return {
        "command": None if command is None else _text(command),
        "stdout": _text(view.get("stdout") or ""),
        "stderr": _text(view.get("stderr") or ""),
        "rc": view.get("rc"),
        "diff": [(_kind(line), line) for line in _diff(view.get("diff"))],
    }


def _diff(diff: Any) -> Iterator[str]:
    """Lines of a unified diff, given as text or as a list of ``path``, ``change``, ``before``, ``after``."""
    if isinstance(diff, str):
        yield from diff.split("\n") if diff else ()
    elif isinstance(diff, list) and all(isinstance(each, dict) and "path" in each for each in diff):
        for each in diff:
            before, after = _text(each.get("before") or ""), _text(each.get("after") or "")
            old = each["path"] if "before" in each else "/dev/null"
            new = each["path"] if "after" in each else "/dev/null"
            lines = list(unified_diff(before.split("\n"), after.split("\n"), str(old), str(new), lineterm=""))
            yield from lines or (f"--- {old}", f"+++ {new}")
    elif diff:
        yield from json.dumps(diff, ensure_ascii=False, indent=2).split("\n")


def _kind(line: str) -> str:
    if line.startswith(("+++ ", "--- ")):
        return "file"
    return {"+": "plus", "-": "minus", "@": "at"}.get(line[:1], "same")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
