"""Gold versions apart from items: scored again without a model, never mixed, what changed is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_calls import call, imported, wire_row

P = {"a": 0.7, "b": 0.2, "c": 0.1}


def golds(path: Path, version: str, labels: dict[str, Any]) -> Path:
    rows = [{"gold_version": version}, *({"item": i, "question_name": "q", "gold": g} for i, g in labels.items())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return imported(tmp_path / "run", [wire_row(item, P) for item in "123"])


def test_another_version_scores_again(run: Path, tmp_path: Path) -> None:
    file = golds(tmp_path / "g.jsonl", "v5", {"1": "a", "2": "b", "3": ["b", "a"]})
    assert call("score", run, "--json").json["metrics"]["accuracy"] == 1.0
    found = call("score", run, "--gold", file, "--json").json
    assert found["metrics"]["accuracy"] == pytest.approx(2 / 3)
    assert found["gold"]["versions"] == {"s": "v5"}
    assert found["gold"]["source"] == str(file)
    assert len(found["gold"]["sha256"]) == 64


def test_what_the_version_lacks_is_left_out_and_told(run: Path, tmp_path: Path) -> None:
    found = call("score", run, "--gold", golds(tmp_path / "g.jsonl", "v5", {"1": "a"}), "--json").json
    assert found["metrics"]["n"] == 1
    assert "2 decisions have no gold in v5 (first: s/2, q)" in found["marks"]


def test_two_versions_never_share_a_table(run: Path, tmp_path: Path) -> None:
    other = imported(tmp_path / "other", [wire_row(item, P) for item in "123"], "--gold-version", "v2")
    for command in ("score", "compare"):
        done = call(command, run, other)
        assert done.code == 2
        assert "two gold versions of s" in done.err
    file = golds(tmp_path / "g.jsonl", "v3", dict.fromkeys("123", "a"))
    assert call("score", run, other, "--gold", file).code == 0
    assert call("compare", run, other, "--gold", file).code == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"item": "1", "question_name": "q", "gold": "z"}', "gold 'z' is not an option"),
        ('{"item": "1", "question_name": "q"}', "not a gold"),
        ('{"item": "2", "question_name": "q", "gold": "a"}', "has a gold already"),
        ('{"item": "1", "quest', "torn line"),
    ],
)
def test_a_bad_gold_file_is_refused_with_its_line(run: Path, tmp_path: Path, line: str, told: str) -> None:
    file = golds(tmp_path / "g.jsonl", "v5", {"2": "a"})
    file.write_text(file.read_text("utf-8") + line, "utf-8")
    done = call("score", run, "--gold", file)
    assert done.code == 2
    assert told in done.err


def test_report_of_what_changed(run: Path, tmp_path: Path) -> None:
    old = golds(tmp_path / "old.jsonl", "v4", {"1": "a", "2": "b", "3": "a"})
    new = golds(tmp_path / "new.jsonl", "v5", {"1": "a", "2": "a", "3": "c"})
    found = call("score", run, "--gold-report", old, new, "--json").json
    assert (found["old"]["version"], found["new"]["version"], found["labels"], found["changed"]) == ("v4", "v5", 3, 2)
    assert found["fields"] == {"s/q": {"n": 3, "changed": 2}}
    assert [(i["item"], i["old"], i["new"]) for i in found["items"]] == [("s/2", ["b"], ["a"]), ("s/3", ["a"], ["c"])]
    (model,) = found["models"]
    assert (model["gained"], model["lost"], model["pct"]["difference"]) == (1, 1, 0.0)
    text = call("score", run, "--gold-report", old, new)
    assert text.code == 0
    assert "s/2  q: b -> a" in text.out


def annotation(item: str, who: str, kind: str, label: str) -> dict[str, str]:
    return {"item": item, "question_name": "q", "annotator": who, "kind": kind, "label": label}


def test_agreement_keeps_humans_and_models_apart(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "second.jsonl"
    labels = {("h1", "human"): "aab", ("h2", "human"): "abb", ("m1", "model"): "aaa"}
    rows = [
        annotation(i, who, kind, label)
        for (who, kind), all in labels.items()
        for i, label in zip("123", all, strict=True)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = call("score", run, "--annotations", file, "--json").json
    pairs = {(row["kind"], row["first"], row["second"]): row for row in found}
    assert set(pairs) == {
        ("human", "gold", "h1"),
        ("human", "gold", "h2"),
        ("human", "h1", "h2"),
        ("model", "gold", "m1"),
    }
    assert pairs["human", "gold", "h1"]["agreement"] == pytest.approx(2 / 3)
    between = pairs["human", "h1", "h2"]
    # codes aab, abb: observed 2/3, expected (2*1 + 1*2)/9 = 4/9
    assert between["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert pairs["model", "gold", "m1"]["agreement"] == 1.0
    assert call("score", run, "--annotations", file).code == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "robot"}, "an annotation has"),
        ({"label": "z"}, "label 'z' is not an option"),
        ({"item": "9"}, "no run here asked item 9"),
    ],
)
def test_a_bad_annotation_is_named(run: Path, tmp_path: Path, change: dict[str, str], told: str) -> None:
    file = tmp_path / "second.jsonl"
    file.write_text(json.dumps(annotation("1", "h", "human", "a") | change) + "\n", "utf-8")
    done = call("score", run, "--annotations", file)
    assert done.code == 2
    assert f"{file}:1" in done.err
    assert told in done.err


def test_case_files_of_system_one_bench_are_golds(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "v5.json"
    file.write_text(json.dumps({item: {"state": "x", "q": "a" if item == "1" else "b"} for item in "123"}), "utf-8")
    found = call("score", run, "--gold", file, "--json").json
    assert (found["gold"]["versions"], found["metrics"]["accuracy"]) == ({"s": "v5"}, pytest.approx(1 / 3))


def on_split(run: Path, split: str) -> Path:
    config = json.loads((run / "config.json").read_text("utf-8"))
    config["resolved"]["split"] = split
    (run / "config.json").write_text(json.dumps(config), "utf-8")
    return run


def test_foundation_chooses_on_held_out_runs_and_reports_the_chosen_one_alone(tmp_path: Path) -> None:
    sharp, blunt = {"a": 0.96, "b": 0.04}, {"a": 0.6, "b": 0.4}
    runs = {
        (model, split): on_split(
            imported(tmp_path / model / split, [wire_row(i, p, model=model) for i in "123"]), split
        )
        for model, p in (("sharp", sharp), ("blunt", blunt))
        for split in ("validation", "test")
    }
    found = call("score", *runs.values(), "--profile", "foundation", "--json").json
    assert found["run"] == str(runs["sharp", "test"])
    assert found["selection"]["backend"] == "sharp"
    assert found["selection"]["threshold"] == 0.5  # every threshold is right; the lowest keeps most
    assert [c["model"] for c in found["selection"]["candidates"]] == ["sharp", "blunt"]
    done = call("score", runs["sharp", "validation"], runs["blunt", "test"], "--profile", "foundation")
    assert (done.code, "has no test or ood run" in done.err) == (2, True)
    plain = call("score", *runs.values(), "--profile", "s1-v1", "--json").json
    assert len(plain) == 4
