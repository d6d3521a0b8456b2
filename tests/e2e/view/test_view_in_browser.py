"""The viewer as people use it: filter, open, compare orders, walk an episode, go back, by keyboard, on a phone."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from board_runs import arena
from playwright.sync_api import Browser, Page, expect
from view_runs import decision, line
from view_watch import EPISODE, Served, Viewed

pytestmark = pytest.mark.browser

SERIOUS = ("serious", "critical")
WIDTHS = (320, 600, 800, 1100)


def total(page: Page) -> int:
    return int(page.locator("#total").inner_text().replace(",", ""))


def test_filters_narrow_the_table_and_stand_in_the_url(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.hostile}/decisions")
    everything = total(page)
    page.get_by_role("link", name="Wrong").click()
    wrong = total(page)
    assert 0 < wrong < everything
    expect(page.locator("[data-rows] tbody tr").first).to_contain_text("wrong")
    page.get_by_label("Form").select_option("reorder")
    page.wait_for_url(re.compile("form=reorder"))
    assert "verdict=wrong" in page.url
    assert "domain=" not in page.url
    page.get_by_label("Unit").fill("alpha-t2")
    page.get_by_label("Unit").press("Enter")
    page.wait_for_url(re.compile("q=alpha-t2"))
    assert 0 < total(page) < wrong
    for unit in page.locator("a.open").all_inner_texts():
        assert "alpha-t2" in unit
    link = page.url
    page.goto("about:blank")
    page.goto(link)  # a link says it all
    expect(page.get_by_label("Form")).to_have_value("reorder")
    page.get_by_role("link", name="Clear").click()
    assert total(page) == everything


def test_pages_turn(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.hostile}/decisions")
    first = page.locator("a.open").first.inner_text()
    page.get_by_role("link", name="Next").click()
    expect(page).to_have_url(re.compile("page=2"))
    expect(page.get_by_text("page 2 of")).to_be_visible()
    page.get_by_role("link", name="Previous").click()
    assert page.locator("a.open").first.inner_text() == first


def test_a_decision_and_all_its_orders(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.hostile}/decisions?flipped=1&form=reorder")
    listed = page.url
    page.locator("[data-rows] tbody tr").first.locator("td").last.click()  # anywhere in the row
    expect(page.get_by_role("heading", name="The state it saw")).to_be_visible()
    opened = page.url
    heat = page.locator("table.heat")
    numbers = heat.locator("thead th[scope=col] a").evaluate_all("links => links.map(link => link.firstChild.data)")
    assert numbers[:12] == [str(n) for n in range(12)]
    # In every column exactly one option is chosen, or the answer is invalid.
    for column in range(12):
        marked = heat.locator(f"tbody tr td:nth-child({column + 2}).chosen").count()
        invalid = heat.locator(f"thead tr:nth-child(2) > :nth-child({column + 2}) .dot.warn").count()
        assert marked + invalid == 1
    heat.locator('thead a[title="order 5"]').click()
    expect(page.locator(".badges.lead")).to_contain_text("order 5")
    expect(heat.locator('thead a[aria-current="page"]')).to_have_text(re.compile("^5"))
    page.go_back()
    assert page.url == opened
    page.go_back()
    assert page.url == listed


def test_the_keyboard_is_enough(viewed: Viewed, served: Served) -> None:
    page = viewed.go("/")
    page.locator("a.open", has_text="fake").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run/{served.hostile.replace('+', '%2B')}")
    page.get_by_role("link", name="Decisions").press("Enter")
    page.wait_for_url("**/decisions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    second = page.locator("[data-rows] tbody tr").nth(1).locator("a.open")
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of", exact=False).first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(".turn")).to_contain_text("3 of")
    page.keyboard.press("k")
    expect(page.locator(".turn")).to_contain_text("2 of")
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("/decisions.*at="))
    expect(page.locator("[data-rows] tbody tr").nth(1).locator("a.open")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Unit")).to_be_focused()
    page.keyboard.type("jk")
    expect(page.get_by_label("Unit")).to_have_value("jk")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Escape")
    page.wait_for_url(f"**/run/{served.hostile.replace('+', '%2B')}")


def test_an_episode_with_its_screenshots(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.web}/episodes")
    page.get_by_role("link", name=EPISODE).click()
    steps = page.locator(".strip li")
    assert steps.count() > 1
    steps.first.locator("a").click()
    page.wait_for_url(re.compile("step=0"))
    expect(steps.first.locator("a")).to_have_attribute("aria-current", "step")
    loaded = steps.first.locator("img").evaluate("async image => { await image.decode(); return image.naturalWidth; }")
    assert loaded == 1280
    assert page.locator(".shot").first.locator(".box").count() > 3
    expect(page.locator(".shot").first.locator(".box.gold")).to_have_count(1)
    page.keyboard.press("n")
    page.wait_for_url(re.compile("step=1"))
    page.get_by_role("link", name="This decision").click()
    expect(page.get_by_role("heading", name="The page it saw")).to_be_visible()
    page.get_by_role("link", name="Whole episode").click()
    expect(page).to_have_url(re.compile("/episodes/"))


def test_the_replay_command_shown_replays(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.web}/decisions?form=base")
    page.locator("a.open").first.click()
    told = page.locator(".copy code").inner_text().split()
    assert told[:2] == ["arena", "replay"]
    done = arena(*told[1:])
    assert done.exit_code == 0, done.output
    assert EPISODE in done.stdout
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copy")).to_have_text(re.compile("Copied|Selected"))


def test_a_growing_run_is_followed(viewed: Viewed, served: Served) -> None:
    page = viewed.go(f"/run/{served.growing}/decisions")
    assert total(page) == 3
    expect(page.get_by_text("unfinished run, followed")).to_be_visible()
    with (served.root / served.growing / "decisions.jsonl").open("ab") as log:
        log.write(line(decision("u-late")))
    expect(page.locator("#total")).to_have_text("4", timeout=20_000)
    expect(page.get_by_role("link", name="u-late")).to_be_visible()


def pages(page: Page, served: Served) -> list[str]:
    """One page of each kind, as paths; of decisions one with every form, an invalid one and a web step."""
    hostile, web = f"/run/{served.hostile}", f"/run/{served.web}"
    found = ["/", hostile, f"{hostile}/decisions", f"{web}/episodes", "/run/none"]
    for listed in (f"{hostile}/decisions?flipped=1", f"{hostile}/decisions?verdict=invalid", f"{web}/decisions"):
        page.goto(served.home + listed)
        found.append(str(page.locator("a.open").first.get_attribute("href")))
    page.goto(f"{served.home}{web}/episodes")
    found.append(str(page.locator("a.open").first.get_attribute("href")))
    return found


@pytest.mark.parametrize("width, scheme", [(375, "dark"), (1440, "light")])
def test_every_page_fits_and_is_accessible(
    browser: Browser, served: Served, width: int, scheme: Literal["dark", "light"]
) -> None:
    with browser.new_context(viewport={"width": width, "height": 812}, color_scheme=scheme) as context:
        page = context.new_page()
        for path in pages(page, served):
            page.goto(served.home + path)
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 24)"
            assert dark == (scheme == "dark")
            found = Axe().run(page).response["violations"]
            serious = [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in SERIOUS]
            assert not serious, (path, width, scheme)
            for other in (width, *WIDTHS):
                page.set_viewport_size({"width": other, "height": 812})
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, other)
            page.set_viewport_size({"width": width, "height": 812})


def test_hostile_texts_run_nothing(viewed: Viewed, served: Served) -> None:
    for path in pages(viewed.page, served):
        if path == "/run/none":
            continue  # a 404 is an error on the console
        page = viewed.go(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.ran") is None
        assert page.locator("img[src=x], svg[onload], main script").count() == 0
    page = viewed.go(f"/run/{served.hostile}/decisions?flipped=1")
    page.locator("a.open").first.click()
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    expect(page.get_by_text("</pre></script><script>").first).to_be_visible()
