"""Runs made once for all tests here; each test sees the registry that they were made with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from board_runs import make_runs, registered

from arena.leaderboard.publish import publish


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> run folder."""
    return make_runs(tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="session")
def site(made: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of three of the runs; tests read it."""
    with registered(made["careful"].parent.parent / "suite"):
        chosen = [made[name] for name in ("careful", "hasty", "constant")]
        return publish(chosen, tmp_path_factory.mktemp("published") / "site").out


@pytest.fixture
def runs(made: dict[str, Path]) -> Iterator[dict[str, Path]]:
    """The runs, with their suite as the registry."""
    with registered(made["careful"].parent.parent / "suite"):
        yield made
