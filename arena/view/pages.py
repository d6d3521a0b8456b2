"""What the templates of a run are given: decisions and episode steps laid out. Reads the log alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arena.errors import ArenaError
from arena.log.blobs import Blobs
from arena.log.reader import Row, RunReader
from arena.run.replay import option_rows
from arena.view.orders import side_by_side
from arena.view.store import Store
from arena.view.tools import command_of, outcome

STATE_SHOWN = 12_000
"""Characters of a state shown at first; the whole of it is one click away."""

OPTIONS_SHOWN = 16


def decision_page(store: Store, reader: RunReader, row: sqlite3.Row, whole: bool) -> dict[str, Any]:
    """Everything about one decision: options, state, all its variants, the step it belongs to, its record."""
    body = store.lines("decisions", [row])[0]
    variants = store.variants(row) if row["varied"] else []
    step = _step_of(store, row)
    decision = decision_view(row, body)
    return {
        "row": row,
        "body": body,
        "decision": decision,
        "state": state_view(reader, body, whole),
        "siblings": store.siblings(row),
        "orders": side_by_side(variants, store.lines("decisions", variants), row["id"]) if variants else None,
        "varied_elsewhere": body["variant"]["question"] if not row["varied"] else None,
        "step": step and step_view(step["step"], step["after"], decision),
        "episode": step and step["row"],
        "replay": replay_address(reader, body),
        "raw": pretty(body["response"]) if body["body"] is None else body["body"],
    }


def replay_address(reader: RunReader, body: Row) -> str | None:
    """``RUN:UNIT[:STEP]`` for ``arena replay``; None for forms that it does not show (it shows base forms)."""
    if body["variant"]["kind"] != "base" or body["repeat"]:
        return None
    step = f":{body['step']}" if body["episode"] is not None else ""
    return f"{reader.folder}:{body['unit']}{step}"


def decision_view(row: sqlite3.Row, body: Row) -> dict[str, Any]:
    """Options by falling probability, with marks; ``rest`` are those beyond the first ones."""
    options = option_rows(body)
    slots = {option.key: slot for slot, option in enumerate(options, 1)}
    ranked = sorted(options, key=lambda option: (-(option.p or 0.0), slots[option.key]))
    if body["question"]["type"] != "choice":
        ranked = options  # a scale and yes/no are read in their own order
    first = [o for n, o in enumerate(ranked) if n < OPTIONS_SHOWN or o.gold or o.committed]
    rest = [o for o in ranked if o not in first]
    return {
        "row": row,
        "body": body,
        "instructions": text(body["question"]["instructions"]),
        "options": first,
        "rest": rest,
        "slots": slots,
        "gold_p": sum(o.p or 0.0 for o in options if o.gold) if body["valid"] and body["gold"] else None,
    }


def text(value: Any) -> str:
    """Text as it is, anything else as JSON in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pretty(value: Any) -> str:
    """JSON for reading."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def state_view(reader: RunReader, body: Row, whole: bool) -> dict[str, Any]:
    """The state as text, cut unless ``whole``; ``missing`` says why there is none."""
    try:
        state = reader.state(body)
    except ArenaError as error:
        return {"fields": [], "text": "", "cut": 0, "missing": error.message}
    shown = state if isinstance(state, str) else pretty(state)
    fields = [(key, *_field(value)) for key, value in state.items()] if isinstance(state, dict) else []
    cut = 0 if whole else max(0, len(shown) - STATE_SHOWN)
    return {"fields": [] if cut else fields, "text": shown[: len(shown) - cut], "cut": cut, "missing": None}


def _field(value: Any) -> tuple[str, bool]:
    """A part of a state as text, and whether it fits a line."""
    if isinstance(value, str):
        return value, "\n" not in value
    return (pretty(value), False) if isinstance(value, dict | list) else (text(value), True)


def _step_of(store: Store, row: sqlite3.Row) -> dict[str, Any] | None:
    """The recorded step of a decision and the one in the log after it, None for static items."""
    if row["episode"] is None and "#" not in row["unit"]:
        return None
    found = store.episode_of(row)
    if found is None:
        return None
    episode = store.lines("episodes", [found])[0]
    steps = [*episode["steps"], episode["final"]]
    number = row["unit"].rpartition("#")[2]
    for at, step in enumerate(episode["steps"]):
        recorded = row["episode"] is None and step["phase"] == "teacher" and str(step["step"]) == number
        if step["ask"] == row["ask"] or recorded:
            return {"row": found, "step": step, "after": steps[at + 1]}
    return None


def _follows(step: Row, after: Row | None) -> Row | None:
    # The page after the last recorded step belongs to another walk when the model left the recording.
    return after if after is not None and after["phase"] == step["phase"] else None


def step_view(step: Row, following: Row | None, decision: Mapping[str, Any] | None) -> dict[str, Any]:
    """Screenshots before and after with candidate boxes, and what a sandbox command printed and changed."""
    after = _follows(step, following)
    view = step["view"] if isinstance(step["view"], dict) else {}
    width, height = view.get("viewport") or (1280, 720)
    return {
        "step": step,
        "before": step["artifacts"].get("screenshot"),
        "after": (after or {}).get("artifacts", {}).get("screenshot"),
        "width": width,
        "height": height,
        "boxes": _boxes(view.get("boxes") or {}, decision) if decision else [],
        "url": view.get("url"),
        "title": view.get("title"),
        "note": view.get("note") or step["note"],
        "tool": outcome(step, following),
    }


def _boxes(boxes: Mapping[str, Sequence[float]], decision: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Candidate boxes; several options on one element share a box and add up their probability."""
    merged: dict[tuple[float, ...], dict[str, Any]] = {}
    for option in [*decision["options"], *decision["rest"]]:
        if (box := boxes.get(option.key)) is None:
            continue
        entry = merged.setdefault(tuple(box), {"box": box, "p": 0.0, "chosen": False, "gold": False, "keys": []})
        entry["p"] += option.p or 0.0
        entry["chosen"] |= option.committed
        entry["gold"] |= option.gold
        entry["keys"].append(option.key)
    return sorted(merged.values(), key=lambda entry: (entry["chosen"], entry["gold"], entry["p"]))


def episode_page(store: Store, row: sqlite3.Row, at: int | None) -> dict[str, Any]:
    """The strip of an episode's steps and the step ``at`` (its place in the strip, from 0) laid open."""
    episode = store.lines("episodes", [row])[0]
    steps = episode["steps"]
    asked: dict[str, list[tuple[sqlite3.Row, Row]]] = {}
    found = store.asked([step["ask"] for step in steps])
    for each, body in zip(found, store.lines("decisions", found), strict=True):
        asked.setdefault(each["ask"], []).append((each, body))
    following = [*steps[1:], episode["final"]]
    strip = [
        _thumbnail(place, step, command_of(step, following[place]), asked.get(step["ask"], []))
        for place, step in enumerate(steps)
    ]
    at = _first_of_interest(strip) if at is None else min(max(at, 0), len(steps) - 1)
    opened = None
    if steps:
        decisions = [decision_view(each, body) for each, body in asked.get(steps[at]["ask"], [])]
        view = step_view(steps[at], following[at], decisions[0] if decisions else None)
        opened = {"view": view, "decisions": decisions}
    return {"row": row, "episode": episode, "strip": strip, "at": at, "opened": opened, "end": _ending(episode)}


def _thumbnail(place: int, step: Row, command: str | None, asked: Iterable[tuple[sqlite3.Row, Row]]) -> dict[str, Any]:
    """One step of the strip. Where one decision decided, its chosen option in words."""
    told = next(
        (option.text or option.key for _, body in asked for option in option_rows(body) if option.committed), ""
    )
    return {
        "place": place,
        "step": step["step"],
        "phase": step["phase"],
        "correct": step["correct"],
        "screenshot": step["artifacts"].get("screenshot"),
        "told": told or str(step["committed"] or ""),
        "command": command,
    }


def _first_of_interest(strip: Sequence[Mapping[str, Any]]) -> int:
    return next((each["place"] for each in strip if each["correct"] is False), 0)


def _ending(episode: Row) -> dict[str, Any]:
    final = episode["final"] or {}
    return {
        "state": pretty(episode["end_state"]) if episode["end_state"] is not None else None,
        "verify": pretty(episode["verify"]) if episode["verify"] is not None else None,
        "screenshot": (final.get("artifacts") or {}).get("screenshot"),
    }


def screenshot(blobs: Blobs, name: str) -> bytes | None:
    """A PNG by its sha256; None where there is no such blob, it was changed, or it is no PNG."""
    try:
        data = blobs.get(name)
    except ArenaError:
        return None
    return data if data.startswith(b"\x89PNG\r\n\x1a\n") else None
