"""A tools task as frozen data, and how it is read: the fixture, the finite list of tools, and what must hold.

Nothing here runs anything. ``verify`` stays plain JSON: the verifier judges it, and this environment only
collects what its predicates name.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from arena.envs.tools.sandbox import Files, SeedFile
from arena.envs.tools.snapshot import database_bytes
from arena.errors import MissingNeed, UsageError
from arena.identity import load, sha256
from arena.types import JSON, Frozen

FORMAT = 1
Risk = Literal["read", "write", "destructive", "forbidden"]
Strings = Annotated[tuple[str, ...], Field(strict=False)]


class Content(Frozen):
    """A seeded file: exactly one of text, sql (a script that makes a database) and base64. ``mode``: octal."""

    text: str | None = None
    sql: str | None = None
    base64: str | None = None
    mode: str = "644"

    @model_validator(mode="after")
    def _one(self) -> Content:
        if sum(part is not None for part in (self.text, self.sql, self.base64)) != 1:
            raise ValueError("a file has one of text, sql, base64")
        return self

    def seed(self) -> SeedFile:
        """The file as a box is seeded with it."""
        if self.text is not None:
            data = self.text.encode()
        elif self.sql is not None:
            data = database_bytes(self.sql)
        else:
            data = base64.b64decode(self.base64 or "", validate=True)
        return SeedFile(data=data, mode=int(self.mode, 8))


class Flaky(Frozen):
    """The first ``fails`` uses end with ``rc`` and ``err``, and nothing runs."""

    fails: Annotated[int, Field(ge=1)]
    rc: Annotated[int, Field(ge=1, le=255)]
    err: str


class Tool(Frozen):
    """One option. ``argv`` goes through no shell; ``stdin`` is its standard input. ``reply``: scripted, nothing runs.

    ``risk``: ``read`` changes nothing; ``destructive`` cannot be undone; ``forbidden`` must never be used.
    """

    id: str
    text: str
    argv: Strings = ()
    risk: Risk
    timeout_s: float = 5.0
    stdin: str | None = None
    flaky: Flaky | None = None
    reply: str | None = None

    @model_validator(mode="after")
    def _runs_or_replies(self) -> Tool:
        if bool(self.argv) == (self.reply is not None):
            raise ValueError(f"tool {self.id!r} has an argv or a reply, one of them")
        return self


class Ends(Frozen):
    """The texts of the two options that end an episode."""

    done: str
    give_up: str


class RecordedStep(Frozen):
    """One step of the first oracle as observed: the state shown, the options, and the acceptable actions."""

    state: JSON
    options: dict[str, str]
    gold: Strings


class Task(Frozen):
    """One episode. ``files``: path below ``/task`` -> content. ``oracles``: sequences that must succeed.

    ``decoys``: sequences that must fail. ``random_ceiling``: share of random runs that may succeed, at most.
    ``sim``: whether the simulation can play it. ``tools_needed``: programs that a box must have.
    """

    format: Literal[1]
    id: str
    family: str
    tier: str
    split: str
    seed: int
    sim: bool
    tools_needed: Strings
    goal: str
    files: dict[str, Content]
    tools: Annotated[tuple[Tool, ...], Field(strict=False, min_length=1)]
    ends: Ends
    max_steps: Annotated[int, Field(ge=1)]
    verify: dict[str, JSON]
    oracles: Annotated[tuple[Strings, ...], Field(strict=False, min_length=1)]
    decoys: Annotated[tuple[Strings, ...], Field(strict=False)]
    random_ceiling: float
    recorded: Annotated[tuple[RecordedStep, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _names(self) -> Task:
        ids = [tool.id for tool in self.tools]
        ends = set(Ends.model_fields)
        if len(set(ids)) != len(ids) or ends & set(ids):
            raise ValueError("tool ids repeat, or are the name of an end")
        known = {*ids, *ends}
        for walk in (*self.oracles, *self.decoys):
            if odd := [name for name in walk if name not in known]:
                raise ValueError(f"a walk names {odd[0]!r}, which is no option")
        for oracle in self.oracles:
            if len(oracle) > self.max_steps or oracle[-1] not in ends or ends & set(oracle[:-1]):
                raise ValueError("an oracle ends with one end, within max_steps")
        return self

    def tool(self, name: str) -> Tool:
        """The tool of that id.

        Raises:
            KeyError: there is none.
        """
        for tool in self.tools:
            if tool.id == name:
                return tool
        raise KeyError(name)

    def options(self) -> dict[str, str]:
        """Option key -> text, in the order shown: the tools as listed, then the two ends."""
        return {tool.id: tool.text for tool in self.tools} | {"done": self.ends.done, "give_up": self.ends.give_up}

    def fixture(self) -> Files:
        """What a box is seeded with."""
        return {path: content.seed() for path, content in self.files.items()}


def parse_task(data: bytes, where: str) -> Task:
    """Read a task from the bytes of its file.

    Raises:
        UsageError: not a task; names ``where`` and the first fault.
    """
    try:
        return Task.model_validate(load(data))
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"]) or "the top"
        raise UsageError(f"{where}: not a tools task at {spot}: {first['msg']}") from error
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}") from error


def read_task(path: Path) -> tuple[Task, str]:
    """(task, sha256 of its file).

    Raises:
        MissingNeed: no such file. UsageError: not a task.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MissingNeed(f"task {path} cannot be read: {error.strerror}", hint="reinstall the package") from error
    return parse_task(data, str(path)), sha256(data)
