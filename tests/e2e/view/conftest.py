"""The real ``arena view`` over real runs: a hostile suite, recorded web pages, and a run that is still growing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from view_runs import decision, real_run, write_run
from view_watch import EPISODE, Served, Viewed

ARENA = [sys.executable, "-c", "from arena.cli.main import main; main()"]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Served]:
    """A viewer process and what it serves."""
    del chromium  # the web run needs it too
    folder = tmp_path_factory.mktemp("view")
    hostile = real_run(folder)
    root = hostile.parent
    evaluated = [*ARENA, "eval", "--model", "sparrow-nano", "--domain", "web", "--item", EPISODE, "--json"]
    done = subprocess.run([*evaluated, "--runs", str(root)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    web = Path(json.loads(done.stdout.splitlines()[-1])["run"]).name
    write_run(root / "growing", [decision(f"u{n}") for n in range(3)], packed=False)
    command = [*ARENA, "view", str(root), "--port", "0", "--no-open", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        home = str(json.loads(process.stdout.readline())["url"]).rstrip("/")
        yield Served(home, root, hostile.name, web, "growing")
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def browser(served: Served, chromium: str) -> Iterator[Browser]:
    """Chromium; its loop would be in the way of any other, so it starts after the runs and ends with the module."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def viewed(browser: Browser, served: Served) -> Iterator[Viewed]:
    """A desktop page; any fault fails the test."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        found = Viewed(context.new_page(), served.home)
        yield found
        assert not found.faults
