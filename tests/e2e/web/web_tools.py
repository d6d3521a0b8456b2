"""Helpers of the web tests: pages made of a few lines of HTML, and fixture episodes baked once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from arena.envs.gym import LoopThread
from arena.envs.web.browser import SharedBrowser
from arena.envs.web.observe import Observation
from arena.envs.web.options import Option, build_table
from arena.envs.web.page import LivePage
from arena.envs.web.recipe import Frame
from arena.envs.web.router import SiteRouter

FIXTURES = Path(__file__).resolve().parent / "fixtures"
T = TypeVar("T")


class Lab:
    """One browser and the loop it lives in, for all tests of a process."""

    loop: LoopThread | None = None
    browser: SharedBrowser | None = None

    @classmethod
    def close(cls) -> None:
        """Close the browser, if a test opened it."""
        if cls.loop is not None:
            if cls.browser is not None:
                cls.loop.run(cls.browser.aclose())
            cls.loop.close()
        cls.loop = cls.browser = None


def in_browser(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine in the loop of the shared browser."""
    if Lab.loop is None:
        Lab.loop = LoopThread()
    return Lab.loop.run(work)


@asynccontextmanager
async def page_of(html: str, more: Mapping[str, bytes] | None = None) -> AsyncIterator[LivePage]:
    """A live page at ``http://page.test/index.html`` with ``more`` files beside it."""
    if Lab.browser is None:
        Lab.browser = SharedBrowser()
    page = await Lab.browser.open(Frame(), SiteRouter("page", {"index.html": html.encode(), **(more or {})}))
    try:
        await page.open("http://page.test/index.html", seed=1, params={})
        yield page
    finally:
        await Lab.browser.close_page(page)


def named(observation: Observation) -> list[tuple[str, str]]:
    """(role, name) of every element, in document order."""
    return [(element.role, element.name) for element in observation.elements]


def option_for(observation: Observation, name: str, op: str = "click", arg: str | None = None) -> Option:
    """The option of an element by name."""
    values = [arg] if arg is not None else []
    options = build_table(observation, values).options
    return next(o for o in options if o.name == name and o.op == op and (arg is None or o.arg == arg))
