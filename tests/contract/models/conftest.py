"""Servers that decide, well and badly: a scripted fault server and a real one of another project.

Retry waits are zero, and no test of a model reads the caller's keys.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from time import monotonic, sleep

import pytest
import stamina
from decision_server import FaultServer, handler

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


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A fault server on a free port."""
    state = FaultServer("")
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler(state))
    http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are part of the test
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture(scope="module")
def sparrow_url() -> Iterator[str]:
    """The address of sparrow-decider's own server, another program that speaks the wire format."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sparrow_decider.cli", "serve", "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        assert str(port) in process.stderr.readline()
        deadline = monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert monotonic() < deadline
                sleep(0.05)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)
