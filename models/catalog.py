"""The catalog of servers that speak the wire format: ``catalog.toml`` read into frozen data.

A provider differs from another by address, key, limits, retry rules and envelope only; all of that is data
here, and one adapter serves them all.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from arena.models.options import FLAGS, ModelInfo
from arena.types import Frozen

RETRIED = (408, 425, 429, 500, 502, 503, 504, 529)
"""Statuses tried again unless a provider's entry says otherwise."""

FINAL = (400, 401, 402, 403, 404, 405, 413, 422, 501)
"""Statuses that no entry may retry: the same request would get the same answer."""


class Auth(Frozen):
    """Where the key goes. ``env`` None: the server takes none."""

    header: str = "Authorization"
    scheme: str = "Bearer"
    env: str | None = None
    required: bool = True


class Limits(Frozen):
    """Largest counts a server takes; None where none is known."""

    options: int | None = None
    levels: int | None = None
    questions: int | None = None


class Retry(Frozen):
    """When to try again. Seconds; ``quota_codes``: error codes that make a 429 final."""

    statuses: Annotated[tuple[int, ...], Field(strict=False)] = RETRIED
    max: int = 3
    base_s: float = 0.5
    cap_s: float = 8.0
    warming_s: float = 60.0
    quota_codes: Annotated[tuple[str, ...], Field(strict=False)] = ("insufficient_quota", "daily_quota_exceeded")


class Provider(Frozen):
    """One entry of the catalog; the head of ``catalog.toml`` explains the fields."""

    name: str
    summary: str
    url: str | None = None
    path: str = "/v1/systemone"
    probe: str | None = None
    model: str | None = None
    auth: Auth = Auth()
    text: Literal["any", "string"] = "any"
    null_descriptions: bool = True
    instructions_required: bool = False
    envelope: Literal["cloudflare"] | None = None
    limits: Limits = Limits()
    retry: Retry = Retry()
    attempt_timeout_s: float = 120.0
    deadline_s: float = 300.0
    paid: bool = False
    usd_per_million_input_tokens: float | None = None
    price_note: str = ""
    verified: Literal["live", "not verified live"] = "not verified live"
    origin: Literal["recorded-live", "recorded-by-others", "docs-example", "synthetic"]
    source: str
    publish: str = ""
    note: str = ""

    def info(self) -> ModelInfo:
        """Its line in the list of models."""
        return ModelInfo(
            name=self.name,
            kind="wire",
            summary=self.summary,
            needs=self.auth.env if self.auth.required else None,
            also=self._also(),
            paid=self.paid,
            verified=self.verified,
            origin=self.origin,
            source=self.source,
            note="; ".join(part for part in (self.note, self.publish and f"publishing {self.publish}") if part),
        )

    def _also(self) -> tuple[str, ...]:
        """Flags and variables without which it cannot be called."""
        open_parts = {"base_url": self.url, "model": self.model}
        flags = [FLAGS[name] for name, value in open_parts.items() if value is None]
        return (*flags, *VARIABLE.findall(self.url or ""))


VARIABLE = re.compile(r"\{([A-Z_]+)\}")
"""A part of an address that an environment variable fills in."""


@cache
def providers() -> dict[str, Provider]:
    """Name -> entry, in the order of the file."""
    table = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
    return {name: Provider(name=name, **entry) for name, entry in table.items()}
