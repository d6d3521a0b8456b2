"""``arena eval --domain tools``: in boxes, on the simulation, and where neither engine is; and ``arena sandbox``."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from run_tools import Arena

from arena.envs.tools import backends
from arena.envs.tools.backends import Finding
from arena.envs.tools.environment import IMAGE
from arena.errors import MissingNeed
from arena.leaderboard.audit import audit
from arena.leaderboard.recheck import Locked, Refused
from arena.leaderboard.submission.complete import missing
from arena.log.reader import RunReader
from arena.verifiers.tools import verify

EVAL = ("eval", "--model", "sparrow-nano", "--domain", "tools", "--tier", "T4", "--limit", "2", "--json")


def test_a_run_says_what_isolated_it_and_judges_again_without_an_engine(arena: Arena) -> None:
    said = arena(*EVAL, "--sandbox", "sim")
    assert said.code == 0, said.err
    assert "isolation simulated" in said.err
    reader = RunReader(Path(said.json["run"]))
    identity = reader.config["resolved"]["environments"]["tools/sandbox-v1"]
    assert identity["isolation"] == "simulated"
    assert identity["check"]["kind"] == "sim"
    rows = list(reader.episode_rows())
    assert len(rows) == 2
    for row in rows:
        assert verify(row["verify"], row["end_state"], row["claimed"]).ending == row["ending"]
        assert {"observe_ms", "decide_ms", "act_ms"} <= row["steps"][0]["timing"].keys()
        assert all("exec_ms" in step["view"]["last"] for step in row["steps"][1:])


@pytest.mark.engine
@pytest.mark.usefixtures("image", "bwrap_backend")
def test_a_run_in_bubblewrap(arena: Arena) -> None:
    said = arena(*EVAL, "--sandbox", "bwrap")
    assert said.code == 0, said.err
    found = RunReader(Path(said.json["run"])).config["resolved"]["environments"]["tools/sandbox-v1"]
    assert found["isolation"].startswith("namespaces")
    assert found["check"]["problems"] == []


@pytest.mark.engine
@pytest.mark.usefixtures("docker_host", "image", "docker_backend")
def test_a_run_in_docker(arena: Arena) -> None:
    said = arena(*EVAL, "--sandbox", "docker")
    assert said.code == 0, said.err
    found = RunReader(Path(said.json["run"])).config["resolved"]["environments"]["tools/sandbox-v1"]
    assert found["isolation"] == "container"


def test_without_any_engine_nothing_runs(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise MissingNeed("not here")

    monkeypatch.setattr(backends, "_docker", none)
    monkeypatch.setattr(backends, "BwrapBackend", none)
    said = arena(*EVAL)
    assert said.code == 4
    assert "no sandbox can run here" in said.err
    assert "never run on the host" in said.json["error"]["message"]
    assert arena(*EVAL, "--dry-run").code == 0


def test_an_unknown_sandbox_is_a_usage_error(arena: Arena) -> None:
    said = arena(*EVAL, "--sandbox", "dokcer")
    assert said.code == 2
    assert "docker" in said.err


def test_build_gc_and_doctor(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def report(image: str) -> list[Finding]:
        assert image == IMAGE
        return [Finding(name="sandbox bwrap", ok=False, detail="no bwrap", hint="install it")]

    monkeypatch.setattr(backends, "collect_garbage", list)
    monkeypatch.setattr(backends, "doctor_report", report)
    assert arena("sandbox", "gc").out == "0 removed\n"
    said = arena("sandbox", "doctor")
    assert said.code == 4
    assert "fix: install it" in said.out
    assert arena("sandbox", "doctor", "--json").json == [
        {"name": "sandbox bwrap", "ok": False, "detail": "no bwrap", "hint": "install it"}
    ]
    assert arena("sandbox", "build", "nothing").code == 2


@pytest.mark.engine
@pytest.mark.usefixtures("sandbox_home")
def test_build_makes_the_image_that_the_tasks_need(arena: Arena) -> None:
    said = arena("sandbox", "build", "--json")
    assert said.code == 0, said.err
    assert said.json["image"] == IMAGE
    assert len(said.json["sha256"]) == 64


def test_trials_play_other_fixtures_under_other_orders_and_the_log_verifies(arena: Arena) -> None:
    run = ("eval", "--model", "random", "--domain", "tools", "--tier", "T0", "--sandbox", "sim", "--json")
    said = arena(*run, "--trials", "4", "--out", "run")
    assert said.code == 0, said.err
    (cell,) = said.json["cells"]
    assert (cell["n"], cell["plays"]) == (24, 96)
    assert {k: row["tasks"] for k, row in cell["pass_k"].items()} == {"1": 24, "2": 24, "4": 24}
    rates = [cell["pass_k"][k]["rate"] for k in ("1", "2", "4")]
    assert rates == sorted(rates, reverse=True)
    rows = list(RunReader(Path("run")).episode_rows())
    won: dict[str, int] = {}
    for row in rows:
        won[row["unit"]] = won.get(row["unit"], 0) + (row["ending"] == "success")
    assert rates[0] == pytest.approx(sum(won.values()) / 96)
    assert len({row["recording_sha256"] for row in rows}) == 96
    plain = arena(*run, "--out", "plain")
    assert cell["success"] == plain.json["cells"][0]["success"]
    assert (plain.json["cells"][0]["plays"], plain.json["cells"][0]["pass_k"]) == (24, None)
    assert arena("score", "run", "--verify").code == 0


def test_the_board_shows_trials_and_safety_as_score_gives_them(arena: Arena) -> None:
    run = ("eval", "--model", "random", "--domain", "tools", "--tier", "T0", "--tier", "T4", "--sandbox", "sim")
    assert arena(*run, "--trials", "2", "--runs", "runs", "--json").code == 0
    (folder,) = Path("runs").iterdir()
    cells = arena("score", str(folder), "--json").json["cells"]
    said = arena("publish", "runs", "--out", "site")
    assert said.code == 1
    assert "may not enter a board: tools/sandbox-v1 was simulated" in said.err
    assert arena("publish", "runs", "--out", "site", "--partial").code == 0
    text = next(Path("site/models").glob("*.html")).read_text()
    table = text[text.index("Trials and safety by domain and tier") :]
    rows = [
        [
            re.findall(r"[0-9.]+|–", re.sub(r"<[^>]*>", " ", each))[0]
            for each in re.findall(r'<td class="num">(.*?)</td>', row)
        ]
        for row in table.split("</table>")[0].split("<tr>")[2:]
    ]
    assert len(rows) == len(cells) == 2
    for row, cell in zip(rows, cells, strict=True):
        rates = [cell["pass_k"]["1"]["rate"], cell["pass_k"]["2"]["rate"], None]
        rates += [cell[f"{name}_rate"] for name in ("unsafe", "collateral", "false_block", "infra")]
        assert row == [str(cell["plays"]), *("–" if rate is None else f"{rate:.3f}" for rate in rates)]


def test_a_submission_owes_every_trial(arena: Arena) -> None:
    run = ("eval", "--model", "random", "--domain", "tools", "--sandbox", "sim", "--trials", "2", "--out", "run")
    assert arena(*run, "--json").code == 0
    reader = RunReader(Path("run"))
    assert list(missing(reader, Locked())) == []
    path = Path("run/episodes.jsonl.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:-1])))
    (told,) = missing(RunReader(Path("run")), Locked())
    assert told.startswith("tools/T4 lacks 1 of 60: ")
    path.write_bytes(gzip.compress(b"".join(lines[1:])))
    with pytest.raises(Refused, match="tools/T0 has 23 of 24 units"):
        audit(Path("run"), Locked())  # its trial is there, and stands for nothing


def test_trials_without_an_episode_are_a_usage_error(arena: Arena) -> None:
    said = arena("eval", "--model", "uniform", "--domain", "intent", "--trials", "2")
    assert said.code == 2
    assert "intent has none" in said.err
