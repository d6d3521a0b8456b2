"""What a run owes: a fixed order, names that filtering does not move, and an estimate that counts what is asked."""

from __future__ import annotations

import random
from typing import Any

import pytest

from arena.cli.render import duration
from arena.envs import ENVS
from arena.errors import NothingSelected, UnknownName, UsageError
from arena.items import Item
from arena.reliability.variants import probe_ids
from arena.run.config import ReliabilityPlan, RunConfig
from arena.run.plan import CHARACTERS_PER_TOKEN, OWN_S, Pace, Plan
from arena.tasks import domain, load_units, reliability_ids
from arena.types import Choice

ALONE = Pace(wire=False, requests=1, sessions=1)


def plan(*domains: str, **changes: Any) -> Plan:
    return Plan(RunConfig(model="m", domains=domains, **changes))


def ids(made: Plan) -> list[str]:
    return [planned.case.id for planned in made.items()]


def test_cases_come_in_the_order_of_domain_tier_and_lock() -> None:
    made = plan("intent")
    units = [planned.unit.id for planned in made.items()]
    assert units == [unit.id for tier in ("T1", "T2", "T3") for unit in load_units("intent", tier)]
    assert list(made.episodes()) == []
    assert ids(made) == ids(plan("intent"))


def test_filtering_moves_no_name() -> None:
    whole = ids(plan("intent"))
    assert ids(plan("intent", tiers=("T2",))) == whole[80:160]
    assert ids(plan("intent", tiers=("hardest",))) == whole[160:]
    assert ids(plan("intent", limit=3)) == [*whole[:3], *whole[80:83], *whole[160:163]]
    assert ids(plan("intent", items=("intent-t2-test-007",))) == [whole[87]]


def test_repeats_follow_one_another_under_names_of_their_own() -> None:
    whole, twice = ids(plan("intent")), ids(plan("intent", repeats=2))
    assert twice[:240] == whole
    assert len(set(twice)) == 480


def test_reliability_asks_the_canonical_order_only_where_capability_does_not() -> None:
    counts = {}
    for tiers in (("T3",), ("T1",)):
        made = plan("intent", tiers=tiers, reliability=ReliabilityPlan(per_domain=4))
        made.add_reliability({})
        kinds = [planned.case.variant.kind for planned in made.items()]
        counts[tiers[0]] = kinds.count("reorder")
        assert kinds.count("repeat") == 12
        assert kinds.count("null_intact") == kinds.count("null_removed") == kinds.count("removed") == 4
        assert len(set(ids(made))) == len(ids(made))
    assert counts == {"T3": 44, "T1": 48}


def test_reliability_names_do_not_depend_on_what_else_is_asked() -> None:
    few, many = (
        plan("intent", tiers=("T3",), reliability=ReliabilityPlan(per_domain=count), limit=limit)
        for count, limit in ((4, None), (9, 5))
    )
    few.add_reliability({})
    many.add_reliability({})
    varied = [
        {p.case.id: p.case.variant for p in each.items() if p.case.variant.kind != "base"} for each in (few, many)
    ]
    shared = varied[0].keys() & varied[1].keys()
    assert shared == {case for case, variant in varied[0].items()}
    assert all(varied[0][case] == varied[1][case] for case in shared)


def test_the_estimate_of_static_items() -> None:
    found = plan("intent").estimate(2.0, {}, ALONE)
    assert (found.cases, found.calls, found.decisions, found.episodes) == (240, 240, 720, 0)
    assert found.input_tokens > 240 * 300
    assert found.usd == pytest.approx(found.input_tokens * 2e-6)
    assert found.seconds == pytest.approx(240 * OWN_S, abs=0.1)
    twice = plan("intent", repeats=2).estimate(None, {}, Pace(wire=True, requests=8, sessions=1))
    assert (twice.decisions, twice.usd) == (1440, None)
    assert twice.input_tokens == pytest.approx(2 * found.input_tokens, abs=1)
    assert twice.seconds == pytest.approx(480 / 8)


def test_the_estimate_of_episodes_counts_every_recorded_decision_and_its_text() -> None:
    environment = ENVS.get("web/replay-v1")()
    made = plan("web", tiers=("T1",), limit=3)
    found = made.estimate(1.0, {"web/replay-v1": environment}, ALONE)
    units = load_units("web", "T1")[:3]
    turns = [turn for unit in units for turn in environment.recorded(unit.path)]  # type: ignore[union-attr]
    assert found.episodes == 3
    assert found.calls == len(turns) == sum(unit.steps for unit in units)  # type: ignore[union-attr]
    assert found.input_tokens >= sum(len(str(turn.ask.state)) for turn in turns) * 0.8 / CHARACTERS_PER_TOKEN
    assert found.usd is not None
    assert found.usd > 0


def test_reliability_on_another_split_is_refused() -> None:
    """Its units are frozen on the test split: a run on dev would look at test items."""
    with pytest.raises(UsageError, match="frozen units of the test split, and this run is on 'dev'"):
        plan("intent", split="dev", reliability=ReliabilityPlan())


def test_trials_need_an_episode_and_come_after_the_episodes_themselves() -> None:
    with pytest.raises(UsageError, match="intent has none"):
        plan("intent", trials=2)
    made = list(plan("intent", "tools", tiers=("T1",), limit=2, trials=3).episodes())
    first = [planned.unit.id for planned in made[:2]]
    assert [planned.unit.id for planned in made] == first * 3
    assert [planned.case.variant.index for planned in made] == [0, 0, 1, 1, 2, 2]
    assert len({planned.case.id for planned in made}) == 6


def test_what_a_plan_opens() -> None:
    assert plan("intent").environments() == ()
    assert plan("web").environments() == ("web/replay-v1",)
    assert plan("web").verifiers() == (domain("web").verifier,)


def test_an_empty_or_unknown_selection() -> None:
    with pytest.raises(UnknownName, match="did you mean intent"):
        plan("intnet")
    with pytest.raises(NothingSelected):
        plan("web", split="test", tiers=())


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def probed(made: Plan) -> dict[str, list[str]]:
    """Unit -> probes of its choice questions, in the order of the plan."""
    found: dict[str, list[str]] = {}
    for planned in made.items():
        assert isinstance(planned.unit, Item)
        variant = planned.case.variant
        if variant.probe and isinstance(planned.unit.questions[variant.question or ""], Choice):
            found.setdefault(planned.unit.id, []).append(variant.probe)
    return found


def test_probes_run_on_a_seeded_two_hundred_of_a_domains_test_items_and_not_on_the_reliability_units_alone() -> None:
    made = plan("intent", reliability=ReliabilityPlan(per_domain=4, probes=True))
    made.add_reliability({})
    ids = [unit.id for tier in ("T1", "T2", "T3") for unit in load_units("intent", tier)]
    random.Random(20261006).shuffle(ids)
    found = probed(made)
    assert set(found) == set(ids[:200])
    varied = set(reliability_ids("intent")[:4])
    assert list(found)[len(varied & set(found)) :] == [each for each in sorted(found) if each not in varied]
    assert all(probes == ["reverse", "shuffle", "irrelevant", "adversarial"] for probes in found.values())
    assert {planned.unit.id for planned in made.items() if planned.case.variant.kind == "reorder"} == varied


def test_probes_of_recorded_steps_come_with_the_plain_form_that_they_are_compared_with() -> None:
    environment = ENVS.get("web/replay-v1")()
    made = plan("web", reliability=ReliabilityPlan(per_domain=2, probes=True))
    made.add_reliability({"web/replay-v1": environment})
    steps = [f"{u.id}#{n}" for cell in made.cells for u in cell.units for n in range(u.steps)]  # type: ignore[union-attr]
    assert len(steps) > 200
    found = probed(made)
    assert set(found) == set(probe_ids(steps))
    plain = [p.unit.id for p in made.items() if (p.case.variant.kind, p.case.variant.index) == ("reorder", 0)]
    assert sorted(plain) == sorted(set(found) | set(reliability_ids("web")[:2]))


def test_probes_stay_within_a_limited_run() -> None:
    made = plan("intent", limit=3, reliability=ReliabilityPlan(per_domain=2, probes=True))
    made.add_reliability({})
    assert set(probed(made)) == {unit.id for cell in made.cells for unit in cell.units}
