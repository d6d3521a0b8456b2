"""What is asked again to measure reliability: orders, repeats, removals, probes, as properties over all sizes."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations
from math import factorial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.identity import presented_id, question_id
from arena.items import BASE, Case, Gold, Item, Variant
from arena.reliability.variants import (
    ADVERSARIAL,
    IRRELEVANT,
    ORDERS,
    apply,
    null_variants,
    option_orders,
    probe_ids,
    probe_variants,
    repeat_variants,
    stability_variants,
)
from arena.types import NONE_DESCRIPTION, NONE_OF_THE_ABOVE, Choice, Noul, Score


def labels(k: int) -> tuple[str, ...]:
    return tuple(f"option {n}" for n in range(k))


def slot_counts(orders: tuple[tuple[str, ...], ...], slot: int) -> list[int]:
    """How often each option stands in ``slot``."""
    counts = Counter(order[slot] for order in orders)
    return [counts[label] for label in orders[0]]


@pytest.mark.parametrize("k", range(2, 256))
def test_twelve_orders_are_distinct_balanced_and_begin_with_the_canonical_one(k: int) -> None:
    orders = option_orders(labels(k), "an item", "a question")
    assert len(orders) == len(set(orders)) == min(ORDERS, factorial(k))
    assert orders[0] == labels(k)
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    for slot in range(k):
        counts = slot_counts(orders, slot)
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("k", [2, 3])
def test_few_options_have_all_their_orders(k: int) -> None:
    assert set(option_orders(labels(k), "i", "q")) == set(permutations(labels(k)))


@settings(max_examples=200, deadline=None)
@given(k=st.integers(2, 60), count=st.integers(1, 60), item=st.text(max_size=9), question=st.text(max_size=9))
def test_any_number_of_orders_is_balanced(k: int, count: int, item: str, question: str) -> None:
    orders = option_orders(labels(k), item, question, count)
    assert len(orders) == len(set(orders)) == min(count, factorial(k))
    assert orders[0] == labels(k)
    assert orders == option_orders(labels(k), item, question, count)
    for slot in range(k):
        counts = slot_counts(orders, slot)
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(("k", "count"), [(4, 23), (5, 119), (6, 300)])
def test_nearly_all_orders_can_be_had(k: int, count: int) -> None:
    """A search that could paint itself into a corner would never come back here."""
    for item in range(20):
        assert len(set(option_orders(labels(k), str(item), "q", count))) == count


def test_more_orders_begin_with_the_fewer() -> None:
    many = option_orders(labels(7), "i", "q", 40)
    assert option_orders(labels(7), "i", "q", 12) == many[:12]


def test_items_and_questions_have_orders_of_their_own() -> None:
    drawn = {option_orders(labels(9), item, question)[1:] for item in "abc" for question in "xyz"}
    assert len(drawn) == 9


def test_over_many_items_no_option_favours_a_slot() -> None:
    """K = 5: two whole squares and two rows of a third, which are drawn: 2.4 per slot, variance .24 an item."""
    counts: Counter[tuple[str, int]] = Counter()
    for item in range(400):
        for order in option_orders(labels(5), str(item), "q"):
            counts.update((label, slot) for slot, label in enumerate(order))
    assert max(abs(count - 400 * 2.4) for count in counts.values()) < 6 * (400 * 0.24) ** 0.5


QUESTION = Choice(instructions="Which?", criteria={"10": "ten", "9": None, "00": ["zero"], "Ä": {"a": 1}})
GOLD = Gold(accepted=("9",), version="v2")


def item(**changes: Any) -> Item:
    fields: dict[str, Any] = {
        "id": "i",
        "suite": "s@1",
        "domain": "d",
        "tier": "T1",
        "split": "test",
        "state": {"text": "hello"},
        "questions": {"q": QUESTION, "other": Noul(instructions="Yes?")},
    }
    return Item.model_validate(fields | changes)


GOLDS = {"q": GOLD, "other": Gold(accepted=(True,))}


def test_a_reordered_question_is_the_same_question_shown_otherwise() -> None:
    variants = stability_variants("i", "q", QUESTION)
    assert [variant.index for variant in variants] == list(range(12))
    for variant in variants:
        changed, golds = apply(item(), GOLDS, variant)
        question = changed.questions["q"]
        assert tuple(question.criteria) == variant.order  # type: ignore[union-attr, arg-type]
        assert question.criteria == QUESTION.criteria  # type: ignore[union-attr]
        assert question_id(question) == question_id(QUESTION)
        assert (presented_id(question) == presented_id(QUESTION)) == (variant.index == 0)
        assert golds == GOLDS
        assert changed.state == item().state
        assert changed.questions["other"] == item().questions["other"]


def test_every_variant_is_a_case_of_its_own() -> None:
    found = [
        BASE,
        *stability_variants("i", "q", QUESTION),
        *stability_variants("i", "other", QUESTION),
        *repeat_variants("q", 3),
        *null_variants("i", "q", QUESTION, GOLD),
        *probe_variants("i", "q", QUESTION, GOLD),
    ]
    ids = {Case(unit="i", domain="d", tier="T1", variant=variant).id for variant in found}
    assert len(ids) == len(found)
    assert len({Case(unit="i", domain="d", tier="T1", variant=BASE, repeat=n).id for n in range(3)}) == 3


def test_a_repeat_is_the_item_as_it_is() -> None:
    for variant in repeat_variants("q", 3):
        assert apply(item(), GOLDS, variant) == (item(), GOLDS)


def test_intact_and_removed_differ_by_the_right_option_alone() -> None:
    intact, removed, without = null_variants("i", "q", QUESTION, GOLD)
    one, golds = apply(item(), GOLDS, intact)
    asked = one.questions["q"]
    assert isinstance(asked, Choice)
    assert list(asked.criteria).index(NONE_OF_THE_ABOVE) == intact.null_slot
    assert [key for key in asked.criteria if key != NONE_OF_THE_ABOVE] == list(QUESTION.criteria)
    assert asked.criteria[NONE_OF_THE_ABOVE] == NONE_DESCRIPTION
    assert golds == GOLDS
    two, golds = apply(item(), GOLDS, removed)
    left = two.questions["q"]
    assert isinstance(left, Choice)
    assert set(asked.criteria) - set(left.criteria) == {"9"}
    assert golds["q"].accepted == (NONE_OF_THE_ABOVE,)
    assert golds["q"].version == "v2"
    three, golds = apply(item(), GOLDS, without)
    assert list(three.questions["q"].criteria) == ["10", "00", "Ä"]  # type: ignore[arg-type]
    assert "q" not in golds
    assert golds["other"] == GOLDS["other"]


def test_the_null_stands_in_every_slot_now_and_then() -> None:
    slots = Counter(null_variants(str(n), "q", QUESTION, GOLD)[0].null_slot for n in range(500))
    assert set(slots) == {0, 1, 2, 3, 4}
    assert min(slots.values()) > 60


@pytest.mark.parametrize(
    ("criteria", "accepted", "kinds"),
    [
        (["a", "b"], ["a"], ["null_intact", "null_removed"]),
        (["a", "b", "c"], ["a"], ["null_intact", "null_removed", "removed"]),
        (["a", "b", "c"], ["a", "b"], ["null_intact", "null_removed"]),
        (["a", "b"], ["a", "b"], []),
        (["a", "b", NONE_OF_THE_ABOVE], [NONE_OF_THE_ABOVE], []),
        (["a", "b", NONE_OF_THE_ABOVE], ["a"], ["null_intact", "null_removed"]),
        (["a", "b", "c", NONE_OF_THE_ABOVE], ["a"], ["null_intact", "null_removed", "removed"]),
        ([f"o{n}" for n in range(254)], ["o3"], ["null_intact", "null_removed", "removed"]),
        ([f"o{n}" for n in range(255)], ["o3"], []),
    ],
)
def test_which_questions_can_test_a_null(criteria: list[str], accepted: list[str], kinds: list[str]) -> None:
    question = Choice(instructions="", criteria=dict.fromkeys(criteria))
    found = null_variants("i", "q", question, Gold(accepted=accepted))
    assert [variant.kind for variant in found] == kinds
    for variant in found:
        changed, _ = apply(item(questions={"q": question}), {"q": Gold(accepted=accepted)}, variant)
        shown = list(changed.questions["q"].criteria or {})
        assert len(shown) == len(set(shown))
        assert (NONE_OF_THE_ABOVE in shown) == (variant.kind != "removed")
        assert not set(accepted) & set(shown) or variant.kind == "null_intact"


def test_probes_of_a_choice() -> None:
    found = {variant.probe: variant for variant in probe_variants("i", "q", QUESTION, GOLD)}
    assert list(found) == ["reverse", "shuffle", "irrelevant", "adversarial"]
    assert found["reverse"].order == tuple(QUESTION.criteria)[::-1]
    assert sorted(found["shuffle"].order or ()) == sorted(QUESTION.criteria)
    assert found["adversarial"].demanded in set(QUESTION.criteria) - {"9"}


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        (Score(instructions="?", criteria=("low", "mid", "high")), Gold(accepted=(1,))),
        (Noul(instructions="?"), Gold(accepted=(True,))),
    ],
)
def test_levels_and_nouls_are_never_reordered(question: Score | Noul, gold: Gold) -> None:
    found = list(probe_variants("i", "q", question, gold))
    assert [variant.probe for variant in found] == ["irrelevant", "adversarial"]
    assert all(variant.order is None for variant in found)
    assert not gold.accepts(found[1].demanded)


@pytest.mark.parametrize("state", ["a text", {"note": 1, "notice": 2}, [1, 2], 7, None])
def test_text_probes_add_a_paragraph_and_take_nothing_away(state: Any) -> None:
    plain, lead = (
        apply(item(state=state), GOLDS, Variant(kind="probe", probe=probe, question="q", demanded="10"))[0].state
        for probe in ("irrelevant", "adversarial")
    )
    demand = ADVERSARIAL.format(wrong="10")
    if isinstance(state, dict):
        assert plain == {**state, "note_": IRRELEVANT}
        assert list(lead.items()) == [("notice_", demand), *state.items()]
    elif isinstance(state, list):
        assert plain == [*state, IRRELEVANT]
        assert lead == [demand, *state]
    else:
        assert plain == f"{state}\n\n{IRRELEVANT}"
        assert lead == f"{demand}\n\n{state}"


def test_the_probe_subset_is_the_seeded_one_in_file_order() -> None:
    ids = [f"i{n}" for n in range(500)]
    shuffled = list(ids)
    random.Random(20261006).shuffle(shuffled)
    assert probe_ids(ids) == [each for each in ids if each in set(shuffled[:200])]
    assert probe_ids(ids[:150]) == ids[:150]
