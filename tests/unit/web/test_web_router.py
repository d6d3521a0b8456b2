"""Tapes: recorded order, epochs, volatile parameters."""

from __future__ import annotations

from arena.envs.web.router import Recorder, Taped, TapeRouter, next_epoch, normalise
from arena.identity import sha256


def _entry(
    n: int, url: str, body: str, *, epoch: str = "", method: str = "GET", static: bool = False, resource: str = "fetch"
) -> Taped:
    return Taped(
        n=n,
        epoch=epoch,
        method=method,
        url=url,
        body_sha="",
        status=200,
        headers={},
        body=body,
        static=static,
        resource=resource,
    )


def _bodies(router: TapeRouter, method: str, url: str, times: int) -> list[str | None]:
    found = (router.lookup(method, url, b"") for _ in range(times))
    return [entry.body if entry else None for entry in found]


def test_responses_come_in_recorded_order_and_the_last_stays() -> None:
    router = TapeRouter([_entry(n, "http://x/n", str(n + 1)) for n in range(3)], {})
    assert _bodies(router, "GET", "http://x/n", 5) == ["1", "2", "3", "3", "3"]
    assert _bodies(router, "GET", "http://x/other", 1) == [None]
    assert _bodies(router, "POST", "http://x/n", 1) == [None]


def test_a_mutating_request_begins_another_epoch() -> None:
    after = next_epoch("", "POST", "http://x/add", sha256(b"3"))
    router = TapeRouter([_entry(0, "http://x/cart", "empty"), _entry(1, "http://x/cart", "one", epoch=after)], {})
    assert _bodies(router, "GET", "http://x/cart", 2) == ["empty", "empty"]
    router.epoch = after
    assert _bodies(router, "GET", "http://x/cart", 2) == ["one", "one"]
    router.epoch = next_epoch(after, "POST", "http://x/add", sha256(b"3"))
    assert _bodies(router, "GET", "http://x/cart", 1) == [None]
    assert next_epoch("", "POST", "http://x/add", sha256(b"7")) != after


def test_static_responses_belong_to_every_epoch() -> None:
    router = TapeRouter([_entry(0, "http://x/a.js", "js", static=True)], {})
    router.epoch = "elsewhere"
    assert _bodies(router, "GET", "http://x/a.js", 1) == ["js"]


def test_bodies_tell_requests_apart() -> None:
    entry = _entry(0, "http://x/add", "added", method="POST").model_copy(update={"body_sha": sha256(b"3")})
    router = TapeRouter([entry], {})
    assert router.lookup("POST", "http://x/add", b"7") is None
    assert router.lookup("POST", "http://x/add", b"3") is entry


def test_only_declared_parameters_are_dropped() -> None:
    assert normalise("http://x/a?ts=123&q=1#part", ["ts"]) == "http://x/a?q=1"
    assert normalise("http://x/a?id=1700000000", []) == "http://x/a?id=1700000000"
    router = TapeRouter([_entry(0, "http://x/a?_=1&q=2", "body")], {}, ["_"])
    assert _bodies(router, "GET", "http://x/a?q=2&_=999", 1) == ["body"]
    assert _bodies(router, "GET", "http://x/a?q=3&_=999", 1) == [None]


def test_a_document_is_static_only_when_it_was_the_same_in_two_epochs() -> None:
    recorder = Recorder("http://x")
    recorder.entries = [
        _entry(0, "http://x/", "home", resource="document"),
        _entry(1, "http://x/cart", "cart", resource="document"),
        _entry(2, "http://x/", "home", epoch="e", resource="document"),
        _entry(3, "http://x/list", "a", resource="document"),
        _entry(4, "http://x/list", "b", epoch="e", resource="document"),
        _entry(5, "http://x/a.css", "css", resource="stylesheet"),
        _entry(6, "http://x/api", "data"),
    ]
    assert [entry.static for entry in recorder.tape()] == [True, False, True, False, False, True, False]
