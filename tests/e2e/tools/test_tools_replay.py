"""``arena replay`` of a tools run: what every action did, in the terminal, as JSON and as a page; trials apart."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Any

import pytest
from run_tools import Arena

from arena.envs.tools.task import read_task
from arena.log.reader import RunReader
from arena.run.freeze_tools import FOLDER

UNIT = "tables-t1-01"
TASK = read_task(FOLDER / f"{UNIT}.json")[0]


@pytest.fixture
def played(arena: Arena) -> RunReader:
    """One task and a further trial of it by random choices, in simulated boxes."""
    said = arena(
        "eval", "-m", "random", "-d", "tools", "-t", "T1", "--item", UNIT, "--trials", "2", "--sandbox", "sim",
        "--out", "run",
    )  # fmt: skip
    assert said.code == 0, said.err
    return RunReader(Path("run"))


def test_every_step_shows_what_its_action_did(arena: Arena, played: RunReader) -> None:
    (row,) = (row for row in played.episode_rows() if row["variant"]["kind"] == "base")
    told = arena("replay", f"run:{UNIT}", "--json").json
    text = arena("replay", f"run:{UNIT}").out
    assert arena("replay", f"run:{UNIT}", "--html", "page.html").code == 0
    page = Path("page.html").read_text("utf-8")
    assert len(told["moments"]) == len(row["steps"]) >= 2
    for moment, step in zip(told["moments"], row["steps"], strict=True):
        assert moment["state"]["goal"] == TASK.goal
        if step["committed"] in ("done", "give_up"):
            assert moment["deed"] is None
            continue
        tool = TASK.tool(step["committed"])
        assert moment["deed"]["tool"] == tool.id
        assert moment["deed"]["command"] == shlex.join(tool.argv)
        assert f"$ {shlex.join(tool.argv)}\n" in text
        assert f"$ {shlex.join(tool.argv)}".replace("'", "&#39;").replace('"', "&#34;") in page
        assert moment["deed"]["exec_ms"] >= 0
    assert told["episode"]["ending"] == row["ending"]
    assert told["episode"]["judged"]["agrees"]
    for reason in told["episode"]["judged"]["verdict"]["reasons"]:
        assert f"  {reason}\n" in text
    assert "judged again from the log: the same" in text
    assert "Judged again from the log: the same." in page


def test_a_trial_is_another_episode(arena: Arena, played: RunReader) -> None:
    both: dict[int, Any] = {n: arena("replay", f"run:{UNIT}", "--trial", n, "--json").json for n in (0, 1)}
    assert [told["trial"] for told in both.values()] == [0, 1]
    assert both[0]["forms"] == [{"trial": 0, "repeat": 0}, {"trial": 1, "repeat": 0}]
    orders = [list(told["moments"][0]["decisions"][0]["question"]["criteria"]) for told in both.values()]
    assert len(orders[0]) == len(orders[1])
    assert orders[0] != orders[1]
    shown = arena("replay", f"run:{UNIT}", "--trial", 1).out
    assert f"{UNIT}  trial 1  tools T1\n" in shown
    assert "on record: trial 0, 1 (--trial)" in shown
    listed = arena("replay", "run").out
    assert "trial" in listed.split("\n")[0]
    assert arena("score", "run", "--verify", "--json").json["log_checked"]["judged"] == 2


def test_a_verdict_that_was_changed_shows(arena: Arena, played: RunReader) -> None:
    path = Path("run/episodes.jsonl.gz")
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"failure"', b'"success"')))
    assert (
        "THE VERDICT DIFFERS: the log says success, its end state gives failure" in arena("replay", f"run:{UNIT}").out
    )
    assert not arena("replay", f"run:{UNIT}", "--json").json["episode"]["judged"]["agrees"]
