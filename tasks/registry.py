"""The domain-tier registry: domain -> ordered tiers -> frozen item and episode ids.

Runner, reliability and capability select units here and nowhere else, so they mean the same hardest tier and
the same ids. Every file is held against its locked sha256 before a byte of it is used. Other distributions add
domains through the entry-point group ``arena.suites``: a target that is a folder with tomls and locks.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from arena.errors import NothingSelected, UnknownName, UsageError
from arena.identity import load
from arena.items import EpisodeRef, Gold, Item, Recording, Unit
from arena.registry import Registry
from arena.tasks.definition import Domain, Tier, golds_file, items_file, lock_path, read_domain, toml_path, verified
from arena.types import JSON, Choice, Frozen, Noul, Score

SUITES: Registry[Path | str] = Registry("suite folder", "arena.suites", {"arena": "arena.tasks.definition:DATA"})

Example = tuple[JSON, str, Choice | Score | Noul, Gold]
"""(state, question name, question, gold): what ``arena.session.Trainable.fit`` takes."""


class Cell(Frozen):
    """The selected units of one (domain, tier, split), by id, in the order of the lock."""

    domain: str
    tier: str
    split: str
    ids: tuple[str, ...]


class Selection(Frozen):
    """What a run is about. ``cells``: never empty, no cell is empty."""

    cells: tuple[Cell, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """All unit ids, cell by cell."""
        return tuple(unit for cell in self.cells for unit in cell.ids)


def _folders() -> dict[str, Path]:
    """Locked domain -> its suite folder."""
    found: dict[str, Path] = {}
    for suite in SUITES:
        folder = Path(SUITES.get(suite))
        for toml in sorted(folder.glob("*.toml")):
            if not lock_path(folder, toml.stem).is_file():
                continue  # a draft: see arena.tasks.definition
            if toml.stem in found:
                raise UsageError(
                    f"domain {toml.stem!r} is defined twice: {toml_path(found[toml.stem], toml.stem)}, {toml}"
                )
            found[toml.stem] = folder
    return found


def domains() -> tuple[str, ...]:
    """Names of all locked domains, sorted."""
    return tuple(sorted(_folders()))


def domain(name: str) -> Domain:
    """A domain by name.

    Raises:
        UnknownName: with the nearest names.
        ChangedData: its definition is not the locked one.
    """
    folders = _folders()
    if name not in folders:
        raise UnknownName("domain", name, folders, hint="arena list domains")
    return read_domain(folders[name], name)


def hardest_tier(name: str) -> str:
    """The tier that capability counts and reliability draws from: the last of the domain's ordered tiers."""
    return domain(name).tier_names[-1]


def gold_versions(name: str) -> tuple[str, ...]:
    """Gold versions, oldest first; empty for episode domains, whose gold is in the recording."""
    return domain(name).gold_versions


def reliability_ids(name: str) -> tuple[str, ...]:
    """The frozen choice decisions S and N are measured on: item ids, or ``EPISODE#STEP`` (steps from 0)."""
    return domain(name).lock.reliability_ids


def select(
    names: Iterable[str] | Literal["all"],
    tiers: Iterable[str] | Literal["all", "hardest"] = "all",
    split: str = "test",
    ids: Iterable[str] = (),
) -> Selection:
    """Pick cells, and within them ``ids`` when any are given. Reads locks only, no data.

    Args:
        names: domains, in the order wanted, or ``all``.
        tiers: tier names (a domain without one of them is left out of that tier), ``all`` or ``hardest``.

    Raises:
        UnknownName: a domain, tier, split or id that no selected domain has.
        NothingSelected: the selection is empty.
    """
    chosen = [domain(name) for name in (domains() if names == "all" else dict.fromkeys(names))]
    known = dict.fromkeys(tier for each in chosen for tier in each.tier_names)
    if not isinstance(tiers, str):
        tiers = tuple(tiers)
        for tier in tiers:
            _known("tier", tier, known, chosen)
    _known("split", split, {one for each in chosen for one in each.splits}, chosen)
    wanted = set(ids)
    cells = [cell for each in chosen for cell in _cells(each, tiers, split)]
    for unit in sorted(wanted.difference(*(cell.ids for cell in cells))):
        all_ids = [one for cell in cells for one in cell.ids]
        few = get_close_matches(unit, all_ids, n=3, cutoff=0.5) or [*all_ids[:3], "..."]
        locks = " ".join(str(lock_path(each.folder, each.name)) for each in chosen)
        raise UnknownName("item or episode", unit, few, hint=f"ids stand in {locks}")
    if wanted:
        cells = [cell.model_copy(update={"ids": tuple(i for i in cell.ids if i in wanted)}) for cell in cells]
    cells = [cell for cell in cells if cell.ids]
    if not cells:
        what = ", ".join(each.name for each in chosen) or "no domain"
        asked = tiers if isinstance(tiers, str) else ", ".join(tiers) or "no tier"
        raise NothingSelected(f"nothing selected: {what}; tiers {asked}; split {split}", hint="arena list domains")
    return Selection(cells=tuple(cells))


def _cells(each: Domain, tiers: tuple[str, ...] | str, split: str) -> Iterator[Cell]:
    names = each.tier_names
    picked = names if tiers == "all" else names[-1:] if tiers == "hardest" else [n for n in names if n in tiers]
    for tier in picked:
        yield Cell(domain=each.name, tier=tier, split=split, ids=tuple(each.lock.cells.get(tier, {}).get(split, {})))


def _known(kind: str, name: str, names: Iterable[str], chosen: list[Domain]) -> None:
    if chosen and name not in (names := set(names)):
        raise UnknownName(
            f"{kind} of {', '.join(each.name for each in chosen)}", name, names, hint="arena list domains"
        )


def load_units(name: str, tier: str, split: str = "test", ids: Iterable[str] = ()) -> tuple[Unit, ...]:
    """The units of one cell (those of ``ids``, when any are given), their files verified first.

    Raises:
        UnknownName: no such domain, tier or split.
        MissingNeed, ChangedData: a file is gone or is not the locked one.
    """
    each = domain(name)
    _known("tier", tier, each.tier_names, [each])
    _known("split", split, each.splits, [each])
    wanted = set(ids)
    cell = each.lock.cells.get(tier, {}).get(split, {})
    locked = {key: unit for key, unit in cell.items() if not wanted or key in wanted}
    if each.kind == "static":
        rows = _rows(each, items_file(each, tier, split)) if locked else []
        place = {"suite": each.suite_id, "domain": name, "tier": tier, "split": split}
        return tuple(Item.model_validate(row | place) for row in rows if row["id"] in locked)
    return tuple(
        EpisodeRef(
            id=key,
            suite=each.suite_id,
            domain=name,
            tier=tier,
            split=split,
            env=str(each.env),
            verifier=str(each.verifier),
            path=str(verified(each, str(unit.path))),
            sha256=unit.sha256,
            steps=unit.steps,
            group=unit.group,
            trials=tuple(
                Recording(path=str(verified(each, path)), sha256=each.lock.files[path]) for path in unit.trials
            ),
        )
        for key, unit in locked.items()
    )


def load_golds(name: str, tier: str, split: str = "test", version: str | None = None) -> dict[str, dict[str, Gold]]:
    """Golds of a static cell: unit id -> question name -> gold, under ``version`` (None: the newest).

    Raises:
        UsageError: an episode domain.
        UnknownName: no such gold version.
        MissingNeed, ChangedData: as ``load_units``.
    """
    each = domain(name)
    if each.kind == "episode":
        raise UsageError(f"domain {name!r} has episodes: their gold is in the recording")
    version = version or each.gold_versions[-1]
    if version not in each.gold_versions:
        raise UnknownName(f"gold version of {name}", version, each.gold_versions)
    if not each.lock.cells.get(tier, {}).get(split):
        return {}
    return {
        row["id"]: {question: Gold(**gold, version=version) for question, gold in row["golds"].items()}
        for row in _rows(each, golds_file(each, version, tier, split))
    }


def conditions(name: str, path: str) -> JSON:
    """What the recording at ``path`` (relative to the domain's folder) says must hold: data for its verifier.

    A web recording is an archive with the conditions in a member of their own; a tools task is one JSON file.

    Raises:
        MissingNeed, ChangedData: as ``load_units``.
    """
    file = verified(domain(name), path)
    if not zipfile.is_zipfile(file):
        return load(file.read_bytes())["verify"]
    with zipfile.ZipFile(file) as recording:
        return load(recording.read("verify.json"))["conditions"]


def training_examples(name: str, split: str = "train") -> list[Example]:
    """All (state, question name, question, gold) rows of a static domain's ``split``, tier by tier.

    An episode domain gives none. ``test`` is refused: nothing is fitted on it.
    """
    if split == "test":
        raise UsageError("the test split is never trained on", hint="use train or dev")
    each = domain(name)
    rows: list[Example] = []
    for tier in each.tier_names if each.kind == "static" else ():
        golds = load_golds(name, tier, split)
        for unit in load_units(name, tier, split):
            assert isinstance(unit, Item)
            rows += [(unit.state, key, question, golds[unit.id][key]) for key, question in unit.questions.items()]
    return rows


def _rows(each: Domain, relative: str) -> list[dict[str, JSON]]:
    """Rows of a verified JSONL file. Split at line feeds alone: U+0085 and U+2028 occur in states."""
    return [load(line) for line in verified(each, relative).read_bytes().split(b"\n") if line]


__all__ = [
    "SUITES",
    "Cell",
    "Domain",
    "Example",
    "Selection",
    "Tier",
    "conditions",
    "domain",
    "domains",
    "gold_versions",
    "hardest_tier",
    "load_golds",
    "load_units",
    "reliability_ids",
    "select",
    "training_examples",
]
