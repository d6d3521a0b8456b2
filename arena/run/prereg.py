"""Pre-registration: hypotheses, family, thresholds and stop rule are frozen before the first call.

The sha256 of the file enters the configuration of every run it starts, hence the header that is written before
anything is asked, and the resume key. A verdict is computed from the logs, and only if they carry the sha256 of the
file as it is now. How each kind is judged is in ``arena.run.verdicts``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from arena.errors import MissingNeed, UnknownName, UsageError
from arena.identity import sha256
from arena.log.reader import RunReader, find_runs
from arena.run.config import Operation, RunConfig, StopRule, differing
from arena.types import Frozen

TEMPLATES = Path(__file__).with_name("preregs")
NAME = "prereg"

Metric = Literal["accuracy", "pct", "brier", "nll"]
Cells = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
Level = Annotated[float, Field(ge=0.5, lt=1.0)]


class Superior(Frozen):
    """The gain's interval lies above ``margin``; for hits also Holm's p over ``family`` below ``alpha``."""

    metric: Metric = "accuracy"
    margin: Annotated[float, Field(ge=0.0)] = 0.0
    alpha: float = 0.05
    family: Cells = ("all",)


class NotInferior(Frozen):
    """The gain's interval lies above -``margin`` in every cell of ``family``."""

    metric: Metric = "accuracy"
    margin: Annotated[float, Field(gt=0.0)]
    family: Cells = ("all",)


class PrimacyCells(Frozen):
    """Where primacy is tested: "all" or domains."""

    family: Cells = ("all",)


class Alerts(Frozen):
    """At least ``hits`` of exactly ``positives`` alerts, at most ``false_positives`` false alarms."""

    question: str = ""
    hits: int = 7
    positives: int = 10
    false_positives: int = 1


class Gain(Frozen):
    """The gain in accuracy lies above ``margin`` under both orders."""

    margin: Annotated[float, Field(ge=0.0)] = 0.0


class TwoArms(Frozen):
    """A candidate against a reference."""

    candidate: RunConfig
    reference: RunConfig


class Replicas(Frozen):
    """One model, twice."""

    first: RunConfig
    second: RunConfig


class OneArm(Frozen):
    """One run."""

    run: RunConfig


class _Prereg(Frozen):
    hypothesis: Annotated[str, Field(min_length=1)]
    level: Level = 0.95
    stop: StopRule


class SuperiorityPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["superiority"]
    criteria: Superior
    arms: TwoArms


class NonInferiorityPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["non-inferiority"]
    criteria: NotInferior
    arms: TwoArms


class ReplicaPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["replica-stability"]
    arms: Replicas


class PrimacyPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["primacy"]
    criteria: PrimacyCells
    arms: OneArm


class AlertPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["alert"]
    criteria: Alerts
    arms: OneArm


class GainPrereg(_Prereg):
    """See the template of this name."""

    kind: Literal["thinking-gain"]
    criteria: Gain
    arms: TwoArms


Prereg = Annotated[
    SuperiorityPrereg | NonInferiorityPrereg | ReplicaPrereg | PrimacyPrereg | AlertPrereg | GainPrereg,
    Field(discriminator="kind"),
]
_PREREG: TypeAdapter[Any] = TypeAdapter(Prereg)


@dataclass(frozen=True, slots=True)
class Registered:
    """A pre-registration as read: its ``path``, the ``sha256`` of its bytes, what it says."""

    path: Path
    sha256: str
    says: Any

    def arms(self) -> dict[str, RunConfig]:
        """Arm name -> what it evaluates, with the stop rule and the sha256 in it."""
        extra = {"stop": self.says.stop, "prereg_sha256": self.sha256}
        return {
            name: getattr(self.says.arms, name).model_copy(update=extra) for name in type(self.says.arms).model_fields
        }

    def folder(self, root: Path, arm: str) -> Path:
        """Where the run of an arm lies."""
        return root / f"{self.path.stem}_{self.sha256[:8]}_{arm}"

    def operation(self, root: Path, arm: str, allow_paid: bool = False, concurrency: int | None = None) -> Operation:
        """How an arm is carried out: never from the response cache, so that a replica is one."""
        return Operation(
            out=self.folder(root, arm), root=root, cache=False, allow_paid=allow_paid, concurrency=concurrency
        )


def templates() -> tuple[str, ...]:
    """Names of the templates."""
    return tuple(sorted(path.stem for path in TEMPLATES.glob("*.toml")))


def write_template(name: str, path: Path) -> None:
    """Write a template to ``path``, which must not exist.

    Raises:
        UnknownName: no such template.
        UsageError: the file is there already.
    """
    if name not in templates():
        raise UnknownName("template", name, templates(), hint="arena prereg new --help")
    if path.exists():
        raise UsageError(
            f"{path} is there already", hint="a pre-registration is never written over: choose another name"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((TEMPLATES / f"{name}.toml").read_bytes())


def read_prereg(path: Path) -> Registered:
    """Read and check a pre-registration.

    Raises:
        MissingNeed: no such file.
        UsageError: not TOML, or something in it makes no sense; names the first fault.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MissingNeed(
            f"{path} cannot be read: {error.strerror or error}", hint=f"arena prereg new {path} --template superiority"
        ) from error
    try:
        says = _PREREG.validate_python(_with_stop(tomllib.loads(data.decode())))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"]) or "the top"
        raise UsageError(f"{path}: {spot}: {first['msg']}", hint=f"kinds: {', '.join(templates())}") from error
    return Registered(path, sha256(data), says)


def _with_stop(body: dict[str, Any]) -> dict[str, Any]:
    """The stop rule is the file's alone: an arm that has its own, or another sha256, is refused."""
    for name, arm in (body.get("arms") or {}).items():
        for key in ("stop", "prereg_sha256"):
            if isinstance(arm, Mapping) and key in arm:
                raise UsageError(f"arm {name!r} sets {key!r}", hint="the stop rule stands under [stop], for all arms")
    return body


def find_run(registered: Registered, root: Path, arm: str) -> RunReader:
    """The run of an arm, held against the file.

    Raises:
        UsageError: there is none, the file was changed after the run, or the run is not what the file declares.
    """
    folder = registered.folder(root, arm)
    if not (folder / "config.json").is_file():
        older = [h.folder for h in find_runs(root) if h.folder.name.startswith(f"{registered.path.stem}_")]
        changed = [each for each in older if each.name.endswith(f"_{arm}")]
        if changed:
            raise UsageError(
                f"{registered.path} is not the file that was run: its sha256 is {registered.sha256[:8]}..., "
                f"but {changed[0]} was run under another",
                hint="restore the file; a changed one is a new pre-registration and needs its own run",
            )
        raise UsageError(f"arm {arm!r} was not run", hint=f"arena prereg run {registered.path}")
    reader = RunReader(folder)
    resolved = reader.config["resolved"]
    declared = registered.arms()[arm].model_dump(mode="json")
    keys = [key for key in declared if differing(declared[key], resolved.get(key))]
    if keys:
        raise UsageError(
            f"{folder} is not what {registered.path} declares for {arm!r}: it differs in {', '.join(keys)}",
            hint="a verdict is given on the declared runs alone",
        )
    return reader
