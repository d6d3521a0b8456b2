"""A suite, a finished run on it and its bundle, made once by the real commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_runs import evaluate, registered, script, write_suite
from submission_made import DECLARED, Made

from arena.leaderboard.submission import prepare


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("submission")
    write_suite(folder / "suite")
    told = script(folder / "hasty.json", hasty=True)
    with registered(folder / "suite"):
        asked = ("--domain", "alpha", "--reliability", "--probes")
        run = evaluate(folder / "runs", "--model", "fake", "--script", told, *asked)
        prepare([run], folder / "bundle", DECLARED)
    return Made(folder / "suite", folder / "runs", run, folder / "bundle")


@pytest.fixture
def bundle(made: Made, tmp_path: Path) -> Iterator[Path]:
    """A copy of the bundle that a test may spoil, with the registry it was made under."""
    target = tmp_path / "bundle"
    shutil.copytree(made.bundle, target)
    with registered(made.suite):
        yield target
