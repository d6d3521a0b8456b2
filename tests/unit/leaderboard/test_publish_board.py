"""Rows of the board: which runs join, what is compared, and that no figure differs from the run's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from board_runs import arena, copied, evaluate
from hypothesis import given
from hypothesis import strategies as st

from arena.cli import evaluate as eval_command
from arena.leaderboard.board import Board, build, load
from arena.leaderboard.entries import baseline_names
from arena.leaderboard.pareto import Point, front
from arena.leaderboard.reproduce import OPTION_FLAGS, command
from arena.leaderboard.table import columns, records, to_csv
from arena.models import FLAGS, MODELS
from arena.run.config import RunConfig

Runs = dict[str, Path]


@pytest.fixture
def board(runs: Runs) -> Board:
    return build(load([runs[name] for name in ("careful", "uniform", "constant", "random")]))


def by_model(board: Board) -> dict[str, dict[str, Any]]:
    return {entry.row["model"]: entry.row for entry in board.entries}


def test_every_figure_is_the_run_s_own(runs: Runs, board: Board) -> None:
    for entry in board.entries:
        stored = json.loads(
            (runs[{"fake": "careful"}.get(entry.row["model"], entry.row["model"])] / "summary.json").read_text()
        )
        for key in (
            "capability",
            "capability_ci95",
            "domain_skill",
            "pending",
            "ceilings",
            "cells",
            "reliability",
            "metrics",
        ):
            assert entry.row[key] == stored[key], key
        assert entry.row["validity"] == round(stored["counts"]["valid"] / stored["counts"]["decisions"], 10)


def test_draws_of_c_give_its_interval(board: Board) -> None:
    for entry in board.entries:
        assert entry.c_draws is not None
        bounds = np.percentile(entry.c_draws, [2.5, 97.5])
        assert bounds == pytest.approx(entry.row["capability_ci95"], abs=1e-9)


def test_the_references_stand_where_protocol_5_puts_them(board: Board) -> None:
    found = {model: row["reliability"] for model, row in by_model(board).items()}
    assert (found["constant"]["S"], found["constant"]["N"], found["constant"]["R"]) == (1.0, 0.0, 0.0)
    assert found["random"]["S"] < 0.1
    assert found["fake"]["R"] > 0.9


def test_order_ties_and_front(board: Board) -> None:
    assert board.entries[0].row["model"] == "fake"
    found = by_model(board)
    # careful is shown to be better; the trivial policies are not told apart.
    assert set(found["fake"]["ties"]).isdisjoint(found["uniform"]["ties"])
    assert set(found["uniform"]["ties"]) & set(found["constant"]["ties"])
    assert board.front == (found["fake"]["slug"],)
    assert found["fake"]["front"]


def test_baselines_are_named_by_models_that_exist() -> None:
    names = baseline_names()
    assert names["degenerate"] <= names["baselines"]
    assert names["baselines"] <= set(MODELS)


def test_runs_over_different_domains_make_one_row(runs: Runs, tmp_path: Path) -> None:
    one = evaluate(tmp_path, "--model", "uniform", "--domain", "alpha")
    two = evaluate(tmp_path, "--model", "uniform", "--domain", "beta")
    alone = build(load([one])).entries[0].row
    assert alone["capability"] is None
    assert alone["pending"] == ["beta"]
    (entry,) = build(load([one, two])).entries
    whole = json.loads((runs["uniform"] / "summary.json").read_text())
    assert entry.row["capability"] == whole["capability"]
    assert entry.row["cells"] == whole["cells"]
    assert len(entry.row["runs"]) == 2


def test_another_identity_makes_another_row(runs: Runs, tmp_path: Path) -> None:
    one = evaluate(tmp_path, "--model", "random", "--domain", "alpha", "--seed", "1")
    two = evaluate(tmp_path, "--model", "random", "--domain", "beta", "--seed", "2")
    names = [entry.row["name"] for entry in build(load([one, two])).entries]
    assert len(names) == len(set(names)) == 2


def test_latency_comes_from_the_serial_lane_alone(runs: Runs, tmp_path: Path) -> None:
    plain = build(load([runs["uniform"]])).entries[0].row
    assert plain["latency_s"]["p50"] is None
    serial = evaluate(tmp_path, "--model", "uniform", "--domain", "alpha", "--lane", "latency")
    (entry,) = build(load([runs["uniform"], serial])).entries
    assert entry.row["latency_s"]["p50"] > 0
    assert entry.row["capability"] == plain["capability"]
    assert [run["latency_only"] for run in entry.row["runs"]] == [False, True]


def test_the_same_cells_twice_are_two_rows(runs: Runs, tmp_path: Path) -> None:
    twin = copied(runs["uniform"], tmp_path)
    assert len(build(load([runs["uniform"], twin])).entries) == 2


def test_imported_answers_are_marked_and_stay_out_of_c(runs: Runs, tmp_path: Path) -> None:
    question = {"type": "noul", "instructions": "Is it?"}
    lines = [
        {
            "suite": "theirs",
            "item": f"i{n}",
            "question_name": "q",
            "question": question,
            "gold": n % 2 == 0,
            "answer": {"type": "noul", "noul": 0.8 if n % 2 == 0 else 0.3},
            "model": "their-model",
        }
        for n in range(12)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = arena("import", "answers", tmp_path / "answers.jsonl", "--out", tmp_path / "imported")
    assert done.exit_code == 0, done.output
    board = build(load([tmp_path / "imported", runs["uniform"]]))
    row = by_model(board)["their-model"]
    assert row["imported"]
    assert row["capability"] is None
    assert row["cells"][0]["accuracy"] == 1.0
    assert board.data()["domains"][-1]["name"] == "imported/theirs"
    assert row["runs"][0]["command"] is None


def test_the_command_repeats_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RunConfig] = []

    def capture(settings: RunConfig, *_: Any) -> Any:
        seen.append(settings)
        raise typer.Exit(0)

    monkeypatch.setattr(eval_command, "interruptible", capture)
    config = RunConfig(
        model="systemone",
        model_options={
            "base_url": "http://localhost:8000/a b",
            "model": "m'1",
            "timeout_s": 2.5,
            "max_retries": 0,
            "seed": 7,
            "extra": {"mode": "fast", "deep": True, "text": "12"},
        },
        domains=("intent",),
        tiers=("T1", "T3"),
        limit=5,
        items=("x 1",),
        repeats=2,
        environment={"*": {"mode": "teacher"}},
        lane="latency",
        stop={"errors": 3},
        reliability={"orders": 6, "per_domain": 10, "probes": True},
    )
    import shlex

    resolved = {**config.model_dump(mode="json"), "model_card": {"paid": True}}
    words = shlex.split(command(resolved))
    assert words[:2] == ["arena", "eval"]
    assert "--allow-paid" in words
    arena(*words[1:])
    assert seen == [config]


def test_option_flags_are_those_of_the_models() -> None:
    assert {"extra": "--model-option"} | OPTION_FLAGS == FLAGS


def test_files_hold_full_precision_and_no_formula(board: Board) -> None:
    data = board.data()
    rows = [{**data["rows"][0], "name": "=cmd()"}, *data["rows"][1:]]
    flat = records(rows, columns(data["domains"]))
    assert flat[0]["C"] == data["rows"][0]["capability"]
    assert flat[0]["R_low"] == data["rows"][0]["reliability"]["R_ci95"][0]
    text = to_csv(flat).decode()
    assert text.splitlines()[1].startswith("'=cmd()")


POINTS = st.lists(
    st.builds(
        lambda c, r, w: (c, r, (max(0.0, r - w), min(1.0, r + w))),
        st.integers(0, 100).map(float),
        st.integers(0, 20).map(lambda n: n / 20),
        st.integers(0, 4).map(lambda n: n / 20),
    ),
    min_size=1,
    max_size=8,
)


@given(POINTS, st.integers(0, 30))
def test_front_is_the_undominated(found: list[tuple[float, float, tuple[float, float]]], margin: int) -> None:
    points = [Point(str(i), c, r, bounds) for i, (c, r, bounds) in enumerate(found)]
    by_key = {point.key: point for point in points}

    def better(a: str, b: str) -> bool:
        return by_key[a].c - by_key[b].c > margin

    best = front(points, better)
    assert best
    assert set(front(points[::-1], better)) == set(best)
    for point in points:
        worse_than = [
            other
            for other in points
            if other.c >= point.c
            and other.r >= point.r
            and (other.c - point.c > margin or other.r_interval[0] > point.r_interval[1])  # type: ignore[index]
        ]
        assert (point.key in best) == (not worse_than)


def test_noise_takes_nobody_off_the_front() -> None:
    close = [Point("a", 50.0, 0.5, (0.4, 0.6)), Point("b", 49.0, 0.49, (0.39, 0.59))]
    assert front(close, lambda a, b: False) == ("a", "b")
    assert front(close, lambda a, b: a == "a") == ("a",)
    unknown = [Point("a", 50.0, 0.5), Point("b", 49.0, 0.1)]
    assert front(unknown, lambda a, b: False) == ("a", "b")
