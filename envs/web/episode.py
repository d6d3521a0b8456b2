"""The episode file ``NAME.web.zip``: one recorded task, its gold decisions and its conditions.

Members: ``manifest.json``, ``steps.jsonl`` (a line per gold step), ``graph.jsonl`` (what explored options lead to),
``verify.json``, for tapes ``tape.jsonl`` and ``blobs/<sha256>``, and ``SHA256SUMS`` over all of them. Members are
sorted and carry no times; a member whose bytes differ from its checksum is refused, and so is a changed file
of the site that an app episode is played on.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import Field, ValidationError

from arena.envs.web.options import Option, Table
from arena.envs.web.recipe import Frame
from arena.envs.web.router import Router, SiteRouter, Taped, TapeRouter
from arena.errors import ChangedData, MissingNeed, UsageError
from arena.identity import load, sha256
from arena.types import JSON, Frozen

FORMAT = 1
SUMS = "SHA256SUMS"
M = TypeVar("M", bound=Frozen)


class Site(Frozen):
    """The site of an app episode. ``root``: its folder, relative to the episode's; ``files``: path -> sha256."""

    name: str
    root: str
    files: dict[str, str]


class Manifest(Frozen):
    """What an episode is and how it was baked.

    ``kind``: ``app`` (a site of files) or ``tape`` (recorded responses). ``decisions``: ``walk`` (options come
    from the page) or ``recorded`` (options come from someone's recording; only its own steps can be asked).
    ``values``: what may be typed. ``volatile``: query parameters that do not tell requests apart.
    """

    format: int = FORMAT
    id: str
    kind: Literal["app", "tape"]
    decisions: Literal["walk", "recorded"] = "walk"
    goal: str
    tier: str
    split: str
    group: str | None = None
    licence: str
    seed: int
    params: dict[str, JSON] = Field(default_factory=dict)
    values: Annotated[tuple[str, ...], Field(strict=False)] = ()
    start: str
    site: Site | None = None
    frame: Frame = Frame()
    volatile: Annotated[tuple[str, ...], Field(strict=False)] = ()
    baked_with: dict[str, str] = Field(default_factory=dict)
    source: dict[str, JSON] = Field(default_factory=dict)


class GoldStep(Frozen):
    """One recorded decision: the state, its options, the right ones, and what the walk does there.

    ``gold``: ids of all options that lead to the recorded next state; ``action``: the one the walk takes.
    ``history``: what was done before, in words. Of recorded decisions only: ``goal`` and ``instructions`` replace the
    episode's own, ``deed`` is what the env does on the page after the question (None: nothing), and ``recorded``
    is what the recording says of its own model's answer.
    """

    t: int
    sem_hash: str
    url: str
    title: str
    text: str
    viewport: Annotated[tuple[int, int], Field(strict=False)]
    table: Table
    gold: Annotated[tuple[str, ...], Field(strict=False)]
    action: str
    history: Annotated[tuple[str, ...], Field(strict=False)] = ()
    goal: str | None = None
    instructions: str | None = None
    deed: Option | None = None
    recorded: dict[str, JSON] | None = None


@dataclass(frozen=True)
class Recording:
    """An episode in memory. ``graph``: rows {step, option, to}; ``end_state``: that of the gold walk.

    ``conditions``: what the verifier gets; None where a recording has none. ``final``: hash, url and title at the end.
    """

    manifest: Manifest
    steps: tuple[GoldStep, ...]
    graph: tuple[dict[str, JSON], ...] = ()
    conditions: dict[str, JSON] | None = None
    end_state: JSON = None
    final: dict[str, JSON] = field(default_factory=dict)
    tape: tuple[Taped, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    folder: Path = Path()
    sha256: str = ""

    def site_files(self) -> dict[str, bytes]:
        """The files of the site, each as it was when the episode was baked.

        Raises:
            ChangedData: a file differs. MissingNeed: a file is gone.
        """
        site = self.manifest.site
        if site is None:
            return {}
        return read_locked((self.folder / site.root / site.name).resolve(), site.files)

    def router(self) -> Router:
        """A fresh network for one session."""
        if self.manifest.site is not None:
            return SiteRouter(self.manifest.site.name, self.site_files())
        return TapeRouter(self.tape, self.blobs, self.manifest.volatile)


def read_locked(folder: Path, files: Mapping[str, str]) -> dict[str, bytes]:
    """Read files whose sha256 is locked: path -> bytes.

    Raises:
        ChangedData: a file differs; names both hashes. MissingNeed: a file is gone.
    """
    found = {}
    for name, expected in files.items():
        path = folder / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise MissingNeed(
                f"{path} is gone ({error.strerror}); an episode is played on it",
                hint="restore the file (git checkout, or reinstall the package)",
            ) from error
        if (seen := sha256(data)) != expected:
            raise ChangedData(str(path), expected, seen)
        found[name] = data
    return found


def _lines(rows: Iterable[JSON]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def write_recording(recording: Recording, path: Path) -> None:
    """Write an episode file, in one step: the file is there complete or not at all."""
    members = {
        "manifest.json": orjson.dumps(recording.manifest.model_dump(), option=orjson.OPT_INDENT_2),
        "steps.jsonl": _lines(step.model_dump(exclude_defaults=True) for step in recording.steps),
        "graph.jsonl": _lines(recording.graph),
        "verify.json": orjson.dumps(
            {"conditions": recording.conditions, "end_state": recording.end_state, "final": recording.final}
        ),
    }
    if recording.manifest.kind == "tape":
        members["tape.jsonl"] = _lines(entry.model_dump() for entry in recording.tape)
        members |= {f"blobs/{name}": data for name, data in recording.blobs.items()}
    members[SUMS] = "".join(f"{sha256(data)}  {name}\n" for name, data in sorted(members.items())).encode()
    partial = path.with_name(path.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(members.items()):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    partial.replace(path)


def _members(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if sum(info.file_size for info in archive.infolist()) > 500_000_000:
                raise UsageError(f"{path}: more than 500 MB unpacked; not an episode of this environment")
            members = {name: archive.read(name) for name in names}
    except FileNotFoundError as error:
        raise MissingNeed(f"{path}: no such episode file", hint="arena list domains") from error
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path} is not a readable episode file: {error}") from error
    if len(names) != len(members):
        raise UsageError(f"{path}: a member occurs twice")
    return members


def _check_sums(path: Path, members: Mapping[str, bytes]) -> None:
    if SUMS not in members:
        raise UsageError(f"{path}: no {SUMS}; not an episode file of arena")
    pairs = (line.split("  ", 1) for line in members[SUMS].decode().splitlines())
    sums = {name: hashed for hashed, name in pairs}
    if set(sums) != set(members) - {SUMS}:
        odd = sorted(set(sums) ^ (set(members) - {SUMS}))
        raise UsageError(f"{path}: members and {SUMS} differ in {odd}", hint="restore the file (git checkout)")
    for name, expected in sums.items():
        if (found := sha256(members[name])) != expected:
            raise ChangedData(f"{path}:{name}", expected, found)


def _model(kind: type[M], row: Any, where: str) -> M:
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: {spot}: {first['msg']}") from error


def read_recording(path: Path) -> Recording:
    """Read an episode file and check every member against its checksum.

    Raises:
        MissingNeed: no such file. ChangedData: a member's bytes differ. UsageError: not an episode file.
    """
    members = _members(path)
    _check_sums(path, members)
    manifest_row = load(members["manifest.json"])
    if manifest_row.get("format") != FORMAT:
        raise UsageError(f"{path}: episode format {manifest_row.get('format')!r}, this arena reads {FORMAT}")
    manifest = _model(Manifest, manifest_row, f"{path}:manifest.json")

    def rows(name: str) -> list[Any]:
        return [load(line) for line in members.get(name, b"").split(b"\n") if line]

    verify = load(members["verify.json"])
    steps = tuple(_model(GoldStep, row, f"{path}:steps.jsonl:{n}") for n, row in enumerate(rows("steps.jsonl"), 1))
    if not steps:
        raise UsageError(f"{path}: no steps")
    return Recording(
        manifest=manifest,
        steps=steps,
        graph=tuple(rows("graph.jsonl")),
        conditions=verify["conditions"],
        end_state=verify["end_state"],
        final=verify["final"],
        tape=tuple(_model(Taped, row, f"{path}:tape.jsonl:{n}") for n, row in enumerate(rows("tape.jsonl"), 1)),
        blobs={name.removeprefix("blobs/"): data for name, data in members.items() if name.startswith("blobs/")},
        folder=path.resolve().parent,
        sha256=sha256(path.read_bytes()),
    )
