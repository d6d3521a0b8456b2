"""The contract of environments as a check that anyone can run on theirs.

``check_session`` plays an episode by policies and returns what is broken, in words: the same actions must show
the same asks and hashes and the same end; options must be sane; gold must be reachable; what is recorded must be
what is asked; and closing must work at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arena.identity import dump
from arena.session import Ask, Ended, Environment, Judged, Reply, Session, Turn, Verifier, play
from arena.types import JSON, MAX_OPTIONS, Choice, Noul, Score

Policy = Callable[[Turn], Mapping[str, str | int | bool]]
"""Turn -> question name -> decision."""


def follow_gold(turn: Turn) -> dict[str, str | int | bool]:
    """The first accepted decision of every question; its first label where there is no gold."""
    decisions: dict[str, str | int | bool] = {}
    for name, question in turn.ask.questions.items():
        gold = turn.golds.get(name)
        decisions[name] = gold.accepted[0] if gold else _label(question, 0)
    return decisions


def _label(question: Choice | Score | Noul, place: int) -> str | int | bool:
    label = question.labels()[place]
    return label if isinstance(question, Choice) else label == "true" if isinstance(question, Noul) else int(label)


def always_last(turn: Turn) -> dict[str, str | int | bool]:
    """The last label of every question."""
    return {name: _label(question, -1) for name, question in turn.ask.questions.items()}


def sure(question: Choice | Score | Noul, decision: str | int | bool) -> JSON:
    """A raw answer that puts all probability on one decision."""
    if isinstance(question, Noul):
        return {"type": "noul", "noul": 1.0 if decision is True else 0.0}
    spread = {label: float(label == str(decision)) for label in question.labels()}
    if isinstance(question, Score):
        return {"type": "score", "score": float(decision), "probabilities": spread}
    return {"type": "choice", "choice": str(decision), "probabilities": spread}


@dataclass(frozen=True)
class Played:
    """One episode as it went. ``trace``: per turn what must not vary."""

    turns: tuple[Turn, ...]
    right: tuple[bool | None, ...]
    trace: tuple[JSON, ...]
    ended: Ended


async def play_policy(environment: Environment, path: str, policy: Policy) -> Played:
    """Play an episode by a policy, and close its session."""
    session = await environment.open(path, ask_prefix="check")
    turns: list[Turn] = []
    right: list[bool | None] = []

    class Watched:
        """The session, with its turns kept for the policy."""

        async def start(self) -> Turn:
            turns.append(await session.start())
            return turns[-1]

        async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
            right.extend(one.correct for one in judged.values())
            following = await session.advance(judged)
            if following is not None:
                turns.append(following)
            return following

        async def finish(self) -> Ended:
            return await session.finish()

        async def aclose(self) -> None:
            await session.aclose()

    async def decide(ask: Ask) -> Reply:
        decisions = policy(turns[-1])
        return Reply({name: sure(question, decisions[name]) for name, question in ask.questions.items()})

    async def nothing(*_: object) -> None:
        return None

    watched: Session = Watched()
    try:
        ended = await play(watched, decide, nothing)
    finally:
        await session.aclose()
        await session.aclose()
    trace = tuple([turn.ask.id, turn.phase, turn.step, turn.page_hash, *_asked(turn)] for turn in turns)
    return Played(tuple(turns), tuple(right), trace, ended)


def _asked(turn: Turn) -> list[JSON]:
    questions = {name: question.wire() for name, question in turn.ask.questions.items()}
    return [dump(turn.ask.state).decode(), dump(questions).decode()]


def _options(played: Played) -> list[str]:
    faults = []
    names = [turn.ask.id for turn in played.turns]
    if len(set(names)) != len(names):
        faults.append(f"ask ids repeat: {sorted({name for name in names if names.count(name) > 1})}")
    for turn in played.turns:
        for name, gold in turn.golds.items():
            question = turn.ask.questions.get(name)
            if question is None:
                faults.append(f"{turn.ask.id}: a gold for {name!r}, which is not asked")
                continue
            labels = question.labels()
            if isinstance(question, Choice) and not 2 <= len(labels) <= MAX_OPTIONS:
                faults.append(f"{turn.ask.id}: {len(labels)} options")
            if gold is not None and isinstance(question, Choice) and not set(gold.accepted) <= set(labels):
                faults.append(f"{turn.ask.id}: gold {gold.accepted} is not among the options")
    return faults


def _difference(first: Played, second: Played) -> str | None:
    for one, two in zip(first.trace, second.trace, strict=False):
        if one != two:
            fields = ("ask id", "phase", "step", "page hash", "state", "questions")
            return next(f"{one[0]}: {name} differs" for name, a, b in zip(fields, one, two, strict=True) if a != b)
    if len(first.trace) != len(second.trace):
        return f"{len(first.trace)} turns, then {len(second.trace)}"
    if dump(first.ended.end_state) != dump(second.ended.end_state):
        return "the end states differ"
    return None


async def _clean_up(environment: Environment, path: str, first: Turn) -> list[str]:
    unopened = await environment.open(path, ask_prefix="check")
    await unopened.aclose()
    broken = await environment.open(path, ask_prefix="check")
    await broken.start()
    await broken.aclose()
    again = await environment.open(path, ask_prefix="check")
    try:
        turn = await again.start()
    finally:
        await again.aclose()
    return [] if turn.page_hash == first.page_hash else ["a session after one that was broken off starts elsewhere"]


async def check_session(
    environment: Environment, path: str, *, times: int = 2, verifier: Verifier | None = None
) -> list[str]:
    """What an environment does wrong on the episode at ``path``; empty when it keeps the contract.

    ``times``: how often the gold walk is played. ``verifier``: must call the end of the gold walk a success.
    """
    faults = []
    golden = await play_policy(environment, path, follow_gold)
    faults += _options(golden)
    if not all(right is True for right in golden.right):
        faults.append(f"following gold is not right everywhere: {list(golden.right)}")
    if golden.ended.truncated:
        faults.append("the gold walk is cut")
    if verifier is not None and golden.ended.verify is not None:
        verdict = verifier(golden.ended.verify, golden.ended.end_state, golden.ended.claimed)
        if verdict.ending != "success":
            faults.append(f"the verifier calls the gold walk {verdict.ending}: {'; '.join(verdict.reasons)}")
    for _ in range(times - 1):
        if difference := _difference(golden, await play_policy(environment, path, follow_gold)):
            faults.append(f"the gold walk differs between runs: {difference}")
    recorded = environment.recorded(path)
    walked = [turn for turn in golden.turns if turn.phase == golden.turns[0].phase]
    if [(turn.page_hash, *_asked(turn)) for turn in recorded] != [(turn.page_hash, *_asked(turn)) for turn in walked]:
        faults.append("what is recorded is not what is asked on the gold walk")
    wrong = await play_policy(environment, path, always_last)
    faults += _options(wrong)
    if difference := _difference(wrong, await play_policy(environment, path, always_last)):
        faults.append(f"a wrong walk differs between runs: {difference}")
    return faults + await _clean_up(environment, path, golden.turns[0])
