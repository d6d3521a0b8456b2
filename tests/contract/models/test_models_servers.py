"""The wire adapter against real sockets: a server that fails in every way we know of, and one of another project."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import perf_counter
from typing import Any

import anyio
import pytest
import stamina
from decision_server import FaultServer, Step

from arena.errors import MissingNeed
from arena.gate import gate
from arena.models import ModelOptions, open_model, preflight
from arena.session import Ask, Reply
from arena.types import Choice, Noul, Question, Score

QUESTIONS: dict[str, Question] = {
    "tool": Choice(
        instructions="Which tool fits this request?",
        criteria={"10": "search and book flights", "9": "refund a payment", "00": None, "天気": "forecasts for a city"},
    ),
    "upset": Noul(instructions="Is the user upset?"),
    "urgency": Score(instructions="How urgent is this?", criteria=("can wait", "today", "now")),
}
ASK = Ask("x", {"message": "I was charged twice, I want my money back"}, QUESTIONS)
YES = Ask("x", "s", {"q": Noul(instructions="Is it?")})
GOOD = Step(200, b'{"model": "m-1", "answers": {"q": {"type": "noul", "noul": 0.75}}, "usage": {"input_tokens": 4}}')
PAGE = Step(200, b"<!doctype html><html><body>Welcome</body></html>", {"content-type": "text/html"})


def decide(url: str, ask: Ask = YES, name: str = "systemone", **options: Any) -> Reply:
    async def run() -> Reply:
        model = open_model(name, ModelOptions(base_url=url, **options))
        try:
            return await model.decide(ask)
        finally:
            await model.aclose()

    return anyio.run(run)


def check(url: str, name: str = "systemone", **options: Any) -> None:
    async def run() -> None:
        model = open_model(name, ModelOptions(base_url=url, **options))
        try:
            await preflight(model)
        finally:
            await model.aclose()

    anyio.run(run)


# -- a server of another project ---------------------------------------------------------------------------------


def test_the_same_model_over_the_wire_and_in_process(sparrow_url: str) -> None:
    """Two programs, one model: the answers agree to the four digits that the server sends."""
    check(sparrow_url)
    over = decide(sparrow_url, ASK)
    here = anyio.run(open_model("sparrow-nano").decide, ASK)
    assert (over.outcome, here.outcome) == ("ok", "ok")
    assert over.model_version == "sparrow-nano-general-v1.1"
    assert over.server_latency_ms is not None
    assert over.latency_ms is not None
    assert over.latency_ms >= over.server_latency_ms
    assert [attempt.status for attempt in over.attempts] == [200]
    for name, question in QUESTIONS.items():
        ours, theirs = gate(question, here.answers[name]), gate(question, over.answers[name])
        assert theirs.valid, theirs.reason
        assert ours.committed == theirs.committed
        assert ours.confidence == pytest.approx(theirs.confidence, abs=2e-4)


def test_a_real_server_refuses_a_bad_request(sparrow_url: str) -> None:
    wide = Ask("x", "s", {"q": Score(instructions="?", criteria=tuple("abcdefghijk"))})
    reply = decide(sparrow_url, wide)
    assert reply.outcome == "unsupported"
    assert "HTTP 422: a score question needs" in (reply.error or "")


def test_a_wrong_path_of_a_real_server(sparrow_url: str) -> None:
    reply = decide(f"{sparrow_url}/other/v1/systemone")
    assert reply.outcome == "invalid_response"
    assert reply.error == "HTTP 404: not found"


# -- faults ------------------------------------------------------------------------------------------------------


def test_warming_then_well(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """GLiDE's cold start, with the key in its own header and the model's name required."""
    monkeypatch.setenv("FASTINO_API_KEY", "fast_sk_0123456789")
    server.play(Step(425, b'{"error": {"code": "model_warming"}}', {"retry-after": "1"}), GOOD)
    reply = decide(server.url, name="glide")
    assert reply.outcome == "ok"
    assert [attempt.status for attempt in reply.attempts] == [425, 200]
    assert "model_warming" in (reply.attempts[0].error or "")
    for path, body, headers in server.calls:
        assert path == "/v1/systemone"
        assert json.loads(body)["model"] == "fastino/GLiDE"
        assert headers["x-api-key"] == "fast_sk_0123456789"
        assert "authorization" not in headers


@pytest.mark.parametrize(
    "headers, waited",
    [
        ({"retry-after": "0.15"}, 0.15),
        ({"retry-after-ms": "150"}, 0.15),
        ({"retry-after": "date"}, 0.05),
    ],
)
def test_every_form_of_retry_after_is_waited_for(server: FaultServer, headers: dict[str, str], waited: float) -> None:
    if headers == {"retry-after": "date"}:  # whole seconds: somewhere between nought and two from now
        headers = {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)}
    server.play(Step(429, b"{}", headers), GOOD)
    with stamina.set_testing(False):
        reply = decide(server.url)
    assert reply.outcome == "ok"
    assert reply.attempts[1].waited >= waited
    assert reply.latency_ms == pytest.approx(reply.attempts[1].seconds * 1000)
    assert reply.attempts[1].seconds < reply.attempts[1].waited + 1.0


@pytest.mark.parametrize("status, outcome", [(503, "server_error"), (529, "server_error"), (429, "rate_limited")])
def test_a_server_that_stays_down(server: FaultServer, status: int, outcome: str) -> None:
    server.play(Step(status, b'{"detail": "busy"}'))
    reply = decide(server.url, max_retries=2)
    assert reply.outcome == outcome
    assert len(server.calls) == 3
    assert reply.error == f"HTTP {status}: busy"
    assert reply.body == '{"detail": "busy"}'


def test_a_body_that_drips_past_the_deadline(server: FaultServer) -> None:
    """Each byte comes in time, the whole does not."""
    server.play(Step(200, GOOD.body, drip_s=0.1))
    begun = perf_counter()
    reply = decide(server.url, timeout_s=0.6, max_retries=5)
    assert perf_counter() - begun < 3.0
    assert reply.outcome == "timeout"
    assert "0.6 s" in (reply.error or "")
    assert reply.latency_ms is None


BAD_BODIES = [
    pytest.param(PAGE, "a web page", id="HTML with status 200"),
    pytest.param(Step(200, GOOD.body[:-9]), "not JSON", id="truncated JSON"),
    pytest.param(Step(200, b'{"error": {"message": "overloaded"}}'), "overloaded", id="error object"),
    pytest.param(Step(204), "not JSON", id="no content"),
]


@pytest.mark.parametrize("step, said", BAD_BODIES)
def test_a_reply_without_answers_keeps_its_body(server: FaultServer, step: Step, said: str) -> None:
    server.play(step)
    reply = decide(server.url)
    assert reply.outcome == "invalid_response"
    assert said in (reply.error or "")
    assert reply.body == step.body.decode()
    assert len(server.calls) == 1, "the same bytes would come again"


@pytest.mark.parametrize(
    "answer, reason",
    [
        (b'{"type": "noul", "noul": NaN}', "nan"),
        (b'{"type": "noul"}', "null"),
        (b"null", "no answer"),
    ],
)
def test_a_bad_answer_is_read_and_refused_by_the_gate(server: FaultServer, answer: bytes, reason: str) -> None:
    server.play(Step(200, b'{"answers": {"q": ' + answer + b"}}"))
    reply = decide(server.url)
    assert reply.outcome == "ok"
    gated = gate(YES.questions["q"], reply.answers["q"])
    assert not gated.valid
    assert reason in (gated.reason or "")


def test_half_a_reply_is_tried_again(server: FaultServer) -> None:
    server.play(Step(200, GOOD.body, half=True), GOOD)
    reply = decide(server.url)
    assert reply.outcome == "ok"
    assert [attempt.status for attempt in reply.attempts] == [None, 200]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nobody_there() -> None:
    reply = decide(f"http://127.0.0.1:{free_port()}", max_retries=1)
    assert reply.outcome == "server_error"
    assert "ConnectError" in (reply.error or "")
    assert len(reply.attempts) == 2


# -- preflight ---------------------------------------------------------------------------------------------------


def test_preflight_of_a_dead_server_says_what_to_do() -> None:
    with pytest.raises(MissingNeed) as error:
        check(f"http://127.0.0.1:{free_port()}")
    assert "no server answers at http://127.0.0.1" in error.value.message
    assert "\n" not in error.value.message
    assert "--base-url" in (error.value.hint or "")
    assert error.value.code == 4


@pytest.mark.parametrize("probe, posts", [(PAGE, 0), (Step(404, PAGE.body), 1)])
def test_preflight_of_a_web_site(server: FaultServer, probe: Step, posts: int) -> None:
    server.play(PAGE)
    server.probe = probe
    with pytest.raises(MissingNeed, match="answers a web page"):
        check(server.url)
    assert len(server.calls) == posts


@pytest.mark.parametrize(
    "probe",
    [
        Step(200, b'{"models": [{"name": "m"}]}'),
        Step(404, b'{"detail": "Not Found"}'),
        Step(404, b"<html>Cannot GET /v1/models</html>"),
        Step(405, b"{}"),
        Step(501, b"<html>Unsupported method</html>"),
        Step(503, b"{}"),
    ],
)
def test_preflight_lets_a_decision_server_be(server: FaultServer, probe: Step) -> None:
    """A server need not offer a list of models, and a busy one is for the retries to wait for."""
    server.play(GOOD)
    server.probe = probe
    check(server.url)


def test_preflight_of_a_refused_key(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_API_KEY", "sk-0123456789abcdef")
    server.probe = Step(401, b'{"detail": {"message": "bad key sk-0123456789abcdef"}}')
    with pytest.raises(MissingNeed) as error:
        check(server.url)
    assert "refuses the key" in str(error.value)
    assert "ARENA_API_KEY" in str(error.value)
    assert "sk-0123456789abcdef" not in str(error.value)


def test_preflight_sends_nothing_to_a_paid_endpoint(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, env in (("glide", "FASTINO_API_KEY"), ("jev", "TYPESAFE_API_KEY")):
        monkeypatch.setenv(env, "key-0123456789")
        server.play(GOOD)
        server.probe = Step(404, PAGE.body)
        check(server.url, name=name)
        assert server.calls == []
