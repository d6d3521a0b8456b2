"""Retries, waits, the one deadline and redaction, against scripted HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import perf_counter

import anyio
import httpx
import pytest
import stamina

from arena.models.catalog import FINAL, Retry, providers
from arena.models.transport import REDACTED, Exchange, Policy, Transport, retry_after

URL = "http://server.test/v1/systemone"
KEY = "fast_sk_0123456789abcdef"
OK = httpx.Response(200, json={"answers": {}})

Step = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


class Scripted(httpx.AsyncBaseTransport):
    """Plays one step per request; the last one repeats."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return step(request) if not isinstance(step, httpx.Response) else step


def policy(retry: Retry | None = None, attempt_s: float = 5.0, deadline_s: float = 120.0) -> Policy:
    return Policy(retry or Retry(), attempt_s, deadline_s)


def post(script: Scripted, rules: Policy | None = None, secrets: Sequence[str] = (KEY,)) -> Exchange:
    async def run() -> Exchange:
        transport = Transport({"X-API-Key": KEY}, tuple(secrets), rules or policy(), http=script)
        try:
            return await transport.post(URL, b"{}")
        finally:
            await transport.aclose()

    return anyio.run(run)


def statuses(exchange: Exchange) -> list[int | None]:
    return [attempt.status for attempt in exchange.attempts]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_fault_is_tried_again_with_the_same_bytes(status: int) -> None:
    script = Scripted(httpx.Response(status, headers={"retry-after": "1", "x-request-id": "r1"}), OK)
    exchange = post(script)
    assert exchange.outcome == "ok"
    assert exchange.error is None
    assert statuses(exchange) == [status, 200]
    assert exchange.attempts[0].request_id == "r1"
    assert [attempt.n for attempt in exchange.attempts] == [1, 2]
    assert {request.content for request in script.requests} == {b"{}"}


@pytest.mark.parametrize("status", FINAL)
def test_a_final_status_is_never_tried_again(status: int) -> None:
    exchange = post(Scripted(httpx.Response(status, json={"error": {"message": "no"}}), OK))
    assert statuses(exchange) == [status]
    assert exchange.outcome != "ok"
    assert exchange.error == f"HTTP {status}: no"
    assert exchange.body is not None
    assert exchange.latency_ms is None


def test_no_entry_of_the_catalog_retries_a_final_status() -> None:
    for provider in providers().values():
        assert not set(provider.retry.statuses) & set(FINAL), provider.name


def test_what_a_provider_does_not_list_is_final() -> None:
    glide = providers()["glide"].retry
    assert statuses(post(Scripted(httpx.Response(500), OK), policy(glide))) == [500]
    assert statuses(post(Scripted(httpx.Response(425), OK), policy(glide))) == [425, 200]


def test_tries_are_counted() -> None:
    exchange = post(Scripted(httpx.Response(503)), policy(Retry(max=2)))
    assert statuses(exchange) == [503, 503, 503]
    assert exchange.outcome == "server_error"
    assert statuses(post(Scripted(httpx.Response(503)), policy(Retry(max=0)))) == [503]


@pytest.mark.parametrize("body", [{"errors": [{"code": 3036, "message": "daily"}]}])
def test_a_daily_quota_is_final(body: dict[str, object]) -> None:
    clef = providers()["clef"].retry
    exchange = post(Scripted(httpx.Response(429, json=body), OK), policy(clef))
    assert statuses(exchange) == [429]
    assert exchange.outcome == "rate_limited"
    assert "waiting does not help" in (exchange.error or "")
    capacity = {"errors": [{"code": 3040, "message": "capacity"}]}
    assert statuses(post(Scripted(httpx.Response(429, json=capacity), OK), policy(clef))) == [429, 200]


@pytest.mark.parametrize(
    "fault, outcome",
    [
        (httpx.ConnectError("refused"), "server_error"),
        (httpx.ReadError("reset"), "server_error"),
        (httpx.RemoteProtocolError("half a reply"), "server_error"),
        (httpx.ReadTimeout("slow"), "timeout"),
    ],
)
def test_a_broken_connection_is_tried_again(fault: Exception, outcome: str) -> None:
    assert statuses(post(Scripted(fault, OK))) == [None, 200]
    exchange = post(Scripted(fault), policy(Retry(max=1)))
    assert (exchange.outcome, exchange.body, statuses(exchange)) == (outcome, None, [None, None])


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:05 -0000"}, 5.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    found = retry_after(httpx.Headers(headers), NOW.timestamp())
    assert found == (pytest.approx(seconds) if seconds is not None else None)


def test_a_wait_is_waited_recorded_and_no_latency() -> None:
    with stamina.set_testing(False):
        exchange = post(Scripted(httpx.Response(429, headers={"retry-after-ms": "120"}), OK))
    first, second = exchange.attempts
    assert (first.waited, first.started) == (0.0, 0.0)
    assert 0.12 <= second.waited < 2.0
    assert second.started >= first.seconds + second.waited - 1e-9
    assert exchange.latency_ms is not None
    assert exchange.latency_ms == pytest.approx(second.seconds * 1000.0)
    assert exchange.latency_ms < 100.0


@pytest.mark.parametrize(
    "response, outcome, seconds",
    [
        (httpx.Response(425), "warming", 60),
        (httpx.Response(429, headers={"retry-after": "45"}), "rate_limited", 45),
        (httpx.Response(503, headers={"retry-after": "1000000000"}), "server_error", 1e9),
    ],
)
def test_a_wait_beyond_the_deadline_is_not_begun(response: httpx.Response, outcome: str, seconds: float) -> None:
    """A warming server without Retry-After asks for 60 s by default."""
    with stamina.set_testing(False):
        exchange = post(Scripted(response, OK), policy(deadline_s=2.0))
    assert exchange.outcome == outcome
    assert len(exchange.attempts) == 1
    assert f"asks to wait {seconds:g} s" in (exchange.error or "")


class Slow(httpx.AsyncBaseTransport):
    """Never answers."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await anyio.sleep(60)
        raise AssertionError("not reached")


def test_one_deadline_over_all_attempts() -> None:
    async def run() -> Exchange:
        transport = Transport({}, (), policy(Retry(max=9), attempt_s=0.1, deadline_s=0.25), http=Slow())
        return await transport.post(URL, b"{}")

    begun = perf_counter()
    exchange = anyio.run(run)
    assert perf_counter() - begun < 2.0
    assert exchange.outcome == "timeout"
    assert len(exchange.attempts) == 3
    assert exchange.attempts[-1].error == "cut off by the deadline"
    assert "deadline of 0.25 s" in (exchange.error or "")


def test_cancelling_a_call_cancels_it() -> None:
    async def run() -> bool:
        transport = Transport({}, (), policy(), http=Slow())
        with anyio.move_on_after(0.05) as scope:
            await transport.post(URL, b"{}")
        return scope.cancelled_caught

    assert anyio.run(run)


def test_no_secret_comes_back() -> None:
    def echo(request: httpx.Request) -> httpx.Response:
        sent = request.headers["x-api-key"]
        assert sent == KEY, "the server gets the key"
        return httpx.Response(401, json={"error": {"message": f"unknown key {sent}"}}, headers={"x-request-id": sent})

    exchange = post(Scripted(echo))
    assert KEY not in repr(exchange)
    assert REDACTED in (exchange.error or "")
    assert REDACTED.encode() in (exchange.body or b"")
    answered = post(Scripted(httpx.Response(200, json={"answers": {}, "echo": KEY})))
    assert KEY.encode() not in (answered.body or b"")
    failed = post(Scripted(httpx.ConnectError(f"cannot reach {KEY}@host")), policy(Retry(max=0)))
    assert KEY not in repr(failed)


def test_a_short_key_does_not_spoil_answers() -> None:
    body = {"answers": {"q": {"choice": "none_of_the_above"}}}
    exchange = post(Scripted(httpx.Response(200, json=body)), secrets=("none",))
    assert json.loads(exchange.body or b"") == body
    refused = post(Scripted(httpx.Response(401, text="key none refused")), secrets=("none",))
    assert refused.body == f"key {REDACTED} refused".encode()


def test_a_redirect_is_not_followed() -> None:
    script = Scripted(httpx.Response(301, headers={"location": "https://elsewhere.test/"}), OK)
    exchange = post(script)
    assert len(script.requests) == 1, "the key must not travel to another host"
    assert exchange.outcome == "invalid_response"
    assert "https://elsewhere.test/" in (exchange.error or "")
