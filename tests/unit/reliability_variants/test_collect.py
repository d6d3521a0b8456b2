"""From log rows to units: which answer and which gold stand for the canonical order, and what S is measured on."""

from __future__ import annotations

from typing import Any

from arena.reliability.collect import Unit, collect, matrices

SHOWN = ["a", "b", "c"]


def row(kind: str, index: int = 0, **changes: Any) -> dict[str, Any]:
    """A decision that commits to ``a``, right where ``a`` is accepted."""
    fields: dict[str, Any] = {
        "domain": "d",
        "unit": "e#0",
        "episode": None,
        "step": None,
        "phase": "teacher",
        "repeat": 0,
        "group": None,
        "question_name": "q",
        "question": {"type": "choice", "criteria": dict.fromkeys(SHOWN)},
        "variant": {"kind": kind, "index": index, "question": None if kind == "base" else "q"},
        "answer": {"probabilities": {"a": 0.6, "b": 0.4, "c": 0.0}},
        "committed": "a",
        "confidence": 0.6,
        "correct": True,
        "gold": {"accepted": ["a"]},
    }
    return fields | changes


def only(rows: list[dict[str, Any]]) -> Unit:
    (unit,) = collect(rows, rows)
    return unit


def test_a_recorded_step_keeps_its_own_gold_where_the_episode_took_another_way_to_the_same_step() -> None:
    """A walk that left the recording for another right way has a step of the same number, with another gold."""
    walked = row("base", unit="e", episode="e", step=0, gold={"accepted": ["b"]})
    orders = [row("reorder", 0), row("reorder", 1, question={"type": "choice", "criteria": dict.fromkeys("cab")})]
    unit = only([walked, *orders])
    assert unit.gold == ("a",)
    assert matrices([unit], [unit.orders]).right_slot.tolist() == [[0, 1]]


def test_the_base_decision_stands_for_the_canonical_order_where_that_was_not_asked_again() -> None:
    unit = only([row("base"), row("reorder", 1)])
    assert (sorted(unit.orders), unit.gold, unit.labels) == ([0, 1], ("a",), ("a", "b", "c"))


def test_a_unit_that_only_probes_ran_on_is_no_part_of_s_and_n() -> None:
    probe = row("probe", variant={"kind": "probe", "index": 0, "question": "q", "probe": "reverse", "demanded": None})
    assert not only([row("base"), probe]).varied
    assert not only([row("reorder", 0), probe]).varied
    assert only([row("base"), probe, row("repeat")]).varied
    assert only([row("base"), row("null_removed")]).varied
