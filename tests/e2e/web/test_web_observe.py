"""What counts as something to act on: shadow roots, frames, covered things, look-alikes, more than fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_tools import in_browser, named, option_for, page_of

from arena.envs.web.observe import Observation
from arena.envs.web.options import Table, build_table
from arena.types import MAX_OPTIONS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]


def look(html: str, more: dict[str, bytes] | None = None) -> Observation:
    async def run() -> Observation:
        async with page_of(html, more) as page:
            return await page.observe()

    return in_browser(run())


def click_and_look(html: str, name: str, more: dict[str, bytes] | None = None) -> tuple[Observation, str | None]:
    async def run() -> tuple[Observation, str | None]:
        async with page_of(html, more) as page:
            note = await page.act(option_for(await page.observe(), name))
            return await page.observe(), note

    return in_browser(run())


def test_roles_names_values_and_states() -> None:
    seen = look(
        """<title>Form</title><h1>Order</h1>
        <label for=a>Your name</label><input id=a value="Kim">
        <label>Amount <input type=number value=3></label>
        <input type=password aria-label=Secret value=abc>
        <input type=checkbox id=c checked><label for=c>Gift wrap</label>
        <fieldset><legend>Size</legend><label><input type=radio name=s> Small</label>
        <label><input type=radio name=s checked> Large</label></fieldset>
        <select aria-label=Wood><option>Oak<option selected>Pine<option disabled>Teak</select>
        <textarea placeholder=Notes></textarea><button disabled>Pay</button>
        <a href=/x>Terms <img alt="and conditions" width=1 height=1></a>
        <button aria-expanded=false>More</button><details><summary>Shipping</summary><button>Inside</button></details>
        <input type=hidden value=x><input type=submit value="Send order">"""
    )
    table = [(e.role, e.name, e.value, e.state) for e in seen.elements]
    assert table == [
        ("textbox", "Your name", "Kim", {}),
        ("spinbutton", "Amount", "3", {}),
        ("textbox", "Secret", "•••", {}),
        ("checkbox", "Gift wrap", None, {"checked": True}),
        ("radio", "Small", None, {"checked": False}),
        ("radio", "Large", None, {"checked": True}),
        ("combobox", "Wood", "Pine", {}),
        ("textbox", "Notes", "", {}),
        ("button", "Pay", None, {"disabled": True}),
        ("link", "Terms and conditions", None, {}),
        ("button", "More", None, {"expanded": False}),
        ("button", "Shipping", None, {"expanded": False}),
        ("button", "Send order", None, {}),
    ]
    assert "Inside" not in seen.text, "closed details are not on the page"
    options = {option.text for option in build_table(seen, ["7", "seven"]).options}
    assert 'Type "7" into spinbutton "Amount" (now "3")' in options
    assert 'Type "seven" into spinbutton "Amount" (now "3")' not in options, "a number field takes numbers"
    assert 'Select "Oak" in combobox "Wood" (now "Pine")' in options
    assert not any("Teak" in text or '"Pay"' in text for text in options), "what is disabled is not offered"


SHADOW = """<h1>Top</h1><x-box><b slot=label>Light</b></x-box><script>
class Inner extends HTMLElement { connectedCallback() { this.attachShadow({mode:"open"}).innerHTML =
  "<button onclick=\\"document.title='deep'\\">Deep button</button>"; } }
customElements.define("x-inner", Inner);
class Box extends HTMLElement { connectedCallback() { this.attachShadow({mode:"open"}).innerHTML =
  "<p><slot name=label></slot> label</p><x-inner></x-inner><button>Shallow</button>"; } }
customElements.define("x-box", Box);
</script>"""


def test_shadow_roots_are_part_of_the_page() -> None:
    seen = look(SHADOW)
    assert named(seen) == [("button", "Deep button"), ("button", "Shallow")]
    assert seen.text == "Top\nLight label\nDeep button Shallow"
    after, note = click_and_look(SHADOW, "Deep button")
    assert (after.title, note) == ("deep", None)


FRAME = """<h1>Outside</h1><div style="height:40px"></div><iframe src=inner.html width=400 height=120></iframe>
<iframe srcdoc="<button>From source text</button>" width=300 height=80></iframe>"""
INNER = b"""<p>Inside</p><div style="height:300px"></div>
<button onclick="parent.document.title='reached'">In frame</button>"""


def test_frames_of_the_same_origin_are_part_of_the_page() -> None:
    seen = look(FRAME, {"inner.html": INNER})
    assert named(seen) == [("button", "In frame"), ("button", "From source text")]
    assert [element.frame for element in seen.elements] == [1, 2]
    assert "Inside" in seen.text
    after, note = click_and_look(FRAME, "In frame", {"inner.html": INNER})
    assert (after.title, note) == ("reached", None), "the frame is scrolled to the button and the button is hit"


def test_things_that_only_listen_and_look_clickable() -> None:
    seen = look(
        """<div><span style="cursor:pointer" id=s>Like</span> <span>Plain</span></div>
        <div style="cursor:pointer">Card <em>with</em> <button>Own button</button></div>
        <label style="cursor:pointer">Label of <input></label><div onclick="1">Old style</div>
        <div role=button tabindex=0>Proper</div><p style="cursor:pointer;display:none">Hidden</p>"""
    )
    assert named(seen) == [
        ("clickable", "Like"),
        ("clickable", "Card with Own button"),
        ("button", "Own button"),
        ("textbox", "Label of"),
        ("clickable", "Old style"),
        ("button", "Proper"),
    ]


def test_boxes_hidden_behind_their_labels_are_reached_through_them() -> None:
    page = """<style>.box input{opacity:0;position:absolute;width:0;height:0}</style>
    <span class=box><input type=checkbox id=t><label for=t>Tick me</label></span>"""
    assert named(look(page)) == [("checkbox", "Tick me")]
    after, _ = click_and_look(page, "Tick me")
    assert after.elements[0].state == {"checked": True}


COVERED = """<button>Under</button><button style="margin-left:300px">Beside</button>
<div style="height:2000px"></div><button>Far below</button>"""


def test_what_is_covered_is_no_option() -> None:
    banner = '<div id=banner style="position:fixed;left:0;top:0;width:120px;height:100px;background:#ccc">Hello</div>'
    seen = look(COVERED + banner)
    assert named(seen) == [("button", "Beside"), ("button", "Far below")]
    assert seen.covered == ({"role": "button", "name": "Under", "by": "div#banner"},)
    veil = '<div class=veil style="position:fixed;inset:0;background:#0008"><button>Agree</button></div>'
    assert named(look(COVERED + veil)) == [("button", "Agree")], "a veil covers what is below the fold as well"
    dialog = "<dialog id=d><button>Close</button></dialog><script>d.showModal()</script>"
    assert named(look(COVERED + dialog)) == [("button", "Close")]


def test_visibility_comes_before_the_cap_and_forms_come_first() -> None:
    hidden = "<button style=display:none>no</button>" * 300
    links = "".join(f"<a href=#{n}>Link {n}</a> " for n in range(400))
    seen = look(f"{hidden}<p>{links}</p><div style='height:3000px'></div><input aria-label=Last><button>End</button>")
    assert len(seen.elements) == 402
    table = build_table(seen, ["x"])
    assert len(table.options) == MAX_OPTIONS == 255
    assert table.dropped == 402 - 249
    assert table.options[0].name == "Link 0", "what is in view comes first"
    assert [option.id for option in table.options[-6:]] == [
        "scroll_down",
        "scroll_up",
        "back",
        "wait",
        "done",
        "blocked",
    ]
    few = look("<a href=#1>A link</a> <button>A button</button> <input aria-label='A field'> <button>Another</button>")
    order = [option.name for option in build_table(few, ["x"]).options[:4]]
    assert order == ["A field", "A button", "Another", "A link"]
    assert [option.id for option in build_table(few, ["x"]).options[:4]] == [
        "type:e3:v0",
        "click:e2",
        "click:e4",
        "click:e1",
    ]


def _texts(table: Table) -> list[str]:
    return [option.text for option in table.options if option.target]


def test_look_alikes_are_told_apart_by_the_group_around_them() -> None:
    seen = look(
        """<table><tr><th>Lamp</th><td>12</td><td><button>Add</button></td></tr>
        <tr><td><input type=checkbox aria-label=Pick></td><td>Chair</td><td><button>Add</button></td></tr></table>
        <section aria-label=Basket><button>Add</button><button>Empty</button></section>"""
    )
    assert [option.text for option in build_table(seen, []).options if option.name in ("Add", "Empty")] == [
        'Click button "Add" in "Lamp"',
        'Click button "Add" in "Chair"',
        'Click button "Add" in "Basket"',
        'Click button "Empty"',
    ]
    assert "Lamp | 12 | Add" in seen.text


def test_looking_changes_nothing() -> None:
    async def run() -> tuple[str, str]:
        async with page_of(SHADOW + "<button>One</button>") as page:
            before = await page.page.content()
            await page.observe()
            return before, await page.page.content()

    before, after = in_browser(run())
    assert before == after
    assert "data-" not in after


def test_hash_follows_meaning_and_not_layout() -> None:
    plain = look("<title>T</title><button>Go</button><p>Some text</p>")
    moved = look(
        "<title>T</title><style>button{margin:90px;font-size:30px}</style><button>Go</button><p>Some  text</p>"
    )
    assert plain.sem_hash == moved.sem_hash
    for other in (
        "<title>T</title><button>Stop</button><p>Some text</p>",
        "<title>T</title><button disabled>Go</button><p>Some text</p>",
        "<title>U</title><button>Go</button><p>Some text</p>",
        "<title>T</title><button>Go</button><p>Some texts</p>",
        "<title>T</title><a href=#>Go</a><p>Some text</p>",
    ):
        assert look(other).sem_hash != plain.sem_hash


@pytest.mark.parametrize(
    "name, expected",
    [("deep-shadow.html", 0), ("input/checkbox.html", 1), ("input/select.html", 1)],
)
def test_fixtures_of_playwright(shared_data: Path, name: str, expected: int) -> None:
    html = (shared_data / "playwright_fixtures" / "tests" / "assets" / name).read_text()
    seen = look(html)
    if name == "deep-shadow.html":
        assert seen.text.count("Hello") >= 3, "text in nested shadow roots"
    else:
        assert len(seen.elements) == expected
