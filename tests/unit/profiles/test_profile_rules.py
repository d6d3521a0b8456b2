"""Profiles: what each commits to, what it earns, what it leaves out; every result names its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_calls import call, imported, wire_row
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import UnknownName, UsageError
from arena.leaderboard.logs import open_log
from arena.leaderboard.profiles.composites import quality, s1_composite, s1_score
from arena.leaderboard.profiles.readings import read
from arena.leaderboard.profiles.rules import profile, profiles
from arena.leaderboard.score import score

P = {"a": 0.7, "b": 0.2, "c": 0.1}
LEVELS = {"type": "score", "instructions": "?", "criteria": ["0", "1", "2"]}


def level_row(item: str, p: list[float], gold: int, **more: Any) -> dict[str, Any]:
    given = {str(level): value for level, value in enumerate(p)}
    mean = sum(level * value for level, value in enumerate(p))
    answer = {"type": "score", "score": more.pop("score", mean), "probabilities": given}
    place = {"suite": "s", "item": item, "question_name": "level", "question": LEVELS}
    return {**place, "gold": gold, "answer": answer, **more}


def result(run: Path, name: str = "arena-v1") -> dict[str, Any]:
    return score(open_log(run), profile(name))


def test_the_four_profiles_and_an_unknown_one() -> None:
    assert tuple(profiles()) == ("arena-v1", "s1-v1", "esen", "foundation")
    with pytest.raises(UnknownName, match="did you mean esen"):
        profile("essen")


@pytest.mark.parametrize("name", ["arena-v1", "s1-v1", "esen", "foundation"])
def test_every_result_names_its_rules(tmp_path: Path, name: str) -> None:
    rules = result(imported(tmp_path / "run", [wire_row("1", P)]), name)["rules"]
    assert rules["bin_edges"] == ("(lo,hi]" if name == "esen" else "[lo,hi)")
    assert {"choice", "score", "noul"} <= rules["decision"].keys()
    assert {"pct", "accuracy"} <= rules["denominators"].keys()
    assert "half to even" in rules["decision"]["score"] or name != "esen"


@pytest.mark.parametrize(
    ("p", "score", "by_mode", "rounded"),
    [
        ([0.25, 0.35, 0.40], 1.15, 2, 1),
        ([0.5, 0.0, 0.5], 1.0, 0, 1),  # a tie of levels goes to the lower one
        ([0.4, 0.2, 0.4], 0.5, 0, 0),  # half to even: down
        ([0.2, 0.1, 0.7], 1.5, 2, 2),  # half to even: up
        ([0.2, 0.1, 0.7], 2.7, 2, 2),  # clipped to the scale
        ([0.2, 0.1, 0.7], -0.6, 2, 0),
    ],
)
def test_level_rules(tmp_path: Path, p: list[float], score: float, by_mode: int, rounded: int) -> None:
    reader = open_log(imported(tmp_path / "run", [level_row("1", p, 1, score=score)]))
    (row,) = reader.rows()
    for name, expected in (("arena-v1", by_mode), ("s1-v1", by_mode), ("foundation", by_mode), ("esen", rounded)):
        found = read(row, profile(name))
        assert found is not None
        assert found.committed == expected


def test_partial_credit_and_strict_hits(tmp_path: Path) -> None:
    rows = [level_row("1", [0.0, 1.0, 0.0], 1), level_row("2", [0.0, 1.0, 0.0], 2), level_row("3", [1.0, 0.0, 0.0], 2)]
    found = result(imported(tmp_path / "run", rows), "esen")
    question = found["total"]["questions"]["level"]
    assert (question["n"], question["hits"], question["credit"]) == (3, 1, 1.5)
    assert found["total"]["pct"] == 50.0
    assert found["metrics"]["accuracy"] == pytest.approx(1 / 3)
    assert (question["majority_hits"], question["majority_credit"]) == (2, 2.5)


def test_esen_takes_the_label_where_the_gate_refuses_the_sum(tmp_path: Path) -> None:
    """That source knows no band; it refuses all-zero vectors alone."""
    loose = {"type": "choice", "choice": "b", "probabilities": {"a": 0.5, "b": 0.3, "c": 0.1}}
    zeros = {"type": "choice", "choice": "a", "probabilities": {"a": 0, "b": 0, "c": 0}}
    rows = [{**wire_row("1", P, gold="b"), "answer": loose}, {**wire_row("2", P), "answer": zeros}]
    run = imported(tmp_path / "run", rows)
    assert [result(run, name)["metrics"]["accuracy"] for name in ("arena-v1", "esen")] == [0.0, 0.5]
    assert result(run, "esen")["metrics"]["valid"] == 1


def test_unlike_cases_weigh_alike(tmp_path: Path) -> None:
    """pct is a mean over cases of the mean over their questions, not over decisions."""
    rows = [wire_row("1", P), *(wire_row("2", P, gold="b", question_name=f"q{n}") for n in range(3))]
    found = result(imported(tmp_path / "run", rows))
    assert (found["total"]["cases"], found["total"]["pct"], found["metrics"]["accuracy"]) == (2, 50.0, 0.25)


def test_adjusted_counts_complete_suites_alone(tmp_path: Path) -> None:
    def suite(name: str, golds: str, **more: Any) -> list[dict[str, Any]]:
        return [wire_row(f"{name}{i}", P, gold=gold, suite=name, **more) for i, gold in enumerate(golds)]

    failed = [{k: v for k, v in row.items() if k != "answer"} | {"error": "x"} for row in suite("z", "a")]
    rows = [*suite("x", "aaab"), *suite("y", "abbb"), *suite("full", "aaaa"), *suite("z", "bbb")[1:], *failed]
    found = result(imported(tmp_path / "run", rows), "esen")
    # x: 75 against 75; y: 25 against 75; full has a majority of 100 and says nothing; z is not complete
    assert found["adjusted"] == pytest.approx(100 * (0 + (25 - 75) / 25) / 2)
    assert found["complete_suites"] == 3
    assert {s["suite"]: (s["cases"], s["answered"]) for s in found["suites"]}["z"] == (3, 2)


def test_s1_composite_by_hand(tmp_path: Path) -> None:
    rows = [wire_row("1", {"a": 1.0, "b": 0.0}), wire_row("2", {"a": 1.0, "b": 0.0}, gold="b")]
    found = result(imported(tmp_path / "run", rows), "s1-v1")
    # macro-F1 (2/3 + 0) / 2 = 1/3, accuracy 1/2, ECE 1/2, Brier 1
    expected = 0.35 / 3 + 0.25 / 2 + 0.2 * 0.5 + 0.2 * 0.5
    assert found["composite"] == pytest.approx(100 * (0.7 * expected + 0.15 * 1.0) / 0.85)
    assert found["composite_parts"]["robustness"] is None
    assert s1_score(0.5, 1.0, 0.0) == pytest.approx(50.0)
    assert s1_composite([], None) is None


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 2))
@settings(deadline=None)
def test_quality_stays_in_range(f1: float, accuracy: float, ece: float, brier: float) -> None:
    assert -1e-12 <= quality(f1, accuracy, ece, brier) <= 1 + 1e-12


@pytest.mark.parametrize("where", ["state", "question"])
def test_foundation_refuses_an_input_that_holds_its_gold(tmp_path: Path, where: str) -> None:
    more: dict[str, Any] = {"state": {"meta": [{"label": "a"}]}} if where == "state" else {"question_name": "answer"}
    run = imported(tmp_path / "run", [wire_row("1", P), wire_row("2", P, **more)])
    with pytest.raises(UsageError, match=f"refuses item s/2: its {where} holds the key"):
        result(run, "foundation")
    assert result(run)["metrics"]["n"] == 2


def test_foundation_selective_accuracy_of_nothing_is_zero(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [wire_row("1", P)])
    last = {name: result(run, name)["metrics"]["selective"][-1] for name in ("arena-v1", "foundation")}
    assert (last["arena-v1"]["accepted"], last["arena-v1"]["accuracy"]) == (0, None)
    assert last["foundation"]["accuracy"] == 0.0


def test_as_returned_stands_beside_the_renormalised_figures(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", [wire_row("1", {"a": 0.5, "b": 0.49})])
    found = result(run)["metrics"]
    assert found["as_returned"]["brier"] == pytest.approx(0.5**2 + 0.49**2)
    assert found["brier"] == pytest.approx((1 - 0.5 / 0.99) ** 2 + (0.49 / 0.99) ** 2)
    assert result(run, "foundation")["metrics"]["brier"] == found["as_returned"]["brier"]


def test_a_threshold_moves_nouls_alone(tmp_path: Path) -> None:
    noul = {"suite": "s", "item": "n", "question_name": "n", "question": {"type": "noul", "instructions": "?"}}
    rows = [wire_row("1", P), {**noul, "gold": True, "answer": {"type": "noul", "noul": 0.7}}]
    run = imported(tmp_path / "run", rows)
    found = [score(open_log(run), profile("arena-v1", t))["metrics"]["accuracy"] for t in (0.7, 0.71)]
    assert found == [1.0, 0.5]


def test_several_runs_one_array_and_csv(tmp_path: Path) -> None:
    runs = [imported(tmp_path / name, [wire_row("1", P), wire_row("2", P, gold=["b", "c"])]) for name in "ab"]
    found = call("score", *runs, "--profile", "s1-v1", "--json").json
    assert [each["run"] for each in found] == [str(run) for run in runs]
    assert found[0]["total"]["questions"]["q"]["by_gold"] == {"a": {"n": 1, "hits": 1}, "b|c": {"n": 1, "hits": 0}}
    lines = call("score", *runs, "--csv").out.strip().split("\n")
    assert len(lines) == 1 + 2 * 2
    assert lines[2].split(",")[4:8] == ["total", "2", "2", "50.0"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("nowhere",), 2, "no run at nowhere"),
        (("run", "--profile", "s1"), 2, "unknown profile 's1'"),
        (("run", "--json", "--csv"), 2, "exclude each other"),
        (("run", "--gold", "v99"), 2, "unknown gold version"),
        (("run", "--gold", "gone.jsonl"), 4, "does not exist"),
        (("run/config.json",), 2, "no decision log"),
    ],
)
def test_usage_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    imported(tmp_path / "run", [wire_row("1", P)])
    done = call("score", *arguments)
    assert (done.code, told in done.err) == (code, True), done.err
