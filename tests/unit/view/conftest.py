"""A real run for the viewer's unit tests, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from view_runs import real_run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run with reliability and probes."""
    return real_run(tmp_path_factory.mktemp("view"))
