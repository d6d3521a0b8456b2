"""Finding a browser, reading traces, and the run that a log stands for: all without a browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from arena.envs.web import open_environment
from arena.envs.web.chromium import find_chromium
from arena.envs.web.jevnav import gold_of, read_trace, recorded_table
from arena.envs.web.limits import limited
from arena.envs.web.redrive import Logged, logged_run
from arena.errors import Failure, MissingNeed, UnknownName, UsageError
from arena.records import Step
from arena.types import NONE_OF_THE_ABOVE


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any browser."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "browsers"))
    monkeypatch.delenv("ARENA_CHROMIUM", raising=False)
    return tmp_path


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_no_browser_names_the_next_command(bare: Path) -> None:
    with pytest.raises(MissingNeed, match="make browser") as caught:
        find_chromium()
    assert caught.value.code == 4


def test_playwrights_own_browser_is_found_newest_first(bare: Path) -> None:
    for revision in ("998", "1200"):
        _program(bare / "browsers" / f"chromium-{revision}" / "chrome-linux" / "chrome")
    assert find_chromium().endswith("chromium-1200/chrome-linux/chrome")


def test_an_installed_browser_comes_before_and_a_chosen_one_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(bare / "browsers" / "chromium-1" / "chrome-linux" / "chrome")
    installed, chosen = _program(bare / "bin" / "chromium"), _program(bare / "mine")
    assert find_chromium() == str(installed)
    monkeypatch.setenv("ARENA_CHROMIUM", str(chosen))
    assert find_chromium() == str(chosen)
    monkeypatch.setenv("ARENA_CHROMIUM", str(bare / "gone"))
    with pytest.raises(MissingNeed, match="ARENA_CHROMIUM"):
        find_chromium()


def test_an_environment_says_what_it_cannot_play(bare: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean teacher"):
        open_environment(mode="techer")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="backend"):
        open_environment(backend="firefox")
    with pytest.raises(UsageError, match="graph backend follows recorded walks only"):
        open_environment(mode="free", backend="graph")
    with pytest.raises(MissingNeed):
        open_environment()
    assert open_environment(mode="teacher", backend="graph").identity()["backend"] == "graph"


def test_a_call_that_does_not_end_is_a_failure_of_the_env() -> None:
    async def forever() -> None:
        await asyncio.sleep(60)

    with pytest.raises(Failure, match=r"waiting: the browser did not answer within 0\.05 s") as caught:
        asyncio.run(limited(forever(), "waiting", 0.05))
    assert caught.value.boundary == "env"


# --- traces

HEADER = {"kind": "run", "spec": 0}


def _trace(tmp_path: Path, *records: dict[str, Any]) -> Path:
    path = tmp_path / "t.trace.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_traces_are_whole_or_refused(tmp_path: Path) -> None:
    header, steps = read_trace(_trace(tmp_path, HEADER, {"kind": "action"}, {"kind": "step", "step": 1}))
    assert (header, [step["step"] for step in steps]) == (HEADER, [1])
    for records, message in [
        ([{"kind": "step"}], "first record is not the run header"),
        ([HEADER | {"spec": 1}], "spec 1"),
        ([HEADER, {"kind": "tick"}], "unknown record kind 'tick'"),
        ([HEADER | {"rate_hz": 5}], "a play trace"),
        ([], "not a jevnav trace"),
    ]:
        with pytest.raises(UsageError, match=message):
            read_trace(_trace(tmp_path, *records))
    (tmp_path / "state.js").write_text("window.state = {}")
    with pytest.raises(UsageError, match="not a jevnav trace"):
        read_trace(tmp_path / "state.js")


def _step(
    verdict: str, *, executed: bool = False, expected: str | None = None, status: str | None = None
) -> dict[str, Any]:
    return {
        "expected_cid": expected,
        "decision": {"choice": "c1", "status": status, "probabilities": {"c1": 0.9, "none": 0.1}},
        "gate": {"verdict": verdict},
        "result": {"executed": executed},
        "candidates": [
            {"cid": "c1", "role": "button", "name": "Go", "scope": "Top"},
            {"cid": "c2", "role": "link", "name": "Go", "scope": "End"},
        ],
    }


@pytest.mark.parametrize(
    "step, gold",
    [
        (_step("auto", executed=True), "c1"),
        (_step("auto", executed=True, expected="c2"), "c2"),
        (_step("blocked", expected="none"), "none"),
        (_step("n/a", status="done"), "none"),
        (_step("review"), None),
        (_step("blocked"), None),
        (_step("auto", executed=False), None),
    ],
)
def test_gold_is_what_was_declared_or_approved_and_done(step: dict[str, Any], gold: str | None) -> None:
    assert gold_of(step) == gold


def test_recorded_candidates_are_the_options() -> None:
    options = recorded_table(_step("auto")).options
    assert [option.id for option in options] == ["c1", "c2", NONE_OF_THE_ABOVE]
    assert [option.text for option in options[:2]] == ['button "Go" in "Top"', 'link "Go" in "End"']
    without = _step("auto")
    without["decision"]["probabilities"] = {"c1": 1.0}
    assert [option.id for option in recorded_table(without).options] == ["c1", "c2"]


# --- what a log stands for


def _logged(step: int, phase: Any, committed: str | None, correct: bool | None, executes: str | None) -> Step:
    view = {"executes": executes}
    return Step(
        step=step, phase=phase, ask="a", page_hash=f"h{step}{phase[0]}", committed=committed, correct=correct, view=view
    )


def test_the_judged_run_of_a_log() -> None:
    right = [_logged(0, "teacher", "click:e2", True, "click:e1"), _logged(1, "teacher", "done", True, "done")]
    assert logged_run(right) == [Logged("h0t", "click:e1"), Logged("h1t", "done")]
    wrong = [
        _logged(0, "teacher", "click:e1", True, "click:e1"),
        _logged(1, "teacher", "click:e7", False, "click:e3"),
        _logged(2, "teacher", "done", True, "done"),
        _logged(2, "free", "click:e4", None, None),
        _logged(3, "free", "done", None, None),
    ]
    assert logged_run(wrong) == [
        Logged("h0t", "click:e1"),
        Logged("h1t", "click:e7"),
        Logged("h2f", "click:e4"),
        Logged("h3f", "done"),
    ]
    ended = [_logged(0, "teacher", "done", False, "click:e1"), _logged(1, "teacher", "done", True, "done")]
    assert logged_run(ended) == [Logged("h0t", "click:e1"), Logged("h1t", "done")]
