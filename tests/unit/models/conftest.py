"""Retry waits are zero, and no test of a model reads the caller's keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stamina

from arena.models.catalog import providers


@pytest.fixture(autouse=True)
def no_waits() -> Iterator[None]:
    """Attempts are counted as configured; the waits between them are nought."""
    with stamina.set_testing(True, attempts=100, cap=True):
        yield


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of a provider is set."""
    for provider in providers().values():
        if provider.auth.env:
            monkeypatch.delenv(provider.auth.env, raising=False)
