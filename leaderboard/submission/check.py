"""Check a submission from its bytes alone. Every fault is a refusal with a file and a reason; all are listed.

Order: what the bundle says of itself, its hashes, secrets, then each run: its header, every line against the schema,
the audit of ``leaderboard.audit`` (gates, golds, items, end states, summary), completeness, and the claims.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError

from arena.errors import ArenaError, UsageError
from arena.identity import PROTOCOL, dump, sha256_file
from arena.leaderboard.audit import Audited, audit
from arena.leaderboard.recheck import Locked
from arena.leaderboard.submission.claims import claim_of
from arena.leaderboard.submission.complete import missing
from arena.leaderboard.submission.models import (
    NEEDS_REVIEW,
    SUBMISSION,
    SUMS,
    RunClaim,
    RunHeader,
    Submission,
)
from arena.leaderboard.submission.secrets import Scanner
from arena.log.reader import CONFIG, DECISIONS, EPISODES, SUMMARY, RunReader, iter_lines, log_file
from arena.records import Decision, Episode

TEXTS = frozenset({".json", ".gz", ".jsonl", ""})
"""Files that are looked through for secrets: JSON, logs, states (blobs have no suffix), the sums."""

PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a bundle is not taken. ``file``: where, relative to the bundle. ``rule``: short name."""

    rule: str
    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. ``submission``: None when ``submission.json`` itself cannot be read."""

    submission: Submission | None
    refusals: tuple[Refusal, ...]


def check(folder: Path) -> Report:
    """Check the bundle in ``folder``.

    Raises:
        UsageError: it is no bundle at all.
    """
    if not (folder / SUBMISSION).is_file():
        raise UsageError(f"{folder} is no submission: it has no {SUBMISSION}", hint="arena submit prepare RUN -o DIR")
    try:
        submission = Submission.model_validate_json((folder / SUBMISSION).read_bytes())
    except ValidationError as error:
        return Report(None, (Refusal("schema", SUBMISSION, _first(error)),))
    found = [*_about(submission), *_hashes(folder)]
    if not any(each.rule == "hash" for each in found):
        found += _secrets(folder)
        locked = Locked()
        for claim in submission.runs:
            found += _run(folder, claim, submission, locked)
        found += _strangers(folder, submission)
    return Report(submission, tuple(found))


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'the top'}: {first['msg']}"


def _about(submission: Submission) -> Iterator[Refusal]:
    """What the bundle says of itself."""
    if submission.protocol != PROTOCOL:
        told = f"protocol {submission.protocol}, this arena checks {PROTOCOL}"
        yield Refusal("protocol", SUBMISSION, told)
    card = submission.model
    if submission.verified != card.verified:
        told = f"labelled {submission.verified!r}, but the model's card says {card.verified!r}"
        yield Refusal("verified", SUBMISSION, told)
    if card.identity.get(NEEDS_REVIEW) and not submission.declared.terms_reviewed:
        told = f"publishing results of {card.name} {card.identity[NEEDS_REVIEW]}, and terms_reviewed is false"
        yield Refusal("terms", SUBMISSION, told)
    folders = [claim.folder for claim in submission.runs]
    for name in sorted({name for name in folders if folders.count(name) > 1}):
        yield Refusal("claims", SUBMISSION, f"{name} is claimed twice")


def _hashes(folder: Path) -> Iterator[Refusal]:
    """Every file is listed with its sha256, and nothing else is there."""
    try:
        lines = (folder / SUMS).read_text("utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        yield Refusal("hash", SUMS, f"cannot be read: {error}")
        return
    listed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        expected, _, name = line.partition("  ")
        path = PurePosixPath(name)
        if len(expected) != 64 or not name or path.is_absolute() or ".." in path.parts:
            yield Refusal("hash", f"{SUMS}:{number}", "expected a sha256, two spaces and a path inside the bundle")
        listed[name] = expected
    there: set[str] = set()
    for path_ in sorted(folder.rglob("*")):
        name = path_.relative_to(folder).as_posix()
        if path_.is_symlink() or not (path_.is_dir() or path_.is_file()):
            yield Refusal("hash", name, "is a link or no plain file")
        elif path_.is_file() and name != SUMS:
            there.add(name)
            found = sha256_file(path_)
            if name not in listed:
                yield Refusal("hash", name, f"is not in {SUMS}")
            elif found != listed[name]:
                yield Refusal("hash", name, f"{SUMS} says {listed[name][:12]}..., its bytes give {found[:12]}...")
    for name in sorted(listed.keys() - there):
        yield Refusal("hash", name, f"is in {SUMS} but not in the bundle")


def _secrets(folder: Path) -> Iterator[Refusal]:
    scanner = Scanner(os.environ)
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix not in TEXTS:
            continue
        name = path.relative_to(folder).as_posix()
        try:
            for number, what in scanner.find(_text_lines(path)):
                yield Refusal("secret", f"{name}:{number}", f"holds what looks like a secret: {what}")
        except ArenaError as error:
            yield Refusal("log", name, str(error))


def _text_lines(path: Path) -> Iterator[bytes]:
    if path.suffix == ".gz":
        yield from (line for _, line in iter_lines(path))
        return
    with path.open("rb") as handle:
        if handle.read(len(PNG)) == PNG:
            return
        handle.seek(0)
        yield from handle


def _run(folder: Path, claim: RunClaim, submission: Submission, locked: Locked) -> Iterator[Refusal]:
    """Everything about one run; stops at the first step that makes the next ones meaningless."""
    root = folder / claim.folder
    absent = [name for name in (CONFIG, f"{DECISIONS}.gz", f"{EPISODES}.gz", SUMMARY) if not (root / name).is_file()]
    if absent:
        yield from (Refusal("files", f"{claim.folder}/{name}", "is missing") for name in absent)
        return
    schema_faults = [*_header(root, claim), *_lines(root, claim)]
    if schema_faults:
        yield from schema_faults
        return
    reader = RunReader(root)
    yield from _header_faults(reader, claim, submission)
    try:
        audited = audit(root, locked)
        yield from _claims(audited, claim)
        yield from (Refusal("complete", claim.folder, reason) for reason in missing(reader, locked))
        yield from _golds_and_states(reader, claim, locked)
    except ArenaError as error:
        yield Refusal("audit", claim.folder, error.message.replace(f"{folder}/", ""))


def _header(root: Path, claim: RunClaim) -> Iterator[Refusal]:
    try:
        RunHeader.model_validate_json((root / CONFIG).read_bytes())
    except ValidationError as error:
        yield Refusal("schema", f"{claim.folder}/{CONFIG}", _first(error))


def _lines(root: Path, claim: RunClaim) -> Iterator[Refusal]:
    """The first line of each log that is not one of its schema."""
    logs: dict[str, type[BaseModel]] = {DECISIONS: Decision, EPISODES: Episode}
    for name, model in logs.items():
        path = log_file(root, name)
        assert path is not None
        try:
            for number, line in iter_lines(path):
                try:
                    model.model_validate_json(line)
                except ValidationError as error:
                    yield Refusal("schema", f"{claim.folder}/{path.name}:{number}", _first(error))
                    break
        except ArenaError as error:
            yield Refusal("log", f"{claim.folder}/{path.name}", error.message)


def _header_faults(reader: RunReader, claim: RunClaim, submission: Submission) -> Iterator[Refusal]:
    config, where = reader.config, f"{claim.folder}/{CONFIG}"
    if config["limited"]:
        yield Refusal("limited", where, "a limited run (--limit or --item) never enters a board")
    if config.get("imported"):
        yield Refusal("imported", where, "imported answers: whoever made them submits them")
    if dump(config["resolved"]["model_card"], sort=True) != dump(submission.model.model_dump(mode="json"), sort=True):
        yield Refusal("claims", where, "the run's model card is not the one of the submission")


def _claims(run: Audited, claim: RunClaim) -> Iterator[Refusal]:
    expected = claim_of(run).model_dump(exclude={"folder"})
    for key, value in claim.model_dump(exclude={"folder"}).items():
        if value != expected[key]:
            told = f"{claim.folder} is claimed with {key} {value!r}, its log gives {expected[key]!r}"
            yield Refusal("claims", SUBMISSION, told)


def _golds_and_states(reader: RunReader, claim: RunClaim, locked: Locked) -> Iterator[Refusal]:
    """Golds of the version in force, and every state that a line names by its hash."""
    told: set[str] = set()
    for number, row in enumerate(reader.rows(), 1):
        where, blob = f"{claim.folder}/{DECISIONS}.gz:{number}", row["state_blob"]
        each = locked.domain(row["domain"])
        if row["gold"] is not None and each.gold_versions and row["gold"]["version"] != each.gold_versions[-1]:
            now = each.gold_versions[-1]
            fault = f"gold {row['gold']['version']} of {row['domain']}; the version in force is {now}"
            if fault not in told:
                yield Refusal("gold", where, fault)
            told.add(fault)
        if blob is not None and blob not in told:
            told.add(blob)
            try:
                reader.blobs.get(blob)
            except ArenaError as error:
                yield Refusal("files", where, f"its state cannot be read: {error.message}")


def _strangers(folder: Path, submission: Submission) -> Iterator[Refusal]:
    """Files that no run of the bundle accounts for."""
    roots = {claim.folder for claim in submission.runs}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in (SUBMISSION, SUMS) and "/".join(name.split("/")[:2]) not in roots:
            yield Refusal("files", name, "belongs to no run of this submission")
