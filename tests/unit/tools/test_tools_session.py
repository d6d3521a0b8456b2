"""Sessions on simulated boxes: truncation, flaky and scripted tools, gold, damage, and what goes into the log."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from arena.envs.check import Played
from arena.envs.tools import open_environment
from arena.envs.tools.environment import ToolsEnvironment
from arena.envs.tools.guide import Deed, acceptable
from arena.envs.tools.sandbox import SandboxFailure
from arena.envs.tools.session import normalised
from arena.envs.tools.sim import SimSandbox
from arena.envs.tools.task import parse_task
from arena.errors import MissingNeed, UnknownName, UsageError
from arena.run.tool_lint import follow
from arena.verifiers.tools import verify

BODY: dict[str, Any] = {
    "format": 1,
    "id": "t",
    "family": "f",
    "tier": "T2",
    "split": "test",
    "seed": 1,
    "sim": True,
    "tools_needed": ["cat", "cp", "sqlite3"],
    "goal": "Copy a to b.",
    "files": {"a": {"text": "10\n"}, "d.db": {"sql": "CREATE TABLE t (n INT); INSERT INTO t VALUES (10);"}},
    "tools": [
        {"id": "look", "text": "Print a", "argv": ["cat", "a"], "risk": "read"},
        {"id": "copy", "text": "Copy", "argv": ["cp", "a", "b"], "risk": "write",
         "flaky": {"fails": 1, "rc": 75, "err": "busy\n"}},
        {"id": "ask", "text": "Ask", "risk": "read", "reply": "yes\n"},
        {"id": "raise", "text": "Set n", "argv": ["sqlite3", "d.db", "UPDATE t SET n = 100"], "risk": "write"},
        {"id": "odd", "text": "Print bytes", "argv": ["cat", "raw"], "risk": "read"},
    ],
    "ends": {"done": "Stop", "give_up": "Give up"},
    "max_steps": 6,
    "verify": {
        "end": "done",
        "final": [
            {"kind": "file", "path": "b", "equals": "10\n"},
            {"kind": "sqlite", "path": "d.db", "select": "SELECT n FROM t", "equals": [[10]]},
        ],
        "may_change": ["b"],
        "trace": [{"kind": "used", "tool": "ask"}],
    },
    "oracles": [["ask", "copy", "copy", "done"]],
    "decoys": [["copy", "copy", "done"]],
    "random_ceiling": 0.1,
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The task as a file, with some bytes that are no text."""
    body = {**BODY, "files": {**BODY["files"], "raw": {"base64": "//4K"}}}
    (tmp_path / "t.json").write_text(json.dumps(body))
    return str(tmp_path / "t.json")


def play(path: str, *walk: str, environment: ToolsEnvironment | None = None) -> Played:
    return asyncio.run(follow(environment or open_environment(sandbox="sim"), path, walk))


def verdict(played: Played) -> Any:
    return verify(played.ended.verify, played.ended.end_state, played.ended.claimed)


def test_the_oracle_wins_and_every_step_has_gold(path: str) -> None:
    played = play(path, "ask", "copy", "copy", "done")
    assert verdict(played).ending == "success"
    assert played.right == (True,) * 4
    assert [turn.phase for turn in played.turns] == ["teacher"] * 4
    assert played.turns[1].ask.state["last"]["stdout"] == "yes\n"
    assert played.turns[2].ask.state["last"]["rc"] == 75
    assert not played.ended.truncated


def test_looking_around_keeps_the_gold_and_changing_something_loses_it(path: str) -> None:
    looked = play(path, "look", "look", "ask", "copy", "copy", "done")
    assert looked.right == (False, False, True, True, True, True)
    changed = play(path, "raise", "ask", "copy", "copy", "done")
    assert changed.right == (False, None, None, None, None)
    assert changed.turns[1].phase == "free"
    assert "collateral" in verdict(changed).flags


def test_running_out_of_steps_is_no_end(path: str) -> None:
    played = play(path, *["ask", "copy", "copy"] * 3)
    assert played.ended.truncated
    assert played.ended.claimed is None
    assert "budget" in played.ended.flags
    assert verdict(played).flags == ("not_claimed",)
    assert len(played.turns) == BODY["max_steps"]
    assert played.turns[-1].ask.state["steps_left"] == 1


def test_what_an_action_did_stands_in_the_next_view(path: str) -> None:
    played = play(path, "copy", "copy", "done")
    assert played.turns[0].view["last"] is None
    assert played.turns[1].view["last"]["diff"] == []
    last = played.turns[2].view["last"]
    assert last["command"] == ["cp", "a", "b"]
    assert last["diff"] == [{"path": "b", "change": "added", "after": "10\n"}]
    assert last["exec_ms"] >= 0
    assert played.ended.final is not None
    assert played.ended.final.view["last"] == last


def test_bytes_that_are_no_text_are_shown_and_recorded(path: str) -> None:
    played = play(path, "odd", "done")
    assert played.turns[1].ask.state["last"]["stdout"] == "\ufffd\ufffd\n"


def test_a_needed_answer_is_not_found_in_a_longer_one(path: str) -> None:
    """Required 10 is not met by 100, neither in a database nor in a file."""
    played = play(path, "raise", "ask", "copy", "copy", "done")
    assert played.ended.end_state["sqlite"] == [[[100]]]
    assert verdict(played).ending == "failure"


def test_doing_nothing_wins_nothing(path: str) -> None:
    assert verdict(play(path, "done")).ending == "failure"
    assert verdict(play(path, "give_up")).ending == "failure"


def test_temporary_names_do_not_show() -> None:
    line = "sed: can't create temp file 'sealed/aBc12x': Permission denied"
    assert normalised(line) == "sed: can't create temp file 'sealed/XXXXXX': Permission denied"


def test_a_box_that_breaks_is_a_failure_of_the_environment(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise SandboxFailure("gone", "the box is gone")

    environment = open_environment(sandbox="sim")
    monkeypatch.setattr(SimSandbox, "exec", gone)
    with pytest.raises(SandboxFailure) as caught:
        play(path, "look", "done", environment=environment)
    assert caught.value.boundary == "env"
    assert environment._pool is not None
    assert (environment._pool.created, environment._pool.discarded) == (1, 1)


def test_boxes_are_used_again_after_a_reset_that_was_checked(path: str) -> None:
    environment = open_environment(sandbox="sim", pool=1)
    first = play(path, "ask", "copy", "copy", "done", environment=environment)
    second = play(path, "ask", "copy", "copy", "done", environment=environment)
    assert first.trace == second.trace
    assert environment._pool is not None
    assert (environment._pool.created, environment._pool.reused) == (1, 1)


def test_what_cannot_be_opened_says_why(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"sandbox 'dokcer'.*docker"):
        open_environment(sandbox="dokcer")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="pool"):
        open_environment(pool=-1)
    body = {**BODY, "sim": False}
    (tmp_path / "real.json").write_text(json.dumps(body))
    with pytest.raises(MissingNeed, match="cannot be simulated"):
        play(str(tmp_path / "real.json"), "done")
    (tmp_path / "needs.json").write_text(json.dumps({**BODY, "tools_needed": ["jq"]}))
    with pytest.raises(MissingNeed, match="jq"):
        play(str(tmp_path / "needs.json"), "done")
    with pytest.raises(MissingNeed, match="cannot be read"):
        play(str(tmp_path / "absent.json"), "done")


@pytest.mark.parametrize(
    "change, fault",
    [
        ({"oracles": [["copy"]]}, "an oracle ends with one end"),
        ({"oracles": [["nothing", "done"]]}, "no option"),
        ({"tools": [BODY["tools"][0], BODY["tools"][0]]}, "repeat"),
        ({"tools": [{"id": "x", "text": "x", "risk": "read"}]}, "an argv or a reply"),
        ({"files": {"a": {"text": "x", "sql": "y"}}}, "one of text, sql, base64"),
        ({"max_steps": 2}, "within max_steps"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_file_that_is_no_task_is_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        parse_task(json.dumps({**BODY, **change}).encode(), "here")


def test_nothing_of_the_agent_counts_as_gold_off_the_oracles() -> None:
    task = parse_task(json.dumps(BODY).encode(), "here")
    asked = Deed("ask", 0, "read", False, replied=True)
    assert acceptable(task, []) == ("ask",)
    assert acceptable(task, [asked]) == ("copy",)
    assert acceptable(task, [asked, asked]) == ()
    assert acceptable(task, [Deed("look", 0, "read", False), asked]) == ("copy",)
    assert acceptable(task, [Deed("copy", 0, "destructive", False)]) == ()
