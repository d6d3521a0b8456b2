"""The command in this process, and a copy of the intent domain that a test may damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from run_tools import arena  # noqa: F401  # a fixture

from arena.tasks import definition


@pytest.fixture
def intent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite folder with the domain ``intent`` and no other; commands read it in place of the shipped one."""
    folder = tmp_path / "suites"
    shutil.copytree(definition.DATA / "intent", folder / "intent")
    for name in ("intent.toml", "intent.lock.json"):
        shutil.copy(definition.DATA / name, folder / name)
    monkeypatch.setattr(definition, "DATA", folder)
    return folder
