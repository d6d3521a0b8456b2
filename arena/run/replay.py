"""Find one recorded decision and lay out what a person needs to judge it. Reads the log alone.

``RUN`` is a run folder, ``RUN:UNIT`` an item or episode in it, ``RUN:UNIT:STEP`` one step of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.errors import UnknownName, UsageError
from arena.gate import Gated, gate
from arena.leaderboard.rows import labels_of, probabilities_of
from arena.log.reader import Row, RunReader
from arena.session import Ask, Decider, Reply, WireDecider
from arena.types import JSON, parse_question


@dataclass(frozen=True, slots=True)
class Target:
    """What a replay address names. ``unit`` and ``step`` are None when the address stops before them."""

    folder: Path
    unit: str | None = None
    step: int | None = None


def parse_target(text: str, root: Path) -> Target:
    """Read ``RUN[:UNIT[:STEP]]``; RUN is a folder, or the name of one under ``root``.

    Raises:
        UsageError: no such run, or a step that is no number.
    """
    parts = text.split(":")
    for cut in range(len(parts), 0, -1):
        name = ":".join(parts[:cut])
        for folder in (Path(name), root / name):
            if (folder / "config.json").is_file():
                rest = parts[cut:]
                if len(rest) > 2:
                    raise UsageError(f"{text!r} has too many parts", hint="use RUN[:EPISODE[:STEP]]")
                if len(rest) == 2 and not rest[1].isdigit():
                    raise UsageError(f"step {rest[1]!r} is not a number", hint="steps count from 0")
                return Target(folder, rest[0] if rest else None, int(rest[1]) if len(rest) == 2 else None)
    raise UsageError(f"no run at {parts[0]!r}", hint=f"see: arena list runs {root}")


@dataclass(frozen=True, slots=True)
class Moment:
    """One ask: its decision rows, and for an episode the step, the one after it, and the episode."""

    rows: tuple[Row, ...]
    state: JSON
    step: Row | None = None
    after: Row | None = None
    episode: Row | None = None


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option of a decision: its key and description, probability (None if invalid), marks."""

    key: str
    text: str
    p: float | None
    committed: bool
    gold: bool


def option_rows(row: Row) -> list[OptionRow]:
    """The options of a decision in the order shown."""
    question, given = row["question"], probabilities_of(row)
    golds = set(map(_key, row["gold"]["accepted"])) if row["gold"] else set()
    committed = None if row["committed"] is None else _key(row["committed"])
    criteria = question.get("criteria") or {}
    rows = []
    for index, key in enumerate(labels_of(question)):
        described = criteria[index] if isinstance(criteria, list) else criteria.get(key)
        text = "" if described is None else described if isinstance(described, str) else repr(described)
        rows.append(OptionRow(key, text, None if given is None else given[key], key == committed, key in golds))
    return rows


def _key(value: str | int | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def units(reader: RunReader) -> Iterator[dict[str, Any]]:
    """One line per item or episode, in log order: what went right and wrong."""
    episodes = {row["unit"]: row for row in reader.episode_rows()}
    for row in episodes.values():
        teacher = [step for step in row["steps"] if step["phase"] == "teacher"]
        yield {
            "unit": row["unit"],
            "tier": f"{row['domain']}/{row['tier']}",
            "ending": row["ending"],
            "right": f"{sum(bool(step['correct']) for step in teacher)}/{len(teacher)} steps",
            "note": ", ".join(row["flags"]) or (row["error"] or {}).get("message", ""),
        }
    pending: dict[str, Any] | None = None
    for row in reader.rows():
        if row["episode"] is not None or row["variant"]["kind"] != "base":
            continue
        if pending is not None and pending["unit"] != row["unit"]:
            yield _static_line(pending)
            pending = None
        if pending is None:
            pending = {"unit": row["unit"], "tier": f"{row['domain']}/{row['tier']}", "hits": [], "bad": []}
        pending["hits"].append(bool(row["correct"]))
        if not row["valid"]:
            pending["bad"].append(f"{row['question_name']}: {row['invalid_reason']}")
    if pending is not None:
        yield _static_line(pending)


def _static_line(pending: dict[str, Any]) -> dict[str, Any]:
    hits = pending["hits"]
    return {
        "unit": pending["unit"],
        "tier": pending["tier"],
        "ending": "right" if all(hits) else "wrong",
        "right": f"{sum(hits)}/{len(hits)} questions",
        "note": "; ".join(pending["bad"]),
    }


def moments(reader: RunReader, unit: str) -> list[Moment]:
    """Every ask of a unit in the order played (its base form, first repeat).

    Raises:
        UnknownName: the run holds no such unit.
    """
    by_ask: dict[str, list[Row]] = {}
    known: set[str] = set()
    for row in reader.rows():
        known.add(row["unit"])
        if row["unit"] == unit and row["variant"]["kind"] == "base" and row["repeat"] == 0:
            by_ask.setdefault(row["ask"], []).append(row)
    episode = next((row for row in reader.episode_rows() if row["unit"] == unit and row["repeat"] == 0), None)
    if not by_ask and episode is not None:
        why = (episode["error"] or {}).get("message", "no reason is on record")
        raise UsageError(f"{unit} ended before its first decision: {why}", hint=f"see: arena replay {reader.folder}")
    if not by_ask:
        raise UnknownName("item or episode", unit, known, hint=f"see: arena replay {reader.folder}")
    if episode is None:
        return [Moment(tuple(rows), reader.state(rows[0])) for rows in by_ask.values()]
    steps = [step for step in episode["steps"] if step["ask"] in by_ask]
    found = []
    for step, after in zip(steps, [*steps[1:], episode["final"]], strict=True):
        rows = by_ask[step["ask"]]
        # The page after the last recorded step belongs to another walk when the model left the recording.
        follows = after if after is not None and after["phase"] == step["phase"] else None
        found.append(Moment(tuple(rows), reader.state(rows[0]), step, follows, episode))
    return found


@dataclass(frozen=True, slots=True)
class Again:
    """Another model's answer to recorded bytes. ``same_bytes``: whether the request is the recorded one."""

    model: str
    same_bytes: bool
    reply: Reply
    gated: dict[str, Gated]


async def ask_again(moment: Moment, decider: Decider) -> Again:
    """Ask ``decider`` what was asked at ``moment``: the recorded state and questions, byte for byte."""
    from arena.identity import dump, sha256

    first = moment.rows[0]
    questions = {row["question_name"]: parse_question(row["question"]) for row in moment.rows}
    ask = Ask(first["ask"], moment.state, questions, first["suite"])
    if isinstance(decider, WireDecider):
        request = decider.encode(ask)
    else:
        request = dump({"state": ask.state, "questions": {name: q.wire() for name, q in questions.items()}})
    reply = await decider.decide(ask)
    gated = {
        name: gate(question, reply.answers.get(name))
        if reply.outcome == "ok"
        else Gated(False, reply.error or reply.outcome)
        for name, question in questions.items()
    }
    return Again(decider.card.name, sha256(request) == first["request_sha256"], reply, gated)
