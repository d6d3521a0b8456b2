"""Pages that hang, crash, flood or open windows: each ends as data, within its limits, and hurts no other page."""

from __future__ import annotations

from time import perf_counter

import pytest
from web_tools import in_browser, option_for, page_of

from arena.envs.web import limits
from arena.envs.web.observe import Observation
from arena.envs.web.options import build_table
from arena.envs.web.page import LivePage
from arena.envs.web.scene import cut
from arena.errors import Failure

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]

GO = "<button onclick=go()>Go</button><script>function go(){%s}</script>"


def click(html: str, seconds: float = 40.0) -> tuple[Observation, str | None, list[str]]:
    async def run() -> tuple[Observation, str | None, list[str]]:
        async with page_of(html) as page:
            note = await page.act(option_for(await page.observe(), "Go"))
            return await page.observe(), note, page.flags()

    begun = perf_counter()
    try:
        return in_browser(run())
    finally:
        assert perf_counter() - begun < seconds


def test_an_alert_is_answered_and_told() -> None:
    seen, note, _ = click(GO % "alert('Saved'); document.title='after'")
    assert (seen.title, note) == ("after", "alert: Saved")


def test_a_question_on_leaving_does_not_hold_the_page() -> None:
    leave = "addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'stay'; });"
    seen, _, _ = click(f"<script>{leave}</script>" + GO % "location.search = 'next'")
    assert seen.url.endswith("?next")


def test_windows_do_not_open() -> None:
    seen, _, _ = click(
        GO % "for (let i = 0; i < 40; i += 1) window.open('/'); document.title = String(window.open('/'))"
    )
    assert (seen.popups, seen.title) == (41, "null")


def test_what_would_open_in_another_tab_opens_here() -> None:
    seen, _, flags = click("<a href=/index.html?there target=_blank>Go</a>")
    assert (seen.url, flags) == ("http://page.test/index.html?there", [])
    seen, _, flags = click("<form target=other><input name=q value=1><button>Go</button></form>")
    assert (seen.url, flags) == ("http://page.test/index.html?q=1", [])


def test_timers_of_zero_milliseconds_end() -> None:
    seen, _, _ = click(
        "<p id=n>0</p>" + GO % "setInterval(() => { n.textContent = Number(n.textContent) + 1 }, 0);"
        "const again = () => setTimeout(again, 0); again()"
    )
    assert 50 <= int(seen.text.split()[0]) <= 100, "300 ms of the page's clock at 4 ms and more"


def test_a_text_without_end_is_cut() -> None:
    seen, _, _ = click("<p id=p></p>" + GO % "p.textContent = 'word '.repeat(2000000)")
    assert len(seen.text) <= 200_100
    shown = cut(seen.text)
    assert len(shown) < 6100
    assert shown.endswith(f"[cut: {len(seen.text) - 6000} more characters are on the page]")


def test_many_elements_are_capped() -> None:
    seen, _, _ = click(GO % "for (let i = 0; i < 3000; i += 1) document.body.append(document.createElement('button'))")
    table = build_table(seen, [])
    assert len(table.options) == 255
    assert table.dropped == len(seen.elements) - 249 > 2000


@pytest.mark.parametrize(
    "script",
    ["while (true);", "while (true) alert('again')", "(function f() { Promise.resolve().then(f) })()"],
    ids=["loop", "alerts", "microtasks"],
)
def test_a_page_that_hangs_is_a_failure_of_the_env(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FACTOR", 0.1)
    with pytest.raises(Failure, match="did not answer within") as caught:
        click(GO % script)
    assert caught.value.boundary == "env"
    seen, _, _ = click(GO % "document.title = 'alive'")
    assert seen.title == "alive", "the next page is not harmed"


def test_a_page_that_navigates_without_end_is_flagged() -> None:
    on = "setTimeout(() => { location.href = '/index.html?' + Math.random() }, 5)"
    _, _, flags = click(f"<script>{on}</script><button>Go</button>")
    assert flags == ["restless"]


def test_a_crash_is_a_failure_of_the_env() -> None:
    async def run() -> None:
        async with page_of("<button>Go</button>") as page:
            await page.observe()
            await _crash(page)
            await page.observe()

    with pytest.raises(Failure, match=r"crash|closed") as caught:
        in_browser(run())
    assert caught.value.boundary == "env"
    seen, _, _ = click(GO % "document.title = 'alive'")
    assert seen.title == "alive"


async def _crash(page: LivePage) -> None:
    with pytest.raises(Exception, match=r"(?i)crash|closed|did not answer"):
        await limits.limited(page.page.goto("chrome://crash", timeout=5000), "crashing", 8.0)


def test_nothing_leaves_the_recording() -> None:
    html = GO % (
        "fetch('http://example.com/steal?x=1').catch((e) => { document.title = 'refused' });"
        "new WebSocket('ws://example.com/').onerror = () => {}; new Image().src = 'https://example.org/pixel.gif'"
    )

    async def run() -> tuple[str, list[str], list[str]]:
        async with page_of(html) as page:
            await page.act(option_for(await page.observe(), "Go"))
            calls = [call.url for call in page.router.calls if call.hit == "miss"]
            return (await page.observe()).title, calls, page.flags()

    title, calls, flags = in_browser(run())
    assert title == "refused"
    assert sorted(calls) == ["http://example.com/steal?x=1", "https://example.org/pixel.gif", "ws://example.com/"]
    assert "off_tape" in flags


def test_workers_are_refused_by_name() -> None:
    seen, _, _ = click(GO % "try { new Worker('x.js') } catch (e) { document.title = e.message }")
    assert seen.title == "Worker is refused: it cannot be replayed"
    assert seen.refused == ("Worker",)
