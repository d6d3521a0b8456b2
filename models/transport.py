"""The one way out: HTTP with retries, one deadline over all attempts, one clock, and no secret in what it returns.

``stamina`` runs the attempts; a hook tells it how long a server asked us to wait. A wait is recorded with the
attempt it came before and is never part of a latency. A failed call is data (``Exchange``), not an exception.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import perf_counter, time

import anyio
import httpx
import stamina

from arena.identity import load
from arena.models.catalog import FINAL, Retry
from arena.models.wire import error_codes, error_message, outcome_of, text_of
from arena.records import Attempt, Outcome

logging.getLogger("stamina").addHandler(logging.NullHandler())  # waits are in the log of the run, not on stderr

REDACTED = "[redacted]"
_WORD = 12
"""A key shorter than this cannot be told from an ordinary word inside an answer."""

_REQUEST_ID = ("x-request-id", "x-typesafe-request-id", "request-id", "cf-ray")


@dataclass(frozen=True, slots=True)
class Policy:
    """Retry rules and the two time limits, in seconds: ``attempt_s`` for one attempt, ``deadline_s`` for all of
    them and the waits between."""

    retry: Retry
    attempt_s: float
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a call came to. ``body`` is there whenever the last attempt was answered; ``outcome`` is ``ok`` for a
    status of success. ``latency_ms``: the answering attempt alone."""

    outcome: Outcome
    status: int | None
    content_type: str
    body: bytes | None
    error: str | None
    attempts: tuple[Attempt, ...]
    latency_ms: float | None


class Transport:
    """HTTP client of one decider. ``secrets`` never leave it in any text it returns."""

    def __init__(
        self,
        headers: Mapping[str, str],
        secrets: tuple[str, ...],
        policy: Policy,
        *,
        http: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.policy = policy
        self.clock = clock
        self._headers = dict(headers)
        self._secrets = tuple(secret for secret in secrets if secret)
        self._http = http
        self._client: httpx.AsyncClient | None = None

    def client(self) -> httpx.AsyncClient:
        """The client, made at the first call: building one costs a certificate store."""
        if self._client is None:
            # The runner limits how many calls are in flight; a second limit here would add hidden waits.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
            self._client = httpx.AsyncClient(headers=self._headers, timeout=None, limits=limits, transport=self._http)
        return self._client

    async def post(self, url: str, content: bytes) -> Exchange:
        """Send until answered, refused for good, or out of tries or time."""
        return await _Call(self, "POST", url, content).run(self.policy.retry.max)

    async def get(self, url: str) -> Exchange:
        """Ask once."""
        return await _Call(self, "GET", url, None).run(0)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def redact(self, text: str) -> str:
        """``text`` without any secret."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def redact_body(self, body: bytes, *, answers: bool) -> bytes:
        """``body`` without any secret; in answers only those too long to be an ordinary word."""
        for secret in self._secrets:
            if not answers or len(secret) >= _WORD:
                body = body.replace(secret.encode(), REDACTED.encode())
        return body


class _Retriable(Exception):
    """An attempt that may be tried again. ``wait``: seconds the server asked for, None for backoff."""

    def __init__(self, wait: float | None) -> None:
        super().__init__()
        self.wait = wait


class _Call:
    """One call: its attempts so far and what the last of them came to."""

    def __init__(self, transport: Transport, method: str, url: str, content: bytes | None) -> None:
        self._transport = transport
        self._method, self._url, self._content = method, url, content
        self._attempts: list[Attempt] = []
        self._begun = self._ended = transport.clock()
        self._response: httpx.Response | None = None
        self._outcome: Outcome = "timeout"
        self._error: str | None = None

    async def run(self, retries: int) -> Exchange:
        policy = self._transport.policy
        self._transport.client()  # made outside every clock
        rounds = stamina.retry_context(
            on=self._next_wait,
            attempts=retries + 1,
            timeout=None,
            wait_initial=policy.retry.base_s,
            wait_max=policy.retry.cap_s,
            wait_jitter=policy.retry.base_s / 2,
        )
        try:
            with anyio.fail_after(policy.deadline_s):
                async for attempt in rounds:
                    with attempt:
                        await self._try()
        except _Retriable:
            pass
        except TimeoutError:
            self._response = None
            self._outcome = "timeout"
            self._error = f"no answer within the deadline of {policy.deadline_s:g} s ({self._error or 'slow reply'})"
        return self._exchange()

    def _next_wait(self, error: Exception) -> bool | float:
        """For stamina: False to stop, True to back off, or the seconds to wait."""
        if not isinstance(error, _Retriable):
            return False
        if error.wait is None:
            return True
        left = self._transport.policy.deadline_s - (self._transport.clock() - self._begun)
        if error.wait >= left:
            self._error = f"{self._error}; it asks to wait {error.wait:g} s, {left:.1f} s of the deadline are left"
            return False
        return error.wait

    async def _try(self) -> None:
        clock = self._transport.clock
        started = clock()
        waited = started - self._ended if self._attempts else 0.0
        if not self._attempts:
            self._begun = started
        status = request_id = None
        failed: str | None = "cut off by the deadline"
        self._response = None
        try:
            failed = await self._send()
        finally:
            self._ended = clock()
            if self._response is not None:
                status = self._response.status_code
                request_id = next((self._response.headers[h] for h in _REQUEST_ID if h in self._response.headers), None)
            attempt = Attempt(
                n=len(self._attempts) + 1,
                status=status,
                error=failed,
                started=started - self._begun,
                seconds=self._ended - started,
                waited=waited,
                request_id=self._transport.redact(request_id) if request_id else None,
            )
            self._attempts.append(attempt)
        self._error = failed
        if self._response is None:
            raise _Retriable(None)
        self._classify(self._response)

    async def _send(self) -> str | None:
        """One request. None when it was answered with success, else what went wrong."""
        transport = self._transport
        try:
            with anyio.fail_after(transport.policy.attempt_s):
                response = await transport.client().request(self._method, self._url, content=self._content)
        except (TimeoutError, httpx.TimeoutException):
            self._outcome = "timeout"
            return f"no answer within {transport.policy.attempt_s:g} s"
        except httpx.HTTPError as error:
            self._outcome = "server_error"
            return transport.redact(f"{type(error).__name__}: {error or 'connection failed'}")
        self._response = response
        if response.is_success:
            return None
        said = error_message(_json(response.content))
        moved = f", moved to {response.headers['location']}" if "location" in response.headers else ""
        return transport.redact(f"HTTP {response.status_code}{f': {said}' if said else ''}{moved}")

    def _classify(self, response: httpx.Response) -> None:
        """Set the outcome of an answered attempt; raise when it may be tried again."""
        status = response.status_code
        retry = self._transport.policy.retry
        self._outcome = "ok" if response.is_success else outcome_of(status)
        if response.is_success or status in FINAL or status not in retry.statuses:
            return
        if status == 429 and error_codes(_json(response.content)) & set(retry.quota_codes):
            self._error = f"{self._error} (a quota: waiting does not help)"
            return
        wait = retry_after(response.headers, time())
        raise _Retriable(retry.warming_s if wait is None and status == 425 else wait)

    def _exchange(self) -> Exchange:
        response = self._response
        answered = response is not None and response.is_success
        return Exchange(
            outcome=self._outcome,
            status=response.status_code if response is not None else None,
            content_type=response.headers.get("content-type", "") if response is not None else "",
            body=self._transport.redact_body(response.content, answers=answered) if response is not None else None,
            error=self._error,
            attempts=tuple(self._attempts),
            latency_ms=self._attempts[-1].seconds * 1000.0 if answered else None,
        )


def _json(body: bytes) -> object:
    try:
        return load(body)
    except (ValueError, RecursionError):
        return text_of(body)[:200] if body and not body.lstrip().startswith(b"<") else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks us to wait, at least 0; None when it does not say.

    Reads ``retry-after-ms``, then ``retry-after`` as seconds or as an HTTP date against ``now`` (Unix time).
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)
