"""A published site, opened in a real Chromium from its folder and over HTTP."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from board_runs import make_runs, registered
from playwright.sync_api import Browser, sync_playwright
from site_pages import Watched

from arena.leaderboard.publish import publish


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of six runs."""
    folder = tmp_path_factory.mktemp("site")
    made = make_runs(folder)
    with registered(folder / "suite"):
        return publish(list(made.values()), folder / "site").out


@pytest.fixture(scope="module")
def browser(site: Path, chromium: str) -> Iterator[Browser]:
    """Chromium, for this module alone: while it is open, no other test could start an event loop."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(params=["folder", "http"])
def home(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Address of the site: its folder, or a plain web server."""
    if request.param == "folder":
        yield f"{site.as_uri()}/"
        return

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def watched(browser: Browser, site: Path) -> Iterator[Watched]:
    """A desktop page on the site's folder; any fault fails the test."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        found = Watched(context.new_page(), f"{site.as_uri()}/")
        yield found
        assert not found.faults
