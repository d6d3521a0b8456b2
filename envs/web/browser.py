"""The shared browser: started on first use, one context per session, the next context made ready meanwhile.

A page that hangs or crashes costs its own session. When even closing a page fails, the browser is replaced.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright

from arena.envs.web.chromium import browser_version, find_chromium, fonts_hash, launch
from arena.envs.web.limits import limited
from arena.envs.web.page import LivePage
from arena.envs.web.recipe import Frame, new_context
from arena.envs.web.router import Router
from arena.errors import ArenaError, Failure

Ready = tuple[BrowserContext, Page]


class SharedBrowser:
    """One browser for all sessions of an environment. Use it within one event loop."""

    def __init__(self, *, headed: bool = False) -> None:
        self.headed = headed
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._lock = asyncio.Lock()
        self._ready: dict[Frame, asyncio.Task[Ready]] = {}

    async def _start(self) -> Browser:
        async with self._lock:
            if self._browser is not None and self._browser.is_connected():
                return self._browser
            if self._playwright is None:
                self._playwright = await async_playwright().start()
            self._browser = await launch(self._playwright, headed=self.headed)
            return self._browser

    async def _make(self, frame: Frame) -> Ready:
        browser = await self._start()
        context = await new_context(browser, frame)
        return context, await context.new_page()

    async def open(self, frame: Frame, router: Router) -> LivePage:
        """A blank page under the recipe; makes the next one ready in the background.

        Raises:
            MissingNeed: no browser. Failure: ``env``; the browser does not open a page.
        """
        prepared = self._ready.pop(frame, None) or asyncio.ensure_future(self._make(frame))
        try:
            context, page = await limited(_wait(prepared), "opening a page", 60.0)
        except (ArenaError, Failure):
            raise
        except Exception as error:
            await self._drop_browser()
            raise Failure("env", f"opening a page: {str(error).splitlines()[0]}", cause=error) from error
        if frame not in self._ready:
            self._ready[frame] = asyncio.ensure_future(self._make(frame))
        return LivePage(context, page, router)

    async def close_page(self, page: LivePage) -> None:
        """Close a session's page, whatever state it is in."""
        try:
            await page.close()
        except Exception:
            await self._drop_browser()

    async def _drop_browser(self) -> None:
        browser, self._browser = self._browser, None
        await self._drop_ready()
        if browser is not None:
            with suppress(Exception):
                await limited(browser.close(), "closing the browser", 10.0)

    async def _drop_ready(self) -> None:
        tasks, self._ready = list(self._ready.values()), {}
        for task in tasks:
            if not task.done():
                task.cancel()
            with suppress(BaseException):
                context, _ = await task
                await limited(context.close(), "closing a page", 5.0)

    async def aclose(self) -> None:
        """Close the browser and its driver. Safe to call twice."""
        await self._drop_browser()
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            with suppress(Exception):
                await limited(playwright.stop(), "stopping the driver", 10.0)


async def _wait(task: asyncio.Future[Any]) -> Any:
    return await task


def versions() -> dict[str, str]:
    """What decides how a page looks: ``browser`` (its version), ``playwright`` and ``fonts`` (a hash).

    Raises:
        MissingNeed: there is no browser.
    """
    return {"browser": browser_version(find_chromium()), "playwright": version("playwright"), "fonts": fonts_hash()}
