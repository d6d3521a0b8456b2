"""One recorded unit as one self-contained HTML page: screenshots, candidate boxes, probabilities.

No script, no remote load; every text is escaped, controls are spelled out, and a content security policy forbids
what slips through. Of a sandbox step it shows the command, its output and the changed files.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from arena.errors import MissingNeed
from arena.log.reader import Row, RunReader
from arena.run.deeds import Deed
from arena.run.harmless import harmless
from arena.run.replay import Moment, Recorded, judge_again, listed, option_rows

STATE_LIMIT = 20_000
"""Characters of a state shown; what was cut is said."""


def render_html(reader: RunReader, found: Recorded, chosen: Sequence[Moment]) -> str:
    """The page for ``chosen`` moments of a unit."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingNeed("replay --html needs jinja2", hint="pip install jinja2") from error
    environment = Environment(
        loader=PackageLoader("arena.run", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    episode = found.episode
    return environment.get_template("replay.html").render(
        run=reader.folder.name,
        model=reader.config["resolved"]["model"],
        unit=found.unit,
        forms=f"on record: {listed(found.forms)}" if len(found.forms) > 1 else "",
        trial=found.trial,
        repeat=found.repeat,
        episode=episode,
        judged=None if episode is None else judge_again(episode),
        moments=[_moment(reader, moment) for moment in chosen],
    )


def _moment(reader: RunReader, moment: Moment) -> dict[str, Any]:
    text = moment.state if isinstance(moment.state, str) else json.dumps(moment.state, indent=2, ensure_ascii=False)
    cut = len(text) - STATE_LIMIT
    decisions = [_decision(row) for row in moment.rows]
    return {
        "step": moment.rows[0]["step"],
        "phase": moment.rows[0]["phase"],
        "decisions": decisions,
        "state": text[:STATE_LIMIT] + (f"\n... {cut} more characters" if cut > 0 else ""),
        "before": _picture(reader, moment.step),
        "after": _picture(reader, moment.after),
        "boxes": _boxes(moment, decisions),
        "size": (_view(moment.step).get("viewport") or [1280, 720]),
        "page_hash": (moment.step or {}).get("page_hash", ""),
        "timing": (moment.step or {}).get("timing", {}),
        "deed": moment.deed,
        "changes": [] if moment.deed is None else _changes(moment.deed),
    }


def _changes(deed: Deed) -> list[dict[str, Any]]:
    """Changed paths with every line of their diff and its kind."""
    kinds = {"+": "plus", "-": "minus", "@": "at"}
    return [
        {
            "change": change,
            "lines": [
                ("file" if line.startswith(("+++ ", "--- ")) else kinds.get(line[:1], "same"), line)
                for line in change.lines
            ],
        }
        for change in deed.changes
    ]


def _decision(row: Row) -> dict[str, Any]:
    options = option_rows(row)
    ranked = sorted(options, key=lambda option: (-(option.p or 0.0), option.key))
    return {"row": row, "options": ranked, "answered": any(option.p is not None for option in options)}


def _view(step: Row | None) -> dict[str, Any]:
    found = (step or {}).get("view")
    return found if isinstance(found, dict) else {}


def _picture(reader: RunReader, step: Row | None) -> str | None:
    name = ((step or {}).get("artifacts") or {}).get("screenshot")
    return None if name is None else "data:image/png;base64," + b64encode(reader.blobs.get(name)).decode()


def _boxes(moment: Moment, decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Candidate boxes; several options on one element share a box and add up their probability."""
    boxes = _view(moment.step).get("boxes") or {}
    merged: dict[tuple[float, ...], dict[str, Any]] = {}
    for option in decisions[0]["options"]:
        if (box := boxes.get(option.key)) is None:
            continue
        entry = merged.setdefault(tuple(box), {"box": box, "p": 0.0, "committed": False, "gold": False, "keys": []})
        entry["p"] += option.p or 0.0
        entry["committed"] |= option.committed
        entry["gold"] |= option.gold
        entry["keys"].append(option.key)
    return list(merged.values())
