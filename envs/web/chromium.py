"""Find a Chromium and start it closed to the network.

Order: ``ARENA_CHROMIUM``, an installed one (chromium, google-chrome), Playwright's own download. None of them
is a ``MissingNeed`` (exit code 4) that names the next command. Nothing is downloaded here.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import playwright
from playwright.async_api import Browser, Playwright
from playwright.async_api import Error as BrowserError

from arena.errors import MissingNeed
from arena.identity import digest

LOG = logging.getLogger(__name__)
INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

ARGUMENTS = (
    # No name resolves: a request that slips past the router ends in the browser.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
)

UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup")
"""Parts of the address bar that recent Chromium keeps as web pages of its own, in a renderer per window, also where no
window shows. Without them a third of the processor time of an episode is saved; a page cannot tell."""

_DRIVERS_OWN = re.compile(r"\bdisabledFeatures\s*=[^\[]{0,40}\[([^\]]*)\]")
_FEATURE = re.compile(r"//[^\n]*|[\"'](\w+)[\"']")
"""A comment, or a name in quotes: several names may stand on one line."""
_REVISION = re.compile(r"chromium-(\d+)")


def bundled_chromium() -> str | None:
    """Path of the newest Chromium that Playwright downloaded, None when it downloaded none."""
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ms-playwright"
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or default)
    names = ("chrome-linux*/chrome", "chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
    found = [path for name in names for path in folder.glob(f"chromium-[0-9]*/{name}")]
    return max(map(str, found), key=lambda path: int(_REVISION.findall(path)[-1]), default=None)


def find_chromium() -> str:
    """Path of the Chromium to use.

    Raises:
        MissingNeed: there is none, or ``ARENA_CHROMIUM`` names no file.
    """
    chosen = os.environ.get("ARENA_CHROMIUM")
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise MissingNeed(
                f"ARENA_CHROMIUM is {chosen!r}, which is no executable file", hint="unset it, or run: make browser"
            )
        return path
    for name in INSTALLED:
        if path := shutil.which(name):
            return path
    if path := bundled_chromium():
        return path
    raise MissingNeed(
        f"no browser: looked for ARENA_CHROMIUM, {', '.join(INSTALLED)} and Playwright's own Chromium",
        hint="install one with: make browser",
    )


def features_off(code: str) -> tuple[str, ...]:
    """What the driver switches off, as its own JavaScript says; empty where that says nothing."""
    found = _DRIVERS_OWN.search(code)
    return tuple(name for name in _FEATURE.findall(found[1]) if name) if found else ()


@lru_cache(maxsize=1)
def switched_off() -> str | None:
    """``--disable-features`` with what the driver switches off and ``UNSEEN``; None where the former is not found.

    Chromium takes the last of several such flags, so ours must repeat the driver's, which stands in its own code.
    """
    for path in sorted((Path(playwright.__file__).parent / "driver" / "package" / "lib").rglob("*.js")):
        if found := features_off(path.read_text("utf-8", errors="replace")):
            return f"--disable-features={','.join([*found, *UNSEEN])}"
    LOG.warning("the list of features that Playwright switches off was not found: pages open a little slower")
    return None


@lru_cache(maxsize=4)
def browser_version(path: str) -> str:
    """Version of the browser at ``path``, such as ``156.0.8078.114``; ``unknown`` when it does not say."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return next((word for word in done.stdout.split() if word[:1].isdigit()), "unknown")


def can_show() -> bool:
    """Whether a headed browser has a display to appear on."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


async def launch(driver: Playwright, *, headed: bool = False) -> Browser:
    """Start the browser.

    Raises:
        MissingNeed: no Chromium, or it does not start.
    """
    path = find_chromium()
    if headed and not can_show():
        raise MissingNeed(
            "a headed browser needs a display, and DISPLAY is not set", hint="run it headless, or xvfb-run"
        )
    try:
        return await _start(driver, path, headed, sandbox=os.geteuid() != 0)
    except BrowserError as error:
        raise MissingNeed(
            f"{path} does not start: {str(error).splitlines()[0]}",
            hint="try it by hand (chromium --headless --version), set ARENA_CHROMIUM, or run: make browser",
        ) from error


async def _start(driver: Playwright, path: str, headed: bool, *, sandbox: bool) -> Browser:
    """Chromium's sandbox refuses to run as root (containers, CI); a normal user keeps it where the system lets it."""
    try:
        return await driver.chromium.launch(
            executable_path=path,
            headless=not headed,
            args=[*ARGUMENTS, *filter(None, [switched_off()])],
            chromium_sandbox=sandbox,
            timeout=30_000,
            handle_sigint=False,
        )
    except BrowserError as error:
        if not sandbox or "sandbox" not in str(error).lower():
            raise
        LOG.warning("%s has no usable sandbox on this system; it runs without one, on recorded pages only", path)
        return await _start(driver, path, headed, sandbox=False)


@lru_cache(maxsize=1)
def fonts_hash() -> str:
    """Hash of the names of the installed font files: pixels depend on them. 16 hex digits, or ``unknown``."""
    tool = shutil.which("fc-list")
    if tool is None:
        return "unknown"
    done = subprocess.run([tool, ":", "file"], capture_output=True, text=True, timeout=20, check=False)
    names = sorted(Path(line.split(":")[0]).name for line in done.stdout.splitlines() if line.strip())
    return digest(names)
