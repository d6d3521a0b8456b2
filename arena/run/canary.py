"""The visibility canary: two questions whose answers stand in the question text (protocol 2).

A server that never puts the questions before its model still returns tidy probabilities. Asked once per run,
before anything else and past the cache; the result stands on the row. ``--strict`` stops a run whose canary fails. What
was answered also tells one model from another that stands behind the same address: the cache is theirs apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.identity import digest, load
from arena.items import Gold
from arena.log.reader import CANARY
from arena.log.writer import RunWriter
from arena.run.record import RETRYABLE, Channel
from arena.session import Ask, Judged, Reply, Turn, judge
from arena.types import JSON, Choice, Noul, Score

QUESTIONS: dict[str, Choice | Score | Noul] = {
    "word": Choice(
        instructions="The right option is 'maple'. Choose 'maple'.",
        criteria={
            "granite": "not the right option",
            "maple": "the right option: choose this one",
            "violet": "not the right option",
            "copper": "not the right option",
        },
    ),
    "truth": Noul(
        instructions="The answer to this question is yes. Answer yes.",
        criteria={"true": "yes: this is the right answer", "false": "no: this is the wrong answer"},
    ),
}
GOLDS = {"word": Gold(accepted=("maple",)), "truth": Gold(accepted=(True,))}


DIGITS = 3
"""Probabilities of the canary are compared to this many digits: servers that batch do not repeat the last bits."""


def _generation(judged: Mapping[str, Judged], reply: Reply) -> str | None:
    """Which model answered, as far as its answers tell; None where they cannot: then nothing may be shared.

    Two models behind one address and name give other probabilities, so the cache of one is not read for the other.
    """
    if reply.outcome != "ok" or not all(one.gated.valid for one in judged.values()):
        return None
    given = {name: one.gated.answer.model_dump() for name, one in judged.items() if one.gated.answer is not None}
    return digest([_rounded(given), reply.model_version])


def _rounded(value: JSON) -> JSON:
    if isinstance(value, float):
        return round(value, DIGITS)
    return {key: _rounded(inner) for key, inner in value.items()} if isinstance(value, dict) else value


async def ask_canary(channel: Channel, writer: RunWriter) -> dict[str, Any]:
    """Ask the canary unless the run already holds it; returns and stores its result.

    A call that failed for reasons outside the model says nothing; it is stored, and asked again on resume.
    """
    path = writer.folder / CANARY
    if path.is_file():
        stored: dict[str, Any] = load(path.read_bytes())
        if stored["outcome"] not in RETRYABLE:
            return stored
    turn = Turn(ask=Ask("canary", "Read the question; the answer stands in it.", QUESTIONS), golds=GOLDS)
    reply = await channel.call(turn.ask)
    judged = judge(turn, reply)
    found = {
        "generation": _generation(judged, reply),
        "asked": len(judged),
        "right": sum(bool(one.correct) for one in judged.values()),
        "outcome": reply.outcome,
        "questions": {
            name: {"committed": one.gated.committed, "correct": one.correct, "invalid_reason": one.gated.reason}
            for name, one in judged.items()
        },
    }
    writer.file(CANARY, found)
    return found
