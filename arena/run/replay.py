"""Find one recorded decision and lay out what a person needs to judge it. Reads the log alone.

``RUN`` is a run folder, ``RUN:UNIT`` an item or episode in it, ``RUN:UNIT:STEP`` one step of an episode. A run may
hold a unit several times: as trials (other option order, other fixture; trial 0 is the unit as it is) and as repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from arena.errors import UnknownName, UsageError
from arena.gate import Gated, gate
from arena.leaderboard.rows import labels_of, probabilities_of
from arena.log.reader import Row, RunReader, run_folder
from arena.run.deeds import Deed, deed
from arena.session import Ask, Decider, EndVerdict, Reply, WireDecider
from arena.types import JSON, parse_question
from arena.verifiers import VERIFIERS


@dataclass(frozen=True, slots=True)
class Target:
    """What a replay address names. ``address``: ``UNIT[:STEP]``, None when the whole run is meant."""

    folder: Path
    address: str | None = None


def parse_target(text: str, root: Path) -> Target:
    """Read ``RUN[:UNIT[:STEP]]``; RUN is a folder, or the name of one under ``root``. Both may hold colons.

    Raises:
        UsageError: no such run.
    """
    parts = text.split(":")
    for cut in range(len(parts), 0, -1):
        if (folder := run_folder(":".join(parts[:cut]), root)) is not None:
            return Target(folder, ":".join(parts[cut:]) or None)
    raise UsageError(f"no run at {parts[0]!r}", hint=f"see: arena list runs {root}")


@dataclass(frozen=True, slots=True)
class Moment:
    """One ask: its decision rows, and for an episode the step, what is recorded next, and the episode."""

    rows: tuple[Row, ...]
    state: JSON
    step: Row | None = None
    following: Row | None = None
    episode: Row | None = None

    @property
    def after(self) -> Row | None:
        """What followed in the same walk: where a model left a recording, the next page belongs to another one."""
        same = self.step is not None and self.following is not None and self.following["phase"] == self.step["phase"]
        return self.following if same else None

    @property
    def deed(self) -> Deed | None:
        """What the action of this step did, where the log tells."""
        return None if self.step is None else deed(self.step, self.following)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A unit as the run holds it in one form. ``step``: the one that the address names.

    ``forms``: every (trial, repeat) of the unit in the log, ascending.
    """

    unit: str
    step: int | None
    trial: int
    repeat: int
    forms: tuple[tuple[int, int], ...]
    moments: tuple[Moment, ...]
    episode: Row | None


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


def trial_of(row: Row) -> int | None:
    """Which trial of its unit a row belongs to; 0 is the unit as it is, None any other variant."""
    variant = row["variant"]
    if variant["kind"] == "base":
        return 0
    return int(variant["index"]) if variant["kind"] == "trial" else None


def units(reader: RunReader) -> Iterator[dict[str, Any]]:
    """One line per item or episode and form, in log order: what went right and wrong."""
    for row in reader.episode_rows():
        if (trial := trial_of(row)) is None:
            continue
        with_gold = [step for step in row["steps"] if step["phase"] == "teacher"]
        yield {
            "unit": row["unit"],
            "trial": trial,
            "repeat": row["repeat"],
            "tier": f"{row['domain']}/{row['tier']}",
            "ending": row["ending"],
            "right": f"{sum(bool(step['correct']) for step in with_gold)}/{len(with_gold)} steps",
            "note": ", ".join(row["flags"]) or (row["error"] or {}).get("message", ""),
        }
    pending: dict[str, Any] | None = None
    for row in reader.rows():
        if row["episode"] is not None or row["variant"]["kind"] != "base":
            continue
        place = {"unit": row["unit"], "trial": 0, "repeat": row["repeat"], "tier": f"{row['domain']}/{row['tier']}"}
        if pending is not None and pending["place"] != place:
            yield _static_line(pending)
            pending = None
        if pending is None:
            pending = {"place": place, "hits": [], "bad": []}
        pending["hits"].append(bool(row["correct"]))
        if not row["valid"]:
            pending["bad"].append(f"{row['question_name']}: {row['invalid_reason']}")
    if pending is not None:
        yield _static_line(pending)


def _static_line(pending: dict[str, Any]) -> dict[str, Any]:
    hits = pending["hits"]
    return {
        **pending["place"],
        "ending": "right" if all(hits) else "wrong",
        "right": f"{sum(hits)}/{len(hits)} questions",
        "note": "; ".join(pending["bad"]),
    }


def find(reader: RunReader, address: str, *, trial: int = 0, repeat: int = 0) -> Recorded:
    """The unit that ``UNIT[:STEP]`` names, in one form. An id may hold colons: the longest id in the run is meant.

    Raises:
        UnknownName: the run holds no such unit. UsageError: not in this form, or it ended before it was asked.
    """
    wanted = {address, address.rpartition(":")[0]}
    known, forms = set[str](), dict[str, set[tuple[int, int]]]()
    asks: dict[str, dict[str, list[Row]]] = {}
    episodes: dict[str, Row] = {}
    for row in chain(reader.episode_rows(), reader.rows()):
        unit, number = row["unit"], trial_of(row)
        known.add(unit)
        if unit not in wanted or number is None:
            continue
        forms.setdefault(unit, set()).add((number, row["repeat"]))
        if (number, row["repeat"]) != (trial, repeat):
            continue
        if "steps" in row:
            episodes[unit] = row
        else:
            asks.setdefault(unit, {}).setdefault(row["ask"], []).append(row)
    unit, step = _meant(address, known, reader.folder)
    held = tuple(sorted(forms.get(unit, ())))
    if (trial, repeat) not in held:
        raise UsageError(f"the run holds no trial {trial}, repeat {repeat} of {unit}", hint=f"it holds {listed(held)}")
    played = _moments(reader, unit, asks.get(unit, {}), episodes.get(unit))
    return Recorded(unit, step, trial, repeat, held, tuple(played), episodes.get(unit))


def find_decision(reader: RunReader, decision: str) -> Recorded:
    """The ask that a decision belongs to, whatever its form: an order, a removal, a probe, a trial, a step.

    Raises:
        UsageError: the run holds no such decision.
    """
    asked = next((row for row in reader.rows() if row["id"] == decision), None)
    if asked is None:
        raise UsageError(
            f"{reader.folder} holds no decision {decision!r}",
            hint="ids of decisions stand in the log, in arena view and on a site",
        )
    number = trial_of(asked)
    if asked["episode"] is not None and number is not None:
        found = find(reader, asked["unit"], trial=number, repeat=asked["repeat"])
        moments = tuple(moment for moment in found.moments if moment.rows[0]["ask"] == asked["ask"])
        return replace(found, step=asked["step"], moments=moments)
    rows = tuple(row for row in reader.rows() if row["ask"] == asked["ask"])
    return Recorded(asked["unit"], None, 0, asked["repeat"], (), (Moment(rows, reader.state(asked)),), None)


def form_of(row: Row) -> str:
    """How the question of a decision was varied, in words; empty for its base form."""
    variant = row["variant"]
    if variant["kind"] == "base" or row["question_name"] != (variant["question"] or row["question_name"]):
        return ""
    number = f" {variant['index']}" if variant["kind"] in ("trial", "reorder", "repeat") else ""
    return {
        "trial": f"trial{number}: another fixture or option order",
        "reorder": f"option order{number} of its set",
        "repeat": f"repeat{number} of the canonical order",
        "null_intact": "with none_of_the_above, the right option is there",
        "null_removed": "with none_of_the_above, the right option is gone",
        "removed": "the right option is gone, no null is offered",
        "probe": f"probe {variant['probe']}",
    }[variant["kind"]]


def _meant(address: str, known: set[str], folder: Path) -> tuple[str, int | None]:
    head, colon, tail = address.rpartition(":")
    if address in known or not colon:
        unit, step = address, None
    elif head in known and not (tail.isascii() and tail.isdigit()):
        raise UsageError(f"step {tail!r} is not a number", hint="steps count from 0")
    else:
        unit, step = head, int(tail) if tail.isascii() and tail.isdigit() else None
    if unit not in known:
        raise UnknownName("item or episode", address, known, hint=f"see: arena replay {folder}")
    return unit, step


def listed(forms: tuple[tuple[int, int], ...]) -> str:
    """Which trials and repeats of a unit are on record, in words."""
    trials, repeats = sorted({form[0] for form in forms}), sorted({form[1] for form in forms})
    every = len(forms) == len(trials) * len(repeats)
    if not every:
        return ", ".join(f"trial {trial} repeat {repeat}" for trial, repeat in forms) or "no form that replay shows"
    told = f"trial {', '.join(map(str, trials))} (--trial)"
    return told if repeats == [0] else f"{told}; repeat {', '.join(map(str, repeats))} (--repeat)"


def _moments(reader: RunReader, unit: str, by_ask: dict[str, list[Row]], episode: Row | None) -> list[Moment]:
    """Every ask of a unit in the order played."""
    if not by_ask and episode is not None:
        why = (episode["error"] or {}).get("message", "no reason is on record")
        raise UsageError(f"{unit} ended before its first decision: {why}", hint=f"see: arena replay {reader.folder}")
    if episode is None:
        return [Moment(tuple(rows), reader.state(rows[0])) for rows in by_ask.values()]
    steps = [step for step in episode["steps"] if step["ask"] in by_ask]
    return [
        Moment(tuple(by_ask[step["ask"]]), reader.state(by_ask[step["ask"]][0]), step, following, episode)
        for step, following in zip(steps, [*steps[1:], episode["final"]], strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The recorded end state judged again. ``fault``: why that could not be done, or how the log differs."""

    verdict: EndVerdict | None
    fault: str | None = None


def judge_again(episode: Row) -> Judgement:
    """What the verifier says of the end state in the log, now: it is pure, so no box and no browser is needed."""
    if episode["error"] is not None:
        return Judgement(None, f"{episode['error']['boundary']} failed: {episode['error']['message']}")
    try:
        verdict = VERIFIERS.get(episode["verifier"])(episode["verify"], episode["end_state"], episode["claimed"])
    except UnknownName as error:
        return Judgement(None, error.message)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return Judgement(None, f"its end state cannot be judged: {type(error).__name__}: {error}")
    recorded = (episode["ending"], episode["key_nodes"])
    if recorded != (verdict.ending, verdict.key_nodes):
        return Judgement(verdict, f"the log says {recorded[0]}, its end state gives {verdict.ending}")
    if lacking := sorted(set(verdict.flags) - set(episode["flags"])):
        return Judgement(verdict, f"the log lacks the flag {lacking[0]}")
    return Judgement(verdict)


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
