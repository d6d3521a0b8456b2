"""Questions, answers, names that are hashes, and randomness that depends on names only."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from arena.errors import UsageError
from arena.identity import (
    case_id,
    digest,
    dump,
    load,
    presented_id,
    question_id,
    rng_for,
    state_id,
)
from arena.items import BASE, Gold, Item, Variant
from arena.types import Choice, ChoiceAnswer, Noul, Score, parse_question

ODD_KEYS = ["10", "9", "00", "reverted_card_payment?", "Refund_not_showing_up", "はい", "é", "a b", "none_of_the_above"]


def odd() -> Choice:
    return Choice(instructions="Which?", criteria=dict.fromkeys(ODD_KEYS))


def test_keys_and_their_order_survive_the_wire() -> None:
    again = parse_question(load(dump(odd().wire())))
    assert isinstance(again, Choice)
    assert list(again.criteria) == ODD_KEYS
    assert again == odd()


@pytest.mark.parametrize(
    "body",
    [
        {"type": "choice", "instructions": "?", "criteria": {"a": None, "b": {"why": ["x", 1]}}},
        {"type": "score", "instructions": {"ask": "?"}, "criteria": ["low", None, {"level": 2}]},
        {"type": "noul", "instructions": None},
        {"type": "noul", "instructions": "?", "criteria": {"true": "yes it is"}},
    ],
)
def test_wire_form_round_trips(body: dict[str, Any]) -> None:
    assert parse_question(body).wire() == body


@pytest.mark.parametrize(
    "body, fault",
    [
        ({"type": "choice", "instructions": "?", "criteria": {"a": None}}, "2..255 options, found 1"),
        ({"type": "choice", "instructions": "?", "criteria": {f"{n}": None for n in range(256)}}, "found 256"),
        ({"type": "choice", "instructions": "?", "criteria": ["a", "b"]}, "criteria"),
        ({"type": "score", "instructions": "?", "criteria": ["one"]}, "criteria"),
        ({"type": "score", "instructions": "?", "criteria": {"0": "a", "1": "b"}}, "criteria"),
        ({"type": "noul", "instructions": "?", "criteria": {"yes": "a"}}, "criteria"),
        ({"type": "noul", "instructions": "?", "extra": 1}, "extra"),
        ({"type": "box", "instructions": "?"}, "box"),
        ({"instructions": "?"}, "question at"),
    ],
)
def test_what_is_no_question_is_named(body: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_question(body, "suite.yaml: item 3")
    assert "suite.yaml: item 3" in str(error.value)
    assert fault in str(error.value)
    assert error.value.code == 2


@pytest.mark.parametrize("count", [2, 255])
def test_labels(count: int) -> None:
    levels = Score(instructions="?", criteria=tuple(str(n) for n in range(count)))
    assert levels.labels() == tuple(str(n) for n in range(count))
    assert Noul(instructions="?").labels() == ("false", "true")


def test_data_is_frozen_strict_and_finite() -> None:
    with pytest.raises(ValidationError):
        odd().instructions = "other"  # type: ignore[misc]
    for p in (math.nan, math.inf, "0.5"):
        with pytest.raises(ValidationError):
            ChoiceAnswer(choice="a", probabilities={"a": p})  # type: ignore[dict-item]


def test_two_hashes_per_question() -> None:
    turned = Choice(instructions="Which?", criteria=dict.fromkeys(reversed(ODD_KEYS)))
    assert question_id(odd()) == question_id(turned)
    assert presented_id(odd()) != presented_id(turned)
    reworded = Choice(instructions="Which one?", criteria=dict.fromkeys(ODD_KEYS))
    assert question_id(odd()) != question_id(reworded)


def test_levels_are_never_reordered_away() -> None:
    up, down = (Score(instructions="?", criteria=levels) for levels in (("low", "high"), ("high", "low")))
    assert question_id(up) != question_id(down)


def test_state_hash_keeps_key_order_and_tells_types_apart() -> None:
    assert state_id({"a": 1, "b": 2}) != state_id({"b": 2, "a": 1})
    assert len({state_id(value) for value in (1, "1", 1.0, [1], True, None)}) == 6
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [2**70, "\ud800", {"k": "line\u2028sep\u0085"}, [1e-320, -0.0], "\x00"])
def test_json_that_strict_writers_refuse_survives(value: Any) -> None:
    assert load(dump(value)) == value


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v, max_size=3)))
def test_dump_agrees_with_the_standard_library(value: Any) -> None:
    assert json.loads(dump(value)) == value


def test_load_says_when_it_is_no_json() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the promise is the type
        load(b"<html>")
    assert math.isnan(load(b'{"p": NaN}')["p"])


def test_randomness_depends_on_names_only() -> None:
    draws = [rng_for("order", 7, "item").random() for _ in range(2)]
    assert draws[0] == draws[1]
    assert rng_for("order", 7, "other").random() != draws[0]
    assert rng_for("a", "bc").random() != rng_for("ab", "c").random(), "parts are kept apart"


def test_case_identity() -> None:
    reorder = Variant(kind="reorder", index=1, order=("b", "a"))
    ids = {
        case_id("u", BASE.key(), 0),
        case_id("u", BASE.key(), 1),
        case_id("u", reorder.key(), 0),
        case_id("v", BASE.key(), 0),
    }
    assert len(ids) == 4
    assert reorder.key() != Variant(kind="reorder", index=1, order=("a", "b")).key()


@pytest.mark.parametrize(
    "accepted, committed, right",
    [
        (("a", "b"), "b", True),
        (("a",), "c", False),
        ((1,), True, False),
        ((True,), 1, False),
        ((0,), 0, True),
        (("1",), 1, False),
    ],
)
def test_gold_tells_types_apart(accepted: tuple[Any, ...], committed: Any, right: bool) -> None:
    assert Gold(accepted=accepted).accepts(committed) is right
    assert not Gold(accepted=accepted).accepts(None)


def test_an_item_asks_something() -> None:
    with pytest.raises(ValidationError, match="at least one question"):
        Item(id="i", suite="s", domain="d", tier="t", split="test", state="x", questions={})
