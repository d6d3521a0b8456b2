"""system-one-bench: published totals, majority row and rotation pair, through import, score and compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_calls import call


@pytest.fixture(scope="module")
def runs(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders of the three published runs."""
    root = tmp_path_factory.mktemp("esen")
    results = shared_data / "mindbreaker81_sysone" / "results"
    for name in ("clef_27b", "jev_luna_decisions", "jev_luna_decisions_d1"):
        files = sorted((results / name).glob("*.json"))
        done = call("import", "answers", "--format", "esen", *files, "--out", root / name, "--json")
        assert done.code == 0, done.err
        assert done.json["left_out"] == []
        assert done.json["decisions"] == 50 * len(files)
    return root


def test_clef_total_and_majority_row(runs: Path) -> None:
    found = call("score", runs / "clef_27b", "--profile", "esen", "--json").json
    department = found["total"]["questions"]["department"]
    assert (department["hits"], department["n"]) == (9, 20)
    assert (department["majority_hits"], found["total"]["majority_pct"]) == (17, 79.0)
    assert found["total"]["pct"] == 80.0
    assert [(s["suite"], s["cases"], s["answered"]) for s in found["suites"]] == [("adv1", 10, 10), ("adv2", 10, 10)]
    assert found["adjusted"] == pytest.approx(100 * ((84 - 83) / 17 + (76 - 75) / 25) / 2)
    assert found["rules"]["bin_edges"] == "(lo,hi]"
    assert found["composite"] is None
    assert "imported" in found["marks"]


def test_the_mode_rule_moves_the_total(runs: Path) -> None:
    found = call("score", runs / "clef_27b", "--profile", "s1-v1", "--json").json
    assert found["total"]["pct"] == 77.5
    assert found["metrics"]["accuracy"] == 0.74
    assert found["adjusted"] is None
    assert found["composite"] == pytest.approx(
        sum(suite["composite"] * suite["metrics"]["n"] for suite in found["suites"]) / 100
    )


def test_bin_edges_move_the_calibration_error(runs: Path) -> None:
    """The same answers of set 2 by the mode rule: .1337 with closed lower edges, .1537 with closed upper ones."""
    from arena.leaderboard.logs import open_log
    from arena.leaderboard.profiles.rules import profile
    from arena.leaderboard.profiles.table import tabulate
    from arena.reliability.metrics.ece import ece

    scored = tabulate(open_log(runs / "clef_27b"), profile("s1-v1"))
    part = scored.select(scored.suite.codes == scored.suite.names.index("adv2")).scored
    figures = [ece(part.confidence, part.correct, edges=edges) for edges in ("[lo,hi)", "(lo,hi]")]
    assert figures == [pytest.approx(0.1337, abs=5e-5), pytest.approx(0.1537, abs=5e-5)]


@pytest.mark.parametrize("edges", ["text", "csv"])
def test_other_outputs_name_the_same_total(runs: Path, edges: str) -> None:
    flags = ["--csv"] if edges == "csv" else []
    done = call("score", runs / "clef_27b", "--profile", "esen", *flags)
    assert done.code == 0
    total = next(line for line in done.out.split("\n") if "total" in line)
    assert ",80.0," in total if edges == "csv" else " 80.0 " in total


def test_rotation_pair(runs: Path) -> None:
    """The refused case is asked and not comparable: it is no agreement."""
    found = call("compare", runs / "jev_luna_decisions", runs / "jev_luna_decisions_d1", "--json").json
    for part in (found["slices"]["question"]["adv2/department"], found["reordered"]):
        assert (part["asked"], part["comparable"], part["flips"]) == (10, 9, 2)
        assert part["mean_tv"] == pytest.approx(0.1378, abs=5e-5)
        assert part["max_tv"] == pytest.approx(0.50)
    assert [item["item"] for item in found["changed"]] == ["adv2/B01_fake_it_migration", "adv2/B07_maintenance_spoof"]
    assert {item["effect"] for item in found["changed"]} == {"only A right"}
    assert found["slices"]["question"]["adv2/department"]["mcnemar"]["p"] == 0.5


def test_a_request_error_leaves_the_denominator_of_this_profile_alone(runs: Path) -> None:
    esen = call("score", runs / "jev_luna_decisions", "--profile", "esen", "--json").json
    assert (esen["suites"][0]["cases"], esen["suites"][0]["answered"]) == (10, 9)
    assert esen["suites"][0]["pct"] == pytest.approx(100 * 32.5 / 45)
    assert any(mark.startswith("*") for mark in esen["marks"])
    assert esen["adjusted"] is None  # no suite is complete
    other = call("score", runs / "jev_luna_decisions", "--profile", "arena-v1", "--json").json
    assert other["suites"][0]["pct"] == pytest.approx(100 * 32 / 50)
    assert other["metrics"]["coverage"] == 0.9


def test_the_log_alone_scores_the_same(runs: Path) -> None:
    whole = call("score", runs / "clef_27b", "--profile", "esen", "--json").json
    bare = call("score", runs / "clef_27b" / "decisions.jsonl.gz", "--profile", "esen", "--json").json
    for key in ("suites", "total", "metrics", "adjusted", "adjusted_ci95", "rules"):
        assert whole[key] == bare[key]


def test_every_command_reads_an_imported_run(runs: Path, tmp_path: Path) -> None:
    run = runs / "clef_27b"
    assert call("replay", f"{run}:adv1/A01_keyword_recipe").code == 0
    listed = call("list", "runs", runs, "--json").json
    assert {Path(row["run"]).name for row in listed} == {"clef_27b", "jev_luna_decisions", "jev_luna_decisions_d1"}
    published = call("publish", run, runs / "jev_luna_decisions", "-o", tmp_path / "site", "--json")
    assert published.code == 0, published.err
    assert all(row["capability"] is None for row in published.json["rows"])
    assert (tmp_path / "site" / "index.html").read_text("utf-8").count(">imported</span>") >= 2


def test_option_order_is_kept_as_shown(runs: Path) -> None:
    from arena.log.reader import RunReader

    orders = {}
    for name in ("jev_luna_decisions", "jev_luna_decisions_d1"):
        rows = [row for row in RunReader(runs / name).rows() if row["question_name"] == "department"]
        orders[name] = {tuple(row["question"]["criteria"]) for row in rows}
    assert orders["jev_luna_decisions"] == {("bronchoscopia", "consulta_externa", "urgencias", "admin")}
    assert orders["jev_luna_decisions_d1"] == {("consulta_externa", "urgencias", "admin", "bronchoscopia")}
