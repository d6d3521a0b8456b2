"""Everything that goes wrong, in one tree, and the boundary that attributes it once.

    ArenaError                     printed without traceback, exit code in ``code``
    |- UsageError            (2)   a name, flag or file that makes no sense
    |  |- UnknownName              with "did you mean"
    |  `- ConfigMismatch           a run folder that belongs to another configuration
    |- NothingSelected       (3)   the selection is empty
    |- MissingNeed           (4)   key, browser, engine, data: something needed is not there
    |  `- ChangedData              a frozen file whose bytes changed
    |- RunStopped            (1)   the stop rule fired
    |- Interrupted         (130)   Ctrl-C or SIGTERM
    `- LogCorrupt            (1)   a log line that cannot be read (but for a torn last one)

    Failure                        caught at a ``boundary``; data in the log, never a crash

A message says what was found, what was expected, and the next command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ClassVar, Literal

Boundary = Literal["model", "env", "verifier", "harness"]


class ArenaError(Exception):
    """An error a user can act on. ``code`` is the exit code of the command that meets it."""

    code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(ArenaError):
    """A flag, name or file that makes no sense."""

    code = 2


class UnknownName(UsageError):
    """A name that no registry holds; proposes the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str | None = None) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        guess = f"; did you mean {' or '.join(near)}?" if near else f" (known: {', '.join(names) or 'none'})"
        super().__init__(f"unknown {kind} {name!r}{guess}", hint=hint)
        self.kind, self.name, self.near = kind, name, tuple(near)


class ConfigMismatch(UsageError):
    """A run folder that was made under another resolved configuration."""

    def __init__(self, folder: str, keys: Iterable[str]) -> None:
        self.keys = tuple(sorted(keys))
        super().__init__(
            f"{folder} holds a run of another configuration; it differs in: {', '.join(self.keys)}",
            hint="choose another --out, or start over beside it with --fresh",
        )


class NothingSelected(ArenaError):
    """The selection of domains, tiers, splits and items is empty."""

    code = 3


class MissingNeed(ArenaError):
    """Something the command needs is not there: a key, a browser, an engine, a server, data."""

    code = 4


class ChangedData(MissingNeed):
    """A frozen file whose bytes are not the ones the registry locked."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(
            f"{path} changed: locked sha256 {expected}, found {found}",
            hint="restore the file (git checkout, or reinstall the package)",
        )


class RunStopped(ArenaError):
    """The stop rule ended a run; what was recorded is kept."""


class Interrupted(ArenaError):
    """A signal ended a run; what was recorded is kept."""

    code = 130


class LogCorrupt(ArenaError):
    """A log that cannot be trusted: names the file and the line."""


class Failure(Exception):
    """A failure with the part it is attributed to. It is recorded as data and ends at most an episode."""

    def __init__(self, boundary: Boundary, message: str, *, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.boundary: Boundary = boundary
        self.message = message
        self.kind = type(cause).__name__ if cause is not None else "Failure"


@contextmanager
def attributed(boundary: Boundary, doing: str) -> Iterator[None]:
    """Attribute any exception that escapes the block to ``boundary``, once.

    Errors for the user (``ArenaError``), failures already attributed, and cancellation pass unchanged.
    """
    try:
        yield
    except (ArenaError, Failure):
        raise
    except Exception as error:
        raise Failure(boundary, f"{doing}: {type(error).__name__}: {error}", cause=error) from error
