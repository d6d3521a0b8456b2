"""Baking refuses what would make a bad episode, and says why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from arena.envs.web.bake import bake_walks
from arena.envs.web.check import check_episodes, main
from arena.envs.web.episode import read_recording
from arena.errors import UsageError

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]

PAGE = """<!doctype html><title>Two lists</title><script>
const state = { cart: [], sorted: false }; window.arenaState = () => state;
const add = (id) => { state.cart.push(id); n.textContent = state.cart.length + ' in the cart' };
</script>
<ul><li>Lamp <button onclick="add('lamp')">Add</button></li>
<li>Chair <button onclick="add('chair')">Add</button></li></ul>
<button onclick="add('lamp')">Add</button>
<p id=n>0 in the cart</p>
<select aria-label=Sort onchange="state.sorted = true"><option>None<option>Price<option>Name</select>
"""
WALK = """
id = "{name}"
site = "lists"
seed = 1
tier = "{tier}"
split = "test"
goal = "Put the lamp in the cart."
{steps}
[verify]
final = [{{ kind = "state", expr = "{expr}" }}]
key_nodes = [{nodes}]
"""
ADD = '[[step]]\nop = "click"\nrole = "button"\nname = "Add"\nscope = "Lamp"\n'
SORT = '[[step]]\nop = "select"\nrole = "combobox"\nname = "Sort"\nvalue = "Price"\n'
LAMP = "cart.length === 1 && cart[0] === 'lamp'"


def _bake(folder: Path, page: str = PAGE, **fields: Any) -> dict[str, str]:
    (folder / "sites" / "lists").mkdir(parents=True, exist_ok=True)
    (folder / "walks").mkdir(exist_ok=True)
    (folder / "sites" / "lists" / "index.html").write_text(page)
    values = {"name": "w", "tier": "T1", "steps": ADD, "expr": LAMP, "nodes": ""} | fields
    (folder / "walks" / "w.toml").write_text(WALK.format(**values))
    return bake_walks(folder / "walks", folder / "out", say=lambda _: None)


def test_gold_is_the_set_of_options_with_the_same_effect(tmp_path: Path) -> None:
    assert _bake(tmp_path) == {}
    recording = read_recording(tmp_path / "out" / "w.web.zip")
    first = recording.steps[0]
    assert first.gold == ("click:e1", "click:e3"), "the third button adds the lamp as well; the second adds the chair"
    assert first.action == "click:e1"
    chair = next(row for row in recording.graph if row["option"] == "click:e2")
    assert chair["to"] == recording.steps[1].sem_hash, "it looks the same; only the hidden state differs"
    assert (tmp_path / "out" / "w.web.zip").stat().st_size < 10_000


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"expr": "cart.length >= 0"}, r"the empty walk \(only done\) passes"),
        ({"expr": "cart.length === 1"}, "passes with a wrong step 1"),
        ({"steps": SORT + ADD}, "passes without step 1"),
        ({"expr": "cart.length === 2"}, "the verifier fails the gold walk"),
        ({"expr": "carts.length === 1"}, "ReferenceError"),
        ({"nodes": "{ kind = 'state', expr = 'cart.length === 0' }"}, "hold before anything is done"),
        ({"nodes": "{ kind = 'state', expr = 'cart.length === 5' }"}, "reaches only 0% of the key nodes"),
        ({"steps": ADD.replace("Lamp", "Table")}, "step 1: no element for: click button"),
        ({"steps": ADD * 6, "expr": "cart.length === 6"}, "T1 has at most 5 and 30"),
    ],
)
def test_walks_are_refused_with_the_reason(tmp_path: Path, fields: dict[str, str], message: str) -> None:
    assert re.search(message, _bake(tmp_path, **fields)["w"])
    assert not (tmp_path / "out" / "w.web.zip").exists()


@pytest.mark.parametrize(
    "script, message",
    [
        ("new Worker('w.js')", "the page uses Worker, which cannot be replayed"),
        ("document.body.append(document.createElement('video'))", "the page uses media"),
        ("fetch('gone.json')", r"1 requests are not in the recording: GET http://lists\.test/gone\.json"),
        ("n.textContent += window.__arena__.real.now()", "two replays differ: state 0: text"),
        ("const again = () => { location.search = '?' + Math.random() }; setTimeout(again, 5)", "never comes to rest"),
    ],
)
def test_pages_are_refused_with_the_reason(tmp_path: Path, script: str, message: str) -> None:
    assert re.search(message, _bake(tmp_path, PAGE + f"<script>{script}</script>")["w"])


def test_a_refused_walk_leaves_no_older_episode(tmp_path: Path) -> None:
    assert _bake(tmp_path) == {}
    assert "w" in _bake(tmp_path, expr="cart.length >= 0")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_changed_site_is_refused_with_both_hashes_and_a_changed_page_is_seen(tmp_path: Path) -> None:
    assert _bake(tmp_path) == {}
    episode, page = tmp_path / "out" / "w.web.zip", tmp_path / "sites" / "lists" / "index.html"
    assert check_episodes([episode], times=1) == {str(episode): []}
    page.write_text(PAGE.replace("Chair", "Table"))
    found = check_episodes([episode], times=1)[str(episode)]
    assert len(found) == 1
    locked = read_recording(episode).manifest.site
    assert locked is not None
    assert locked.files["index.html"] in found[0]
    assert "found" in found[0]
    assert main([str(episode)]) == 1


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no walk"):
        bake_walks(tmp_path, tmp_path / "out")
