"""What a domain is on disk: ``NAME.toml`` says what it means, ``NAME.lock.json`` says which bytes are frozen.

A domain exists once it is locked; a toml without a lock is a draft that only the lock tool sees. The lock
holds a digest of the definition (tiers and their rules, splits, suite, ...), the sha256 of every frozen file,
and the ids of every (tier, split) cell with a sha256 each. Nothing here decides what to run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from arena.errors import ChangedData, MissingNeed, UsageError
from arena.identity import digest, load, sha256_file
from arena.types import Frozen

DATA = Path(__file__).parent / "data"
"""The folder with the shipped domains."""

LOCK_FORMAT = 1

TRIALS_FOLDER = "trials"
"""Below the recordings of a domain: other drawings of an episode, ``ID.t1.json``, ``ID.t2.json``, ..."""


class Tier(Frozen):
    """One tier: its name and the written rule by which units were assigned to it, before any ranked model ran."""

    name: str
    rule: str


class LockedUnit(Frozen):
    """One frozen item or episode. ``sha256``: of the item's JSONL line, or of the recording.

    ``path``: the recording, relative to the suite folder; None for items. ``steps``: recorded decisions.
    ``trials``: paths of other drawings of the episode, which trials after the first play; may be empty.
    """

    sha256: str
    path: str | None = None
    steps: int = 1
    group: str | None = None
    trials: Annotated[tuple[str, ...], Field(strict=False)] = ()

    @model_serializer(mode="wrap")
    def _without_no_trials(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run names its lock by a digest: a unit without trials stays as it was before there were any."""
        body: dict[str, Any] = plain(self)
        return {key: value for key, value in body.items() if key != "trials" or value}


class Lock(Frozen):
    """``NAME.lock.json``. ``files``: path relative to the suite folder -> sha256.

    ``cells``: tier -> split -> id -> unit, in file order.
    ``reliability_ids``: the seeded choice decisions of the hardest tier: item ids, or ``EPISODE#STEP`` (from 0).
    """

    format: int = LOCK_FORMAT
    domain: str
    version: str
    definition: str
    files: dict[str, str]
    cells: dict[str, dict[str, dict[str, LockedUnit]]]
    reliability_ids: Annotated[tuple[str, ...], Field(strict=False)]


class Definition(Frozen):
    """``NAME.toml``. ``tiers`` go from easy to hard; ``data`` is relative to the toml's folder.

    ``gold_versions``: oldest first, the last is used unless another is named (static domains only).
    ``env`` and ``verifier`` are registry ids (episode domains only).
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    title: str
    kind: Literal["static", "episode"]
    suite: str
    version: str
    licence: str
    language: str = "en"
    data: str
    splits: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    tiers: Annotated[tuple[Tier, ...], Field(strict=False, min_length=1)]
    gold_versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    env: str | None = None
    verifier: str | None = None

    @model_validator(mode="after")
    def _kinds(self) -> Definition:
        episode = self.kind == "episode"
        if episode != (self.env is not None and self.verifier is not None):
            raise ValueError("an episode domain names env and verifier, a static one neither")
        if episode == bool(self.gold_versions):
            raise ValueError("a static domain names gold_versions; an episode's gold is in its recording")
        names = self.tier_names
        if len(set(names)) != len(names):
            raise ValueError("tier names repeat")
        return self

    @property
    def tier_names(self) -> tuple[str, ...]:
        """Names of the tiers, easy to hard."""
        return tuple(tier.name for tier in self.tiers)

    def frozen_digest(self) -> str:
        """sha256 of all that a lock freezes: everything but the title and the gold versions (which may grow)."""
        return digest(self.model_dump(mode="json", exclude={"title", "gold_versions"}), 64)


class Domain(Definition):
    """A locked domain: its definition, its lock and the ``folder`` that paths in the lock start from."""

    folder: Path
    lock: Lock

    @property
    def suite_id(self) -> str:
        """``suite@version``: two suite versions never share a table."""
        return f"{self.suite}@{self.version}"


def toml_path(folder: Path, name: str) -> Path:
    """Where the definition of ``name`` lies."""
    return folder / f"{name}.toml"


def lock_path(folder: Path, name: str) -> Path:
    """Where the lock of ``name`` lies."""
    return folder / f"{name}.lock.json"


def read_definition(folder: Path, name: str) -> Definition:
    """Read ``NAME.toml``.

    Raises:
        UsageError: not TOML, or not a definition; names the file and the first fault.
    """
    path = toml_path(folder, name)
    try:
        found = Definition.model_validate(tomllib.loads(path.read_text("utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        raise _not_a(path, "domain definition", error) from error
    if found.name != name:
        raise UsageError(f"{path} names the domain {found.name!r}, expected {name!r} like the file")
    return found


def read_lock(folder: Path, name: str) -> Lock | None:
    """Read ``NAME.lock.json``; None when there is none.

    Raises:
        UsageError: not a lock, or of another format.
    """
    path = lock_path(folder, name)
    if not path.is_file():
        return None
    try:
        lock = Lock.model_validate(load(path.read_bytes()))
    except ValidationError as error:
        raise _not_a(path, "lock", error) from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if lock.format != LOCK_FORMAT:
        raise UsageError(f"{path} has lock format {lock.format}, expected {LOCK_FORMAT}", hint="update arena")
    return lock


def read_domain(folder: Path, name: str) -> Domain:
    """A locked domain, its definition held against the lock.

    Raises:
        MissingNeed: there is no lock.
        ChangedData: the definition is not the one that was locked.
    """
    definition = read_definition(folder, name)
    lock = read_lock(folder, name)
    if lock is None:
        raise MissingNeed(f"domain {name!r} is not locked", hint=f"python -m arena.tasks.lock {name}")
    found = definition.frozen_digest()
    if lock.definition != found:
        raise ChangedData(str(toml_path(folder, name)), lock.definition, found)
    return Domain(**dict(definition), folder=folder, lock=lock)


def verified(domain: Domain, relative: str) -> Path:
    """The absolute path of a frozen file whose bytes are the locked ones.

    Raises:
        MissingNeed: the lock does not hold the file, or it is gone.
        ChangedData: its sha256 is another; names the file and both hashes.
    """
    path = domain.folder / relative
    locked = domain.lock.files.get(relative)
    if locked is None:
        raise MissingNeed(
            f"{path} is not in the lock of {domain.name!r}", hint=f"python -m arena.tasks.lock {domain.name}"
        )
    if not path.is_file():
        raise MissingNeed(f"{path} is missing, expected sha256 {locked}", hint="reinstall the package, or git checkout")
    found = sha256_file(path)
    if found != locked:
        raise ChangedData(str(path), locked, found)
    return path.absolute()


def items_file(definition: Definition, tier: str, split: str) -> str:
    """Path of a static cell's items, relative to the suite folder."""
    return f"{definition.data}/{tier}.{split}.jsonl"


def golds_file(definition: Definition, version: str, tier: str, split: str) -> str:
    """Path of a static cell's golds of one version, relative to the suite folder."""
    return f"{definition.data}/gold/{version}/{tier}.{split}.jsonl"


def _not_a(path: Path, what: str, error: ValidationError) -> UsageError:
    first = error.errors()[0]
    spot = ".".join(str(part) for part in first["loc"]) or "the top"
    return UsageError(f"{path}: not a {what} at {spot}: {first['msg']}")
