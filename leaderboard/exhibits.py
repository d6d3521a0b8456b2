"""One decision as its page shows it: question, options with bars, gold, state, screenshot, raw answer.

Everything in it is a stranger's text: it is handed to the template as data, which escapes it. A screenshot is
taken along only if it is an image of a known kind and not too large.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from arena.leaderboard.evidence import Exhibit
from arena.leaderboard.rows import labels_of, probabilities_of
from arena.log.reader import Row, RunReader
from arena.reliability.metrics.rows import option_key

STATE_SHOWN = 20_000
"""Characters of a state that a page holds; what was cut is said."""

SCREENSHOT_BYTES = 400_000
_IMAGES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"RIFF": "webp"}
_KINDS = {"choice": 0, "score": 1, "noul": 2}


@dataclass(frozen=True, slots=True)
class Page:
    """``context`` for the template; ``image``: (suffix, bytes) of the screenshot, or None."""

    identity: str
    context: dict[str, Any]
    image: tuple[str, bytes] | None


def page(exhibit: Exhibit, kind: str, orders: Sequence[dict[str, Any]] = ()) -> Page:
    """Lay out one decision.

    ``kind``: why it is shown (``wrong``, ``invalid`` or ``flipped``); ``orders``: the same question in every order.
    """
    row, reader = exhibit.row, exhibit.reader
    text, cut = _state_text(reader, row)
    image, boxes, left_out = _screenshot(reader, row, row["ask"] if row["episode"] else exhibit.walked)
    context = {
        "id": row["id"],
        "kind": kind,
        "row": row,
        "place": place(row),
        "instructions": _text(row["question"]["instructions"]),
        "options": options(row),
        "committed": committed(row),
        "gold": golds(row),
        "state": text,
        "cut": cut,
        "left_out": left_out,
        "boxes": boxes,
        "orders": orders,
        "raw": row["body"] if row["body"] is not None else json.dumps(row["response"], indent=2, ensure_ascii=False),
        "replay": replay(row),
        "view": f"arena view runs/{row['run']} --decision {row['id']}",
    }
    return Page(str(row["id"]), context, image)


def replay(row: Row) -> str:
    """The command that replays a decision."""
    if row["variant"]["kind"] != "base":
        return f"arena replay runs/{row['run']} --decision {row['id']}"
    return f"arena replay runs/{row['run']}:{row['unit']}" + (f":{row['step']}" if row["episode"] else "")


def place(row: Row) -> str:
    """Where a decision stands: ``web T3, order-42, step 2``."""
    step = f", step {row['step']}" if row["episode"] else ""
    return f"{row['domain']} {row['tier']}, {row['unit']}{step}"


def golds(row: Row) -> list[str]:
    """Accepted option keys."""
    kind = _KINDS[row["question"]["type"]]
    return [option_key(kind, value) for value in row["gold"]["accepted"]] if row["gold"] else []


def committed(row: Row) -> str | None:
    """The committed option key, None where the answer is invalid."""
    kind = _KINDS[row["question"]["type"]]
    return None if row["committed"] is None else option_key(kind, row["committed"])


def options(row: Row) -> list[dict[str, Any]]:
    """Every option in the order shown, with its probability (None when invalid) and marks."""
    question, given = row["question"], probabilities_of(row)
    right, chosen = set(golds(row)), committed(row)
    criteria = question.get("criteria") or {}
    found = []
    for index, key in enumerate(labels_of(question)):
        told = criteria[index] if isinstance(criteria, list) else criteria.get(key)
        p = None if given is None else given[key]
        found.append(
            {
                "key": key,
                "told": "" if told is None else _text(told),
                "p": p,
                "chosen": key == chosen,
                "gold": key in right,
                "width": f"{100 * (p or 0.0):.2f}",
            }
        )
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _state_text(reader: RunReader, row: Row) -> tuple[str, int]:
    state = reader.state(row)
    text = state if isinstance(state, str) else json.dumps(state, indent=2, ensure_ascii=False)
    return text[:STATE_SHOWN], max(0, len(text) - STATE_SHOWN)


@lru_cache(maxsize=4)
def _steps(reader: RunReader) -> dict[str, Row]:
    """Ask id -> step of every episode of a run."""
    return {step["ask"]: step for episode in reader.episode_rows() for step in episode["steps"]}


def _screenshot(reader: RunReader, row: Row, ask: str | None) -> tuple[tuple[str, bytes] | None, dict[str, Any], str]:
    """(image, boxes of the chosen and the right options with the viewport, why there is no image).

    ``ask``: where an episode stood before this state, None where none did.
    """
    step = None if ask is None else _steps(reader).get(ask)
    name = (step or {}).get("artifacts", {}).get("screenshot")
    if step is None or name is None:
        return None, {}, ""
    data = reader.blobs.get(name)
    suffix = next((suffix for magic, suffix in _IMAGES.items() if data.startswith(magic)), None)
    if suffix is None:
        return None, {}, "The screenshot is left out: it is no PNG, JPEG or WebP image."
    if len(data) > SCREENSHOT_BYTES:
        return (
            None,
            {},
            f"The screenshot is left out: {len(data) // 1000} kB, the page holds {SCREENSHOT_BYTES // 1000}.",
        )
    view = step["view"] if isinstance(step["view"], dict) else {}
    width, height = view.get("viewport") or (1280, 720)
    return (suffix, data), {"width": width, "height": height, "marks": _marks(row, view.get("boxes") or {})}, ""


def _marks(row: Row, boxes: dict[str, Sequence[float]]) -> list[dict[str, Any]]:
    return [
        {"box": boxes[option["key"]], "key": option["key"], "gold": option["gold"], "chosen": option["chosen"]}
        for option in options(row)
        if option["key"] in boxes and (option["gold"] or option["chosen"])
    ]
