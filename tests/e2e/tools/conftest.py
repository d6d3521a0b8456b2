"""Fixtures: see ``sandbox_engines`` and ``run_tools``."""

from run_tools import arena  # noqa: F401
from sandbox_engines import bwrap_backend, docker_backend, docker_host, image, sandbox_home  # noqa: F401
