"""Shared fixtures: where published data lies, and what a run of the tests must not skip.

``ARENA_REQUIRE`` lists what must be there (``shared,browser,engine``): CI sets it, so a missing part
fails; without it the tests that need the part are skipped and say so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow, which is no fault of a test; CI draws the same examples every time.
settings.register_profile(
    "arena", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("arena")

ROOT = Path(__file__).resolve().parent.parent


def missing(part: str, why: str) -> None:
    """Skip the test, or fail it when the environment says that ``part`` must be there."""
    if part in os.environ.get("ARENA_REQUIRE", "").split(","):
        pytest.fail(f"ARENA_REQUIRE names {part!r}, but {why}", pytrace=False)
    pytest.skip(f"{part}: {why}")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with answers and recordings that others published."""
    folder = Path(os.environ.get("ARENA_SHARED", str(ROOT.parent / "shared"))) / "data"
    if not folder.is_dir():
        missing("shared", f"{folder} does not exist (set ARENA_SHARED)")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the Chromium that tests with the marker ``browser`` drive."""
    from arena.envs.web.chromium import find_chromium
    from arena.errors import MissingNeed

    try:
        return find_chromium()
    except MissingNeed as error:
        missing("browser", str(error))
        raise
