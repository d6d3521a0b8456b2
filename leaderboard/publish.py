"""Runs to a published site: audit, board, files, written whole.

A site is built beside its place and moved there, so a failure leaves the old one. Only a folder that arena wrote
(it holds ``manifest.json``) is ever replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from arena.errors import MissingNeed, UsageError
from arena.identity import sha256
from arena.leaderboard import board as boards
from arena.leaderboard import site
from arena.leaderboard.board import Board

MANIFEST = "manifest.json"
MADE_BY = "arena publish"


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """``out``: the site; ``files``: how many it holds; ``board``: what it shows."""

    out: Path
    files: int
    board: Board


def publish(paths: Sequence[Path], out: Path, partial: bool = False) -> Published:
    """Build the site of ``paths`` (runs, or folders of runs) at ``out``.

    Raises:
        Refused: a run that may not stand on a board, or runs that may not share one.
        UsageError: ``out`` holds something that arena did not write.
        MissingNeed: a package for pages or plots, or the right to write.
    """
    _may_replace(out)
    board = boards.build(boards.load(boards.find(paths), partial))
    aside = out.with_name(f".{out.name}.new")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        hashes = {}
        for name, content in site.files(board):
            target = aside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            hashes[name] = sha256(content)
        manifest = {"made_by": MADE_BY, "files": dict(sorted(hashes.items()))}
        (aside / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        if out.exists():
            shutil.rmtree(out)
        aside.rename(out)
    except OSError as error:
        raise MissingNeed(f"{out} cannot be written: {error.strerror or error}", hint="choose another -o") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Published(out, len(hashes), board)


def _may_replace(out: Path) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    manifest = out / MANIFEST
    try:
        ours = orjson.loads(manifest.read_bytes()).get("made_by") == MADE_BY
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours:
        raise UsageError(f"{out} exists and is not a site that arena wrote", hint="choose another -o FOLDER")
