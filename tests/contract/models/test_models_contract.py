"""What every registered model keeps to: valid answers, untouched keys, determinism, no exception for a failed call.

Models of the catalog are driven through their own adapter against a server in memory that checks each request
against the published rules of the format before it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from arena.gate import gate
from arena.identity import dump, load
from arena.models import MODELS, ModelOptions, known_models, open_model
from arena.models.answers import wire_answer
from arena.models.catalog import Provider, providers
from arena.models.systemone import SystemOne
from arena.session import Ask, Decider, Reply, WireDecider
from arena.types import Choice, Noul, Question, Score, parse_question

CATALOG = providers()
ODD = ("10", "9", "00", "reverted_card_payment?", "Refund_not_showing_up", "はい", "Å", "a b", "")


def _answers(questions: dict[str, Any], provider: Provider) -> dict[str, Any]:
    """Answers that depend on the keys alone; shaped as the provider shapes them."""
    answers = {}
    for name, body in questions.items():
        question = parse_question(body)
        weights = {label: 1.0 + len(label) + slot / 7 for slot, label in enumerate(sorted(question.labels()))}
        total = sum(weights.values())
        answers[name] = wire_answer(question, {label: weights[label] / total for label in question.labels()})
        if provider.name == "glide" and isinstance(question, Score):
            top = max(weights, key=lambda level: weights[level])
            answers[name] |= {"score": int(top), "expected_level": answers[name]["score"]}
    return answers


def memory_server(provider: Provider) -> Callable[[httpx.Request], httpx.Response]:
    """A server of ``provider``'s rules that answers well."""

    def answer(request: httpx.Request) -> httpx.Response:
        body = load(request.content)
        if set(body) != {"model", "state", "questions"}:
            return httpx.Response(422, json={"detail": [{"msg": "Extra inputs are not permitted"}]})
        if provider.text == "string":
            for question in body["questions"].values():
                assert isinstance(question["instructions"], str)
        reply = {"model": "echo-1", "answers": _answers(body["questions"], provider), "usage": {"input_tokens": 3}}
        if provider.envelope == "cloudflare":
            reply = {"result": reply, "success": True, "errors": [], "messages": []}
        return httpx.Response(200, json=reply)

    return answer


def opened(name: str, monkeypatch: pytest.MonkeyPatch) -> Decider:
    if name not in CATALOG:
        return open_model(name)
    for variable in ("CLOUDFLARE_ACCOUNT_ID", "DASHSCOPE_WORKSPACE_ID", "DASHSCOPE_REGION"):
        monkeypatch.setenv(variable, "x")
    provider = CATALOG[name]
    options = ModelOptions(
        base_url=None if provider.url else "http://server.test", model=None if provider.model else "served-model"
    )
    return SystemOne(provider, options, "key-0123456789", http=httpx.MockTransport(memory_server(provider)))


def most(name: str, what: str, otherwise: int) -> int:
    """The largest count a model takes."""
    if name == "sparrow-nano":
        return 10 if what == "levels" else otherwise
    limit = getattr(CATALOG[name].limits, what) if name in CATALOG else None
    return min(otherwise, limit or otherwise)


def questions(name: str) -> dict[str, Question]:
    described = {key: f"the option {slot}" for slot, key in enumerate(ODD)}
    wide = {f"k{slot}": "an option" for slot in range(most(name, "options", 255))}
    return {
        "odd keys": Choice(instructions="Which one is it?", criteria=described),
        "二": Choice(instructions="Which of two?", criteria={"b": "second", "a": "first"}),
        "wide": Choice(instructions="Which of many?", criteria=wide),
        "levels.2": Score(instructions="How much?", criteria=("little", "much")),
        "levels.n": Score(instructions="How much?", criteria=tuple(f"l{n}" for n in range(most(name, "levels", 255)))),
        "yes": Noul(instructions="Is it so?"),
        "yes, described": Noul(instructions="Is it so?", criteria={"true": "it is", "false": "it is not"}),
    }


STATES: tuple[Any, ...] = ("a state", {"z": [1, None, "ü\u2028"], "a": {}}, ["a", 2.5, True])


@pytest.fixture(params=list(MODELS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask_twice(model: Decider, ask: Ask) -> tuple[Reply, Reply]:
    async def run() -> tuple[Reply, Reply]:
        try:
            return await model.decide(ask), await model.decide(ask)
        finally:
            await model.aclose()

    return anyio.run(run)


@pytest.mark.parametrize("state", STATES)
def test_every_answer_is_valid_and_the_same_again(name: str, state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(name, monkeypatch)
    ask = Ask("case/0/teacher", state, questions(name), "a suite")
    before = dump([state, {key: question.wire() for key, question in ask.questions.items()}])
    first, again = ask_twice(model, ask)
    assert first.outcome == "ok", first.error
    assert set(first.answers) == set(ask.questions)
    assert first.answers == again.answers
    assert first.latency_ms is not None
    assert first.latency_ms >= 0
    for key, question in ask.questions.items():
        gated = gate(question, first.answers[key])
        assert gated.valid, (key, gated.reason)
        if not isinstance(question, Noul):
            assert set(first.answers[key]["probabilities"]) == set(question.labels()), "keys come back untouched"
    assert dump([state, {key: question.wire() for key, question in ask.questions.items()}]) == before


def test_declared_order_invariance_is_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that declares invariance is held to it, exactly; one that denies it must be able to flip."""
    card = opened(name, monkeypatch).card
    keys = ("b", "a", "c")
    seen = set()
    for order in (keys, keys[::-1], ("a", "c", "b"), ("c", "b", "a")):
        question = Choice(instructions="Which?", criteria={key: f"the {key}" for key in order})
        first, _ = ask_twice(opened(name, monkeypatch), Ask("x", "a state", {"q": question}))
        seen.add(gate(question, first.answers["q"]).committed)
    if card.order_invariant is True:
        assert len(seen) == 1
    if card.order_invariant is False:
        assert len(seen) > 1


def test_the_card_says_which_model_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = opened(name, monkeypatch).card, opened(name, monkeypatch).card
    assert one == two
    assert one.name == name
    assert one.identity
    assert load(dump(one.identity)) == one.identity
    info = next(info for info in known_models() if info.name == name)
    assert (info.paid, info.verified) == (one.paid, one.verified)


@pytest.mark.parametrize("wire", list(CATALOG))
def test_wire_models_send_what_encode_says(wire: str) -> None:
    sent: list[bytes] = []
    server = memory_server(CATALOG[wire])

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return server(request)

    options = ModelOptions(base_url="http://server.test", model="served-model")
    model = SystemOne(CATALOG[wire], options, "key-0123456789", http=httpx.MockTransport(answer))
    assert isinstance(model, WireDecider)
    ask = Ask("x", {"b": 1, "a": 2}, questions(wire))
    ask_twice(model, ask)
    assert sent == [model.encode(ask)] * 2


@pytest.mark.parametrize("wire", list(CATALOG))
def test_wire_models_never_raise_for_a_failed_call(wire: str) -> None:
    faults: list[Callable[[httpx.Request], httpx.Response]] = [
        lambda request: httpx.Response(200, text="<html>hello</html>"),
        lambda request: httpx.Response(500, text="boom"),
        lambda request: httpx.Response(204),
    ]

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    options = ModelOptions(base_url="http://server.test", model="served-model", max_retries=1)
    for fault in (*faults, refuse):
        model = SystemOne(CATALOG[wire], options, "key-0123456789", http=httpx.MockTransport(fault))
        reply, _ = ask_twice(model, Ask("x", "s", {"q": Noul(instructions="Is it?")}))
        assert reply.outcome in ("invalid_response", "server_error")
        assert reply.error
        assert not reply.answers
        assert reply.attempts
