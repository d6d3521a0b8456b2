"""Bind the viewer to this machine and serve it until it is stopped."""

from __future__ import annotations

import socket
from pathlib import Path

from arena.errors import MissingNeed, UsageError

HOST = "127.0.0.1"
PORT = 8321
"""Where the viewer listens unless told otherwise, so that links to it stay good; any free port when it is taken."""

NEED = "pip install 'system-one-arena[view]'"


def require() -> None:
    """Check that the extra ``view`` is installed.

    Raises:
        MissingNeed: it is not; the hint is the command that installs it.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingNeed(f"arena view needs {error.name}", hint=NEED) from error


def bind(port: int | None) -> socket.socket:
    """A listening socket on 127.0.0.1. ``None``: ``PORT``, or any free one when that is taken; 0: any free one.

    Raises:
        UsageError: the port asked for cannot be had.
    """
    try:
        return _listening(PORT if port is None else port)
    except OSError as error:
        if port is None:
            return _listening(0)
        raise UsageError(
            f"port {port} cannot be had: {error.strerror}", hint="use --port 0 for any free one"
        ) from error


def _listening(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
        sock.listen(128)
    except OSError:
        sock.close()
        raise
    return sock


def serve(root: Path, sock: socket.socket) -> None:
    """Serve the runs under ``root`` on ``sock`` until interrupted."""
    import uvicorn

    from arena.view.app import create_app

    config = uvicorn.Config(
        create_app(root), log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none"
    )
    uvicorn.Server(config).run(sockets=[sock])
