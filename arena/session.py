"""One decision interface: a session yields an ``Ask``, a decider replies, one loop plays both.

A static item is a session of one step; a recorded web page is a session of many. The decider sees the
``Ask`` alone: state and questions. Gold, verdicts and what to draw travel beside it in the ``Turn``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from arena.gate import Gated, gate
from arena.items import Gold
from arena.records import Attempt, Ending, ModelCard, Outcome, Step
from arena.types import JSON, Choice, Noul, Score


@dataclass(frozen=True, slots=True)
class Ask:
    """What a decider sees: ``state`` (any JSON) and ``questions`` (name -> question).

    ``id`` names the ask within the run (case, step, phase); a decider may seed randomness from it, and
    must not read anything else out of it. ``suite`` lets a supervised baseline find what it was fitted on.
    """

    id: str
    state: JSON
    questions: Mapping[str, Choice | Score | Noul]
    suite: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one ask.

    ``answers``: question name -> raw wire answer, before the gate (missing names are invalid).
    ``body``: the raw reply text, kept where no answers could be read. ``latency_ms``: the answering attempt
    alone, client clock. ``outcome`` other than ``ok`` means that no answers came.
    """

    answers: Mapping[str, JSON]
    outcome: Outcome = "ok"
    error: str | None = None
    body: str | None = None
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float | None = None
    server_latency_ms: float | None = None
    usage: Mapping[str, JSON] | None = None
    model_version: str | None = None
    cached: bool = False


@runtime_checkable
class Decider(Protocol):
    """Any model. ``card`` says which; ``decide`` must not raise for a failed call: it returns the outcome."""

    card: ModelCard

    async def decide(self, ask: Ask) -> Reply:
        """Answer one ask."""
        ...

    async def aclose(self) -> None:
        """Release connections and the like."""
        ...


@runtime_checkable
class WireDecider(Decider, Protocol):
    """A decider that sends bytes: the cache and the log key on exactly these."""

    def encode(self, ask: Ask) -> bytes:
        """The request body, byte for byte. Pure."""
        ...


@runtime_checkable
class Trainable(Protocol):
    """A decider that is fitted before the run, on the train (or dev) split only."""

    def fit(self, suite: str, examples: list[tuple[JSON, str, Choice | Score | Noul, Gold]]) -> None:
        """Learn from (state, question name, question, gold) rows of one suite."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """An ask with what the decider must not see.

    ``golds``: question name -> gold, None where the step has none (off the recording). ``page_hash``:
    identity of the environment's state. ``artifacts``: name -> bytes (a screenshot). ``view``: data for replay.
    """

    ask: Ask
    golds: Mapping[str, Gold | None]
    step: int = 0
    phase: Literal["teacher", "free"] = "teacher"
    page_hash: str = ""
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    view: JSON = None
    observe_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """One question of a turn after gate and gold. ``correct`` is None where the step has no gold."""

    gated: Gated
    correct: bool | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended, before any verdict: data for the verifier named in the registry.

    ``end_state``: what the verifier judges (None for static items). ``verify``: the episode's own conditions.
    """

    claimed: str | None = None
    truncated: bool = False
    flags: tuple[str, ...] = ()
    gold_steps: int = 1
    end_state: JSON = None
    verify: JSON = None
    final: Step | None = None
    final_artifacts: Mapping[str, bytes] = field(default_factory=dict)
    versions: Mapping[str, JSON] = field(default_factory=dict)


class Session(Protocol):
    """A unit being played. ``advance`` gets every question's judgement and acts on the committed decision."""

    async def start(self) -> Turn:
        """The first turn."""
        ...

    async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
        """Act on the decisions; the next turn, or None when the unit has ended."""
        ...

    async def finish(self) -> Ended:
        """Collect the end state. Called once, after the last turn."""
        ...

    async def aclose(self) -> None:
        """Release everything; safe to call twice and after a failure."""
        ...


class Environment(Protocol):
    """Opens sessions; owns what they share (a browser, an engine) and closes it."""

    async def open(self, path: str, *, ask_prefix: str) -> Session:
        """A session over the recording at ``path`` (absolute). Asks are named ``{ask_prefix}:{phase}:{step}``."""
        ...

    def recorded(self, path: str) -> list[Turn]:
        """The recorded gold steps as turns, read from the recording alone (no browser, no engine)."""
        ...

    async def aclose(self) -> None:
        """Release the shared resource."""
        ...

    def identity(self) -> dict[str, Any]:
        """Versions that decide what is observed (browser, backend, mode): part of the run's config."""
        ...


@dataclass(frozen=True, slots=True)
class EndVerdict:
    """A verifier's word on an end state. ``key_nodes``: share reached 0..1; ``flags``: e.g. ``forbidden``."""

    ending: Ending
    key_nodes: float | None = None
    flags: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class Verifier(Protocol):
    """Judges a recorded end state. Pure: the same record gives the same verdict, without the environment."""

    def __call__(self, verify: JSON, end_state: JSON, claimed: str | None) -> EndVerdict:
        """Judge."""
        ...


def judge(turn: Turn, reply: Reply) -> dict[str, Judged]:
    """Gate every answer of a reply and hold it against its gold. An invalid answer is wrong."""
    judged = {}
    for name, question in turn.ask.questions.items():
        if reply.outcome == "ok":
            gated = gate(question, reply.answers.get(name))
        else:
            gated = Gated(False, reply.error or reply.outcome)
        gold = turn.golds.get(name)
        judged[name] = Judged(gated, None if gold is None else gated.valid and gold.accepts(gated.committed))
    return judged


OnTurn = Callable[[Turn, Reply, Mapping[str, Judged], float], Awaitable[None]]


async def play(session: Session, decide: Callable[[Ask], Awaitable[Reply]], on_turn: OnTurn) -> Ended:
    """Play a session to its end: ask, gate, record, act. ``on_turn`` also gets the milliseconds of acting on
    the turn before (0 for the first)."""
    from time import perf_counter

    turn: Turn | None = await session.start()
    acted = 0.0
    while turn is not None:
        reply = await decide(turn.ask)
        judged = judge(turn, reply)
        await on_turn(turn, reply, judged, acted)
        begun = perf_counter()
        turn = await session.advance(judged)
        acted = (perf_counter() - begun) * 1000.0
    return await session.finish()
