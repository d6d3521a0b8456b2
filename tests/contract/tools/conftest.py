"""Fixtures: see ``sandbox_engines``."""

from sandbox_engines import bwrap_backend, docker_backend, docker_host, image, sandbox_home  # noqa: F401
