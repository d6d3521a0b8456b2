"""The published site as people use it: sort, hover, open, go back, on a phone, in the dark, with a keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from site_pages import Watched

pytestmark = pytest.mark.browser

WIDTHS = (375, 768, 1440)
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def board(site: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((site / "data/leaderboard.json").read_text())
    return found


def kinds(site: Path) -> list[str]:
    """One page of each kind; of decisions the most hostile ones: an invalid and a flipped one."""
    model = next(path for path in sorted(site.glob("models/*.html")) if "Invalid answers" in path.read_text())
    decisions = sorted((site / "decisions" / model.stem).glob("*.html"))
    picked = {
        kind: next(p for p in decisions if f">{kind}<" in p.read_text()) for kind in ("wrong", "invalid", "flipped")
    }
    return ["index.html", *(path.relative_to(site).as_posix() for path in (model, *picked.values()))]


def names(page: Page) -> list[str]:
    return page.locator("#table tbody tr:visible th a").all_inner_texts()


def test_sorting_by_click_and_by_keyboard(watched: Watched, board: dict[str, Any]) -> None:
    page = watched.go()
    rows = board["rows"]
    assert names(page) == [row["name"] for row in rows]
    page.get_by_role("button", name="S", exact=True).click()
    column = page.get_by_role("columnheader", name="S", exact=True)
    expect(column).to_have_attribute("aria-sort", "descending")
    shown = page.locator('#table td[data-column="S"]').evaluate_all("cells => cells.map(cell => cell.dataset.value)")
    assert [float(text) for text in shown] == sorted((row["reliability"]["S"] for row in rows), reverse=True)
    page.get_by_role("button", name="S", exact=True).focus()
    page.keyboard.press("Enter")
    expect(column).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("columnheader", name="C", exact=True)).not_to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Model").press("Space")
    assert names(page) == sorted(row["name"] for row in rows)
    expect(page.locator("#sorted")).to_have_text("Sorted by Model, ascending")


def test_missing_values_stay_last(watched: Watched) -> None:
    page = watched.go()
    cells = page.locator('#table td[data-column="cost_usd"]')
    cells.nth(1).evaluate("cell => { cell.dataset.value = '0.5'; }")
    for _ in range(2):
        page.get_by_role("button", name="USD").click()
        assert cells.first.get_attribute("data-value") == "0.5"


def test_baselines_can_be_hidden(watched: Watched, board: dict[str, Any]) -> None:
    page = watched.go()
    page.get_by_role("button", name="Hide baselines").click()
    assert names(page) == [row["name"] for row in board["rows"] if not row["baseline"]]
    page.get_by_role("button", name="Hide baselines").click()
    assert len(names(page)) == len(board["rows"])


def test_a_mark_tells_itself_on_hover_and_opens_its_model(watched: Watched, board: dict[str, Any]) -> None:
    page = watched.go()
    row = next(row for row in board["rows"] if row["front"])
    mark = page.locator(f'.wide svg a[href="models/{row["slug"]}.html"]').last
    mark.hover()
    told = mark.locator("title").text_content()
    assert told is not None
    assert told.startswith(f"{row['name']}: C {row['capability']:.1f}")
    assert f"R {row['reliability']['R']:.3f}" in told
    mark.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(row["name"])


def test_open_a_decision_and_come_back(watched: Watched, site: Path) -> None:
    page = watched.go(kinds(site)[1])
    model = page.url
    link = page.locator(".decisions a").first
    told = (link.text_content() or "").split(",")[0].rstrip("….")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(told[:20])
    first = page.url
    page.get_by_role("link", name="Next").click()
    assert page.url != first
    page.go_back()
    page.go_back()
    assert page.url == model
    page.get_by_label("Breadcrumb").get_by_role("link", name="Board").click()
    expect(page.get_by_role("table").first).to_be_visible()


def test_all_orders_stand_side_by_side(watched: Watched, site: Path) -> None:
    page = watched.go(kinds(site)[4])
    table = page.get_by_role("table").filter(has_text="Options as shown")
    expect(table.locator("tbody tr")).to_have_count(12)
    assert table.get_by_text("moved").count() >= 1


def test_hostile_text_runs_nothing(watched: Watched, site: Path) -> None:
    for path in kinds(site):
        page = watched.go(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.ran") is None
        assert page.locator("main img, main script, main iframe").count() == 0
    state = watched.page.locator("pre").first.inner_text()
    assert "</pre></script><script>window.ran=2;alert(2)</script>" in state


def test_every_page_works_from_folder_and_host(browser: Browser, site: Path, home: str) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        found = Watched(context.new_page(), home)
        for path in kinds(site):
            page = found.go(path)
            # The style sheet arrived: the policy lets the site's own files in, wherever it lies.
            assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
        page = found.go()
        page.get_by_role("button", name="R", exact=True).click()
        expect(page.get_by_role("columnheader", name="R", exact=True)).to_have_attribute("aria-sort", "descending")
        assert not found.faults


def test_the_interactive_plot_draws_offline(watched: Watched) -> None:
    page = watched.go("plots/capability-reliability.html")
    expect(page.locator("#plot svg.marks")).to_be_visible()
    page.locator("#plot svg .mark-symbol path").first.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("C ")
    assert page.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth"), "the axis is cut"


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_its_screen(browser: Browser, site: Path, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        found = Watched(context.new_page(), f"{site.as_uri()}/")
        for path in [*kinds(site), "plots/capability-reliability.html"]:
            page = found.go(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page = found.go()
        assert page.locator(".narrow").is_visible() == (width < 700)
        # The table scrolls in its own box, its first column and its head stay.
        page.locator("#board .scroll").evaluate("box => box.scrollTo(400, 60)")
        assert page.locator("#table tbody th").first.evaluate("cell => cell.getBoundingClientRect().left >= 0")
        assert not found.faults


def test_dark_and_light_follow_the_reader(browser: Browser, site: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
            page = Watched(context.new_page(), f"{site.as_uri()}/").go()
            read = "element => getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
            shades[scheme] = sum(page.locator("body").evaluate(read))
            text = page.locator(".wide svg text").first.evaluate(
                "element => getComputedStyle(element).fill.match(/\\d+/g)"
            )
            shades[f"{scheme} text"] = sum(map(int, text[:3]))
            page.goto(f"{site.as_uri()}/plots/capability-reliability.html")
            shades[f"{scheme} plot"] = sum(page.locator("body").evaluate(read))
            drawn = page.locator("#plot svg text").first.evaluate("e => getComputedStyle(e).fill.match(/\\d+/g)")
            assert abs(sum(map(int, drawn[:3])) - shades[f"{scheme} plot"]) > 300
    assert shades["light"] > 600 > 200 > shades["dark"]
    assert shades["light plot"] > 600 > 200 > shades["dark plot"]
    assert shades["light text"] < shades["dark text"]


def test_the_keyboard_reaches_content_and_table(watched: Watched) -> None:
    page = watched.go()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    region = page.get_by_role("region", name="Board").locator(".scroll")
    region.focus()
    expect(region).to_be_focused()


@pytest.mark.parametrize(("scheme", "width"), [("light", 375), ("dark", 1440)])
def test_axe_finds_nothing_serious(browser: Browser, site: Path, scheme: str, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True) as context:  # type: ignore[arg-type]
        page = context.new_page()
        for path in [*kinds(site), "plots/capability-reliability.html"]:
            page.goto(f"{site.as_uri()}/{path}")
            found = Axe().run(page).response["violations"]
            bad = [
                (each["id"], each["impact"], [node["html"][:120] for node in each["nodes"][:3]])
                for each in found
                if each["impact"] in SERIOUS
            ]
            assert not bad, (path, bad)
