"""The schema gate: a table of verdicts, properties over any JSON, and answers that others published."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.gate import EXACT, Gated, commit_choice, commit_level, gate, number
from arena.identity import load
from arena.types import Choice, ChoiceAnswer, Noul, Score, ScoreAnswer

YES_NO = Noul(instructions="Is it?")
LEVELS = Score(instructions="How much?", criteria=("little", "some", "much"))


def choice(*keys: str) -> Choice:
    return Choice(instructions="Which?", criteria=dict.fromkeys(keys))


def answered(probabilities: Any, named: Any = None) -> dict[str, Any]:
    """A choice answer; ``named`` defaults to the first option with the highest number."""
    if named is None and isinstance(probabilities, dict):
        numbers = {key: p for key, p in probabilities.items() if number(p) is not None}
        named = max(numbers, key=lambda key: numbers[key]) if numbers else next(iter(probabilities))
    return {"type": "choice", "choice": named, "probabilities": probabilities}


def spread(total: float, count: int) -> dict[str, float]:
    return {f"k{slot}": total / count for slot in range(count)}


VALID = [
    pytest.param({"a": 0.49, "b": 0.49}, "a", True, id="sum .98, the lower edge"),
    pytest.param({"a": 0.51, "b": 0.51}, "a", True, id="sum 1.02, the upper edge"),
    pytest.param({"a": 0.98, "b": 0.0}, "a", True, id="one option of .98"),
    pytest.param({"a": 0.33, "b": 0.33, "c": 0.33}, "a", True, id="thirds rounded to two digits"),
    pytest.param({"a": 0.5, "b": 0.5}, "a", False, id="exact"),
    pytest.param({"a": 0.1, "b": 0.2, "c": 0.7}, "c", False, id="binary rounding is no deviation"),
    pytest.param({"a": 0.5 + 5e-10, "b": 0.5}, "a", False, id="off by less than 1e-9"),
    pytest.param({"a": 0.5 + 3e-9, "b": 0.5}, "a", True, id="off by more than 1e-9"),
    pytest.param({"a": -0.0, "b": 1.0}, "b", False, id="negative zero is zero"),
    pytest.param({"a": 1e-320, "b": 1.0}, "b", False, id="a denormal is a number"),
    pytest.param({"a": 1, "b": 0}, "a", False, id="ints"),
    pytest.param({"10": 0.2, "9": 0.7, "00": 0.1}, "9", False, id="keys that look like numbers"),
    pytest.param({"Refund_not_showing_up": 0.4, "reverted_card_payment?": 0.6}, "reverted_card_payment?", False),
    pytest.param({"ja": 0.1, "はい": 0.8, "Ångström": 0.1}, "はい", False, id="keys that are not ASCII"),
    pytest.param({f"k{n}": 1 / 255 for n in range(255)}, "k0", False, id="255 options"),
]


@pytest.mark.parametrize("probabilities, committed, renormalized", VALID)
def test_valid(probabilities: dict[str, float], committed: str, renormalized: bool) -> None:
    gated = gate(choice(*probabilities), answered(probabilities))
    assert gated.valid, gated.reason
    assert gated.committed == committed
    assert gated.renormalized is renormalized
    assert isinstance(gated.answer, ChoiceAnswer)
    assert list(gated.answer.probabilities) == list(probabilities)
    assert math.isclose(math.fsum(gated.answer.probabilities.values()), 1.0, abs_tol=EXACT)
    assert gated.confidence == gated.answer.probabilities[committed]


AB = ("a", "b")
INVALID = [
    pytest.param(AB, answered({"a": 0.48995, "b": 0.48995}), "sum to 0.9799", id="sum .9799"),
    pytest.param(AB, answered({"a": 0.51005, "b": 0.51005}), "sum to 1.0201", id="sum 1.0201"),
    pytest.param(tuple(spread(0.96, 40)), answered(spread(0.96, 40)), "sum to 0.96", id="40 options sum to .96"),
    pytest.param(tuple(spread(0, 200)), answered(spread(0, 200)), "all probabilities are zero", id="200 zeros"),
    pytest.param(AB, answered({"a": math.nan, "b": 1.0}, "b"), "nan, not a finite number", id="NaN"),
    pytest.param(AB, answered({"a": math.inf, "b": 0.0}, "a"), "inf, not a finite number", id="Infinity"),
    pytest.param(AB, answered({"a": 0.5, "b": -math.inf}, "a"), "-inf, not a finite number", id="-Infinity"),
    pytest.param(AB, answered({"a": None, "b": 1.0}, "b"), "null, not a finite number", id="null"),
    pytest.param(AB, answered({"a": "0.5", "b": 0.5}, "b"), "'0.5', not a finite number", id="a string"),
    pytest.param(AB, answered({"a": True, "b": 0.0}, "a"), "True, not a finite number", id="true"),
    pytest.param(AB, answered({"a": [1.0], "b": 0.0}, "a"), "list, not a finite number", id="a list"),
    pytest.param(AB, answered({"a": 10**400, "b": 0.0}, "a"), "not a finite number", id="an int beyond floats"),
    pytest.param(AB, answered({"a": 1e308, "b": 1e308}, "a"), "sum to", id="a sum beyond floats"),
    pytest.param(AB, answered({"a": -0.01, "b": 1.01}), "negative", id="negative"),
    pytest.param(AB, answered({"a": 1e-320, "b": 0.0}), "sum to", id="only a denormal"),
    pytest.param(AB, answered({"a": 1.0}), "option 'b' is missing", id="missing option"),
    pytest.param(AB, answered({"a": 0.5, "b": 0.5, "c": 0.0}), "option 'c' is unknown", id="extra option"),
    pytest.param(AB, answered({"A": 0.5, "b": 0.5}), "option 'a' is missing", id="other case"),
    pytest.param(("10", "9", "00"), answered({"10": 0.5, "9": 0.5, "0": 0.0}), "'00' is missing", id="00 is not 0"),
    pytest.param(AB, answered({"a": 0.3, "b": 0.7}, "a"), "not a mode", id="choice is not a mode"),
    pytest.param(AB, answered({"a": 0.3, "b": 0.7}, "c"), "not an option", id="choice is no option"),
    pytest.param(AB, {"type": "choice", "probabilities": {"a": 0.3, "b": 0.7}}, "not an option", id="no choice"),
    pytest.param(AB, answered([0.3, 0.7], "b"), "list, not an object", id="positional probabilities"),
    pytest.param(AB, answered(None, "b"), "null, not an object", id="no probabilities"),
    pytest.param(AB, {"type": "noul", "noul": 0.5}, "type 'noul'", id="another type"),
    pytest.param(AB, {"type": "refusal"}, "type 'refusal'", id="a refusal"),
    pytest.param(AB, {"choice": "a", "probabilities": {"a": 1.0, "b": 0.0}}, "type None", id="no type"),
    pytest.param(AB, None, "no answer", id="absent"),
    pytest.param(AB, "a", "not an object", id="a bare key"),
    pytest.param(AB, [], "not an object", id="a list in place of an answer"),
]


@pytest.mark.parametrize("keys, raw, reason", INVALID)
def test_invalid(keys: tuple[str, ...], raw: Any, reason: str) -> None:
    gated = gate(choice(*keys), raw)
    assert not gated.valid
    assert gated.reason is not None
    assert reason in gated.reason
    assert (gated.answer, gated.committed, gated.confidence) == (None, None, None)


@pytest.mark.parametrize(
    "p, committed, confidence",
    [
        (0.5, True, 0.5),
        (0.49999, False, 0.50001),
        (0, False, 1.0),
        (1, True, 1.0),
        (-0.0, False, 1.0),
        (0.2, False, 0.8),
    ],
)
def test_noul_valid(p: float, committed: bool, confidence: float) -> None:
    gated = gate(YES_NO, {"type": "noul", "noul": p})
    assert gated.valid
    assert gated.committed is committed
    assert gated.confidence == pytest.approx(confidence)


@pytest.mark.parametrize("p", [-1e-9, 1.000001, math.nan, math.inf, None, "0.5", True, [], {}])
def test_noul_invalid(p: Any) -> None:
    assert not gate(YES_NO, {"type": "noul", "noul": p}).valid


def test_score_is_the_expected_level_whatever_the_server_calls_score() -> None:
    """One server returns the mean, another the index of the top level; both are read off the probabilities."""
    probabilities = {"0": 0.1, "1": 0.3, "2": 0.6}
    for named in (1.5, 2, "2", None):
        gated = gate(LEVELS, {"type": "score", "score": named, "probabilities": probabilities})
        assert isinstance(gated.answer, ScoreAnswer)
        assert gated.answer.score == pytest.approx(1.5)
        assert gated.committed == 2


@pytest.mark.parametrize(
    "probabilities, level",
    [({"0": 0.4, "1": 0.4, "2": 0.2}, 0), ({"2": 0.4, "1": 0.4, "0": 0.2}, 1), ({"1": 1, "0": 0, "2": 0}, 1)],
)
def test_score_ties_go_to_the_lower_level(probabilities: dict[str, float], level: int) -> None:
    assert gate(LEVELS, {"type": "score", "probabilities": probabilities}).committed == level


@pytest.mark.parametrize(
    "probabilities",
    [{"0": 0.5, "1": 0.5}, {"0": 0.5, "1": 0.5, "2": 0.0, "3": 0.0}, {"little": 1, "some": 0, "much": 0}],
)
def test_score_needs_every_level_and_no_other(probabilities: dict[str, float]) -> None:
    assert not gate(LEVELS, {"type": "score", "probabilities": probabilities}).valid


@pytest.mark.parametrize("keys", [("10", "9", "00"), ("b", "a", "é"), ("B", "a", "A")])
def test_ties_do_not_depend_on_the_order_shown(keys: tuple[str, ...]) -> None:
    """All tied, under every order of the question, of the answer, and with every tied key named."""
    for shown in permutations(keys):
        for returned in permutations(keys):
            for named in keys:
                gated = gate(choice(*shown), answered(dict.fromkeys(returned, 1 / 3), named))
                assert gated.committed == min(keys)


def test_the_provider_confidence_is_kept_and_not_used() -> None:
    raw = answered({"a": 0.3, "b": 0.7}) | {"confidence": 0.11}
    assert gate(choice("a", "b"), raw).confidence == 0.7
    assert gate(choice("a", "b"), raw).provider_confidence == 0.11
    assert gate(choice("a", "b"), raw | {"confidence": True}).provider_confidence is None


def test_renormalising_makes_no_tie() -> None:
    """The commitment is read off the numbers as returned."""
    raw = {"a": 0.3299999999999999, "b": 0.33, "c": 0.33}
    assert gate(choice("a", "b", "c"), answered(raw, "c")).committed == "b"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=8, unique=True)
ANY_NUMBER = st.floats() | st.integers() | st.none() | st.text(max_size=3)


def _same(one: Gated, two: Gated) -> bool:
    return (one.valid, one.committed, one.renormalized) == (two.valid, two.committed, two.renormalized)


@given(raw=JSON_VALUES, keys=KEYS, values=st.lists(ANY_NUMBER, min_size=8, max_size=8))
def test_never_raises(raw: Any, keys: list[str], values: list[Any]) -> None:
    questions = (choice(*keys), LEVELS, YES_NO)
    probabilities = dict(zip(keys, values, strict=False))
    near = [
        {"type": kind, "choice": named, "noul": raw, "score": raw, "probabilities": distribution, "confidence": raw}
        for kind in ("choice", "score", "noul")
        for named in (keys[0], raw)
        for distribution in (probabilities, raw, dict(zip("012", values, strict=False)))
    ]
    for question in questions:
        for answer in (raw, *near):
            gated = gate(question, answer)
            assert gated.valid == (gated.reason is None) == (gated.committed is not None)


@st.composite
def distributions(draw: st.DrawFn) -> dict[str, float]:
    """Probabilities over 2..8 keys that sum to somewhere in the band; weights are small ints, so ties are common."""
    keys = draw(KEYS)
    weights = draw(st.lists(st.integers(0, 5), min_size=len(keys), max_size=len(keys)).filter(any))
    total = draw(st.floats(0.981, 1.019))
    return {key: weight * total / sum(weights) for key, weight in zip(keys, weights, strict=True)}


@given(values=distributions(), data=st.data())
def test_properties_of_a_valid_answer(values: dict[str, float], data: st.DataObject) -> None:
    top = max(values.values())
    named = data.draw(st.sampled_from([key for key, p in values.items() if p == top]))
    gated = gate(choice(*values), answered(values, named))
    assert gated.valid, gated.reason
    assert isinstance(gated.answer, ChoiceAnswer)
    probabilities = gated.answer.probabilities
    assert math.isclose(math.fsum(probabilities.values()), 1.0, abs_tol=EXACT)
    assert gated.confidence == max(probabilities.values()), "the committed decision is a mode"
    shown = data.draw(st.permutations(list(values)))
    returned = {key: values[key] for key in data.draw(st.permutations(list(values)))}
    assert _same(gated, gate(choice(*shown), answered(returned, named)))


@given(values=distributions())
def test_commit_choice_and_level(values: dict[str, float]) -> None:
    key = commit_choice(values)
    assert values[key] == max(values.values())
    assert all(other >= key for other, p in values.items() if p == values[key])
    levels = {str(slot): p for slot, p in enumerate(values.values())}
    level = commit_level(dict(reversed(levels.items())))
    assert level == list(values.values()).index(max(values.values()))


def test_nan_on_the_wire_spoils_one_answer_not_the_reply() -> None:
    reply = load(b'{"p": {"type": "noul", "noul": NaN}, "q": {"type": "noul", "noul": 0.25}}')
    assert not gate(YES_NO, reply["p"]).valid
    assert gate(YES_NO, reply["q"]).valid


# -- answers that others published -------------------------------------------------------------------------------


def _question(raw: dict[str, Any]) -> Choice | Score | Noul:
    """The question behind a published answer: its labels are those that a whole answer lists."""
    if raw["type"] == "noul":
        return YES_NO
    labels = raw["probabilities"]
    return (
        choice(*labels) if raw["type"] == "choice" else Score(instructions="?", criteria=tuple(raw["legend"].values()))
    )


def test_published_system_one_bench_answers(shared_data: Path) -> None:
    """Ints for floats, two orders of the options, four-digit rounding: all valid; errors are no answers."""
    counts = {"valid": 0, "renormalized": 0, "error": 0}
    files = sorted((shared_data / "mindbreaker81_sysone" / "results").glob("*/*.json"))
    assert len(files) == 4
    for path in files:
        for case in json.loads(path.read_text("utf-8"))["cases"].values():
            if "error" in case:
                counts["error"] += 1
                continue
            for raw in case["answers"].values():
                gated = gate(_question(raw), raw)
                assert gated.valid, (path, raw, gated.reason)
                counts["valid"] += 1
                counts["renormalized"] += gated.renormalized
                if raw["type"] == "choice":
                    assert raw["probabilities"][gated.committed] == max(raw["probabilities"].values())
                    named_first = raw["choice"] == gated.committed
                    assert named_first or raw["probabilities"][raw["choice"]] == raw["probabilities"][gated.committed]
                if raw["type"] == "score":
                    assert isinstance(gated.answer, ScoreAnswer)
                    assert gated.answer.score == pytest.approx(raw["score"], abs=0.03)
    assert counts["valid"] > 0
    assert counts["valid"] % 5 == 0, "five questions a case"
