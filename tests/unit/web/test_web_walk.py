"""Walks: what their author may write, and how a step finds its option."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_makers import element, observation

from arena.envs.web.options import Option, build_table
from arena.envs.web.walk import WalkStep, read_walk, resolve
from arena.errors import UsageError

GOOD = """
id = "w"
site = "shop"
seed = 1
tier = "T1"
split = "test"
goal = "Type it."
values = ["Ada"]
[[step]]
op = "type"
role = "textbox"
name = "Name"
value = "Ada"
[verify]
final = [{ kind = "url", path = "/x" }]
"""


def _read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "w.toml"
    path.write_text(text)
    return read_walk(path)


def test_a_walk_gets_its_end_and_its_full_conditions(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(GOOD)
    walk = read_walk(path)
    assert [step.op for step in walk.step] == ["type", "done"]
    assert walk.verify["claim"] == "done"
    assert walk.verify["forbidden"] == []
    path.write_text(GOOD.replace("[verify]", '[[step]]\nop = "blocked"\n[verify]'))
    assert read_walk(path).verify["claim"] == "blocked"


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('tier = "T1"', 'tier = "T9"', "tier 'T9'"),
        ('op = "type"', 'op = "drag"', "step 1 has the operation 'drag'"),
        ('value = "Ada"', 'value = "Bob"', "types 'Bob', which is not among values"),
        ('op = "type"', 'op = "done"', "step 1 ends the walk, but"),
        ('value = "Ada"', 'colour = "red"', "colour"),
        ("seed = 1", "seed = ", "Invalid value"),
        ('goal = "Type it."', "", "goal"),
        ("[verify]", '[verify]\nclaim = "blocked"', "the walk ends with 'done'"),
    ],
)
def test_faults_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = GOOD.replace(old, new, 1)
    if "ends the walk" in message:
        text = text.replace("[verify]", '[[step]]\nop = "wait"\n[verify]')
    with pytest.raises(UsageError, match=message):
        _read(tmp_path, text)


SEEN = observation(
    element("button", "Add", scopes=["Oak lamp", "Products"]),
    element("button", "Add", scopes=["Pine lamp", "Products"]),
    element("textbox", "City", value=""),
    element(
        "combobox",
        "Size",
        options=[
            {"label": "S", "selected": True, "disabled": False},
            {"label": "M", "selected": False, "disabled": False},
        ],
    ),
    element("button", "Pay", state={"disabled": True}),
)
TABLE = build_table(SEEN, ["Lisbon"])


@pytest.mark.parametrize(
    "step, expected",
    [
        (WalkStep(op="click", role="button", name="Add"), "click:e1"),
        (WalkStep(op="click", role="button", name="Add", nth=1), "click:e2"),
        (WalkStep(op="click", role="button", name="add", scope="pine"), "click:e2"),
        (WalkStep(op="type", role="textbox", name="City", value="Lisbon"), "type:e3:v0"),
        (WalkStep(op="select", role="combobox", name="Size", value="M"), "select:e4:o1"),
        (WalkStep(op="scroll_down"), "scroll_down"),
        (WalkStep(op="done"), "done"),
    ],
)
def test_steps_find_their_option(step: WalkStep, expected: str) -> None:
    found = resolve(step, SEEN, TABLE)
    assert isinstance(found, Option)
    assert found.id == expected


@pytest.mark.parametrize(
    "step, message",
    [
        (WalkStep(op="click", role="button", name="Sub"), 'the page has button "Add", button "Pay"'),
        (WalkStep(op="click", role="button", name="Add", nth=2), "2 match"),
        (WalkStep(op="click", role="button", name="Pay"), "offers nothing"),
        (WalkStep(op="select", role="combobox", name="Size", value="S"), "no option for"),
        (WalkStep(op="click", role="tab", name="Info"), "none of that role"),
    ],
)
def test_steps_without_an_option_say_why(step: WalkStep, message: str) -> None:
    found = resolve(step, SEEN, TABLE)
    assert isinstance(found, str)
    assert message in found
