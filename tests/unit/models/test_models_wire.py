"""The wire format without I/O: request bytes, limits, and every kind of reply body, down to the gate's verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.identity import dump
from arena.items import Gold
from arena.models.catalog import Limits, Provider, providers
from arena.models.wire import BODY_KEPT, beyond, decode, encode, error_codes, error_message, outcome_of
from arena.session import Ask, Judged, Reply, Turn, judge
from arena.types import JSON, Choice, Noul, Score, parse_question

PLAIN = Provider(name="plain", summary="", origin="synthetic", source="")
CLEF = providers()["clef"]
GLIDE = providers()["glide"]

ASK = Ask(
    id="x",
    state={"z": 1, "a": "ü\u2028"},
    questions={
        "q 1": Choice(instructions="Which?", criteria={"10": "ten", "9": None, "00": "nought"}),
        "q.2": Noul(instructions="Is it?"),
    },
)
GOOD = {
    "q 1": {"type": "choice", "choice": "9", "probabilities": {"10": 0.1, "9": 0.8, "00": 0.1}},
    "q.2": {"type": "noul", "noul": 1},
}


def verdicts(reply: Reply, ask: Ask = ASK) -> dict[str, Judged]:
    return judge(Turn(ask, {name: Gold(accepted=("9",)) for name in ask.questions}), reply)


def test_the_request_is_the_question_and_nothing_else() -> None:
    body = encode(ASK, "some-model")
    sent = json.loads(body)
    assert list(sent) == ["model", "state", "questions"], "an unknown field is an error for some servers"
    assert sent["model"] == "some-model"
    assert dump(sent["state"]) == dump(ASK.state)
    assert list(sent["questions"]["q 1"]["criteria"]) == ["10", "9", "00"], "the order shown is kept"
    assert "criteria" not in sent["questions"]["q.2"]
    assert body == encode(ASK, "some-model")


def test_good_reply() -> None:
    body = {"answers": GOOD, "model": "m-1.2", "usage": {"input_tokens": 7}, "latency_ms": 3}
    reply = decode(dump(body), PLAIN)
    assert (reply.outcome, reply.model_version, reply.server_latency_ms) == ("ok", "m-1.2", 3.0)
    assert reply.usage == {"input_tokens": 7}
    assert reply.answers == GOOD, "the raw answer is kept"
    judged = verdicts(reply)
    assert judged["q 1"].correct is True
    assert judged["q.2"].gated.committed is True


BROKEN = [
    pytest.param(b"<!DOCTYPE html><html><body>Sign in</body></html>", "a web page", id="HTML with status 200"),
    pytest.param(dump({"answers": GOOD})[:-20], "not JSON", id="truncated JSON"),
    pytest.param(b"", "not JSON", id="empty"),
    pytest.param(b"\xff\xfe\x00", "not JSON", id="no text"),
    pytest.param(b"[" * 100_000, "not JSON", id="nested without end"),
    pytest.param(b"[1, 2]", "list and not an object", id="a list"),
    pytest.param(b'"ok"', "str and not an object", id="a string"),
    pytest.param(b'{"error": {"message": "overloaded"}}', "error in place of answers: overloaded", id="error object"),
    pytest.param(b'{"error": "model not found"}', "model not found", id="error string"),
    pytest.param(b'{"model": "m", "usage": {}}', "no answers", id="no answers"),
    pytest.param(b'{"answers": null}', "no answers", id="null answers"),
    pytest.param(b'{"answers": [1]}', "no answers", id="answers in a list"),
    pytest.param(b'{"result": {"answers": {}}}', "no answers", id="an envelope that was not announced"),
]


@pytest.mark.parametrize("body, said", BROKEN)
def test_a_body_without_answers_is_an_invalid_response(body: bytes, said: str) -> None:
    reply = decode(body, PLAIN)
    assert reply.outcome == "invalid_response"
    assert reply.error is not None
    assert said in reply.error
    assert reply.body == (body.decode("utf-8", "replace")[:BODY_KEPT] + (reply.body or "")[BODY_KEPT:])
    for judged in verdicts(reply).values():
        assert not judged.gated.valid
        assert judged.correct is False, "no answer is a wrong answer"


def test_a_long_body_is_cut_and_says_so() -> None:
    reply = decode(b"<html>" + b"x" * 100_000, PLAIN)
    assert reply.body is not None
    assert len(reply.body) < BODY_KEPT + 60
    assert "100006 bytes in all" in reply.body


SPOILT = [
    pytest.param({"q.2": GOOD["q.2"]}, {"q 1": "no answer"}, id="a question is missing"),
    pytest.param(
        GOOD | {"q 1": {"type": "choice", "choice": "9", "probabilities": {"9": 1.0, "10": 0}}},
        {"q 1": "'00' is missing"},
        id="a label is missing",
    ),
    pytest.param(GOOD | {"q.2": {"type": "refusal", "reason": "no"}}, {"q.2": "refusal"}, id="one refusal"),
    pytest.param(GOOD | {"another": {"type": "noul", "noul": 1}}, {}, id="an answer to nothing asked"),
]


@pytest.mark.parametrize("answers, reasons", SPOILT)
def test_one_bad_answer_leaves_the_others(answers: JSON, reasons: dict[str, str]) -> None:
    judged = verdicts(decode(dump({"answers": answers}), PLAIN))
    assert set(judged) == set(ASK.questions)
    for name, one in judged.items():
        assert one.gated.valid is (name not in reasons)
        assert reasons.get(name, "") in (one.gated.reason or "")


def test_nan_spoils_one_answer() -> None:
    body = b'{"answers": {"q 1": {"type": "choice", "choice": "9", "probabilities": {"10": NaN, "9": 1, "00": 0}}, '
    judged = verdicts(decode(body + b'"q.2": {"type": "noul", "noul": 0.25}}}', PLAIN))
    assert not judged["q 1"].gated.valid
    assert judged["q.2"].gated.valid


def test_refused_altogether() -> None:
    reply = decode(dump({"answers": {name: {"type": "refusal"} for name in ASK.questions}}), PLAIN)
    assert reply.outcome == "refused"


def test_cloudflare_envelope() -> None:
    inner = {"answers": GOOD, "model": "clef", "usage": {"input_tokens": 2, "output_tokens": 0}}
    wrapped = {"result": inner, "success": True, "errors": [], "messages": []}
    assert decode(dump(wrapped), CLEF) == decode(dump(inner), CLEF)
    failed = {"result": None, "success": False, "errors": [{"code": 5006, "message": "bad input"}]}
    reply = decode(dump(failed), CLEF)
    assert reply.outcome == "invalid_response"
    assert "bad input" in (reply.error or "")


def test_glide_score_is_an_index_and_the_mean_is_ours() -> None:
    """The body of the provider's documentation in shape: ``score`` 2, ``expected_level`` 1.99."""
    levels = Score(instructions="How bad?", criteria=("fine", "poor", "bad"))
    raw = {
        "type": "score",
        "score": 2,
        "expected_level": 1.97,
        "probabilities": {"0": 0.01, "1": 0.01, "2": 0.98},
        "confidence": 0.97,
    }
    body = {"model": "glide", "answers": {"s": raw}, "usage": {"input_tokens": 9}, "token_usage": {}}
    reply = decode(dump(body), GLIDE)
    gated = verdicts(reply, Ask("x", "s", {"s": levels}))["s"].gated
    assert reply.answers["s"] == raw
    assert gated.answer is not None
    assert gated.answer.score == pytest.approx(1.97)  # type: ignore[union-attr]
    assert gated.committed == 2


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_decode_never_raises(body: bytes) -> None:
    for provider in (PLAIN, CLEF):
        assert decode(body, provider).outcome in ("invalid_response", "ok", "refused")


JSONS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.sampled_from(["answers", "error", "q 1", "result", "success", "code", "type", "x"]), v)
    ),
    max_leaves=10,
)


@given(JSONS)
def test_decode_never_raises_on_json(content: Any) -> None:
    error_message(content)
    error_codes(content)
    for provider in (PLAIN, CLEF):
        verdicts(decode(dump(content), provider))


def test_limits_are_checked_before_the_call() -> None:
    small = PLAIN.model_copy(update={"limits": Limits(options=2, levels=2, questions=1)})
    reasons = beyond(ASK, small)
    assert "2 questions, plain takes 1" in reasons
    assert "q 1: 3 options, plain takes 2" in reasons
    assert beyond(Ask("x", "s", {"l": Score(instructions="?", criteria=("a", "b", "c"))}), small) == [
        "l: 3 levels, plain takes 2"
    ]
    assert beyond(ASK, PLAIN) == []


@pytest.mark.parametrize(
    "question, fault",
    [
        (Choice(instructions={"do": "pick"}, criteria={"a": "x", "b": "y"}), "instructions are not a string"),
        (Choice(instructions="?", criteria={"a": {"why": 1}, "b": "y"}), "option description is not a string"),
        (Score(instructions="?", criteria=("a", ["b"])), "level description is not a string"),
        (Score(instructions="?", criteria=("a", None)), "level description is not a string"),
        (Noul(instructions="?", criteria={"true": {"a": 1}}), "option description is not a string"),
        (Noul(instructions=""), "no instructions"),
        (Noul(instructions=None), "no instructions"),
    ],
)
def test_a_question_that_glide_cannot_take_is_unsupported_and_not_rewritten(question: Any, fault: str) -> None:
    ask = Ask("x", {"any": "state"}, {"q": question})
    (reason,) = beyond(ask, GLIDE)
    assert fault in reason
    assert beyond(ask, PLAIN) == []


def test_null_descriptions() -> None:
    ask = Ask("x", "s", {"q": Choice(instructions="?", criteria={"a": None, "b": "y"})})
    assert beyond(ask, GLIDE) == []
    (reason,) = beyond(ask, providers()["openrouter-jev"])
    assert "without a description" in reason


@pytest.mark.parametrize(
    "content, said",
    [
        ({"detail": {"error_type": "authentication_error", "message": "bad key"}}, "bad key"),
        ({"detail": [{"loc": ["body", "questions"], "msg": "too short", "type": "x"}]}, "body.questions: too short"),
        ({"errors": [{"code": 3036, "message": "daily limit"}]}, "daily limit"),
        ({"error_code": "X", "message": "no endpoint"}, "no endpoint"),
        ({"detail": {"error_type": "max_tokens_exceeded", "message": ""}}, "max_tokens_exceeded"),
        ({"error": {"code": 429}}, "429"),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_servers_own_words(content: JSON, said: str) -> None:
    assert error_message(content) == said


def test_error_codes_are_found_at_any_depth() -> None:
    assert error_codes({"errors": [{"code": 3036}], "error": {"type": "insufficient_quota"}}) == {
        "3036",
        "insufficient_quota",
    }


@pytest.mark.parametrize(
    "status, outcome",
    [
        *((status, "auth") for status in (401, 402, 403)),
        *((status, "unsupported") for status in (400, 413, 422, 501)),
        *((status, "server_error") for status in (500, 502, 503, 529)),
        *((status, "timeout") for status in (408, 504)),
        *((status, "invalid_response") for status in (301, 404, 405)),
        (425, "warming"),
        (429, "rate_limited"),
    ],
)
def test_outcome_of_a_status(status: int, outcome: str) -> None:
    assert outcome_of(status) == outcome


# -- exchanges that others recorded ------------------------------------------------------------------------------


def test_recorded_exchanges_decode_and_pass_the_gate(shared_data: Path) -> None:
    """What the hosted original answered, byte for byte through our reader; and we would have sent the same body."""
    files = sorted((shared_data / "jevstiller_wire").glob("systemone_*_200*.json"))
    assert len(files) == 4
    for path in files:
        exchange = json.loads(path.read_text("utf-8"))
        sent = exchange["request"]["json"]
        questions = {name: parse_question(body) for name, body in sent["questions"].items()}
        ask = Ask("x", sent["state"], questions)
        assert json.loads(encode(ask, sent["model"])) == sent
        assert beyond(ask, providers()["jev"]) == []
        reply = decode(dump(exchange["body"]), providers()["jev"])
        assert reply.outcome == "ok"
        assert reply.model_version == exchange["body"]["model"]
        judged = verdicts(reply, ask)
        assert all(one.gated.valid for one in judged.values()), path.name
        assert judged["label"].gated.committed == "billing"
        if "tone" in judged:
            assert judged["tone"].gated.committed == 0
            assert judged["urgent"].gated.committed is False


def test_recorded_errors(shared_data: Path) -> None:
    for status, outcome, said in ((401, "auth", "Cannot authenticate"), (422, "unsupported", "body.questions: Dict")):
        exchange = json.loads((shared_data / "jevstiller_wire" / f"systemone_{status}.json").read_text("utf-8"))
        assert exchange["status"] == status
        assert outcome_of(status) == outcome
        assert said in error_message(exchange["body"])
        assert decode(dump(exchange["body"]), providers()["jev"]).outcome == "invalid_response"


def test_published_answers_through_decode(shared_data: Path) -> None:
    """Answers of two more servers, wrapped as they came: the reader takes what the gate takes."""
    for path in sorted((shared_data / "mindbreaker81_sysone" / "results").glob("*/*.json")):
        for case in json.loads(path.read_text("utf-8"))["cases"].values():
            if "answers" not in case:
                continue
            body = {"answers": case["answers"], "model": case["model"], "usage": case["usage"]}
            for provider in (PLAIN, CLEF):
                reply = decode(dump(body), provider)
                assert reply.outcome == "ok"
                assert reply.answers == case["answers"]
                assert reply.usage == case["usage"]
