"""What the action of a step did: its command, output, exit code and the files it changed. Reads the log alone.

An environment knows what an action did when it looks again, so the view of the step after it tells (``last``); a
recorded trace may tell in the step's own view. Commands are quoted for reading; nothing here is ever run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

RECORDED = 2000
"""Characters of either side of a change that a log keeps (``arena.envs.tools.endstate.differences``)."""

_TELLING = frozenset({"command", "stdout", "stderr", "diff"})
_FACT = re.compile(r"mode [0-7]{1,4}|-> .*|\d+ bytes, sha256 [0-9a-f]{16}", re.DOTALL)
"""How a log tells a mode, a link's target or bytes that are no text, in place of a content."""


@dataclass(frozen=True, slots=True)
class Change:
    """One path that an action changed. ``what``: added, changed or removed. ``lines``: of a unified diff.

    ``cut``: the log keeps the head of a side only, so that there may be more than ``lines`` show.
    """

    path: str
    what: str
    lines: tuple[str, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Deed:
    """What an action did. ``command``: quoted as a shell would need it; None where nothing ran.

    ``truncated``: there was more output than the log keeps. ``exec_ms``: the command alone, in milliseconds.
    """

    tool: str | None
    command: str | None
    rc: int | None
    stdout: str
    stderr: str
    truncated: bool
    flags: tuple[str, ...]
    exec_ms: float | None
    changes: tuple[Change, ...]


def deed(step: Mapping[str, Any], following: Mapping[str, Any] | None) -> Deed | None:
    """What the action of ``step`` did; None when the log does not tell, or the step acted on nothing.

    ``following``: the record after ``step``. An end (``done``) does nothing: then it has the same number.
    """
    own = _view(step)
    if _TELLING & own.keys():
        return _told(own)
    if following is None or following["step"] <= step["step"]:
        return None
    last = _view(following).get("last")
    return _told(last) if isinstance(last, dict) and _TELLING & last.keys() else None


def _view(step: Mapping[str, Any]) -> Mapping[str, Any]:
    found = step.get("view")
    return found if isinstance(found, dict) else {}


def _told(view: Mapping[str, Any]) -> Deed:
    command = view.get("command")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    return Deed(
        tool=None if view.get("tool") is None else str(view["tool"]),
        command=_text(command) if command else None,
        rc=view.get("rc"),
        stdout=_text(view.get("stdout")),
        stderr=_text(view.get("stderr")),
        truncated=bool(view.get("truncated")),
        flags=tuple(map(str, view.get("flags") or ())),
        exec_ms=view.get("exec_ms"),
        changes=tuple(_changes(view.get("diff"))),
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _changes(diff: Any) -> Iterator[Change]:
    """A diff as an environment tells it (a list of paths with both sides), or any other one as its lines."""
    if isinstance(diff, list) and all(isinstance(each, dict) and "path" in each for each in diff):
        for each in diff:
            sides = [_text(each[side]) if side in each else None for side in ("before", "after")]
            cut = any(side is not None and len(side) >= RECORDED for side in sides)
            what = str(each.get("change", "changed"))
            modes = [f"{sign}mode {mode}" for sign, mode in zip("-+", each.get("mode", ()), strict=False)]
            yield Change(str(each["path"]), what, (*modes, *_diff_lines(str(each["path"]), *sides, cut=cut)), cut)
    elif diff:
        yield Change("", "changed", tuple((diff if isinstance(diff, str) else _text(diff)).split("\n")))


def _diff_lines(path: str, before: str | None, after: str | None, *, cut: bool) -> Iterator[str]:
    if all(side is None or _FACT.fullmatch(side) for side in (before, after)):
        if before is not None:
            yield f"-{before}"
        if after is not None:
            yield f"+{after}"
        return
    old, new = ("/dev/null" if side is None else path for side in (before, after))
    for line in unified_diff(_split(before, cut=cut), _split(after, cut=cut), old, new, lineterm=""):
        yield from line.split("\n")  # a mark of a missing last newline stands on a line of its own


def _split(text: str | None, *, cut: bool) -> list[str]:
    """Lines as diff compares them: a last one without its newline is marked, unless the log has cut it."""
    if not text:
        return []
    *lines, last = text.split("\n")
    if not last:
        return lines
    return [*lines, last if cut else f"{last}\n\\ No newline at end of file"]
