"""Models that run in process: baselines against their definitions, sparrow-nano, the scripted fake."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
import pytest

from arena.errors import ChangedData, MissingNeed, UsageError
from arena.gate import gate
from arena.items import Gold
from arena.models import ModelOptions, open_model, sparrow
from arena.session import Ask, Decider, Reply, Trainable
from arena.types import NONE_OF_THE_ABOVE, Choice, Noul, Score

LEVELS = Score(instructions="How much?", criteria=("little", "some", "much"))
YES_NO = Noul(instructions="Is it?")


def choice(*keys: str) -> Choice:
    return Choice(instructions="Which?", criteria=dict.fromkeys(keys))


def reply(decider: Decider, ask: Ask) -> Reply:
    return anyio.run(decider.decide, ask)


def committed(decider: Decider, question: Any, ask_id: str = "x", suite: str = "s") -> Any:
    ask = Ask(ask_id, "the state", {"q": question}, suite)
    answered = reply(decider, ask)
    assert answered.outcome == "ok"
    gated = gate(question, answered.answers["q"])
    assert gated.valid, gated.reason
    return gated.committed


@pytest.mark.parametrize(
    "name, question, expected",
    [
        ("constant", choice("b", "a", "é"), "a"),
        ("constant", choice("10", "9", "00"), "00"),
        ("constant", LEVELS, 0),
        ("constant", YES_NO, False),
        ("always-first", choice("b", "a"), "b"),
        ("always-first", LEVELS, 0),
        ("always-none", choice("b", NONE_OF_THE_ABOVE, "a"), NONE_OF_THE_ABOVE),
        ("give-up", choice("click", "blocked", "done"), "blocked"),
        ("give-up", choice("click", "give_up"), "give_up"),
        ("give-up", choice("click", "done"), "click"),
    ],
)
def test_trivial_policies(name: str, question: Any, expected: Any) -> None:
    assert committed(open_model(name), question) == expected


@pytest.mark.parametrize("name", ["uniform", "always-none"])
def test_uniform(name: str) -> None:
    answers = reply(open_model(name), Ask("x", "s", {"c": choice("b", "a", "c"), "l": LEVELS, "y": YES_NO})).answers
    assert set(answers["c"]["probabilities"].values()) == {1 / 3}
    assert answers["l"]["score"] == pytest.approx(1.0)
    assert answers["y"]["noul"] == 0.5


def test_random_differs_between_asks_and_agrees_between_runs() -> None:
    question = choice("a", "b", "c")
    one, again = open_model("random"), open_model("random")
    other = open_model("random", ModelOptions(seed=1))
    asks = [f"case-{n}" for n in range(3000)]
    picks = [committed(one, question, ask) for ask in asks[:60]]
    assert picks == [committed(again, question, ask) for ask in asks[:60]]
    assert picks != [committed(other, question, ask) for ask in asks[:60]]

    async def all_picks() -> Counter[str]:
        counts: Counter[str] = Counter()
        for ask in asks:
            counts[(await one.decide(Ask(ask, "s", {"q": question}))).answers["q"]["choice"]] += 1
        return counts

    counts = anyio.run(all_picks)
    assert all(abs(count - 1000) < 4 * math.sqrt(3000 * 2 / 9) for count in counts.values()), counts


def test_random_does_not_see_the_order() -> None:
    model = open_model("random")
    assert len({committed(model, choice(*keys)) for keys in permutations("abcd")}) == 1


def test_majority_is_fitted_and_falls_back() -> None:
    model = open_model("majority")
    assert isinstance(model, Trainable)
    assert model.card.trained_on is not None, "the card says that it is supervised"
    before = model.card.identity
    rows: list[Any] = [("s", "q", choice("a", "b"), Gold(accepted=(label,))) for label in "aabbbc"]
    rows += [("s", "level", LEVELS, Gold(accepted=(2,))), ("s", "yes", YES_NO, Gold(accepted=(True,)))]
    model.fit("suite", rows)
    assert model.card.identity != before, "what was learnt is part of the identity"
    assert committed(model, choice("c", "b", "a"), suite="suite") == "b"
    assert committed(model, choice("z", "y"), suite="suite") == "y", "not offered: ascending key"
    assert committed(model, choice("c", "b", "a"), suite="another") == "a", "not fitted"
    ask = Ask("x", "s", {"level": LEVELS, "yes": YES_NO}, "suite")
    answers = reply(model, ask).answers
    assert answers["level"]["probabilities"]["2"] == 1.0
    assert answers["yes"]["noul"] == 1.0


def test_majority_ties_go_to_the_ascending_label() -> None:
    model = open_model("majority")
    assert isinstance(model, Trainable)
    model.fit("suite", [("s", "q", choice("a", "b"), Gold(accepted=("b", "a")))])
    assert committed(model, choice("b", "a"), suite="suite") == "a"


def test_slot_biased_moves_what_it_says() -> None:
    """peak .6, shift .5, K = 4, by hand: b = .6 or .4/3; slot 0 gets .5 b + .5, the others .5 b."""
    model = open_model("slot-biased")
    for keys in permutations("abcd"):
        answer = reply(model, Ask("x", "s", {"q": choice(*keys)})).answers["q"]
        first = answer["probabilities"][keys[0]]
        assert first == pytest.approx(0.8) or first == pytest.approx(0.5 + 0.2 / 3)
        assert sorted(answer["probabilities"].values())[:2] == pytest.approx([0.2 / 3] * 2)
        assert answer["choice"] == keys[0]


def _cyclic(keys: str) -> list[str]:
    return [keys[turn:] + keys[:turn] for turn in range(len(keys))]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_slot_biased_flips_as_often_as_its_formula_says(share: float) -> None:
    """Under m = 12 balanced orders of K = 4 a biased question has A = (12/4 - 1)/(12 - 1) = 2/11, others A = 1."""
    model = open_model("slot-biased", ModelOptions(extra={"share": share}))

    async def picks(n: int) -> Counter[str]:
        counts: Counter[str] = Counter()
        for keys in _cyclic("abcd") * 3:
            question = Choice(instructions=f"Which of case {n}?", criteria=dict.fromkeys(keys))
            counts[(await model.decide(Ask("x", "s", {"q": question}))).answers["q"]["choice"]] += 1
        return counts

    async def agreement(n: int) -> float:
        return sum(count * (count - 1) for count in (await picks(n)).values()) / (12 * 11)

    async def all_agreements() -> list[float]:
        return [await agreement(n) for n in range(200)]

    agreements = anyio.run(all_agreements)
    biased = sum(a == pytest.approx(2 / 11) for a in agreements)
    assert biased + sum(a == 1.0 for a in agreements) == 200
    assert abs(biased / 200 - share) <= 4 * math.sqrt(share * (1 - share) / 200)


@pytest.mark.parametrize("value", [-0.1, 1.5, "half", True])
def test_slot_biased_refuses_what_is_no_share(value: Any) -> None:
    with pytest.raises(UsageError, match="number in"):
        open_model("slot-biased", ModelOptions(extra={"share": value}))


# -- sparrow-nano ------------------------------------------------------------------------------------------------


def test_sparrow_names_its_weights_and_answers_the_obvious() -> None:
    model = open_model("sparrow-nano")
    assert model.card.identity["weights_sha256"] == sparrow.WEIGHTS_SHA256
    assert model.card.identity["package"] == "sparrow-decider==0.2.0"
    assert model.card.verified == "embedded"
    question = Choice(
        instructions="Which tool fits this request?",
        criteria={
            "flights": "search and book flights",
            "refunds": "refund a payment",
            "weather": "forecasts for a city",
        },
    )
    answer = reply(model, Ask("x", "I was charged twice for order 1182, I want my money back", {"q": question}))
    assert answer.answers["q"]["choice"] == "refunds"
    assert answer.latency_ms is not None
    assert answer.latency_ms > 0


def test_sparrow_does_not_see_the_order() -> None:
    """Bit for bit, also among options that it cannot tell apart."""
    model = open_model("sparrow-nano")
    texts = {"10": "a refund", "9": "a flight", "東京": None, "大阪": None, "00": "weather"}
    seen = set()
    for keys in permutations(texts):
        question = Choice(instructions="Which?", criteria={key: texts[key] for key in keys})
        answer = reply(model, Ask("x", {"note": "pay me back"}, {"q": question})).answers["q"]
        seen.add(gate(question, answer).committed)
    assert len(seen) == 1


def test_sparrow_agrees_with_its_own_package() -> None:
    from sparrow_decider import Decider as Engine

    questions: dict[str, Any] = {
        "c": Choice(instructions="Which?", criteria={"bug": "broken feature", "bill": "charges, invoices", "x": None}),
        "l": LEVELS,
        "y": Noul(instructions="Is the user upset?", criteria={"true": "angry words"}),
    }
    state = {"message": "my invoice is wrong!"}
    ours = reply(open_model("sparrow-nano"), Ask("x", state, questions)).answers
    theirs = Engine.load("nano-general").ask(state, {name: question.wire() for name, question in questions.items()})
    assert ours["y"]["noul"] == pytest.approx(theirs["y"]["noul"], abs=1e-4)
    for name in ("c", "l"):
        assert ours[name]["probabilities"] == pytest.approx(theirs[name]["probabilities"], abs=1e-4)
    assert ours["c"]["choice"] == theirs["c"]["choice"]
    assert ours["c"]["confidence"] == pytest.approx(theirs["c"]["confidence"], abs=1e-3)


def test_sparrow_says_what_it_cannot_take() -> None:
    wide = Score(instructions="?", criteria=tuple(str(n) for n in range(11)))
    answer = reply(open_model("sparrow-nano"), Ask("x", "s", {"y": YES_NO, "wide": wide}))
    assert (answer.outcome, dict(answer.answers)) == ("unsupported", {})
    assert "wide: 11 levels" in (answer.error or "")


def test_changed_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparrow, "WEIGHTS", "models/sparrow-nano-robot-v1.2.sparrow")
    with pytest.raises(ChangedData) as error:
        open_model("sparrow-nano")
    assert sparrow.WEIGHTS_SHA256 in str(error.value)
    assert error.value.found in str(error.value)
    assert error.value.code == 4


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparrow, "WEIGHTS", "models/none.sparrow")
    with pytest.raises(MissingNeed, match=r"none\.sparrow is missing"):
        open_model("sparrow-nano")


# -- fake --------------------------------------------------------------------------------------------------------


def fake(tmp_path: Path, text: str, suffix: str = ".toml", seed: int = 0) -> Decider:
    path = tmp_path / f"script{suffix}"
    path.write_text(text, "utf-8")
    return open_model("fake", ModelOptions(script=str(path), seed=seed))


def test_fake_without_a_script() -> None:
    answer = reply(open_model("fake"), Ask("x", "s", {"q": choice("b", "a", "c")})).answers["q"]
    assert answer["probabilities"] == pytest.approx({"b": 0.6, "a": 0.2, "c": 0.2})


def test_fake_rules_match_in_order(tmp_path: Path) -> None:
    model = fake(
        tmp_path,
        """
        [[rule]]
        suite = "other"
        pick = "a"
        [[rule]]
        state = "charged \\"twice\\""
        pick = "c"
        p = 0.9
        [[rule]]
        instructions = "Which"
        pick = "last"
        [[rule]]
        question = "y"
        answer = { type = "noul", noul = 0.25 }
        """,
    )
    ask = Ask("x", 'charged "twice"', {"q": choice("c", "a", "b")})
    assert 'charged "twice"' in str(ask.state)
    assert committed(model, choice("c", "a", "b")) == "b", "the last one shown"
    assert committed(model, choice("c", "a", "b"), suite="other suite") == "a"
    answers = reply(model, Ask("x", "s", {"y": YES_NO})).answers
    assert answers["y"] == {"type": "noul", "noul": 0.25}


@pytest.mark.parametrize("fault", ["nan", "zeros", "missing", "sum", "not_mode", "null"])
@pytest.mark.parametrize("question", [choice("b", "a", "c"), LEVELS, YES_NO])
def test_fake_bad_answers_are_refused_by_the_gate(tmp_path: Path, fault: str, question: Any) -> None:
    model = fake(tmp_path, f'{{"rule": [{{"fault": "{fault}"}}]}}', ".json")
    answer = reply(model, Ask("x", "s", {"q": question}))
    assert answer.outcome == "ok"
    assert not gate(question, answer.answers["q"]).valid


@pytest.mark.parametrize("fault", ["timeout", "rate_limited", "server_error", "refused", "auth", "invalid_response"])
def test_fake_failed_calls(tmp_path: Path, fault: str) -> None:
    answer = reply(fake(tmp_path, f'[[rule]]\nquestion = "y"\nfault = "{fault}"\n'), Ask("x", "s", {"y": YES_NO}))
    assert (answer.outcome, dict(answer.answers)) == (fault, {})


def test_fake_share_and_delay(tmp_path: Path) -> None:
    model = fake(tmp_path, '[[rule]]\nshare = 0.3\nfault = "timeout"\ndelay_s = 0.001\n')

    async def outcomes() -> list[str]:
        return [(await model.decide(Ask(f"a{n}", "s", {"q": YES_NO}))).outcome for n in range(400)]

    first = anyio.run(outcomes)
    assert first == anyio.run(outcomes), "decided by the ask, not by a counter"
    assert abs(first.count("timeout") / 400 - 0.3) < 0.1


@pytest.mark.parametrize(
    "text, suffix, fault",
    [
        ("[[rule]]\npik = 'a'\n", ".toml", "rule.0.pik"),
        ("[[rule]]\nfault = 'boom'\n", ".toml", "rule.0.fault"),
        ("[[rule]]\nfault = 'ok'\n", ".toml", "no fault"),
        ("[[rule]]\np = 2\n", ".toml", "rule.0.p"),
        ("[[rule", ".toml", "neither TOML"),
        ("{", ".json", "neither TOML"),
        ("[]", ".json", "at the top"),
    ],
)
def test_fake_script_faults_are_named(tmp_path: Path, text: str, suffix: str, fault: str) -> None:
    with pytest.raises(UsageError) as error:
        fake(tmp_path, text, suffix)
    assert fault in str(error.value)
    assert "script" in str(error.value)


def test_fake_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingNeed, match="cannot be read"):
        open_model("fake", ModelOptions(script=str(tmp_path / "none.toml")))
