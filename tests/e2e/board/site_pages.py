"""A page of the site under watch: whatever it does that it should not is remembered."""

from __future__ import annotations

from playwright.sync_api import Page, Request


class Watched:
    """A page and all it did that it should not: requests elsewhere, dialogs, errors on the console."""

    def __init__(self, page: Page, home: str) -> None:
        self.page, self.home = page, home
        self.faults: list[str] = []
        page.on("request", self._request)
        page.on("dialog", lambda dialog: self._fault(f"dialog {dialog.message}", dialog.dismiss))
        page.on("pageerror", lambda error: self._fault(f"error {error}"))
        page.on("console", lambda message: message.type in ("error", "warning") and self._fault(message.text))

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.faults.append(f"request {request.url}")

    def _fault(self, text: str, then: object = None) -> None:
        self.faults.append(text)
        if callable(then):
            then()

    def go(self, path: str = "index.html") -> Page:
        """Open a page of the site."""
        self.page.goto(self.home + path)
        return self.page
