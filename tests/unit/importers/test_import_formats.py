"""Readers of other projects' files, on small files of their shape, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_calls import call
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.log.importers.convert import milliseconds
from arena.log.importers.foreign import Notices
from arena.log.importers.lines import objects
from arena.log.reader import RunReader

ANSWER = {
    "kind": {"type": "choice", "choice": "x", "probabilities": {"x": 0.6, "y": 0.4}, "confidence": 0.2},
    "grade": {"type": "score", "score": 1.5, "legend": {"0": "l", "1": "m", "2": "h"}}
    | {"probabilities": {"0": 0.1, "1": 0.3, "2": 0.6}},
    "flag": {"type": "noul", "noul": 1},
}


def tree(root: Path, cases: dict[str, Any], golds: Any, meta: dict[str, Any] | None = None) -> Path:
    """``results/run/set.json`` and ``data/cases.json`` under ``root``; the phase file."""
    for folder in (root / "results" / "run", root / "data"):
        folder.mkdir(parents=True)
    (root / "data" / "cases.json").write_text(json.dumps(golds), "utf-8")
    file = root / "results" / "run" / "set.json"
    body = {"meta": {"model": "m", "phase": "set", **(meta or {})}, "cases": cases}
    file.write_text(json.dumps(body, indent=1), "utf-8")
    return file


GOLDS = {name: {"state": f"text {name}", "kind": "x", "grade": 2, "flag": 1} for name in ("c1", "c2", "c3")}


def test_esen_golds_lie_beside_the_results(tmp_path: Path) -> None:
    file = tree(tmp_path, {"c1": {"answers": ANSWER, "ms": 5}, "c2": {"error": "HTTP 502"}}, GOLDS)
    done = call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"], done.json["suites"]) == (0, 6, {"set": 6})
    rows = {(row["unit"], row["question_name"]): row for row in RunReader(tmp_path / "run").rows()}
    assert rows["set/c1", "grade"]["question"]["criteria"] == ["l", "m", "h"]
    assert rows["set/c1", "grade"]["committed"] == 2
    assert rows["set/c2", "kind"]["outcome"] == "server_error"
    assert rows["set/c2", "kind"]["state"] == "text c2"


def test_esen_a_missing_question_is_wrong_and_the_case_stands(tmp_path: Path) -> None:
    """A refusal of one question costs that question."""
    part = {name: answer for name, answer in ANSWER.items() if name != "flag"}
    file = tree(tmp_path, {"c1": {"answers": ANSWER}, "c2": {"answers": part}}, GOLDS)
    assert call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run").code == 0
    found = call("score", tmp_path / "run", "-p", "esen", "--json").json
    assert found["total"]["answered"] == 2
    flag = found["total"]["questions"]["flag"]
    assert (flag["n"], flag["hits"], flag["valid"]) == (2, 1, 1)


def test_esen_faults_are_named_by_line(tmp_path: Path) -> None:
    golds = {**GOLDS, "c2": {"state": "?", "kind": "zzz", "grade": 2, "flag": 1}}
    cases = {"c1": {"answers": ANSWER}, "c2": {"answers": ANSWER}, "c9": {"answers": ANSWER}, "c3": None}
    file = tree(tmp_path, cases, golds)
    done = call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (1, 5)
    text = file.read_text("utf-8").split("\n")
    told = {left["where"]: left["reason"] for left in done.json["left_out"]}
    line = {case: 1 + next(i for i, each in enumerate(text) if f'"{case}"' in each) for case in cases}
    assert told == {
        f"{file}:{line['c2']}": "case c2, question kind: gold 'zzz' is not an option (x, y) (in cases.json)",
        f"{file}:{line['c9']}": "case c9: no gold: no case file holds it",
        f"{file}:{line['c3']}": "case c3 is null, not an object",
    }


def test_esen_a_case_that_occurs_twice_is_named(tmp_path: Path) -> None:
    file = tree(tmp_path, {"c1": {"answers": ANSWER}}, GOLDS)
    whole = file.read_text("utf-8")
    again = json.dumps({"answers": {**ANSWER, "flag": {"type": "noul", "noul": 0}}})
    file.write_text(whole[: whole.rindex("}\n }") + 1] + f',\n  "c1": {again}' + whole[whole.rindex("}\n }") + 1 :])
    done = call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run", "--json")
    assert done.code == 1
    assert [left["reason"] for left in done.json["left_out"]] == ["'c1' occurs twice; the first is kept"]
    kept = next(row for row in RunReader(tmp_path / "run").rows() if row["question_name"] == "flag")
    assert kept["correct"] is True


def test_esen_bilingual_cases_by_phase(tmp_path: Path) -> None:
    golds = [{"name": "c1", "es": "hola", "en": "hello", "expected": {"kind": "x", "grade": 2, "flag": True}}]
    file = tree(tmp_path, {"c1": {"answers": ANSWER}}, golds, {"phase": "triage_es"})
    assert call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run").code == 0
    rows = list(RunReader(tmp_path / "run").rows())
    assert {(row["suite"], row["state"], row["group"]) for row in rows} == {("triage_es", "hola", "c1")}


def test_esen_without_case_files_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"meta": {}, "cases": {}}), "utf-8")
    done = call("import", "answers", "-f", "esen", file, "-o", tmp_path / "run")
    assert done.code == 4
    assert "--cases" in done.err


SHISA = {
    "task_id": "t1",
    "family": "f",
    "ok": True,
    "correct": True,
    "predicted": "x",
    "probs_as_returned": {"x": 0.7, "y": 0.3},
    "model": "m",
    "ts": 100.0,
    "latency_s": 0.5,
}


def test_shisa_a_wrong_answer_needs_its_gold(tmp_path: Path) -> None:
    file, golds = tmp_path / "log.jsonl", tmp_path / "golds.jsonl"
    wrong = SHISA | {"task_id": "t2", "correct": False}
    file.write_text(json.dumps(SHISA) + "\n" + json.dumps(wrong) + "\n", "utf-8")
    done = call("import", "answers", "-f", "shisa", file, "-o", tmp_path / "a", "--json")
    assert (done.code, done.json["decisions"]) == (1, 1)
    assert "does not say what is right" in done.json["left_out"][0]["reason"]
    golds.write_text(json.dumps({"task_id": "t2", "gold": "y"}) + "\n", "utf-8")
    done = call("import", "answers", "-f", "shisa", file, "--cases", golds, "-o", tmp_path / "b", "--json")
    assert (done.code, done.json["decisions"]) == (0, 2)
    assert [row["correct"] for row in RunReader(tmp_path / "b").rows()] == [True, False]


@pytest.mark.parametrize(("second", "lane"), [(100.6, "latency"), (100.3, "throughput")])
def test_shisa_calls_that_overlap_are_no_serial_latency(tmp_path: Path, second: float, lane: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(SHISA) + "\n" + json.dumps(SHISA | {"task_id": "t2", "ts": second}) + "\n", "utf-8")
    assert call("import", "answers", "-f", "shisa", file, "-o", tmp_path / "run").code == 0
    assert {row["lane"] for row in RunReader(tmp_path / "run").rows()} == {lane}


@given(st.floats(1e-6, 1e4))
@settings(deadline=None)
def test_milliseconds_give_the_seconds_back(seconds: float) -> None:
    """Exactly where a number does it, else within one unit in the last place."""
    assert milliseconds(seconds) / 1000.0 == pytest.approx(seconds, rel=2.3e-16, abs=0)


@given(
    st.lists(
        st.dictionaries(st.text(max_size=4), st.text(st.characters(codec="utf-8"), max_size=6), max_size=3), max_size=6
    ),
    st.booleans(),
)
@settings(deadline=None, max_examples=50)
def test_whole_files_are_read_back_whole(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], ended: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "f.jsonl"
    data = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + ("\n" if ended else "")
    path.write_bytes(data.encode("utf-8"))
    notices = Notices()
    assert [row for _, row in objects(path, notices)] == rows
    assert notices.left_out == []
    assert len(notices.kept) == (not ended and bool(rows))
