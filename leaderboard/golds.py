"""Golds apart from items: another version from the registry or from a file, laid over a log without a model.

A gold file is JSONL. A row is one gold (``suite``?, ``item``, ``question_name``, ``gold``) or all golds of an item
(``id``, ``golds`` {question: {``accepted``, ``label_distribution``?}}), as the registry's own files are. A row
``{"gold_version": "v5"}`` names the version; else it is the file's name without its endings. A case file of
system-one-bench (``.json``) is read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from arena.errors import MissingNeed, UnknownName, UsageError
from arena.identity import sha256_file
from arena.items import Gold
from arena.log.importers.esen import read_cases
from arena.log.importers.foreign import Notices, read_gold
from arena.log.importers.lines import objects
from arena.log.reader import Row, RunReader
from arena.tasks import domain, domains, gold_versions, load_golds
from arena.types import JSON, parse_question

BUILT_ON_GOLD = frozenset({"null_removed", "removed"})
"""Variants made by taking the right options away: where the gold changed they are another question and left out."""


@lru_cache(maxsize=256)
def _registry(name: str, tier: str, split: str, version: str) -> dict[str, dict[str, Gold]]:
    return load_golds(name, tier, split, version)


@dataclass(frozen=True, slots=True)
class Golds:
    """One gold version. ``rows``: (suite or None, item, question) -> foreign gold; None: the registry's."""

    version: str
    source: str
    sha256: str | None = None
    rows: dict[tuple[str | None, str, str], dict[str, JSON]] | None = None

    def of(self, row: Row) -> Gold | None:
        """The gold of a decision in this version; None when it has none here.

        Raises:
            UnknownName: the registry's domain has no such version.
            UsageError: a gold that is no option of the question.
        """
        if self.rows is None:
            return self._registered(row)
        item = str(row["unit"]).removeprefix(f"{row['suite']}/")
        for suite in (row["suite"], None):
            for unit in (row["unit"], item):
                found = self.rows.get((suite, unit, row["question_name"]))
                if found is not None:
                    return self._typed(row, found)
        return None

    def _registered(self, row: Row) -> Gold | None:
        name = row["domain"]
        if name not in domains():
            raise UsageError(
                f"suite {row['suite']} is not in the registry, so it has no gold version {self.version!r} there",
                hint="give a gold file: --gold FILE.jsonl",
            )
        if domain(name).kind == "episode":
            return None if row["gold"] is None else Gold.model_validate(row["gold"])
        found = _registry(name, row["tier"], row["split"], self.version)
        return found.get(row["unit"], {}).get(row["question_name"])

    def _typed(self, row: Row, found: dict[str, JSON]) -> Gold:
        question = dict(row["question"])
        if row["variant"]["removed"]:
            question["criteria"] = {**question["criteria"], **dict.fromkeys(row["variant"]["removed"])}
        accepted = read_gold(parse_question(question), found["gold"])
        if isinstance(accepted, str):
            raise UsageError(f"{self.source}: item {row['unit']}, question {row['question_name']}: {accepted}")
        return Gold(accepted=accepted, label_distribution=found.get("label_distribution"), version=self.version)


def find_golds(name: str) -> Golds:
    """A gold version by registry name, or a gold file.

    Raises:
        UnknownName: no file and no version of any domain.
    """
    path = Path(name)
    if path.is_file():
        return read_golds(path)
    known = {version for each in domains() for version in gold_versions(each)}
    if path.suffix or "/" in name:
        raise MissingNeed(
            f"gold file {name} does not exist", hint="or name a version of the registry: arena list suites"
        )
    if name not in known:
        raise UnknownName("gold version", name, known, hint="arena list suites, or --gold FILE.jsonl")
    return Golds(name, "registry")


def read_golds(path: Path) -> Golds:
    """Read a gold file.

    Raises:
        UsageError: a line that is no gold; names it.
    """
    notices, version = Notices(), path.name.split(".")[0]
    rows: dict[tuple[str | None, str, str], dict[str, JSON]] = {}
    if path.suffix == ".json":
        for item, case in read_cases((path,), "").items():
            rows |= {(None, item, name): {"gold": gold} for name, gold in case.golds.items()}
        return Golds(version, str(path), sha256_file(path), rows)
    for where, row in objects(path, notices):
        if set(row) == {"gold_version"}:
            version = str(row["gold_version"])
            continue
        found = dict(_golds_of(row))
        if not found:
            raise UsageError(f"{where}: not a gold: expected item, question_name and gold, or id and golds")
        for key, value in found.items():
            if key in rows:
                raise UsageError(f"{where}: item {key[1]}, question {key[2]} has a gold already")
            rows[key] = value
    if notices.left_out:
        raise UsageError(f"{path} is damaged: {notices.left_out[0]}", hint="a gold file must be whole")
    return Golds(version, str(path), sha256_file(path), rows)


def _golds_of(row: dict[str, Any]) -> Iterator[tuple[tuple[str | None, str, str], dict[str, JSON]]]:
    suite, item = row.get("suite"), row.get("item", row.get("id"))
    if item is None:
        return
    if isinstance(row.get("golds"), dict):
        for name, gold in row["golds"].items():
            body = gold if isinstance(gold, dict) else {"accepted": gold}
            accepted = body.get("accepted")
            yield (suite, str(item), name), {"gold": accepted, "label_distribution": body.get("label_distribution")}
    elif "question_name" in row and "gold" in row:
        body = {"gold": row["gold"], "label_distribution": row.get("label_distribution")}
        yield (suite, str(item), str(row["question_name"])), body


@dataclass(slots=True)
class Changes:
    """What a gold version changed in a log: decisions without a gold there, and null variants left out."""

    missing: int = 0
    null_variants: int = 0
    first_missing: str | None = None


class Regolded(RunReader):
    """A log under another gold version: same answers, other golds, judged again."""

    def __init__(self, reader: RunReader, golds: Golds) -> None:
        self.inner, self.golds, self.changes = reader, golds, Changes()
        self.folder, self.config, self.blobs = reader.folder, reader.config, reader.blobs

    @property
    def summary(self) -> Row | None:
        """The stored summary is of the old golds; there is none of these."""
        return None

    def rows(self) -> Iterator[Row]:
        """Decisions judged again; those without a gold in this version are left out and counted."""
        self.changes = Changes()
        for row in self.inner.rows():
            if row["gold"] is None and row["variant"]["kind"] not in BUILT_ON_GOLD:
                yield row
            elif (found := self._judged(row)) is not None:
                yield found

    def _judged(self, row: Row) -> Row | None:
        gold, kind = self.golds.of(row), row["variant"]["kind"]
        if gold is None:
            self.changes.missing += kind == "base"
            self.changes.first_missing = self.changes.first_missing or f"{row['unit']}, {row['question_name']}"
            return None
        if kind in BUILT_ON_GOLD:
            if set(row["variant"]["removed"]) != set(map(str, gold.accepted)):
                self.changes.null_variants += 1
                return None
            return row if row["gold"] is None else {**row, "gold": {**row["gold"], "version": gold.version}}
        body = {**gold.model_dump(mode="json"), "accepted": list(gold.accepted)}
        return {**row, "gold": body, "correct": row["valid"] and gold.accepts(row["committed"])}

    def episode_rows(self) -> Iterator[Row]:
        """Episodes as they are: their gold is in the recording."""
        yield from self.inner.episode_rows()

    def state(self, row: Row) -> JSON:
        """The state of a decision row."""
        return self.inner.state(row)


__all__ = ["Changes", "Golds", "Regolded", "find_golds", "read_golds"]
