"""The examples in the docstrings of metrics, reliability formulas and statistics are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import arena.leaderboard.stats
import arena.reliability.metrics

FORMULAS = [f"arena.reliability.{name}" for name in ("abstention", "index", "probes", "stability")]
MODULES = FORMULAS + [
    found.name
    for package in (arena.reliability.metrics, arena.leaderboard.stats)
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
]
WITHOUT_EXAMPLES = {"columns", "summary"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried > 0 or name.rsplit(".", 1)[1] in WITHOUT_EXAMPLES
