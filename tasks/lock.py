"""Developer tool: ``python -m arena.tasks.lock DOMAIN`` freezes a domain's files into ``DOMAIN.lock.json``.

It refuses what must not be frozen: an id twice, a state in two splits, a state that holds its own gold, a gold
that is not an option, an episode of an undeclared tier. It refuses to change anything locked under the same
version (new gold versions may be added): a change is ``--new-version``, because numbers of two versions never
share a table.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from pathlib import Path

import orjson
from pydantic import ValidationError

from arena.errors import ArenaError, MissingNeed, UsageError
from arena.identity import PROTOCOL_SEED, load, rng_for, sha256, sha256_file, state_id
from arena.items import Gold, Item
from arena.tasks.definition import (
    DATA,
    TRIALS_FOLDER,
    Definition,
    Lock,
    LockedUnit,
    golds_file,
    items_file,
    lock_path,
    read_definition,
    read_lock,
    toml_path,
)
from arena.types import JSON, Choice, Noul, Score

GUARDED = frozenset({"target", "answer", "label", "gold"})
"""Keys that no state may hold, at any depth: a model would read its own gold."""

RELIABILITY_COUNT = 50

Cells = dict[str, dict[str, dict[str, LockedUnit]]]


def build(folder: Path, definition: Definition) -> Lock:
    """Check a domain's files and describe them as a lock.

    Raises:
        UsageError: something that must not be frozen; names the file and the fault.
        MissingNeed: a gold file is missing.
    """
    if definition.kind == "static":
        files, cells, candidates = _static(folder, definition)
    else:
        files, cells, candidates = _episodes(folder, definition)
    rng = rng_for(PROTOCOL_SEED, definition.name)
    drawn = set(rng.sample(candidates, min(RELIABILITY_COUNT, len(candidates))))
    return Lock(
        domain=definition.name,
        version=definition.version,
        definition=definition.frozen_digest(),
        files=dict(sorted(files.items())),
        cells=cells,
        reliability_ids=tuple(each for each in candidates if each in drawn),
    )


def _static(folder: Path, definition: Definition) -> tuple[dict[str, str], Cells, list[str]]:
    files: dict[str, str] = {}
    cells: Cells = {}
    candidates: list[str] = []
    seen: dict[str, str] = {}
    states: dict[str, str] = {}
    for tier in definition.tier_names:
        for split in definition.splits:
            relative = items_file(definition, tier, split)
            if not (folder / relative).is_file():
                continue
            items: dict[str, Item] = {}
            cell = cells.setdefault(tier, {}).setdefault(split, {})
            for line in _lines(folder, relative, files):
                item = _item(definition, tier, split, relative, line)
                where = f"{relative}: {item.id}"
                if seen.setdefault(item.id, relative) != relative or item.id in items:
                    raise UsageError(f"{where}: the id is used twice")
                if states.setdefault(state_id(item.state), split) != split:
                    raise UsageError(f"{where}: the same state is in another split")
                items[item.id] = item
                cell[item.id] = LockedUnit(sha256=sha256(line), group=item.group)
            for version in definition.gold_versions:
                _check_golds(folder, golds_file(definition, version, tier, split), items, files)
            if tier == definition.tier_names[-1] and split == "test":
                candidates = [i.id for i in items.values() if any(isinstance(q, Choice) for q in i.questions.values())]
    return files, cells, candidates


def _item(definition: Definition, tier: str, split: str, relative: str, line: bytes) -> Item:
    try:
        place = {"suite": definition.suite, "domain": definition.name, "tier": tier, "split": split}
        item = Item.model_validate(load(line) | place)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{relative}: not an item at {first['loc']}: {first['msg']}: {line[:80]!r}") from error
    if held := sorted(set(_keys(item.state)) & GUARDED):
        raise UsageError(
            f"{relative}: {item.id}: the state holds the key {held[0]!r}",
            hint="gold belongs into the gold files; rename the key when it is something else",
        )
    return item


def _keys(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key.lower()
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _lines(folder: Path, relative: str, files: dict[str, str]) -> list[bytes]:
    path = folder / relative
    if not path.is_file():
        raise MissingNeed(f"{path} is missing")
    content = path.read_bytes()
    files[relative] = sha256(content)
    return [line for line in content.split(b"\n") if line]


def _check_golds(folder: Path, relative: str, items: dict[str, Item], files: dict[str, str]) -> None:
    rows = {row["id"]: row["golds"] for row in map(load, _lines(folder, relative, files))}
    if set(rows) != set(items):
        odd = sorted(set(rows) ^ set(items))[0]
        raise UsageError(f"{relative}: items and golds differ, first at {odd}")
    for name, golds in rows.items():
        questions = items[name].questions
        if set(golds) != set(questions):
            raise UsageError(f"{relative}: {name}: golds for {sorted(golds)}, questions {sorted(questions)}")
        for key, body in golds.items():
            if not accepted_fit(questions[key], Gold(**body)):
                raise UsageError(f"{relative}: {name}: {key}: {body['accepted']} are not options of the question")


def accepted_fit(question: Choice | Score | Noul, gold: Gold) -> bool:
    """Whether every accepted decision is one that the question can be answered with."""
    if isinstance(question, Choice):
        return all(isinstance(value, str) and value in question.criteria for value in gold.accepted)
    if isinstance(question, Score):
        return all(type(value) is int and 0 <= value < len(question.criteria) for value in gold.accepted)
    return all(isinstance(value, bool) for value in gold.accepted)


def _episodes(folder: Path, definition: Definition) -> tuple[dict[str, str], Cells, list[str]]:
    files: dict[str, str] = {}
    found: list[tuple[str, str, str, LockedUnit]] = []
    for path in sorted(path for path in (folder / definition.data).glob("*") if path.suffix in _RECORDINGS):
        relative = path.relative_to(folder).as_posix()
        name, tier, split, group, steps = _RECORDINGS[path.suffix](path)
        if tier not in definition.tier_names or split not in definition.splits:
            raise UsageError(f"{relative}: tier {tier!r}, split {split!r} are not declared in {definition.name}.toml")
        files[relative] = sha256_file(path)
        drawn = _trials(folder, path, name)
        files |= {each: sha256_file(folder / each) for each in drawn}
        unit = LockedUnit(sha256=files[relative], path=relative, steps=steps, group=group, trials=drawn)
        found.append((tier, split, name, unit))
    if not found:
        raise MissingNeed(f"{folder / definition.data} holds no recording (*{', *'.join(_RECORDINGS)})")
    strays = sorted(path.name for path in (folder / definition.data / TRIALS_FOLDER).glob("*"))
    if len(strays) != sum(len(unit.trials) for _, _, _, unit in found):
        raise UsageError(f"{definition.data}/{TRIALS_FOLDER} holds files of no episode, or a gap in their numbers")
    names = [name for _, _, name, _ in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"{definition.data}: the id {min(twice)!r} is used twice")
    cells: Cells = {}
    for tier in definition.tier_names:
        for split in definition.splits:
            cell = {name: unit for t, s, name, unit in sorted(found, key=lambda row: row[2]) if (t, s) == (tier, split)}
            if cell:
                cells.setdefault(tier, {})[split] = cell
    hardest = cells.get(definition.tier_names[-1], {}).get("test", {})
    return files, cells, [f"{name}#{step}" for name, unit in hardest.items() for step in range(unit.steps)]


def _trials(folder: Path, path: Path, name: str) -> tuple[str, ...]:
    """The other drawings of an episode, numbered from 1 without a gap, relative to ``folder``."""
    numbered = (path.parent / TRIALS_FOLDER / f"{name}.t{number}{path.suffix}" for number in count(1))
    return tuple(each.relative_to(folder).as_posix() for each in takewhile(Path.is_file, numbered))


Placed = tuple[str, str, str, str | None, int]
"""(id, tier, split, group, number of recorded steps) of a recording."""


def _zipped(path: Path) -> Placed:
    """Place of a zip.

    ``manifest.json`` holds the first four (``group`` may be absent); ``steps.jsonl`` has a line per step.
    """
    try:
        with zipfile.ZipFile(path) as recording:
            manifest = load(recording.read("manifest.json"))
            steps = sum(bool(line) for line in recording.read("steps.jsonl").split(b"\n"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UsageError(f"{path}: not a recording: {error}") from error
    return _placed(path, manifest, steps)


def _plain(path: Path) -> Placed:
    """Place of a JSON file, which holds its recorded steps under ``recorded``."""
    try:
        body = load(path.read_bytes())
        steps = len(body["recorded"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: not a recording: {error!r}") from error
    return _placed(path, body, steps)


def _placed(path: Path, manifest: dict[str, JSON], steps: int) -> Placed:
    lacking = [key for key in ("id", "tier", "split") if not isinstance(manifest.get(key), str)]
    if lacking:
        raise UsageError(f"{path}: its manifest lacks {', '.join(lacking)}")
    return manifest["id"], manifest["tier"], manifest["split"], manifest.get("group"), steps


_RECORDINGS: dict[str, Callable[[Path], Placed]] = {".zip": _zipped, ".json": _plain}
"""Suffix of a recording -> what reads its place."""


def changes(old: Lock, new: Lock) -> list[str]:
    """What of a lock would not be the same any more. New files (a new gold version) are no change."""
    differ = [f"{name} changed" for name, was in old.files.items() if name in new.files and new.files[name] != was]
    differ += [f"{name} is gone" for name in old.files if name not in new.files]
    if old.definition != new.definition:
        differ.append("the definition (tiers, rules, splits, suite, ...) changed")
    if {t: {s: list(ids) for s, ids in c.items()} for t, c in old.cells.items()} != {
        t: {s: list(ids) for s, ids in c.items()} for t, c in new.cells.items()
    }:
        differ.append("the ids of a tier or split changed")
    return differ


def lock(folder: Path, name: str, new_version: str | None = None) -> Path:
    """(Re)write the lock of a domain. With ``new_version``, its toml gets that version first.

    Raises:
        UsageError: something locked under this version would change, or ``new_version`` is the locked one.
    """
    if not toml_path(folder, name).is_file():
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise UsageError(f"{toml_path(folder, name)} does not exist (there are: {', '.join(known) or 'none'})")
    definition = read_definition(folder, name)
    old = read_lock(folder, name)
    if new_version is not None:
        if old is not None and new_version == old.version:
            raise UsageError(f"{name} is locked as version {old.version} already", hint="name a new version")
        definition = definition.model_copy(update={"version": new_version})
    new = build(folder, definition)
    if old is not None and new_version is None and (differ := changes(old, new)):
        raise UsageError(
            f"{name} {old.version} is locked, and this would change it: {'; '.join(differ[:5])}",
            hint=f"python -m arena.tasks.lock {name} --new-version X.Y.Z",
        )
    if new_version is not None:
        toml = toml_path(folder, name)
        text = toml.read_text("utf-8")
        toml.write_text(re.sub(r'(?m)^version = ".*"$', f'version = "{new_version}"', text, count=1), "utf-8")
        if read_definition(folder, name) != definition:
            toml.write_text(text, "utf-8")
            raise UsageError(f'{toml}: found no line `version = "..."` to set')
    path = lock_path(folder, name)
    body = new.model_dump(mode="json", exclude_defaults=True) | {"format": new.format}
    path.write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m arena.tasks.lock", description="Freeze a domain's files.")
    parser.add_argument("domain")
    parser.add_argument("--folder", type=Path, default=DATA, help="suite folder (default: the shipped one)")
    parser.add_argument("--new-version", help="suite version under which the changed files are frozen")
    options = parser.parse_args(arguments)
    try:
        path = lock(options.folder, options.domain, options.new_version)
    except ArenaError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    locked = read_lock(options.folder, options.domain)
    assert locked is not None
    for tier, splits in locked.cells.items():
        print(f"{tier}: " + ", ".join(f"{len(units)} {split}" for split, units in splits.items()))
    for tier in read_definition(options.folder, options.domain).tier_names:
        if not locked.cells.get(tier, {}).get("test"):
            print(f"warning: tier {tier} has no test unit: nothing can be selected there", file=sys.stderr)
    print(f"wrote {path}: {len(locked.files)} files, {len(locked.reliability_ids)} reliability decisions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
