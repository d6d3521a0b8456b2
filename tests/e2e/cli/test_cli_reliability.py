"""Models whose reliability is known by hand, evaluated from end to end: the figures must be the hand's.

T3 of ``intent`` has 20 to 56 options per question, so 12 orders put 12 different options first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_tools import Arena

from arena.identity import question_id, rng_for
from arena.items import Case, Gold, Item, Variant
from arena.leaderboard.summary import summarise
from arena.log.reader import RunReader
from arena.reliability.variants import null_variants, stability_variants
from arena.tasks import load_golds, load_units, reliability_ids
from arena.types import NONE_OF_THE_ABOVE, Choice

HARDEST = ("--domain", "intent", "--tier", "hardest", "--reliability")


def measured(arena: Arena, *arguments: str | Path) -> dict[str, Any]:
    """The reliability block of a run."""
    said = arena("eval", *HARDEST, "--json", *arguments)
    assert said.code == 0, said.err
    found: dict[str, Any] = said.json["reliability"]
    return found


def varied(count: int = 50) -> Iterator[tuple[Item, str, Choice, Gold]]:
    """The frozen items, each with its choice question."""
    golds = load_golds("intent", "T3")
    for unit in load_units("intent", "T3", "test", reliability_ids("intent")[:count]):
        assert isinstance(unit, Item)
        for name, question in unit.questions.items():
            if isinstance(question, Choice):
                yield unit, name, question, golds[unit.id][name]


def test_the_items_are_as_this_file_says() -> None:
    sizes = [len(question.criteria) for _, _, question, _ in varied()]
    assert len(sizes) == 50
    assert min(sizes) >= 12


def test_a_constant_is_perfectly_stable_and_sees_no_null(arena: Arena) -> None:
    found = measured(arena, "--model", "constant")
    assert (found["S"], found["N"], found["R"]) == (1.0, 0.0, 0.0)
    assert (found["S_ci95"], found["noise_floor"], found["share_stable"]) == ([1.0, 1.0], 1.0, 1.0)
    assert (found["items"], found["orders"], found["partial"]) == (50, [12], [])
    assert found["flips"] == {"flips": 0, "comparable": 550, "asked": 550, "rate": 0.0}


def test_random_has_no_stability(arena: Arena) -> None:
    found = measured(arena, "--model", "random", "--seed", "7")
    assert 0.0 <= found["S"] < 0.05
    assert found["N"] < 0.2
    assert found["noise_floor"] < 0.2


def test_always_none_detects_nothing(arena: Arena) -> None:
    found = measured(arena, "--model", "always-none")
    assert (found["N"], found["R"]) == (0.0, 0.0)
    assert found["null"]["hit"] == found["null"]["false"] == 1.0


def test_a_model_that_scores_options_as_a_set_is_stable(arena: Arena) -> None:
    found = measured(arena, "--model", "sparrow-nano")
    assert found["S"] >= 0.99
    assert found["noise_floor"] == 1.0
    assert found["drift"]["largest"] < 1e-4


@pytest.mark.parametrize("share", [1.0, 0.4, 0.0])
def test_slot_biased_flips_as_often_as_its_formula_says(arena: Arena, share: float) -> None:
    """A biased question commits to whatever stands first: every other order flips it, and no two orders agree.

    With 12 orders and 12 different first options A = 0, so s = -1/(K - 1); an unbiased question has s = 1.
    """
    found = measured(arena, "--model", "slot-biased", "--seed", "3", "-M", f"share={share}")
    biased = {}
    for unit, _, question, _ in varied():
        rng = rng_for("slot-biased", 3, question_id(question))
        rng.choice(sorted(question.criteria))
        biased[unit.id] = (rng.random() < share, len(question.criteria))
    count = sum(is_biased for is_biased, _ in biased.values())
    assert (0.2 < count / 50 < 0.6) if share == 0.4 else count == 50 * share
    stable = [-1 / (k - 1) if is_biased else 1.0 for is_biased, k in biased.values()]
    assert found["flips"]["rate"] == pytest.approx(count / 50, abs=1e-9)
    assert found["S"] == pytest.approx(max(0.0, sum(stable) / 50), abs=1e-9)
    assert found["share_stable"] == pytest.approx(1 - count / 50, abs=1e-9)
    assert found["noise_floor"] == 1.0


COUNT = 40


def case_of(unit: Item, variant: Variant) -> str:
    return Case(unit=unit.id, domain="intent", tier="T3", variant=variant).id


def script() -> str:
    """Flips on orders 4 to 7 of 12; of 40 removed forms 30 commit to none, of 40 intact ones 4 do.

    Everything else commits to one label of the item whatever the order.
    """
    rules, usual = [], set()
    for number, (unit, name, question, gold) in enumerate(varied(COUNT)):
        usual.add(min(question.criteria))
        for variant in stability_variants(unit.id, name, question)[4:8]:
            rules.append((case_of(unit, variant), max(question.criteria)))
        intact, removed, _ = null_variants(unit.id, name, question, gold)
        rules += [(case_of(unit, removed), NONE_OF_THE_ABOVE)] if number < 30 else []
        rules += [(case_of(unit, intact), NONE_OF_THE_ABOVE)] if number < 4 else []
    lines = [f'[[rule]]\nask = "{case}"\npick = "{label}"\np = 0.9\n' for case, label in rules]
    return "\n".join(lines + [f'[[rule]]\npick = "{label}"\np = 0.9\n' for label in sorted(usual)])


def test_a_model_that_flips_and_detects_by_script_gets_the_figures_worked_by_hand(arena: Arena) -> None:
    Path("script.toml").write_text(script(), "utf-8")
    found = measured(arena, "--model", "fake", "--script", "script.toml", "--per-domain", str(COUNT))
    agreement = (8 * 7 + 4 * 3) / (12 * 11)
    assert agreement == pytest.approx(0.5151515, abs=1e-7)
    sizes = [len(question.criteria) for _, _, question, _ in varied(COUNT)]
    s = sum((agreement - 1 / k) / (1 - 1 / k) for k in sizes) / COUNT
    n = 30 / 40 - 4 / 40
    assert found["S"] == pytest.approx(s, abs=1e-9)
    assert found["N"] == pytest.approx(n, abs=1e-9) == pytest.approx(0.65)
    assert found["R"] == pytest.approx(2 * s * n / (s + n), abs=1e-9)
    assert found["flips"]["rate"] == pytest.approx(4 / 11, abs=1e-9)
    assert found["share_stable"] == 0.0
    assert found["noise_floor"] == 1.0
    for name in "SNR":
        low, high = found[f"{name}_ci95"]
        assert low <= found[name] <= high


def shown_orders(run: str) -> dict[str, list[str]]:
    """Case -> option keys in the order shown, of every varied question."""
    return {
        row["case"]: list(row["question"]["criteria"])
        for row in RunReader(Path(run)).rows()
        if row["variant"]["question"] == row["question_name"]
    }


def test_filtering_and_resuming_change_no_order(arena: Arena) -> None:
    run = ("eval", "--model", "uniform", *HARDEST)
    assert arena(*run, "--out", "whole").code == 0
    whole = shown_orders("whole")
    assert arena(*run, "--out", "few", "--per-domain", "7").code == 0
    few = shown_orders("few")
    assert len(few) == 7 * (11 + 3 + 3)
    assert few.items() <= whole.items()
    log = Path("whole/decisions.jsonl.gz")
    import gzip

    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    (Path("whole") / "summary.json").unlink()
    log.unlink()
    Path("whole/decisions.jsonl").write_bytes(b"".join(lines[: len(lines) * 2 // 3]) + b'{"torn')
    said = arena(*run, "--out", "whole")
    assert said.code == 0
    assert "already recorded" in said.err
    assert shown_orders("whole") == whole


def test_figures_do_not_depend_on_the_order_in_which_answers_came_in(arena: Arena) -> None:
    import gzip
    import random

    assert (
        arena("eval", "--model", "random", "--domain", "intent", "--reliability", "--probes", "--out", "run").code == 0
    )
    before = RunReader(Path("run")).summary
    log = Path("run/decisions.jsonl.gz")
    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    random.Random(5).shuffle(lines)
    log.write_bytes(gzip.compress(b"".join(lines)))
    assert summarise(RunReader(Path("run"))) == before
