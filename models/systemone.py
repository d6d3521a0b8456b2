"""Wire decider: any ``POST /v1/systemone`` server, hosted or local, from its entry in the catalog.

It sends the question as it stands or not at all. ``decide`` returns failures as outcomes; what the user has to
mend before a run (a key, an address, a dead server) is raised when the model is opened or in ``preflight``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import httpx

from arena.errors import MissingNeed, UsageError
from arena.models.catalog import VARIABLE, Provider, providers
from arena.models.options import FLAGS, ModelOptions
from arena.models.transport import Exchange, Policy, Transport
from arena.models.wire import beyond, decode, encode, looks_like_html, text_of
from arena.records import ModelCard
from arena.session import Ask, Decider, Reply
from arena.types import JSON, Noul

ADAPTER = "systemone/1"

WITHOUT_KEY = "models that run here without a key: sparrow-nano, uniform, random, constant, always-first, fake"


class SystemOne:
    """A decider over HTTP. ``key`` None: no key is sent."""

    def __init__(
        self,
        provider: Provider,
        options: ModelOptions,
        key: str | None,
        *,
        http: httpx.AsyncBaseTransport | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._provider = provider
        self._model = _wire_model(provider, options)
        self._url, self._root, shown = _address(provider, options, self._model, env)
        self._key_env = options.api_key_env or provider.auth.env
        self._keyless = key is None and provider.auth.required
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            headers[provider.auth.header] = f"{provider.auth.scheme} {key}".strip()
        retry = provider.retry
        if options.max_retries is not None:
            retry = retry.model_copy(update={"max": options.max_retries})
        deadline = options.timeout_s or provider.deadline_s
        policy = Policy(retry, min(provider.attempt_timeout_s, deadline), deadline)
        self._transport = Transport(headers, (key,) if key else (), policy, http=http)
        self.card = _card(provider, self._model, shown)

    def encode(self, ask: Ask) -> bytes:
        """The request body, byte for byte."""
        return encode(ask, self._model)

    def decode(self, ask: Ask, body: bytes) -> Reply:
        """Read the body of a reply with a success status."""
        return decode(body, self._provider)

    async def decide(self, ask: Ask) -> Reply:
        """Answer one ask; a failed call is an outcome."""
        if reasons := beyond(ask, self._provider):
            return Reply({}, outcome="unsupported", error="; ".join(reasons))
        if self._keyless:
            raise missing_key(self._provider, self._key_env)
        exchange = await self._transport.post(self._url, self.encode(ask))
        return self._reply(ask, exchange)

    def _reply(self, ask: Ask, exchange: Exchange) -> Reply:
        if exchange.outcome == "ok" and exchange.body is not None:
            reply = self.decode(ask, exchange.body)
            error = self._transport.redact(reply.error) if reply.error else None
            body = None if reply.body is None else self._transport.redact(reply.body)
            return replace(reply, error=error, body=body, attempts=exchange.attempts, latency_ms=exchange.latency_ms)
        body = None if exchange.body is None else text_of(exchange.body)
        return Reply({}, outcome=exchange.outcome, error=exchange.error, body=body, attempts=exchange.attempts)

    async def preflight(self) -> None:
        """See that a decision server is there, without asking it for a decision that may cost money.

        Raises:
            MissingNeed: no key, no server, a refused key, or an address that answers web pages.
        """
        if self._keyless:
            raise missing_key(self._provider, self._key_env)
        if self._provider.probe is None:
            return
        exchange = await self._transport.get(self._root + self._provider.probe)
        if exchange.body is None:
            raise MissingNeed(
                f"no server answers at {self._root} ({exchange.error})",
                hint=f"start it, or correct {FLAGS['base_url']}; {WITHOUT_KEY}",
            )
        if exchange.outcome == "auth":
            raise MissingNeed(
                f"{self._root} refuses the key ({exchange.error})", hint=f"set {self._key_env or FLAGS['api_key_env']}"
            )
        page = looks_like_html(exchange.body)
        if page and exchange.outcome == "ok":
            raise self._not_a_server(self._provider.probe)
        if page and exchange.status == 404 and not self._provider.paid:
            # A decision server need not offer the probe; whether this is one shows only when it is asked.
            answer = await self._transport.post(self._url, self.encode(_PING))
            if answer.body is None or looks_like_html(answer.body):
                raise self._not_a_server(urlsplit(self._url).path)

    def _not_a_server(self, path: str) -> MissingNeed:
        return MissingNeed(
            f"{self._root}{path} answers a web page, expected JSON: no decision server there",
            hint=f"correct {FLAGS['base_url']} (the server's root, or its full endpoint); {WITHOUT_KEY}",
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


_PING = Ask("preflight", "The sky is blue.", {"blue": Noul(instructions="Is the sky blue?")})


def missing_key(provider: Provider, env: str | None) -> MissingNeed:
    """The error for a key that is not set."""
    return MissingNeed(
        f"model {provider.name!r} needs a key in the environment variable {env}, which is not set",
        hint=f"export {env}=... and run again; {WITHOUT_KEY}",
    )


def _wire_model(provider: Provider, options: ModelOptions) -> str:
    model = options.model or provider.model
    if model is None:
        raise UsageError(
            f"model {provider.name!r} needs the name of the served model",
            hint=f"add {FLAGS['model']} NAME, as the server lists it",
        )
    return model


def _address(provider: Provider, options: ModelOptions, model: str, env: Mapping[str, str]) -> tuple[str, str, str]:
    """(endpoint, its root for the probe, the endpoint as it may be shown and logged)."""
    if options.base_url is not None:
        endpoint = _endpoint(options.base_url, provider.path)
        return endpoint, _root(endpoint), endpoint
    if provider.url is None:
        raise UsageError(
            f"model {provider.name!r} needs the address of a server",
            hint=f"add {FLAGS['base_url']} http://HOST:PORT",
        )
    template = provider.url.replace("{model}", model)
    endpoint = template
    for name in VARIABLE.findall(template):
        if not env.get(name):
            raise MissingNeed(
                f"model {provider.name!r} needs the environment variable {name}, which is not set",
                hint=f"export {name}=... and run again; {WITHOUT_KEY}",
            )
        endpoint = endpoint.replace(f"{{{name}}}", env[name])
    return endpoint, _root(endpoint), template


def _endpoint(base_url: str, path: str) -> str:
    """The endpoint under a server's root; a URL that already names an endpoint is taken as it is."""
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise UsageError(f"{FLAGS['base_url']} {base_url!r} is no http(s) address", hint="write http://HOST:PORT")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"{FLAGS['base_url']} must hold no user, password or query: it is written to the log",
            hint=f"put the key into an environment variable and name it with {FLAGS['api_key_env']}",
        )
    trimmed = base_url.rstrip("/")
    if parts.path.rstrip("/").endswith(("/systemone", "/decisions")):
        return trimmed
    if parts.path.rstrip("/").endswith("/v1"):
        return trimmed.removesuffix("/v1") + path
    return trimmed + path


def _root(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    head = re.sub(r"/v1/[a-z]+$", "", parts.path)
    return f"{parts.scheme}://{parts.netloc}{'' if head == parts.path else head}"


def _card(provider: Provider, model: str, shown: str) -> ModelCard:
    identity: dict[str, JSON] = {"adapter": ADAPTER, "provider": provider.name, "endpoint": shown, "model": model}
    if provider.publish:
        identity["publish"] = provider.publish
    return ModelCard(
        name=provider.name,
        version=model,
        identity=identity,
        verified=provider.verified,
        paid=provider.paid,
        usd_per_million_input_tokens=provider.usd_per_million_input_tokens,
    )


def open_wire(name: str, options: ModelOptions, *, need_key: bool = True) -> Decider:
    """The wire model ``name`` of the catalog. ``need_key`` False opens it for an estimate without a key.

    Raises:
        UsageError: an address or a model name that is not given or makes no sense.
        MissingNeed: the key is not set.
    """
    options.only(name, "base_url", "model", "api_key_env", "timeout_s", "max_retries")
    provider = providers()[name]
    env = options.api_key_env or provider.auth.env
    key = os.environ.get(env, "").strip() if env else ""
    if not key and need_key and (provider.auth.required or options.api_key_env):
        raise missing_key(provider, env)
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in {env} holds characters that no HTTP header can carry", hint=f"export {env} again")
    return SystemOne(provider, options, key or None)
