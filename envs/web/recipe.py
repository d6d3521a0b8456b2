"""The determinism recipe: what must be fixed, in this order, so that a page is the same page on every replay.

1. context options (viewport, scale, locale, time zone, reduced motion, no service workers); 2. seeded
randomness and in-flight counters, before the clock; 3. the page's clock, installed and paused; 4. clamped
timers, after it; 5. no animation, transition or caret; 6. settle: three ticks of the clock, each behind the
quiet gate (no request in flight, no navigation pending), and the gate once more.
"""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from playwright.async_api import Browser, BrowserContext, Dialog, Page
from playwright.async_api import Error as BrowserError

from arena.envs.web.limits import limited
from arena.types import JSON, Frozen

TICKS, TICK_MS = 3, 100
GATE_MS, RESTLESS_GATE_MS = 5000, 500
"""Real milliseconds to wait for quiet; the second once a page has shown that it never is."""
MAX_RESTARTS = 3


class Frame(Frozen):
    """What is fixed around a page. ``t0``: the page's clock at the start, Unix seconds."""

    width: int = 1280
    height: int = 720
    locale: str = "en-GB"
    timezone: str = "UTC"
    t0: int = 1_780_000_000


@lru_cache(maxsize=8)
def script(name: str) -> str:
    """Source of one of the page scripts."""
    return (files("arena.envs.web") / "js" / name).read_text(encoding="utf-8")


def start_script(seed: int, params: JSON) -> str:
    """Runs last: the seed of the page's randomness, and the seed and knobs that our own sites read."""
    arena = json.dumps({"seed": seed, "params": params}).replace("<", "\\u003c")
    return f"window.__arena__.seed = {seed & 0xFFFFFFFF}; window.__ARENA__ = {arena};"


async def new_context(browser: Browser, frame: Frame) -> BrowserContext:
    """A context in which every page follows the recipe; routes and the start script are still to be added."""
    context = await browser.new_context(
        viewport={"width": frame.width, "height": frame.height},
        device_scale_factor=1,
        locale=frame.locale,
        timezone_id=frame.timezone,
        reduced_motion="reduce",
        service_workers="block",
        accept_downloads=False,
    )
    context.set_default_timeout(28_000)
    await context.add_init_script(script("seed.js"))
    await context.clock.install(time=float(frame.t0))
    await context.clock.pause_at(float(frame.t0 + 1))
    await context.add_init_script(script("clamp.js"))
    await context.add_init_script(script("observe.js"))
    return context


class Settler:
    """Brings a page to rest and counts what stood in the way. ``dialogs``: texts of alerts and the like."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.noisy = 0
        page.on("dialog", self._answer)

    async def _answer(self, dialog: Dialog) -> None:
        # A dialog stops the page until it is answered; there is nothing to choose, so it is always accepted.
        if len(self.dialogs) < 50:
            self.dialogs.append(f"{dialog.type}: {dialog.message[:200]}")
        try:
            await dialog.accept()
        except BrowserError:
            return  # the page has gone

    async def _gate(self, scrolled: bool = False) -> str:
        limit = RESTLESS_GATE_MS if self.noisy else GATE_MS
        for _ in range(8):
            try:
                seen: dict[str, Any] = await self.page.evaluate(
                    "([limit, scrolled]) => window.__arena__.gate(limit, scrolled)", [limit, scrolled]
                )
            except BrowserError as error:
                # A navigation replaced the document under the gate: wait for the new one and look again.
                if not navigated(error):
                    raise
                await self.page.wait_for_load_state("load")
                await asyncio.sleep(0)
                continue
            self.noisy += not seen["quiet"]
            return str(seen["token"])
        raise BrowserError("the page navigates without end")

    async def _settle(self, scrolled: bool) -> None:
        token = await self._gate(scrolled)
        restarts = ticks = 0
        while ticks < TICKS:
            try:
                await self.page.clock.run_for(TICK_MS)
            except BrowserError as error:
                # A clock belongs to the context: a window that is just being closed may answer for it.
                if not navigated(error) and (self.page.is_closed() or "has been closed" not in str(error)):
                    raise
            now = await self._gate()
            ticks += 1
            if now != token:
                # A timer led to another document; it gets its full ticks as well, but not for ever.
                restarts += 1
                token, ticks = now, 0 if restarts <= MAX_RESTARTS else ticks
        self.noisy += restarts > MAX_RESTARTS

    async def settle(self, scrolled: bool = False) -> None:
        """Advance the page's clock by 300 ms (more when it changes documents) and wait for quiet.

        Raises:
            Failure: ``env``; the page hangs.
        """
        await limited(self._settle(scrolled), "waiting for the page to be quiet", 60.0)

    async def advance(self, milliseconds: int) -> None:
        """Let the page's clock run on."""
        try:
            await limited(self.page.clock.run_for(milliseconds), "advancing the page's clock")
        except BrowserError as error:
            if not navigated(error):
                raise


def navigated(error: BrowserError) -> bool:
    """Whether the error only says that the document was replaced meanwhile."""
    text = str(error)
    return "context was destroyed" in text or "because of a navigation" in text or "frame was detached" in text
