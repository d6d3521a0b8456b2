"""From a turn to log lines: asks the decider (or the past), judges nothing, writes everything.

One ``CaseRecorder`` plays one case. It answers an ask from what the log already holds when the bytes are
the same (an interrupted episode), from the cache, or from the decider, in that order, and appends one
decision per question. Failures are data here, never exceptions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from time import perf_counter
from typing import Any, Literal

import anyio

from arena.errors import ArenaError
from arena.identity import PROTOCOL, dump, presented_id, question_id, sha256
from arena.items import EpisodeRef, Item
from arena.log.cache import ResponseCache
from arena.log.reader import Row, RunReader
from arena.log.writer import STATE_INLINE, RunWriter
from arena.records import Attempt, Decision, Step
from arena.run.planned import Planned
from arena.session import Ask, Decider, Judged, Reply, Turn, WireDecider
from arena.types import JSON

RETRYABLE = frozenset({"timeout", "server_error", "rate_limited", "warming", "auth"})
"""Outcomes that say nothing of the model: while a run is open, such a decision is still owed."""


@dataclass(slots=True)
class Tally:
    """Counts of a run in progress. ``asks`` and ``errors`` count the calls of this session of the run alone.

    ``parts``: part of the plan (``Planned.part``) -> cases done; ``part``: that of the last one.
    """

    cases: int = 0
    asks: int = 0
    decisions: int = 0
    invalid: int = 0
    errors: int = 0
    cached: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    part: str = ""

    def done(self, planned: Planned) -> None:
        """Count a case."""
        self.cases += 1
        self.part = planned.part
        self.parts[self.part] += 1


@dataclass(slots=True)
class Past:
    """What an interrupted run left behind.

    An episode in which a call failed is owed again as a whole; its other steps are answered from ``rows``.

    ``answered``: static case id -> decisions on record; ``episodes``: finished episode cases; ``retries``:
    record id -> next retry number, for what failed and is still owed; ``rows``: ask id -> question name -> row,
    for episodes that did not finish and for the last ask, which a crash may have recorded in part.
    """

    answered: dict[str, int] = field(default_factory=dict)
    episodes: set[str] = field(default_factory=set)
    retries: dict[str, int] = field(default_factory=dict)
    rows: dict[str, dict[str, Row]] = field(default_factory=dict)

    def finished(self, planned: Planned) -> bool:
        """Whether nothing is owed for a case."""
        if isinstance(planned.unit, Item):
            return self.answered.get(planned.case.id, 0) >= len(planned.unit.questions)
        return planned.case.id in self.episodes

    def play_again(self, case: str, answered: Mapping[str, dict[str, Row]]) -> None:
        """An episode broke and is played again at once: what was answered stays so. ``answered`` is like ``rows``."""
        self.retries[case] = self.retries.get(case, 0) + 1
        for ask, rows in answered.items():
            self.rows[ask] = {**self.rows.get(ask, {}), **rows}


def read_past(reader: RunReader, tally: Tally) -> Past:
    """Read what a run already holds and count it into ``tally``."""
    past = Past()
    endings = {row["id"]: (row["ending"], row["retry"]) for row in reader.episode_rows()}
    if endings:
        failed = {row["case"] for row in reader.rows() if row["episode"] is not None and row["outcome"] in RETRYABLE}
        owed = {case for case, (ending, _) in endings.items() if ending == "error" or case in failed}
        past.retries = {case: endings[case][1] + 1 for case in owed}
        past.episodes = endings.keys() - owed
    last: tuple[str, dict[str, Row]] | None = None
    for row in reader.rows():
        if row["outcome"] in RETRYABLE:
            past.retries[row["id"]] = row["retry"] + 1
            continue
        tally.decisions += 1
        tally.invalid += not row["valid"]
        ask, name = row["ask"], row["question_name"]
        if row["episode"] is None:
            past.answered[row["case"]] = past.answered.get(row["case"], 0) + 1
            last = (ask, {**last[1], name: row}) if last and last[0] == ask else (ask, {name: row})
        elif row["case"] not in past.episodes:
            past.rows.setdefault(ask, {})[name] = row
            tally.decisions -= 1
            tally.invalid -= not row["valid"]
    if last is not None:
        past.rows[last[0]] = last[1]
    return past


@dataclass(slots=True)
class Channel:
    """How asks of this run are answered: shared by all its cases."""

    decider: Decider
    cache: ResponseCache | None
    lane: Literal["throughput", "latency"]
    deadline_s: float
    past: Past
    read_cache: bool = True
    wire: WireDecider | None = field(init=False)
    """The decider, if it sends bytes. (Asking a protocol for membership costs more than an instant model.)"""
    _asking: dict[bytes, anyio.Event] = field(init=False, default_factory=dict)
    """Requests under way, so that the same bytes are not sent twice at once."""

    def __post_init__(self) -> None:
        self.wire = self.decider if isinstance(self.decider, WireDecider) else None

    async def ask(self, ask: Ask, request: bytes, repeat: bool) -> tuple[Reply, bool]:
        """(reply, already in the log?). A request is sent once, and repeats are never answered from the cache.

        Without ``read_cache`` what other runs were told is not read; what this run was told is.
        """
        rows = self.past.rows.get(ask.id)
        if rows and rows.keys() == ask.questions.keys() and _same_bytes(rows.values(), request):
            return _reply_of(rows), True
        if repeat or self.cache is None:
            return await self.call(ask), False
        while (asking := self._asking.get(request)) is not None:
            await asking.wait()
        found = self.cache.get(request)
        if found is not None and (self.read_cache or not found.cached):
            return found, False
        self._asking[request] = answered = anyio.Event()
        try:
            reply = await self.call(ask)
            self.cache.put(request, reply)
        finally:
            del self._asking[request]
            answered.set()
        return reply, False

    async def call(self, ask: Ask) -> Reply:
        """Ask the decider itself; whatever it raises becomes the outcome of the call."""
        begun = perf_counter()
        try:
            if self.wire is None:
                return await self.decider.decide(ask)
            # The transport keeps the deadline; this only guards against one that does not.
            with anyio.fail_after(self.deadline_s + 5.0):
                return await self.decider.decide(ask)
        except ArenaError:
            raise
        except TimeoutError:
            return Reply({}, "timeout", f"no answer within {self.deadline_s:g} s", attempts=_one(begun, "timeout"))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            return Reply({}, "server_error", told, attempts=_one(begun, told))


def _same_bytes(rows: Iterable[Row], request: bytes) -> bool:
    asked = sha256(request)
    return all(row["request_sha256"] == asked for row in rows)


def _one(begun: float, error: str) -> tuple[Attempt, ...]:
    return (Attempt(n=1, error=error, seconds=perf_counter() - begun),)


def _reply_of(rows: Mapping[str, Row]) -> Reply:
    first = next(iter(rows.values()))
    return Reply(
        answers={name: row["response"] for name, row in rows.items()},
        outcome=first["outcome"],
        error=first["error"],
        body=first["body"],
        latency_ms=first["latency_ms"],
        model_version=first["model_version"],
        cached=first["cached"],
    )


class CaseRecorder:
    """Plays the recording side of one case: ``decide`` and ``on_turn`` are what ``play`` calls."""

    def __init__(self, planned: Planned, channel: Channel, writer: RunWriter, run: str, tally: Tally) -> None:
        self.planned, self.channel, self.writer, self.run, self.tally = planned, channel, writer, run, tally
        self.case = planned.case.id
        self.steps: list[Step] = []
        self.answered: dict[str, dict[str, Row]] = {}
        """Of an episode: what was written, as ``Past.rows`` holds it."""
        self.counted = Tally()
        self.started = datetime.now(UTC)
        self._request = b""
        self._known = False
        self._decide_ms = 0.0

    async def decide(self, ask: Ask) -> Reply:
        """Answer one ask and remember its request bytes for the log."""
        if (wire := self.channel.wire) is not None:
            self._request = wire.encode(ask)
        else:
            questions = {name: question.wire() for name, question in ask.questions.items()}
            self._request = dump({"state": ask.state, "questions": questions})
        begun = perf_counter()
        repeated = self.planned.case.repeat > 0 or self.planned.case.variant.kind == "repeat"
        reply, self._known = await self.channel.ask(ask, self._request, repeated)
        self._decide_ms = (perf_counter() - begun) * 1000.0
        return reply

    async def on_turn(self, turn: Turn, reply: Reply, judged: Mapping[str, Judged], acted_ms: float) -> None:
        """Append the turn's decisions; for an episode also remember the step."""
        tally = self.tally
        if not self._known:
            encoded = dump(turn.ask.state)
            state, blob = self.writer.store_state(turn.ask.state, encoded)
            shared = self._shared(turn, reply, state, blob, sha256(encoded) if blob is None else blob)
            present = self.channel.past.rows.get(turn.ask.id, {})
            # A crash may have recorded part of an ask; what stands there for other bytes is replaced.
            kept = {name for name, row in present.items() if row["request_sha256"] == shared["request_sha256"]}
            owed = {name: one for name, one in judged.items() if name not in kept}
            made = [self._decision(shared, turn, reply, name, one) for name, one in owed.items()]
            self.writer.decisions(made)
            if isinstance(self.planned.unit, EpisodeRef) and reply.outcome not in RETRYABLE:
                self.answered[turn.ask.id] = {each.question_name: _as_past(each) for each in made}
            tally.asks += 1
        for one in judged.values():
            for each in (tally, self.counted):
                each.decisions += 1
                each.invalid += not one.gated.valid
        tally.errors += reply.outcome in RETRYABLE
        tally.cached += reply.cached
        if isinstance(self.planned.unit, EpisodeRef):
            self._step(turn, judged, acted_ms)

    def _shared(self, turn: Turn, reply: Reply, state: JSON, blob: str | None, state_hash: str) -> dict[str, Any]:
        """The fields that all decisions of one ask have in common."""
        unit, case = self.planned.unit, self.planned.case
        card = self.channel.decider.card
        tokens = (reply.usage or {}).get("input_tokens")
        price = card.usd_per_million_input_tokens
        # Each decision bears its share, so that a sum over decisions is what the calls cost.
        share = 1e-6 / len(turn.ask.questions)
        cost = tokens * price * share if isinstance(tokens, int) and price is not None else None
        return {
            "protocol": PROTOCOL,
            "run": self.run,
            "case": self.case,
            "ask": turn.ask.id,
            "domain": case.domain,
            "tier": case.tier,
            "suite": unit.suite,
            "split": unit.split,
            "unit": unit.id,
            "group": unit.group,
            "episode": None if isinstance(unit, Item) else unit.id,
            "step": turn.step,
            "phase": turn.phase,
            "state_id": state_hash,
            "variant": case.variant,
            "repeat": case.repeat,
            "model": card.name,
            "model_version": reply.model_version or card.version or None,
            "state": state,
            "state_blob": blob,
            "request": self._kept_request(),
            "request_sha256": sha256(self._request),
            "outcome": reply.outcome,
            "error": reply.error,
            "latency_ms": reply.latency_ms,
            "server_latency_ms": reply.server_latency_ms,
            "attempts": reply.attempts,
            "usage": None if reply.usage is None else dict(reply.usage),
            "cost_usd": cost,
            "cached": reply.cached,
            "lane": self.channel.lane,
            "started_at": self.started.isoformat(timespec="milliseconds"),
        }

    def _kept_request(self) -> str | None:
        """The raw body of a wire model's request for the line; a large one becomes a blob."""
        if self.channel.wire is None:
            return None
        if len(self._request) > STATE_INLINE:
            self.writer.put_blob(self._request)
            return None
        return self._request.decode()

    def _decision(self, shared: dict[str, Any], turn: Turn, reply: Reply, name: str, judged: Judged) -> Decision:
        question, gated = turn.ask.questions[name], judged.gated
        raw = reply.answers.get(name)
        identity = sha256(f"{turn.ask.id}\x1f{name}".encode())[:24]
        answer = None if gated.answer is None else {**gated.answer.__dict__}
        replaced = self.channel.past.rows.get(turn.ask.id, {}).get(name)
        retry = self.channel.past.retries.get(identity, 0)
        loggable = _loggable(raw)
        return Decision.model_construct(
            **shared,
            id=identity,
            retry=retry if replaced is None else max(retry, replaced["retry"] + 1),
            question_name=name,
            question_id=question_id(question),
            presented_id=presented_id(question),
            question=question,
            response=raw if loggable else None,
            body=_kept_body(reply, raw, gated.valid, loggable),
            answer=answer,
            valid=gated.valid,
            invalid_reason=gated.reason,
            renormalized=gated.renormalized,
            committed=gated.committed,
            confidence=gated.confidence,
            provider_confidence=gated.provider_confidence,
            gold=turn.golds.get(name),
            correct=judged.correct,
        )

    def _step(self, turn: Turn, judged: Mapping[str, Judged], acted_ms: float) -> None:
        if self.steps:
            last = self.steps[-1]
            self.steps[-1] = last.model_copy(update={"timing": {**last.timing, "act_ms": round(acted_ms, 3)}})
        first = next(iter(judged.values()))
        self.steps.append(
            Step(
                step=turn.step,
                phase=turn.phase,
                ask=turn.ask.id,
                page_hash=turn.page_hash,
                committed=first.gated.committed,
                correct=first.correct,
                artifacts={name: self.writer.put_blob(data) for name, data in turn.artifacts.items()},
                view=turn.view,
                timing={"observe_ms": round(turn.observe_ms, 3), "decide_ms": round(self._decide_ms, 3)},
            )
        )


def _as_past(decision: Decision) -> Row:
    """What an ask is answered from when its episode is played again."""
    names = ("response", "outcome", "error", "body", "latency_ms", "model_version", "cached", "request_sha256", "retry")
    return {name: getattr(decision, name) for name in names}


DEEPEST = 100
"""Levels of nesting that a log line holds; the serialisers themselves give up somewhere beyond 250."""


def _kept_body(reply: Reply, raw: JSON, valid: bool, loggable: bool) -> str | None:
    """The raw reply text of an invalid answer, and in any case an answer that JSON cannot hold, as text."""
    if reply.body is not None and not valid:
        return reply.body
    if loggable:
        return None
    try:
        return json.dumps(raw, allow_nan=True, default=repr)
    except (RecursionError, ValueError):
        return f"an answer nested deeper than {DEEPEST} levels"


def _loggable(value: JSON, depth: int = 0) -> bool:
    """Whether JSON holds the value as it is: no NaN, no infinity, not nested too deep."""
    if isinstance(value, float):
        return isfinite(value)
    if depth > DEEPEST:
        return False
    if isinstance(value, dict):
        return all(_loggable(inner, depth + 1) for inner in value.values())
    if isinstance(value, list | tuple):
        return all(_loggable(inner, depth + 1) for inner in value)
    return True
