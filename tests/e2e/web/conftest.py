"""Closes the browser that the web tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from web_tools import Lab


@pytest.fixture(scope="session", autouse=True)
def _close_lab() -> Iterator[None]:
    yield
    Lab.close()
