"""What is logged: one ``Decision`` per question asked, one ``Episode`` per episode played.

The log is the API: scoring, reliability, replay and publishing read these records and nothing else. A
decision line is self-contained: it holds the question, the raw answer and the gold, so it can be
scored again anywhere. Large states and screenshots lie beside it in ``blobs/`` by sha256.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from arena.items import Gold, Variant
from arena.types import JSON, Frozen, Question

SCHEMA = 1

Outcome = Literal[
    "ok",
    "refused",
    "unsupported",
    "invalid_response",
    "rate_limited",
    "warming",
    "timeout",
    "auth",
    "server_error",
]
"""How a call ended. ``ok``: a reply was read (its answers may still be invalid)."""

Ending = Literal["success", "failure", "not_evaluated", "error"]
"""How an episode ended, as the verifier saw it. ``error``: env or harness failed; no verdict."""


class Attempt(Frozen):
    """One try of a call. Times in seconds; ``started`` counts from the first try; ``waited`` came before it."""

    n: int
    status: int | None = None
    error: str | None = None
    started: float = 0.0
    seconds: float = 0.0
    waited: float = 0.0
    request_id: str | None = None


class ModelCard(Frozen):
    """Which model answered. ``identity`` enters the cache key and the run's resume key.

    ``identity`` holds all that decides an answer (weights sha256, endpoint, adapter version, options).
    ``verified``: ``embedded`` (runs here), ``live`` (a recorded live check exists), ``not verified live``.
    """

    name: str
    version: str = ""
    identity: dict[str, JSON] = Field(default_factory=dict)
    verified: Literal["embedded", "live", "not verified live"] = "embedded"
    paid: bool = False
    usd_per_million_input_tokens: float | None = None
    order_invariant: bool | None = None
    trained_on: str | None = None


class Verdict(Frozen):
    """Right or not, and partial credit 0..1 (1 iff right, unless a profile says otherwise)."""

    correct: bool
    credit: float


class Decision(Frozen):
    """One question asked of one model: the line of ``decisions.jsonl``.

    ``id`` is unique in a run. ``step`` counts from 0 within an episode, 0 for static items. ``phase`` is
    ``teacher`` for recorded steps (and static items), ``free`` for steps off the recording.
    ``state`` is inline, or None with ``state_blob`` naming the blob. ``request`` is the raw body sent to a wire
    model (None: it runs in process, or the body is the blob ``request_sha256``). ``response`` is the raw answer as
    returned; ``body`` the raw reply text where no answer could be read. Latencies in milliseconds from
    the client's clock; ``cost_usd`` is this decision's share of its call, None when no price is known.
    """

    schema_version: int = SCHEMA
    protocol: str
    run: str
    id: str
    case: str
    ask: str
    domain: str
    tier: str
    suite: str
    split: str
    unit: str
    group: str | None
    episode: str | None
    step: int
    phase: Literal["teacher", "free"] = "teacher"
    question_name: str
    question_id: str
    presented_id: str
    state_id: str
    variant: Variant
    repeat: int = 0
    retry: int = 0
    model: str
    model_version: str | None
    question: Question
    state: JSON
    state_blob: str | None
    request: str | None = None
    request_sha256: str
    response: JSON
    body: str | None
    outcome: Outcome
    error: str | None
    answer: dict[str, JSON] | None
    valid: bool
    invalid_reason: str | None
    renormalized: bool
    committed: str | int | bool | None
    confidence: float | None
    provider_confidence: float | None
    gold: Gold | None
    correct: bool | None
    latency_ms: float | None
    server_latency_ms: float | None
    attempts: Annotated[tuple[Attempt, ...], Field(strict=False)]
    usage: dict[str, JSON] | None
    cost_usd: float | None
    cached: bool
    lane: Literal["throughput", "latency"]
    started_at: str


class Step(Frozen):
    """What happened at one step of an episode.

    ``page_hash``: the environment's hash of the state before acting (``sem_hash`` on the web).
    ``artifacts``: name -> blob sha256 (screenshot, ...); ``view``: what replay needs to draw (option boxes...).
    ``timing``: milliseconds by part (observe, decide, act).
    """

    step: int
    phase: Literal["teacher", "free"]
    ask: str
    page_hash: str
    committed: str | int | bool | None
    correct: bool | None
    action: JSON = None
    note: str | None = None
    artifacts: dict[str, str] = Field(default_factory=dict)
    view: JSON = None
    timing: dict[str, float] = Field(default_factory=dict)


class Episode(Frozen):
    """One episode played: the line of ``episodes.jsonl``. ``id`` is its case, ``unit`` the recorded episode.

    ``ending``: the verifier's word on the end state. ``claimed``: how the model ended it (``done``,
    ``blocked``, or None). ``flags``: e.g. ``off_tape``, ``forbidden``, ``truncated``. ``key_nodes``: share of
    key nodes reached, 0..1. ``end_state``: what the verifier judged, so that it can judge again.
    ``final``: hash and artifacts after the last action.
    """

    schema_version: int = SCHEMA
    protocol: str
    run: str
    id: str
    unit: str
    domain: str
    tier: str
    suite: str
    split: str
    group: str | None
    env: str
    verifier: str
    recording_sha256: str
    variant: Variant
    repeat: int = 0
    retry: int = 0
    steps: Annotated[tuple[Step, ...], Field(strict=False)]
    gold_steps: int
    ending: Ending
    claimed: str | None
    truncated: bool
    flags: Annotated[tuple[str, ...], Field(strict=False)] = ()
    key_nodes: float | None = None
    end_state: JSON = None
    verify: JSON = None
    error: dict[str, str] | None = None
    final: Step | None = None
    versions: dict[str, JSON] = Field(default_factory=dict)
    started_at: str
    seconds: float
