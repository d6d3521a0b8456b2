"""Fixtures: see ``run_tools``."""

from run_tools import arena  # noqa: F401
