"""The command on a domain that needs nothing: evaluate, resume, replay, list; the same twice is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from run_tools import Arena

from arena.log.reader import RunReader

FAST = ("--model", "uniform", "--domain", "intent")


def decisions(folder: str | Path) -> list[dict[str, Any]]:
    """Rows without what may differ between two runs: the clock and the folder's name."""
    times = {"started_at", "latency_ms", "run"}
    return [{k: v for k, v in row.items() if k not in times} for row in RunReader(Path(folder)).rows()]


@pytest.mark.parametrize("model", ["sparrow-nano", "random", "slot-biased"])
def test_the_same_run_twice_gives_identical_decisions(arena: Arena, model: str) -> None:
    for name in ("one", "two"):
        assert arena("eval", "-m", model, "-d", "intent", "-t", "T1", "--out", name).code == 0
    assert decisions("one") == decisions("two")
    assert len(decisions("one")) == 240
    summaries = [RunReader(Path(name)).summary for name in ("one", "two")]
    assert {**summaries[0], "run": ""} == {**summaries[1], "run": ""}  # type: ignore[dict-item]


def test_the_summary_as_json(arena: Arena, intent: Path) -> None:
    said = arena("eval", *FAST, "--json")
    assert said.code == 0
    assert said.out.count("\n") == 1
    assert "decisions" in said.err
    found = said.json
    assert Path(found["run"], "config.json").is_file()
    assert (found["protocol"], found["model"], found["reliability"]) == ("1.0.0", "uniform", None)
    assert [cell["tier"] for cell in found["cells"]] == ["T1", "T2", "T3"]
    for cell in found["cells"]:
        assert {"domain", "tier", "n", "valid", "coverage", "accuracy", "floor", "skill", "ci95"} <= set(cell)
        assert (cell["n"], cell["valid"], cell["coverage"]) == (240, 240, 1.0)
    assert found["capability"] is not None
    assert found["pending"] == []
    assert found == RunReader(Path(found["run"])).summary | {"run": found["run"]}  # type: ignore[operator]


def test_uniform_has_no_skill(arena: Arena, intent: Path) -> None:
    """It commits to the smallest key, so it may be lucky; over the cell it may not beat the best constant."""
    found = arena("eval", "-m", "majority", "-d", "intent", "--json").json
    for cell in found["cells"]:
        assert cell["skill"] <= 0.15


def test_a_domain_that_was_not_run_is_pending(arena: Arena) -> None:
    found = arena("eval", *FAST, "--json").json
    assert found["capability"] is None
    assert "web" in found["pending"]


def test_a_finished_run_is_printed_and_nothing_is_asked(arena: Arena) -> None:
    first = arena("eval", *FAST, "--json")
    log = next(Path("runs").glob("*/decisions.jsonl.gz"))
    before = log.read_bytes()
    again = arena("eval", *FAST, "--json")
    assert again.json == first.json
    assert log.read_bytes() == before
    assert len(list(Path("runs").iterdir())) == 1


def test_fresh_starts_over_beside_it(arena: Arena) -> None:
    first = arena("eval", *FAST, "-t", "T1", "--json").json
    second = arena("eval", *FAST, "-t", "T1", "--json", "--fresh").json
    assert second["run"] == f"{first['run']}-2"
    assert first["cells"] == second["cells"]


def test_an_unfinished_run_resumes(arena: Arena) -> None:
    first = arena("eval", *FAST, "--out", "run", "--json").json
    whole = decisions("run")
    Path("run/summary.json").unlink()
    Path("run/decisions.jsonl").write_bytes(b"".join(_lines(Path("run"))[:300]) + b'{"torn')
    Path("run/decisions.jsonl.gz").unlink()
    said = arena("eval", *FAST, "--out", "run", "--json")
    assert said.json == first
    assert "300 already recorded" in said.err
    assert decisions("run") == whole


def _lines(folder: Path) -> list[bytes]:
    import gzip

    return gzip.decompress((folder / "decisions.jsonl.gz").read_bytes()).splitlines(keepends=True)


def test_failed_calls_of_a_finished_run_are_asked_again_on_demand(arena: Arena) -> None:
    script = Path("script.toml")
    script.write_text('[[rule]]\nfault = "timeout"\nask = "0"\nshare = 0.05\n')
    run = ("eval", "-m", "fake", "--script", script, "-d", "intent", "-t", "T1", "--out", "run", "--json")
    first = arena(*run)
    failed = first.json["counts"]["outcomes"]["timeout"]
    assert failed > 0
    assert arena(*run).json == first.json
    again = arena(*run, "--retry-errors")
    assert again.json["counts"]["outcomes"]["timeout"] == failed
    lines = Path("run/decisions.jsonl.gz")
    assert len(list(RunReader(Path("run")).rows())) == 240
    assert len(_lines(lines.parent)) == 240 + failed


def test_a_dry_run_asks_nothing(arena: Arena) -> None:
    said = arena("eval", *FAST, "--dry-run")
    assert said.code == 0
    assert "240 cases (0 episodes), about 720 decisions" in said.out
    assert "nothing was asked" in said.out
    estimate = arena("eval", *FAST, "--dry-run", "--json").json["estimate"]
    assert (estimate["decisions"], estimate["usd"]) == (720, None)
    assert not Path("runs").exists()


def test_a_file_of_settings_is_the_same_run_as_the_flags(arena: Arena) -> None:
    flags = arena("eval", *FAST, "-t", "T1", "--repeats", "2", "--seed", "3", "--json").json
    Path("my.toml").write_text(
        'model = "uniform"\ndomains = ["intent"]\ntiers = ["T1"]\nrepeats = 2\n[model_options]\nseed = 3\n'
    )
    assert arena("eval", "--config", "my.toml", "--json").json["run"] == flags["run"]
    assert len(list(Path("runs").iterdir())) == 1


def resolved(run: str) -> dict[str, Any]:
    found: dict[str, Any] = RunReader(Path(run)).config["resolved"]
    return found


def test_flags_win_over_the_file_also_where_they_repeat_a_default(arena: Arena) -> None:
    Path("my.toml").write_text(
        'model = "random"\ndomains = ["intent"]\ntiers = ["T1"]\nrepeats = 3\nlimit = 2\n'
        "[model_options]\nseed = 5\n[reliability]\nper_domain = 1\norders = 3\n"
    )
    file = resolved(arena("eval", "--config", "my.toml", "--json").json["run"])
    assert (file["model"], file["repeats"], file["model_options"]) == ("random", 3, {"seed": 5})
    flags = ("--model", "random", "--seed", "0", "--repeats", "1", "--orders", "4", "-t", "T2", "--max-errors", "9")
    both = resolved(arena("eval", "--config", "my.toml", *flags, "--json").json["run"])
    assert (both["model_options"], both["repeats"], both["tiers"]) == ({}, 1, ["T2"])
    assert both["reliability"] == {"orders": 4, "per_domain": 1, "repeats": 3, "probes": False}
    assert both["stop"]["errors"] == 9
    assert both["limit"] == 2


def test_a_run_with_reliability_alone_covers_all_domains(arena: Arena, intent: Path) -> None:
    found = arena("eval", "-m", "constant", "--reliability", "--per-domain", "3", "--json").json
    assert found["reliability"]["items"] == 3
    assert found["reliability"]["partial"] == ["3 items per domain instead of 50"]


def test_replay_from_the_run_down_to_one_decision(arena: Arena) -> None:
    arena("eval", "-m", "sparrow-nano", "-d", "intent", "-t", "T1", "--limit", "3", "--out", "run")
    units = arena("replay", "run")
    assert "intent-t1-test-002" in units.out
    assert "next: arena replay run:intent-t1-test-000" in units.out
    assert len(arena("replay", "run", "--json").json) == 3
    one = arena("replay", "run:intent-t1-test-001")
    rows = [row for row in RunReader(Path("run")).rows() if row["unit"] == "intent-t1-test-001"]
    for row in rows:
        assert row["question_name"] in one.out
        assert str(row["gold"]["accepted"][0]).lower() in one.out.lower()
    assert one.out.count("<- chosen") == 3
    assert one.out.count("(gold)") == 3
    (moment,) = arena("replay", "run:intent-t1-test-001", "--json").json["moments"]
    assert moment["state"] == rows[0]["state"]
    assert [row["id"] for row in moment["decisions"]] == [row["id"] for row in rows]


def test_replay_as_one_page_that_loads_nothing(arena: Arena) -> None:
    arena("eval", *FAST, "-t", "T1", "--limit", "1", "--out", "run")
    assert arena("replay", "run:intent-t1-test-000", "--html", "page.html").code == 0
    page = Path("page.html").read_text("utf-8")
    assert "intent-t1-test-000" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


def test_replay_asks_another_model_the_recorded_bytes(arena: Arena) -> None:
    arena("eval", *FAST, "-t", "T1", "--limit", "1", "--out", "run")
    same = arena("replay", "run:intent-t1-test-000", "--again", "uniform", "--json").json[0]
    assert same["same_bytes"]
    assert not any(question["changed"] for question in same["questions"].values())
    other = arena("replay", "run:intent-t1-test-000", "--again", "always-first")
    assert other.code == 0
    assert "uniform -> always-first" in other.out


@pytest.mark.parametrize("what", ["models", "domains", "suites", "envs", "runs"])
def test_lists(arena: Arena, what: str) -> None:
    if what == "runs":
        arena("eval", *FAST, "-t", "T1", "--limit", "1")
    rows = arena("list", what, "--json").json
    assert rows
    shown = arena("list", what)
    assert shown.code == 0
    assert str(next(iter(rows[0].values()))) in shown.out


def test_version_and_help(arena: Arena) -> None:
    assert re.fullmatch(r"arena \d+\.\d+\.\d+ \(protocol 1\.0\.0\)\n", arena("--version").out)
    for command in ("eval", "replay", "publish", "doctor", "list", "score", "compare", "export", "plot", "view"):
        said = arena(command, "--help")
        assert said.code == 0
        assert said.out.startswith(f"Usage: arena {command}")
    assert "Examples:" in arena("eval", "-h").out
    assert "130 interrupted" in arena("eval", "-h").out


def test_completion_is_offered(arena: Arena) -> None:
    assert "--install-completion" in arena("--help").out


def test_latency_is_published_from_the_serial_lane_alone(arena: Arena) -> None:
    fast = arena("eval", *FAST, "-t", "T1", "--json", "--concurrency", "4").json
    serial = arena("eval", *FAST, "-t", "T1", "--json", "--concurrency", "4", "--lane", "latency").json
    assert (fast["lane"], serial["lane"]) == ("throughput", "latency")
    assert set(fast["metrics"]["latency_s"].values()) == {None}
    assert 0 < serial["metrics"]["latency_s"]["p50"] <= serial["metrics"]["latency_s"]["p99"] < 5
    assert fast["cells"] == serial["cells"]
