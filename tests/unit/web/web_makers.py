"""Small observations and recordings made by hand, so that most of the web domain is tested without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.envs.web.episode import GoldStep, Manifest, Recording
from arena.envs.web.observe import Observation, read_observation
from arena.envs.web.options import CONTROLS, Option, Table


def element(role: str = "button", name: str = "Go", **more: Any) -> dict[str, Any]:
    """A raw element as the page script tells it."""
    tags = {"textbox": "input", "link": "a", "combobox": "select", "button": "button"}
    raw: dict[str, Any] = {
        "role": role,
        "name": name,
        "tag": tags.get(role, "div"),
        "type": "",
        "value": None,
        "state": {},
        "scopes": [],
        "box": [0, 0, 10, 10],
        "inview": True,
        "frame": 0,
        "options": None,
        "href": None,
    }
    return raw | more


def observation(*elements: dict[str, Any], text: str = "Text", url: str = "http://x.test/") -> Observation:
    """A look at a page with these elements."""
    return read_observation(
        {
            "url": url,
            "title": "Title",
            "text": text,
            "elements": list(elements),
            "covered": [],
            "refused": [],
            "popups": 0,
            "scroll": [0, 0],
            "viewport": [1280, 720],
        }
    )


def table(*names: str) -> Table:
    """A table of buttons, one per name, and the controls."""
    buttons = [
        Option(
            id=f"click:e{n + 1}",
            op="click",
            text=f'Click button "{name}"',
            target=f"e{n + 1}",
            index=n,
            role="button",
            name=name,
        )
        for n, name in enumerate(names)
    ]
    return Table(options=(*buttons, *(Option(id=key, op=key, text=text) for key, text in CONTROLS.items())))


def scene(t: int, names: Sequence[str], gold: Sequence[str], sem_hash: str | None = None) -> GoldStep:
    """A recorded step over buttons. ``gold``: option ids."""
    return GoldStep(
        t=t,
        sem_hash=sem_hash or f"hash-{t}",
        url="http://x.test/",
        title="Title",
        text=f"State {t}",
        viewport=(1280, 720),
        table=table(*names),
        gold=tuple(gold),
        action=gold[0] if gold else "",
    )


def manifest(**more: Any) -> Manifest:
    """A manifest with what must be there."""
    base: dict[str, Any] = {
        "id": "made",
        "kind": "tape",
        "goal": "Reach the end.",
        "tier": "T1",
        "split": "test",
        "licence": "Apache-2.0",
        "seed": 1,
        "start": "http://x.test/",
    }
    return Manifest(**(base | more))


CONDITIONS: dict[str, Any] = {
    "claim": "done",
    "final": [{"kind": "state", "expr": "at === 2"}],
    "key_nodes": [{"kind": "state", "expr": "at === 1"}],
    "forbidden": [{"kind": "state", "expr": "at === 9"}],
}


def corridor() -> Recording:
    """Three states in a row: click 1, click 1, done. ``hash-n`` names state n; 9 is a trap behind button 2."""
    steps = (
        scene(0, ["On", "Trap"], ["click:e1"]),
        scene(1, ["On", "Trap"], ["click:e1"]),
        scene(2, ["On", "Trap"], ["done"]),
    )
    return Recording(manifest(), steps, conditions=CONDITIONS, final={"sem_hash": "hash-2"})
