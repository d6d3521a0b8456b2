"""One live page under the recipe: open, look, act, probe, close. Nothing here knows of gold or goals."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as BrowserError

from arena.envs.web.limits import CALL, limited
from arena.envs.web.observe import Observation, read_observation
from arena.envs.web.options import Option
from arena.envs.web.recipe import Settler, navigated, start_script
from arena.envs.web.router import Call, Router, misses
from arena.errors import Failure
from arena.types import JSON

T = TypeVar("T")
WAIT_MS = 1000


class LivePage:
    """A page of a context made by ``recipe.new_context``. ``router``: what it gets as its network."""

    def __init__(self, context: BrowserContext, page: Page, router: Router) -> None:
        self.context, self.page, self.router = context, page, router
        self.settler = Settler(page)
        self.popups = 0
        self._crashed = False
        page.on("crash", self._on_crash)
        context.on("page", self._on_popup)

    def _on_crash(self, _: Page) -> None:
        self._crashed = True

    def _on_popup(self, page: Page) -> None:
        self.popups += 1
        closing = asyncio.ensure_future(page.close())
        closing.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _call(self, call: Coroutine[Any, Any, T], doing: str, seconds: float = CALL) -> T:
        if self._crashed:
            call.close()
            raise Failure("env", f"{doing}: the page has crashed")
        try:
            return await limited(call, doing, seconds)
        except BrowserError as error:
            raise Failure("env", f"{doing}: {str(error).splitlines()[0]}", cause=error) from error

    async def open(self, url: str, *, seed: int, params: JSON) -> None:
        """Install the router and the start script, load ``url`` and settle.

        Raises:
            Failure: ``env``.
        """
        await self._call(self.router.install(self.context), "installing the router")
        await self._call(self.context.add_init_script(start_script(seed, params)), "adding the start script")
        await self._call(self.page.goto(url, wait_until="load", timeout=28_000), f"loading {url}")
        await self.settle()

    async def settle(self, scrolled: bool = False) -> None:
        """Wait until the page is at rest."""
        await self._call(self.settler.settle(scrolled), "settling", 70.0)

    async def _evaluate(self, expression: str, argument: JSON = None, doing: str = "reading the page") -> Any:
        for _ in range(4):
            try:
                if self._crashed:
                    raise Failure("env", f"{doing}: the page has crashed")
                return await limited(self.page.evaluate(expression, argument), doing)
            except BrowserError as error:
                if not navigated(error):
                    raise Failure("env", f"{doing}: {str(error).splitlines()[0]}", cause=error) from error
                await self.settle()
        raise Failure("env", f"{doing}: the page navigates without end")

    async def observe(self) -> Observation:
        """Look at the page.

        Raises:
            Failure: ``env``.
        """
        return read_observation(await self._evaluate("() => window.__arena__.observe()"))

    async def probe(self, conditions: Sequence[JSON]) -> list[JSON]:
        """The raw facts that conditions are about, in order; see ``arena.verifiers.web``."""
        if not conditions:
            return []
        found: list[JSON] = await self._evaluate("(list) => window.__arena__.probe(list)", list(conditions))
        return found

    async def app_state(self) -> str | None:
        """The whole state of one of our own sites as JSON text, None where a page has none."""
        state: str | None = await self._evaluate("() => window.__arena__.appState()")
        return state

    async def screenshot(self) -> bytes:
        """PNG of the viewport, 1 CSS pixel = 1 pixel."""
        call = self.page.screenshot(animations="disabled", caret="hide", scale="css", type="png", timeout=28_000)
        return await self._call(call, "taking the screenshot")

    async def act(self, option: Option) -> str | None:
        """Do what an option of the last observation says and settle. Returns what kept it from happening.

        Raises:
            Failure: ``env``.
        """
        before = len(self.settler.dialogs)
        note, scrolled = await self._do(option)
        await self.settle(scrolled)
        said = self.settler.dialogs[before:]
        return note or ("; ".join(said) if said else None)

    async def _do(self, option: Option) -> tuple[str | None, bool]:
        if option.op == "click":
            return await self._click(option)
        if option.op == "type":
            return await self._type(option)
        if option.op == "select":
            done = await self._evaluate(
                "([index, slot]) => window.__arena__.choose(index, slot)", [option.index, option.slot], "selecting"
            )
            return done.get("error"), False
        if option.op in ("scroll_down", "scroll_up"):
            await self._evaluate("(way) => window.__arena__.scroll(way)", 1 if option.op == "scroll_down" else -1)
            return None, True
        if option.op == "back":
            return await self._back(), False
        if option.op == "wait":
            await self.settler.advance(WAIT_MS)
        return None, False

    async def _click(self, option: Option) -> tuple[str | None, bool]:
        spot = await self._evaluate("(index) => window.__arena__.point(index)", option.index, "aiming")
        scrolled = bool(spot.get("scrolled"))
        if "error" in spot:
            return f"could not click: {spot['error']}", scrolled
        await self._call(self.page.mouse.click(spot["x"], spot["y"]), "clicking")
        # The pointer leaves, so that no hover effect depends on where the last click was.
        await self._call(self.page.mouse.move(0, 0), "moving the pointer away")
        return None, scrolled

    async def _type(self, option: Option) -> tuple[str | None, bool]:
        value = option.arg or ""
        field = await self._evaluate(
            "([index, value]) => window.__arena__.enter(index, value)", [option.index, value], "focusing the field"
        )
        if "error" in field:
            return f"could not type: {field['error']}", False
        if not field["set"]:
            keyboard = self.page.keyboard
            await self._call(keyboard.insert_text(value) if value else keyboard.press("Delete"), "typing")
        return None, bool(field["scrolled"])

    async def _back(self) -> str | None:
        session = await self._call(self.context.new_cdp_session(self.page), "reading the history")
        history = await self._call(session.send("Page.getNavigationHistory"), "reading the history")
        await self._call(session.detach(), "reading the history")
        at = history["currentIndex"]
        if at < 1 or history["entries"][at - 1]["url"] == "about:blank":
            return "there is no previous page"
        await self._call(self.page.go_back(wait_until="commit", timeout=28_000), "going back")
        return None

    def flags(self) -> list[str]:
        """What happened beside the actions: ``off_tape``, ``popup``, ``restless``."""
        found = []
        if misses(self.router):
            found.append("off_tape")
        if self.popups:
            found.append("popup")
        if self.settler.noisy:
            found.append("restless")
        return found

    def requests(self) -> list[JSON]:
        """The document loads and mutating requests so far, for ``net`` conditions."""
        return [_request(call) for call in self.router.calls if call.document or call.method not in ("GET", "HEAD")]

    async def close(self) -> None:
        """Close the context.

        Raises:
            Failure: ``env``; the browser does not even close it.
        """
        await limited(self.context.close(), "closing the page", 10.0)


def _request(call: Call) -> JSON:
    return {"method": call.method, "url": call.url, "hit": call.hit}
