"""Opening models by name: what a user is told when a name, an option, an address or a key is wrong."""

from __future__ import annotations

import subprocess
import sys

import anyio
import httpx
import pytest

from arena.errors import MissingNeed, UnknownName, UsageError
from arena.models import MODELS, ModelOptions, known_models, open_model, preflight
from arena.models.catalog import providers
from arena.models.systemone import SystemOne
from arena.session import Ask, Reply, WireDecider
from arena.types import Noul

ASK = Ask("x", "s", {"q": Noul(instructions="Is it?")})
BASE = "http://server.test:8000"


def test_listing_names_every_model_and_loads_little() -> None:
    assert {info.name for info in known_models()} == set(MODELS)
    code = (
        "import sys, arena.models; arena.models.known_models(); "
        "print([m for m in ('numpy', 'httpx', 'anyio', 'stamina', 'sparrow_decider') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_list_claims_no_live_check() -> None:
    """A recorded live check needs a key and a person; until one exists no entry may say that it was checked."""
    for info in known_models():
        if info.kind == "wire":
            assert info.verified == "not verified live"
            assert info.origin in ("recorded-by-others", "docs-example", "synthetic")
            assert info.source
    by_name = {info.name: info for info in known_models()}
    assert by_name["glide"].needs == "FASTINO_API_KEY"
    assert by_name["jev"].needs == "TYPESAFE_API_KEY"
    assert by_name["systemone"].needs is None
    assert "needs terms review" in by_name["jev"].note
    assert by_name["glide"].paid
    assert not by_name["vllm"].paid


def test_unknown_name() -> None:
    with pytest.raises(UnknownName, match="did you mean sparrow-nano"):
        open_model("sparow-nano")


@pytest.mark.parametrize(
    "name, options, said",
    [
        ("systemone", ModelOptions(), "--base-url"),
        ("ollama", ModelOptions(), "--wire-model"),
        ("sparrow-nano", ModelOptions(base_url=BASE), "takes no --base-url"),
        ("uniform", ModelOptions(script="x.toml"), "takes no --script"),
        ("random", ModelOptions(extra={"peak": 1}), "no option 'peak'"),
        ("systemone", ModelOptions(base_url=BASE, script="x"), "takes no --script"),
        ("systemone", ModelOptions(base_url="localhost:8000"), "no http(s) address"),
        ("systemone", ModelOptions(base_url="ftp://host"), "no http(s) address"),
        ("systemone", ModelOptions(base_url="http://"), "no http(s) address"),
        ("systemone", ModelOptions(base_url="http://h:99999"), "no http(s) address"),
        ("systemone", ModelOptions(base_url="http://user:pass@h"), "no user, password or query"),
        ("systemone", ModelOptions(base_url="http://h/?key=1"), "no user, password or query"),
    ],
)
def test_bad_options_are_usage_errors(name: str, options: ModelOptions, said: str) -> None:
    with pytest.raises(UsageError) as error:
        open_model(name, options)
    assert said in str(error.value)
    assert error.value.code == 2


@pytest.mark.parametrize(
    "name, env", [("glide", "FASTINO_API_KEY"), ("jev", "TYPESAFE_API_KEY"), ("perplexity", "PERPLEXITY_API_KEY")]
)
def test_a_missing_key_names_the_variable_and_the_way_without(name: str, env: str) -> None:
    with pytest.raises(MissingNeed) as error:
        open_model(name)
    assert env in str(error.value)
    assert "sparrow-nano" in str(error.value)
    assert error.value.code == 4


def test_a_key_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingNeed, match="MY_KEY"):
        open_model("systemone", ModelOptions(base_url=BASE, api_key_env="MY_KEY"))
    monkeypatch.setenv("MY_KEY", "sk-1234567890abcdef")
    assert "sk-1234567890abcdef" not in repr(open_model("glide", ModelOptions(api_key_env="MY_KEY")).card)
    monkeypatch.setenv("MY_KEY", "clé\n")
    with pytest.raises(UsageError, match="HTTP header"):
        open_model("glide", ModelOptions(api_key_env="MY_KEY"))


def test_an_estimate_needs_no_key_and_asking_does() -> None:
    model = open_model("glide", need_key=False)
    assert model.card.usd_per_million_input_tokens is not None
    assert model.card.paid
    assert isinstance(model, WireDecider)
    assert model.encode(ASK).startswith(b'{"model":"fastino/GLiDE"')
    for call in (preflight, lambda model: model.decide(ASK)):
        with pytest.raises(MissingNeed, match="FASTINO_API_KEY"):
            anyio.run(call, model)


def test_addresses_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "token-0123456789")
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID", raising=False)
    with pytest.raises(MissingNeed, match="CLOUDFLARE_ACCOUNT_ID"):
        open_model("clef")
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "acc0unt")
    card = open_model("clef", ModelOptions(model="clef-flash")).card
    assert card.identity["endpoint"].endswith("/{CLOUDFLARE_ACCOUNT_ID}/ai/run/@cf/cloudflare/clef-flash")
    assert "acc0unt" not in repr(card)


@pytest.mark.parametrize(
    "base_url, endpoint",
    [
        (BASE, f"{BASE}/v1/systemone"),
        (f"{BASE}/", f"{BASE}/v1/systemone"),
        (f"{BASE}/v1", f"{BASE}/v1/systemone"),
        (f"{BASE}/v1/", f"{BASE}/v1/systemone"),
        (f"{BASE}/v1/systemone", f"{BASE}/v1/systemone"),
        (f"{BASE}/api/alpha/decisions", f"{BASE}/api/alpha/decisions"),
        (f"{BASE}/gateway", f"{BASE}/gateway/v1/systemone"),
        ("http://[::1]:8000", "http://[::1]:8000/v1/systemone"),
    ],
)
def test_root_or_endpoint(base_url: str, endpoint: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"answers": {"q": {"type": "noul", "noul": 0.5}}, "model": "m"})

    async def run() -> Reply:
        options = ModelOptions(base_url=base_url)
        model = SystemOne(providers()["systemone"], options, None, http=httpx.MockTransport(answer))
        try:
            return await model.decide(ASK)
        finally:
            await model.aclose()

    assert anyio.run(run).outcome == "ok"
    (request,) = sent
    assert str(request.url) == endpoint
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    "name, header, value",
    [("glide", "x-api-key", "key-0123456789"), ("jev", "authorization", "Bearer key-0123456789")],
)
def test_the_key_goes_where_the_provider_wants_it(name: str, header: str, value: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"answers": {}})

    async def run() -> None:
        model = SystemOne(providers()[name], ModelOptions(), "key-0123456789", http=httpx.MockTransport(answer))
        await model.decide(ASK)
        await model.aclose()

    anyio.run(run)
    assert sent[0].headers[header] == value
    assert sent[0].headers["content-type"] == "application/json"
    assert sum("key-0123456789" in v for v in sent[0].headers.values()) == 1


def test_what_is_beyond_a_server_is_not_sent() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError("called")

    async def run() -> Reply:
        model = SystemOne(providers()["glide"], ModelOptions(), "key-0123456789", http=httpx.MockTransport(answer))
        return await model.decide(Ask("x", "s", {"q": Noul(instructions={"a": 1})}))

    reply = anyio.run(run)
    assert reply.outcome == "unsupported"
    assert reply.attempts == ()


def test_options_reach_the_policy() -> None:
    model = SystemOne(providers()["glide"], ModelOptions(timeout_s=20.0, max_retries=1), "key-0123456789")
    policy = model._transport.policy
    assert (policy.deadline_s, policy.attempt_s, policy.retry.max) == (20.0, 20.0, 1)
    policy = SystemOne(providers()["glide"], ModelOptions(), "key-0123456789")._transport.policy
    assert policy.attempt_s == 300.0
    assert 425 in policy.retry.statuses
