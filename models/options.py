"""What a user may set on a model, and what ``arena list models`` says of one.

Both are plain frozen data without imports of numpy or httpx, so that listing models costs nothing. Each
adapter names the options it understands; any other one that is set is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from arena.errors import UsageError
from arena.session import Decider
from arena.types import JSON, Frozen

FLAGS = {
    "base_url": "--base-url",
    "model": "--wire-model",
    "api_key_env": "--api-key-env",
    "timeout_s": "--timeout",
    "max_retries": "--max-retries",
    "seed": "--seed",
    "script": "--script",
    "extra": "--model-option",
}
"""Option -> the command-line flag that sets it; error messages speak of flags."""


class ModelOptions(Frozen):
    """Options of a model; each model takes some of them.

    ``base_url``: server root or full endpoint. ``model``: its name on the wire. ``api_key_env``: environment
    variable that holds the key. ``timeout_s``: seconds for one decision, all attempts and waits together.
    ``max_retries``: tries after the first. ``script``: file of a scripted model. ``extra``: options of one
    adapter, by name.
    """

    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    timeout_s: Annotated[float, Field(gt=0, strict=False)] | None = None
    max_retries: Annotated[int, Field(ge=0, le=20)] | None = None
    seed: int = 0
    script: str | None = None
    extra: dict[str, JSON] = Field(default_factory=dict)

    def only(self, name: str, *allowed: str, extra: tuple[str, ...] = ()) -> None:
        """Refuse options that ``name`` does not take. A seed is no such option: it is the run's.

        Raises:
            UsageError: names the first such flag and those that are taken.
        """
        for field in self.model_fields_set - set(allowed) - {"extra", "seed"}:
            if getattr(self, field) is not None:
                takes = ", ".join(FLAGS[option] for option in allowed) or "no options"
                found = f"model {name!r} takes no {FLAGS[field]} (it takes: {takes})"
                raise UsageError(found, hint="arena list models")
        for key in self.extra:
            if key not in extra:
                takes = ", ".join(extra) or "none"
                raise UsageError(f"model {name!r} has no option {key!r} under {FLAGS['extra']} (it has: {takes})")

    def share(self, name: str, key: str, default: float) -> float:
        """The extra option ``key`` as a number in [0, 1]."""
        value = self.extra.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise UsageError(f"model {name!r}: {FLAGS['extra']} {key} must be a number in [0, 1], found {value!r}")
        return float(value)


Factory: TypeAlias = Callable[[str, ModelOptions], Decider]
"""What the registry holds: makes the decider registered under a name."""

Kind = Literal["embedded", "baseline", "fake", "wire", "plugin"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One line of ``arena list models``.

    ``needs``: the environment variable that must hold a key, or None; ``also``: flags and variables besides it that
    must be set. ``verified`` as in ``ModelCard``.
    ``origin``: what the adapter's tests were made from (``runs here``, ``recorded-by-others``,
    ``docs-example``, ``synthetic``). ``source``: where the wire format or the weights come from.
    ``note``: licence, terms and the like that a user must know.
    """

    name: str
    kind: Kind
    summary: str
    needs: str | None = None
    also: tuple[str, ...] = ()
    paid: bool = False
    verified: str = "embedded"
    origin: str = "runs here"
    source: str = ""
    note: str = ""
