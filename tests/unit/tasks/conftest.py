"""The fixture ``suite``: see ``suite_maker``."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_maker import use, write_episodes, write_static

from arena.tasks.lock import lock


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with both domains, locked; the registry knows these and no others."""
    folder = tmp_path / "suite"
    write_static(folder)
    write_episodes(folder)
    lock(folder, "mail")
    lock(folder, "pages")
    use(monkeypatch, folder)
    return folder
