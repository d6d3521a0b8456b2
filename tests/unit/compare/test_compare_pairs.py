"""Comparison in pairs: alignment by option, families, verdicts, what changed; against a plain computation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_calls import call, imported, wire_row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.leaderboard.logs import open_log
from arena.leaderboard.pairs import pair
from arena.leaderboard.profiles.rules import profile
from arena.leaderboard.profiles.table import tabulate
from arena.leaderboard.statistics import mcnemar

P = {"a": 0.7, "b": 0.2, "c": 0.1}
Q = {"c": 0.1, "b": 0.6, "a": 0.3}


def runs(tmp_path: Path, a: list[dict[str, Any]], b: list[dict[str, Any]]) -> tuple[Path, Path]:
    return imported(tmp_path / "a", a), imported(tmp_path / "b", b)


vectors = st.lists(st.integers(1, 9), min_size=2, max_size=5).map(lambda v: [x / sum(v) for x in v])


@given(st.lists(st.tuples(vectors, st.randoms(use_true_random=False)), min_size=1, max_size=6))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_alignment_against_dictionaries(tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]) -> None:
    """Options in another order on the other side: distance and flips as dictionaries give them."""
    tmp_path, first, second = tmp_path_factory.mktemp("pairs"), [], []
    for number, (values, chance) in enumerate(drawn):
        keys = [f"k{i}" for i in range(len(values))]
        p = dict(zip(keys, values, strict=True))
        order, other = list(keys), list(values)
        chance.shuffle(order)
        chance.shuffle(other)
        first.append(wire_row(str(number), p, gold=keys[0]))
        second.append(wire_row(str(number), dict(zip(order, other, strict=True)), gold=keys[0]))
    rules = profile()
    a, b = (tabulate(open_log(run), rules) for run in runs(tmp_path, first, list(reversed(second))))
    pairs = pair(a, b, rules)
    assert len(pairs) == len(drawn)
    for row, (one, two) in enumerate(zip(first, second, strict=True)):
        p, q = one["answer"]["probabilities"], two["answer"]["probabilities"]
        assert pairs.distance[row] == pytest.approx(0.5 * sum(abs(p[key] - q[key]) for key in p))
        commits = [min(key for key in given if given[key] == max(given.values())) for given in (p, q)]
        assert [pairs.labels[side.committed[row]] for side in (pairs.a, pairs.b)] == commits
        assert bool(pairs.reordered[row]) == (list(p) != list(q))


def test_differences_and_discordant_pairs(tmp_path: Path) -> None:
    a = [wire_row(str(i), P) for i in range(6)]
    b = [wire_row(str(i), P if i < 2 else {"a": 0.3, "b": 0.6, "c": 0.1}) for i in range(6)]
    found = call("compare", *runs(tmp_path, a, b), "--json").json
    assert found["mcnemar"] == {"only_a": 4, "only_b": 0, "both": 2, "neither": 0, "p": 0.125}
    assert found["differences"]["accuracy"]["difference"] == pytest.approx(4 / 6)
    assert found["differences"]["pct"]["difference"] == pytest.approx(400 / 6)
    assert found["verdict"]["superiority"] == "passes"
    assert not found["verdict"]["tie"]
    assert [item["item"] for item in found["changed"]] == ["s/2", "s/3", "s/4", "s/5"]


def test_the_same_run_is_a_tie_and_not_inferior(tmp_path: Path) -> None:
    a, b = runs(tmp_path, [wire_row("1", P)], [wire_row("1", P)])
    found = call("compare", a, b, "--margin", "0.02", "--json").json
    assert found["verdict"]["tie"]
    assert found["verdict"]["non_inferiority"] == {"margin": 0.02, "verdict": "passes"}
    assert found["agreement"] == 1.0
    assert call("compare", a, b, "--margin", "0.02").code == 0


def test_a_declared_family_counts_its_empty_cells(tmp_path: Path) -> None:
    a = [wire_row(str(i), P) for i in range(6)]
    b = [wire_row(str(i), {"a": 0.3, "b": 0.6, "c": 0.1}) for i in range(6)]
    both = runs(tmp_path, a, b)
    p = mcnemar(6, 0).p
    alone = call("compare", *both, "--json").json["family"]
    assert (alone["declared"], alone["cells"][0]["holm_p"]) == (False, p)
    file = tmp_path / "family.txt"
    file.write_text("s/q\ns/never asked\n# a remark\nother\n", "utf-8")
    wide = call("compare", *both, "--family", file, "--json").json["family"]
    assert [cell["cell"] for cell in wide["cells"]] == ["s/q", "s/never asked", "other"]
    assert [cell["holm_p"] for cell in wide["cells"]] == [3 * p, 1.0, 1.0]


def test_what_only_one_run_holds_is_counted(tmp_path: Path) -> None:
    a = [wire_row(item, P) for item in "123"]
    b = [wire_row("2", Q), wire_row("3", {"a": 0.9, "z": 0.1}), wire_row("4", P)]
    found = call("compare", *runs(tmp_path, a, b), "--json").json
    assert (found["pairs"], found["only_a"], found["only_b"], found["other_question"]) == (1, 1, 1, 1)
    assert found["reordered"]["flips"] == 1


def test_nothing_in_common_is_exit_3(tmp_path: Path) -> None:
    done = call("compare", *runs(tmp_path, [wire_row("1", P)], [wire_row("2", P)]))
    assert (done.code, "no decision is in both" in done.err) == (3, True)


def test_golds_that_differ_under_one_version_are_refused(tmp_path: Path) -> None:
    done = call("compare", *runs(tmp_path, [wire_row("1", P)], [wire_row("1", P, gold="b")]))
    assert done.code == 2
    assert "golds of item s/1, question q differ" in done.err


def test_clusters_are_drawn_whole(tmp_path: Path) -> None:
    """Ten copies of one cluster carry no more than one: the interval is the point."""
    a = [wire_row(str(i), P, group="one") for i in range(10)]
    b = [wire_row(str(i), P if i % 2 else Q, group="one") for i in range(10)]
    row = call("compare", *runs(tmp_path, a, b), "--json").json["differences"]["accuracy"]
    assert row["ci"] == [row["difference"], row["difference"]] == [0.5, 0.5]


def test_a_failed_call_is_no_agreement(tmp_path: Path) -> None:
    failed = {key: value for key, value in wire_row("1", P, error="down").items() if key != "answer"}
    a, b = runs(tmp_path, [failed, wire_row("2", P)], [failed, wire_row("2", P)])
    found = call("compare", a, b, "--json").json
    assert (found["asked"], found["comparable"], found["flips"]) == (2, 1, 0)
    assert call("compare", a, b, "--profile", "esen", "--json").json["failed_left_out"] == 1


@pytest.mark.parametrize("kind", ["csv", "parquet", "hf"])
def test_export_holds_every_decision(tmp_path: Path, kind: str) -> None:
    import csv
    import json

    run = imported(tmp_path / "run", [wire_row("1", P, state={"t": 'a\u2028,"b"'}), wire_row("2", P)])
    done = call("export", run, "--format", kind, "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    path = Path(done.json["files"][-1])
    if kind == "csv":
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
    else:
        import pyarrow.parquet as pq

        rows = pq.read_table(path).to_pylist()
    assert [row["unit"] for row in rows] == ["s/1", "s/2"]
    assert json.loads(rows[0]["state"]) == {"t": 'a\u2028,"b"'}
    assert json.loads(rows[0]["question"])["criteria"] == {"a": None, "b": None, "c": None}
    assert call("export", run, "--format", kind, "-o", tmp_path / "out").code == 2
    if kind == "hf":
        assert "path: data/test.parquet" in (tmp_path / "out" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("what", ["reliability", "risk-coverage", "confusion", "spectrum", "differences"])
def test_plots_repeat_byte_for_byte(tmp_path: Path, what: str) -> None:
    a, b = runs(tmp_path, [wire_row(i, P) for i in "123"], [wire_row(i, Q) for i in "123"])
    taken = (a, b) if what == "differences" else (a,)
    for name in ("one.svg", "two.svg", "page.html", "picture.png"):
        assert (done := call("plot", *taken, "--what", what, "-o", tmp_path / name)).code == 0, done.err
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "vegaEmbed" in page
    assert 'src="http' not in page


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("a", "--what", "pie", "-o", "x.svg"), 2, "unknown plot 'pie'"),
        (("a", "--what", "differences", "-o", "x.svg"), 2, "takes 2 run"),
        (("a", "--what", "confusion", "-o", "x.gif"), 2, ".svg, .png, .html"),
        (("a", "--what", "confusion", "--question", "s/w", "-o", "x.svg"), 2, "did you mean s/q"),
    ],
)
def test_plot_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    imported(tmp_path / "a", [wire_row("1", P)])
    done = call("plot", *arguments)
    assert (done.code, told in done.err) == (code, True), done.err
