"""The command in this process, and an engine for it; see ``run_tools`` and ``sandbox_engines``."""

from run_tools import arena  # noqa: F401
from sandbox_engines import docker_host, image, sandbox_home  # noqa: F401
