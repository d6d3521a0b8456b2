"""``arena replay RUN --decision ID`` shows any form of a question; runs are found by name below the runs folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_tools import Arena

from arena.identity import digest
from arena.log.reader import RunReader, run_folder
from arena.tasks import domain

Row = dict[str, Any]


@pytest.fixture
def run(arena: Arena) -> RunReader:
    """Two items of the hardest tier with their variants, in ``runs/board/``."""
    said = arena(
        *("eval", "-m", "slot-biased", "-d", "intent", "-t", "hardest", "--limit", "2"),
        *("--reliability", "--per-domain", "2", "--runs", "runs/board", "--json"),
    )
    assert said.code == 0, said.err
    return RunReader(Path(said.json["run"]))


def first(run: RunReader, kind: str) -> Row:
    """The first decision of a form, of the question that was varied."""
    return next(
        row
        for row in run.rows()
        if row["variant"]["kind"] == kind and row["variant"]["question"] in (None, row["question_name"])
    )


@pytest.mark.parametrize("kind", ["base", "reorder", "null_intact", "null_removed", "removed", "repeat"])
def test_every_form_is_shown_by_its_id(arena: Arena, run: RunReader, kind: str) -> None:
    row = first(run, kind)
    found = arena("replay", run.folder, "--decision", row["id"], "--json").json
    (moment,) = found["moments"]
    assert row["id"] in [each["id"] for each in moment["decisions"]]
    assert {each["ask"] for each in moment["decisions"]} == {row["ask"]}
    assert moment["state"] == run.state(row)
    text = arena("replay", run.folder, "--decision", row["id"]).out
    shown = ", ".join(row["question"]["criteria"])
    assert (f"shown as: {shown}" in text.replace("\n", " ")) == (kind != "base")


def test_a_step_of_a_trial_is_shown_with_its_episode(arena: Arena) -> None:
    said = arena(
        *("eval", "-m", "always-first", "-d", "tools", "-t", "T0", "--limit", "1", "--sandbox", "sim"),
        *("--trials", "2", "--out", "run", "--json"),
    )
    assert said.code == 0
    row = next(row for row in RunReader(Path("run")).rows() if row["variant"]["kind"] == "trial" and row["step"] == 1)
    found = arena("replay", "run", "--decision", row["id"], "--json").json
    assert (found["unit"], found["trial"]) == (row["unit"], 1)
    assert [moment["step"]["step"] for moment in found["moments"]] == [1]
    assert found["moments"][0]["deed"]["command"]


def test_what_cannot_be_meant_is_refused(arena: Arena, run: RunReader) -> None:
    said = arena("replay", run.folder, "--decision", "nope")
    assert (said.code, "holds no decision 'nope'" in said.err) == (2, True)
    row = first(run, "base")
    assert arena("replay", f"{run.folder}:{row['unit']}", "--decision", row["id"]).code == 2


def test_a_run_is_found_one_folder_further_down(arena: Arena, run: RunReader) -> None:
    """As a site names it, ``runs/NAME``, although a board keeps its runs in a folder of its own."""
    name = run.folder.name
    assert run_folder(f"runs/{name}", Path("runs")) == run_folder(name, Path("runs")) == Path("runs/board", name)
    assert run_folder("nothing", Path("runs")) is run_folder("runs/*", Path("runs")) is None
    assert arena("replay", f"runs/{name}:{first(run, 'base')['unit']}").code == 0
    assert arena("score", f"runs/{name}", "--json").code == 0
    assert arena("reliability", f"runs/{name}", "--json").code == 0


def test_a_lock_without_trials_keeps_the_digest_it_had_before_there_were_any() -> None:
    """Runs name their data by this digest; those of unchanged domains stay publishable."""
    found = digest(domain("intent").lock.model_dump(mode="json"), 64)
    assert found.startswith("d5cb0fc95652f9dd")
