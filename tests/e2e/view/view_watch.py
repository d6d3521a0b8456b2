"""A page of the viewer under watch: whatever it does that it should not is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, Request, expect

EPISODE = "shop-t1-01"


@dataclass(frozen=True)
class Served:
    """``home``: address without a slash at the end. The rest: names of its runs, and their folder."""

    home: str
    root: Path
    hostile: str
    web: str
    growing: str


class Viewed:
    """A page and its faults: requests elsewhere, dialogs, errors on the console, failed answers."""

    def __init__(self, page: Page, home: str) -> None:
        self.page, self.home = page, home
        self.faults: list[str] = []
        page.on("request", self._request)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.faults.append(f"error {error}"))
        page.on("console", lambda message: message.type in ("error", "warning") and self.faults.append(message.text))

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:")):
            self.faults.append(f"request {request.url}")

    def _dialog(self, dialog: object) -> None:
        self.faults.append(f"dialog {dialog}")

    def go(self, path: str) -> Page:
        """Open a page of the viewer; its log may still be read: wait for that."""
        self.page.goto(self.home + path)
        expect(self.page.locator(".tabs progress")).to_have_count(0, timeout=60_000)
        return self.page
