"""Write a submission: the runs' own files, the states their lines name, what is declared, and the hash of it all.

Nothing is rewritten: logs are copied byte for byte, so two bundles of the same runs are the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from arena.errors import UsageError
from arena.identity import PROTOCOL, dump, sha256_file
from arena.leaderboard.audit import Audited, audit
from arena.leaderboard.recheck import Locked, Refused
from arena.leaderboard.submission.check import check
from arena.leaderboard.submission.claims import claim_of
from arena.leaderboard.submission.models import (
    NEEDS_REVIEW,
    SUBMISSION,
    SUMS,
    Declared,
    Submission,
)
from arena.log.blobs import Blobs
from arena.log.reader import CANARY, CONFIG, DECISIONS, EPISODES, SUMMARY
from arena.records import ModelCard


def prepare(runs: Sequence[Path], out: Path, declared: Declared, *, screenshots: bool = False) -> Path:
    """Bundle finished ``runs`` of one model into ``out``. ``screenshots``: take those of web steps along.

    Raises:
        UsageError: ``out`` holds something, or no run is given.
        Refused: a run that may not be submitted, with file and reason; nothing is left behind.
    """
    if not runs:
        raise UsageError("no run given", hint="arena submit prepare runs/RUN -o DIR --help")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists and is not empty", hint="choose another -o")
    locked = Locked()
    audited = [_fit(audit(folder, locked)) for folder in runs]
    submission = _submission(audited, declared)
    aside = out.with_name(f"{out.name}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for run, claim in zip(audited, submission.runs, strict=True):
            _copy_run(run.reader.folder, aside / claim.folder, _blobs(run, screenshots))
        (aside / SUBMISSION).write_bytes(dump(submission.model_dump(mode="json")) + b"\n")
        (aside / SUMS).write_text(sums(aside), "utf-8")
        report = check(aside)
        if report.refusals:
            told = "\n  ".join(f"{each.file}: {each.reason}" for each in report.refusals)
            raise Refused(f"these runs may not be submitted:\n  {told}")
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists():
            out.rmdir()
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return out


def sums(folder: Path) -> str:
    """``sha256  path`` of every file below ``folder`` but the list itself, by path."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return "".join(f"{sha256_file(folder / name)}  {name}\n" for name in files if name != SUMS)


def _fit(run: Audited) -> Audited:
    if run.imported:
        raise Refused(f"{run.reader.folder} holds imported answers: whoever made them submits them")
    return run


def _submission(audited: Sequence[Audited], declared: Declared) -> Submission:
    first, *others = audited
    for run in others:
        if run.resolved["model_card"] != first.resolved["model_card"]:
            raise Refused(
                f"{run.reader.folder} and {first.reader.folder} are of different models, versions or settings",
                hint="one submission is about one model: prepare them apart",
            )
    card = ModelCard.model_validate(first.resolved["model_card"])
    if card.identity.get(NEEDS_REVIEW) and not declared.terms_reviewed:
        raise Refused(
            f"publishing results of {card.name} {card.identity[NEEDS_REVIEW]}",
            hint="read the provider's terms; add --terms-reviewed if they allow it",
        )
    return Submission(
        protocol=PROTOCOL,
        arena=version("system-one-arena"),
        declared=declared,
        model=card,
        verified=card.verified,
        runs=tuple(claim_of(run) for run in audited),
    )


def _blobs(run: Audited, screenshots: bool) -> Iterator[str]:
    """Names of the blobs that a bundle needs: states of decisions, and screenshots when asked for."""
    for row in run.reader.rows():
        if row["state_blob"] is not None:
            yield row["state_blob"]
    if screenshots:
        for episode in run.reader.episode_rows():
            for step in [*episode["steps"], *([episode["final"]] if episode["final"] else [])]:
                yield from step["artifacts"].values()


def _copy_run(source: Path, target: Path, blobs: Iterator[str]) -> None:
    target.mkdir(parents=True)
    for name in (CONFIG, f"{DECISIONS}.gz", f"{EPISODES}.gz", SUMMARY, CANARY):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
        elif name != CANARY:
            raise Refused(f"{source / name} is missing: the run is not finished", hint="run the same command again")
    have, want = Blobs(source / "blobs"), Blobs(target / "blobs")
    for name in dict.fromkeys(blobs):
        want.path(name).parent.mkdir(parents=True, exist_ok=True)
        want.path(name).write_bytes(have.get(name))
