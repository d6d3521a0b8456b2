"""Fixtures: see ``sandbox_engines``."""

from sandbox_engines import (  # noqa: F401
    backend,
    box,
    bwrap_backend,
    docker_backend,
    docker_host,
    image,
    pool,
    real_backend,
    real_box,
    sandbox_home,
)
