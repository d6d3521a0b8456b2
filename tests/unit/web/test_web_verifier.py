"""The verifier of web episodes: each kind of condition, and what makes a verdict. Pure: no browser, no side effect."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from arena.envs.web.probes import check_conditions
from arena.errors import UsageError
from arena.verifiers import VERIFIERS
from arena.verifiers.web import holds, verify

DOM = {"count": 2, "visible": 1, "texts": ["Order placed, thanks"], "values": ["7"]}


@pytest.mark.parametrize(
    "condition, seen, expected",
    [
        ({"kind": "url", "path": "/cart.html"}, {"url": "http://x.test/cart.html?a=1"}, True),
        ({"kind": "url", "path": "/cart.html?a=1"}, {"url": "http://x.test/cart.html?a=1"}, True),
        ({"kind": "url", "path": "/cart"}, {"url": "http://x.test/cart.html"}, False),
        ({"kind": "url", "contains": "a=1"}, {"url": "http://x.test/?a=1"}, True),
        ({"kind": "url", "equals": "http://x.test/"}, {"url": "http://x.test/?a"}, False),
        ({"kind": "dom", "css": ".ok"}, DOM, True),
        ({"kind": "dom", "css": ".ok"}, DOM | {"visible": 0}, False),
        ({"kind": "dom", "css": ".ok", "visible": False}, DOM | {"visible": 0}, True),
        ({"kind": "dom", "css": ".ok", "visible": True}, DOM | {"visible": 0}, False),
        ({"kind": "dom", "css": ".ok", "text": "placed"}, DOM, True),
        ({"kind": "dom", "css": ".ok", "text": "Placed"}, DOM, False),
        ({"kind": "dom", "css": ".ok", "texts": ["Order placed, thanks"]}, DOM, True),
        ({"kind": "dom", "css": ".ok", "texts": []}, DOM, False),
        ({"kind": "dom", "css": ".ok", "value": "7"}, DOM, True),
        ({"kind": "dom", "css": ".ok", "value": "8"}, DOM, False),
        ({"kind": "dom", "css": ".ok", "count": 2}, DOM, True),
        ({"kind": "dom", "css": ".ok", "count": 1}, DOM, False),
        ({"kind": "dom", "css": ">>"}, {"error": "SyntaxError"}, False),
        ({"kind": "state", "expr": "x"}, {"value": True}, True),
        ({"kind": "state", "expr": "x"}, {"value": 0}, False),
        ({"kind": "state", "expr": "x"}, {"value": None}, False),
        ({"kind": "state", "expr": "x"}, {"error": "ReferenceError"}, False),
        ({"kind": "state", "expr": "x", "equals": 1}, {"value": 1}, True),
        ({"kind": "state", "expr": "x", "equals": 1}, {"value": True}, False),
        ({"kind": "state", "expr": "x", "equals": ["a"]}, {"value": ["a"]}, True),
        ({"kind": "net", "method": "POST"}, {}, True),
        ({"kind": "net", "method": "POST", "path": "/pay"}, {}, True),
        ({"kind": "net", "method": "POST", "path": "/pay", "count": 2}, {}, False),
        ({"kind": "net", "method": "DELETE", "count": 0}, {}, True),
        ({"kind": "net", "method": "DELETE"}, {}, False),
        ({"kind": "answer", "equals": "done"}, {}, True),
        ({"kind": "answer", "equals": "blocked"}, {}, False),
    ],
)
def test_conditions(condition: dict[str, Any], seen: dict[str, Any], expected: bool) -> None:
    end_state = {"requests": [{"method": "POST", "url": "http://x.test/pay?x=1", "hit": "tape"}]}
    assert holds(condition, seen, end_state, "done") is expected


def _state(expr: str) -> dict[str, str]:
    return {"kind": "state", "expr": expr}


CONDITIONS = {
    "claim": "done",
    "final": [_state("f")],
    "key_nodes": [_state("a"), _state("b")],
    "forbidden": [_state("bad")],
}


def _end(final: bool, nodes: list[list[bool]], forbidden: list[bool]) -> dict[str, Any]:
    trail = [
        {"key_nodes": [{"value": value} for value in row], "forbidden": [{"value": bad}]}
        for row, bad in zip(nodes, forbidden, strict=True)
    ]
    return {"url": "http://x.test/", "title": "T", "final": [{"value": final}], "trail": trail, "requests": []}


def test_success_needs_every_condition_and_the_claim() -> None:
    verdict = verify(CONDITIONS, _end(True, [[False, False], [True, False], [False, True]], [False] * 3), "done")
    assert (verdict.ending, verdict.key_nodes, verdict.flags) == ("success", 1.0, ())


@pytest.mark.parametrize(
    "final, bad, claimed, flag",
    [
        (False, False, "done", "claimed_unverified"),
        (True, False, None, "not_claimed"),
        (True, False, "blocked", "wrong_claim"),
        (True, True, "done", "forbidden"),
    ],
)
def test_failures_say_which(final: bool, bad: bool, claimed: str | None, flag: str) -> None:
    verdict = verify(CONDITIONS, _end(final, [[True, False], [False, False]], [bad, False]), claimed)
    assert verdict.ending == "failure"
    assert verdict.key_nodes == 0.5
    assert flag in verdict.flags
    assert verdict.reasons


def test_an_end_that_nobody_reached_is_not_evaluated() -> None:
    assert verify(CONDITIONS, None, None).ending == "not_evaluated"
    assert verify(None, None, "done").ending == "not_evaluated"


def test_pure() -> None:
    end = _end(True, [[True, True]], [False])
    before = copy.deepcopy((CONDITIONS, end))
    assert verify(CONDITIONS, end, "done") == verify(CONDITIONS, end, "done")
    assert (CONDITIONS, end) == before
    assert VERIFIERS.get("web") is verify


@pytest.mark.parametrize(
    "conditions, message",
    [
        ({}, "verify.final is empty"),
        ({"final": [{"kind": "pixel"}]}, "kind 'pixel'"),
        ({"final": [{"kind": "dom"}]}, "a dom condition has"),
        ({"final": [{"kind": "dom", "css": "a", "txt": "b"}]}, "a dom condition has"),
        ({"final": [{"kind": "url"}]}, "a url condition has"),
        ({"final": [_state("x")], "extra": []}, "unknown groups"),
    ],
)
def test_conditions_are_checked_before_a_browser_sees_them(conditions: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_conditions(conditions, "here")
