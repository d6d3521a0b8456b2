"""The option table, its two views, and the scene made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_makers import element, manifest, observation, scene, table

from arena.envs.web.options import CONTROLS, build_table, combine, factor
from arena.envs.web.scene import QUESTION, ask_state, cut, deed, question_of, turn_of, visible_path
from arena.types import MAX_OPTIONS, Choice


def test_ids_are_document_order_and_the_list_is_sorted_by_use() -> None:
    seen = observation(
        element("link", "Home"),
        element("button", "Low", inview=False),
        element("textbox", "City", value=""),
        element("button", "Pay"),
    )
    options = build_table(seen, ["Lisbon", "Porto"]).options
    assert [o.id for o in options] == ["type:e3:v0", "type:e3:v1", "click:e4", "click:e1", "click:e2", *CONTROLS]
    assert options[0].text == 'Type "Lisbon" into textbox "City" (now empty)'


def test_a_value_that_is_already_there_is_no_option() -> None:
    seen = observation(element("textbox", "City", value="Porto"))
    assert [o.arg for o in build_table(seen, ["Lisbon", "Porto"]).options if o.op == "type"] == ["Lisbon"]


@pytest.mark.parametrize(
    "kind, fitting",
    [
        ("number", ["3", "-2.5"]),
        ("date", ["2026-05-01"]),
        ("time", ["09:30"]),
        ("", ["3", "-2.5", "2026-05-01", "09:30", "x"]),
    ],
)
def test_fields_take_what_fits_them(kind: str, fitting: list[str]) -> None:
    seen = observation(element("textbox", "Field", value="", type=kind))
    options = build_table(seen, ["3", "-2.5", "2026-05-01", "09:30", "x"]).options
    assert [o.arg for o in options if o.op == "type"] == fitting


def test_disabled_and_read_only_things_are_seen_but_not_offered() -> None:
    seen = observation(
        element(state={"disabled": True}), element("textbox", "Fixed", value="a", state={"readonly": True})
    )
    assert [o.id for o in build_table(seen, ["b"]).options] == list(CONTROLS)


def test_the_cap_keeps_the_controls() -> None:
    seen = observation(*(element(name=f"B{n}") for n in range(400)))
    capped = build_table(seen, [])
    assert len(capped.options) == MAX_OPTIONS
    assert capped.dropped == 400 + len(CONTROLS) - MAX_OPTIONS
    assert [o.id for o in capped.options[-len(CONTROLS) :]] == list(CONTROLS)
    full = scene(0, ["a"], ["done"]).model_copy(update={"table": capped})
    assert question_of(full).instructions.endswith("(151 more possible actions are not listed.)")


@given(st.data())
def test_the_two_views_are_one_distribution(data: st.DataObject) -> None:
    seen = observation(
        *(element(name=f"B{n}") for n in range(data.draw(st.integers(0, 5)))), element("textbox", "T", value="")
    )
    options = build_table(seen, [f"v{n}" for n in range(data.draw(st.integers(0, 4)))]).options
    heads = factor(options)

    def spread(keys: list[str]) -> dict[str, float]:
        weights = [data.draw(st.floats(0.01, 1)) for _ in keys]
        return {key: weight / sum(weights) for key, weight in zip(keys, weights, strict=True)}

    operation = spread(list(heads["operation"]))
    targets = {name: spread(list(head)) for name, head in heads.items() if name != "operation"}
    joint = combine(options, operation, targets)
    assert set(joint) == {option.id for option in options}
    assert sum(joint.values()) == pytest.approx(1)
    for op, p in operation.items():
        assert sum(joint[o.id] for o in options if o.op == op) == pytest.approx(p)
    for head in heads.values():
        if len(head) > 1:
            Choice(instructions="", criteria=dict(head))


def test_what_the_model_sees_has_no_addresses_of_links() -> None:
    seen = observation(element("link", "Home", href="http://x.test/secret.html"))
    made = scene(0, [], ["done"]).model_copy(update={"table": build_table(seen, [])})
    turn = turn_of(manifest(), made, ask_id="a", phase="teacher")
    assert "secret" not in str(turn.ask)
    assert set(ask_state(manifest(), made)) == {"goal", "url", "title", "text", "history"}
    assert turn.golds[QUESTION] is not None
    assert turn.view["boxes"] == {"click:e1": [0, 0, 10, 10]}


def test_text_is_cut_and_says_so() -> None:
    assert cut("short") == "short"
    assert cut("x" * 50, 20) == "x" * 20 + "\n[cut: 30 more characters are on the page]"


def test_urls_are_shown_from_the_path_on() -> None:
    assert visible_path("http://shop.test/a.html?x=1#y") == "/a.html?x=1#y"
    assert visible_path("http://shop.test") == "/"


def test_history_tells_the_deed_and_not_the_state() -> None:
    seen = observation(element("textbox", "City", value="Porto"), element("button", "Pay"))
    options = build_table(seen, ["Lisbon"]).options
    assert [deed(o) for o in options[:3]] == [
        'Type "Lisbon" into textbox "City"',
        'Click button "Pay"',
        "Scroll down",
    ]


def test_a_table_finds_options_by_id() -> None:
    assert table("A").get("click:e1") is not None
    assert table("A").get("click:e2") is None
