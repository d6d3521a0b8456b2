"""The command in this process."""

from run_tools import arena  # noqa: F401  # a fixture
