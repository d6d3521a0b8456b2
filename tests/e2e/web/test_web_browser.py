"""How the browser is started: with the driver's own settings, and without pages that nobody sees."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import async_playwright

from arena.envs.web.chromium import ARGUMENTS, UNSEEN, features_off, launch

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]


async def _started() -> tuple[str, list[dict[str, Any]]]:
    """(command line, targets) of a browser with one open page."""
    async with async_playwright() as driver:
        browser = await launch(driver)
        try:
            page = await (await browser.new_context()).new_page()
            await page.goto("data:text/html,<p>here")
            session = await browser.new_browser_cdp_session()
            line = await session.send("SystemInfo.getInfo")
            targets = await session.send("Target.getTargets", {"filter": [{}]})
            return str(line["commandLine"]), list(targets["targetInfos"])
        finally:
            await browser.close()


def test_only_the_page_is_open_and_the_driver_keeps_what_it_switches_off() -> None:
    """Chromium hears the last of several such flags alone."""
    line, targets = asyncio.run(_started())
    assert {target["url"] for target in targets} == {"data:text/html,<p>here"}, targets
    driver, ours = (each.split(",") for each in re.findall(r"--disable-features=(\S+)", line))
    assert driver
    assert ours == [*driver, *UNSEEN]
    assert all(argument in line for argument in ARGUMENTS)


def test_the_drivers_list_is_read_however_it_is_laid_out() -> None:
    lines = """x = 1;
    var disabledFeatures = [
      // See "https://a.test/1".
      "One",
      'Two' // "no"
    ].filter(Boolean);"""
    assert features_off(lines) == features_off('disabledFeatures=["One","Two"];') == ("One", "Two")
    assert features_off("nothing = []") == features_off("disabledFeatures = []") == ()
