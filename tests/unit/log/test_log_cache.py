"""The response cache: the key holds all that decides an answer, the value all that was answered."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest

from arena.errors import MissingNeed
from arena.log.cache import ResponseCache, cache_path
from arena.records import Attempt, ModelCard
from arena.session import Reply

CARD = ModelCard(name="m", version="1", identity={"endpoint": "http://here", "seed": 1})
REPLY = Reply(
    {"q": {"type": "choice", "choice": "a", "probabilities": {"a": 1.0}}},
    latency_ms=3.5,
    server_latency_ms=2.0,
    usage={"input_tokens": 12},
    model_version="m-2",
    attempts=(Attempt(n=1, status=503, error="busy"), Attempt(n=2, status=200, seconds=0.1, waited=1.0)),
)


def opened(path: Path, card: ModelCard = CARD) -> ResponseCache:
    return ResponseCache(path / "deep" / "responses.sqlite", card)


def test_a_reply_comes_back_as_it_was_but_marked(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(b"request", REPLY)
    cache.close()
    cache = opened(tmp_path)
    found = cache.get(b"request")
    cache.close()
    assert found is not None
    assert found.cached
    for name in ("answers", "outcome", "latency_ms", "server_latency_ms", "usage", "model_version", "attempts", "body"):
        assert getattr(found, name) == getattr(REPLY, name), name


@pytest.mark.parametrize(
    "other",
    [
        CARD.model_copy(update={"name": "n"}),
        CARD.model_copy(update={"version": "2"}),
        CARD.model_copy(update={"identity": {"endpoint": "http://here", "seed": 2}}),
        CARD.model_copy(update={"identity": {"endpoint": "http://there", "seed": 1}}),
        CARD.model_copy(update={"identity": {}}),
    ],
)
def test_another_model_never_gets_these_answers(tmp_path: Path, other: ModelCard) -> None:
    mine, theirs = opened(tmp_path), opened(tmp_path, other)
    mine.put(b"request", REPLY)
    assert theirs.get(b"request") is None
    assert mine.get(b"request") is not None
    mine.close()
    theirs.close()


def test_what_says_nothing_of_the_answer_is_no_part_of_the_key(tmp_path: Path) -> None:
    """Key order of the identity, prices and the note whether a model was checked change no answer."""
    same = CARD.model_copy(
        update={"identity": {"seed": 1, "endpoint": "http://here"}, "paid": True, "verified": "live"}
    )
    mine, again = opened(tmp_path), opened(tmp_path, same)
    mine.put(b"request", REPLY)
    assert again.get(b"request") is not None
    mine.close()
    again.close()


@pytest.mark.parametrize("other", [b"request ", b"Request", b"", b"reques"])
def test_the_request_counts_byte_for_byte(tmp_path: Path, other: bytes) -> None:
    cache = opened(tmp_path)
    cache.put(b"request", REPLY)
    assert cache.get(other) is None
    cache.close()


@pytest.mark.parametrize("outcome", ["timeout", "server_error", "rate_limited", "auth", "invalid_response", "refused"])
def test_only_replies_that_were_read_are_kept(tmp_path: Path, outcome: str) -> None:
    cache = opened(tmp_path)
    cache.put(b"request", Reply({}, outcome))  # type: ignore[arg-type]
    assert cache.get(b"request") is None
    cache.close()


def test_answers_that_json_cannot_hold_survive(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(
        b"r", Reply({"q": {"nan": math.nan, "inf": -math.inf, "long": 2**80, "lone": "\ud800", "line": "\u2028"}})
    )
    found = cache.get(b"r")
    cache.close()
    assert found is not None
    answer = found.answers["q"]
    assert math.isnan(answer["nan"])
    assert (answer["inf"], answer["long"], answer["lone"], answer["line"]) == (-math.inf, 2**80, "\ud800", "\u2028")


def test_a_file_that_is_no_cache_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "responses.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(MissingNeed, match=r"responses\.sqlite cannot be used") as caught:
        opened(tmp_path)
    assert "--no-cache" in str(caught.value.hint)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MissingNeed, match="cannot be used"):
        ResponseCache(tmp_path / "file" / "responses.sqlite", CARD)


def test_a_disk_that_fills_up_is_told_in_one_line(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache._db.execute("PRAGMA max_page_count = 4")
    with pytest.raises(MissingNeed, match="full"):
        cache.put(b"request", Reply({"q": "x" * 100_000}))
    cache.close()


def test_a_reply_survives_a_process_that_is_killed(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.put(b"request", REPLY)
    # Not closed: another connection sees what a process that died after put would leave.
    other = sqlite3.connect(tmp_path / "deep" / "responses.sqlite")
    assert other.execute("SELECT count(*) FROM replies").fetchone() == (1,)
    other.close()
    cache.close()


def test_the_place_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path))
    assert cache_path() == tmp_path / "responses.sqlite"
    monkeypatch.delenv("ARENA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_path() == tmp_path / "xdg" / "arena" / "responses.sqlite"


def test_a_run_that_was_interrupted_finds_its_own_reply_unmarked(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    mine, again, other, old = (ResponseCache(path, CARD, token) for token in ("one", "one", "two", ""))
    mine.put(b"request", REPLY)
    assert [cache.get(b"request").cached for cache in (again, other, old)] == [False, True, True]  # type: ignore[union-attr]
    old.put(b"request", REPLY)
    assert old.get(b"request").cached  # type: ignore[union-attr]
    for cache in (mine, again, other, old):
        cache.close()
