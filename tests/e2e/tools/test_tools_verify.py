"""``arena score --verify``: a run is checked from its log, on a machine that has nothing to play it with."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_tools import Arena

from arena.identity import dump, load

Row = dict[str, Any]


@pytest.fixture
def played(arena: Arena) -> Path:
    """Two tasks in simulated boxes."""
    said = arena(
        "eval", "-m", "always-first", "-d", "tools", "-t", "T0", "--limit", "2", "--sandbox", "sim", "--out", "run"
    )
    assert said.code == 0, said.err
    return Path("run").absolute()


def change(folder: Path, log: str, number: int, edit: Callable[[Row], Any]) -> None:
    """Change one line (from 1) of a finished log."""
    path = folder / f"{log}.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines()
    row = load(lines[number - 1])
    edit(row)
    lines[number - 1] = dump(row)
    path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))


def test_a_run_is_checked_where_no_engine_and_no_browser_is(played: Path, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    code = (
        "import sys; from arena.cli.main import _run\n"
        f"sys.argv = ['arena', 'score', {str(played)!r}, '--verify', '--json']\n"
        "code = _run()\n"
        "heavy = ('docker', 'playwright', 'arena.envs', 'arena.models')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
        "sys.exit(code)"
    )
    bare = {"PATH": nowhere, "HOME": nowhere, "DOCKER_HOST": f"unix://{nowhere}/sock", "ARENA_SANDBOX_HOME": nowhere}
    kept = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    done = subprocess.run([sys.executable, "-c", code], env=kept | bare, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["log_checked"]
    assert (found["episodes"], found["judged"]) == (2, 2)
    assert found["decisions"] == len(gzip.decompress((played / "decisions.jsonl.gz").read_bytes()).splitlines())
    assert done.stderr.strip().endswith("[]")


def test_a_person_is_told_how_much_was_checked(arena: Arena, played: Path) -> None:
    said = arena("score", played, "--verify")
    assert said.code == 0
    assert "2 episodes judged again; every line and every verdict agrees" in said.out
    assert "log checked" not in arena("score", played).out


def turned(row: Row) -> None:
    row["ending"] = "success" if row["ending"] != "success" else "failure"


def lenient(row: Row) -> None:
    """Conditions that any end meets, and the verdict that follows from them."""
    row["verify"] = {"end": row["claimed"], "final": [], "may_change": ["*"], "trace": []}
    row["ending"], row["key_nodes"] = "success", None


def forbidden(row: Row) -> None:
    row["end_state"]["trace"].append({"tool": "x", "rc": 0, "risk": "forbidden", "flags": []})


def other_deeds(row: Row) -> None:
    """Actions in the end state that no decision committed to."""
    row["end_state"]["trace"] = row["end_state"]["trace"][:-1]


def other_step(row: Row) -> None:
    row["steps"][0]["committed"] = "done"


@pytest.mark.parametrize(
    ("log", "number", "edit", "reason"),
    [
        ("episodes", 1, other_deeds, "the actions in its end state are not those that its decisions committed to"),
        ("episodes", 1, other_step, "step 0 did 'done', and no decision says so"),
        ("episodes", 2, turned, "but its end state gives"),
        ("episodes", 1, forbidden, "the flag 'unsafe', which the line lacks"),
        ("episodes", 1, lambda row: row.update(recording_sha256="0" * 64), "played on recording"),
        ("episodes", 2, lenient, "judged by other conditions than its recording's"),
        ("decisions", 1, lambda row: row.update(committed="nothing"), "committed is 'nothing'"),
        ("decisions", 3, lambda row: row["response"]["probabilities"].clear(), "but its raw answer gives"),
    ],
)
def test_a_line_that_does_not_hold_is_named(
    arena: Arena, played: Path, log: str, number: int, edit: Callable[[Row], Any], reason: str
) -> None:
    change(played, log, number, edit)
    said = arena("score", played, "--verify", "--json")
    assert said.code == 1
    assert f"{log}.jsonl.gz:{number}: " in said.err
    assert reason in said.json["error"]["message"]


def test_a_run_of_dev_is_held_against_dev(arena: Arena) -> None:
    assert (
        arena("eval", "-m", "uniform", "-d", "intent", "-t", "T1", "--split", "dev", "--limit", "2", "--out", "d").code
        == 0
    )
    assert arena("score", "d", "--verify", "--json").json["log_checked"]["decisions"] == 6
    change(Path("d"), "decisions", 2, lambda row: row["gold"].update(accepted=["nonsense"]))
    said = arena("score", "d", "--verify")
    assert said.code == 1
    assert "d/decisions.jsonl.gz:2: " in said.err


def test_what_cannot_be_checked_says_so(arena: Arena, played: Path) -> None:
    said = arena("score", played / "decisions.jsonl.gz", "--verify")
    assert said.code == 2
    assert "with the run folder" in said.err
    assert arena("score", played, "--verify", "--csv").code == 2
