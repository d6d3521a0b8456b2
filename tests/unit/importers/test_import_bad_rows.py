"""Foreign files with faults: each named by file and line, the good rows kept, the result says what was left out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli_calls import CHOICE, call, imported, wire_row

from arena.log.reader import RunReader

P = {"a": 0.7, "b": 0.2, "c": 0.1}


def text(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


GOOD = [wire_row("1", P), wire_row("2", P)]
BAD_ROWS = {
    "duplicate": (wire_row("1", P, gold="b"), "duplicate of"),
    "gold is no option": (wire_row("3", P, gold="z"), "gold 'z' is not an option"),
    "no gold": ({k: v for k, v in wire_row("3", P).items() if k != "gold"}, "no gold"),
    "null gold": (wire_row("3", P, gold=None), "no gold"),
    "null row": (None, "the row is null"),
    "list row": ([1], "the row is list"),
    "no item": ({k: v for k, v in wire_row("3", P).items() if k != "item"}, "no 'item'"),
    "no answer": ({k: v for k, v in wire_row("3", P).items() if k != "answer"}, "neither 'answer' nor 'error'"),
    "no question": (wire_row("3", P, question={"type": "riddle"}), "not a question"),
    "one option": (wire_row("3", P, question={**CHOICE, "criteria": {"a": None}}), "2..255 options"),
    "soft label": (wire_row("3", P, label_distribution={"z": 1.0}), "label_distribution"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_named_and_the_others_are_kept(tmp_path: Path, name: str) -> None:
    row, reason = BAD_ROWS[name]
    file = tmp_path / "answers.jsonl"
    file.write_text(text(GOOD[0], row, GOOD[1]), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert done.code == 1
    assert done.json["decisions"] == 2
    (left,) = done.json["left_out"]
    assert left["where"] == f"{file}:2"
    assert reason in left["reason"]
    assert f"{file}:2" in done.err
    reader = RunReader(tmp_path / "run")
    assert [r["unit"] for r in reader.rows()] == ["s/1", "s/2"]
    assert reader.config["imported"]["left_out"] == [left]
    assert "left out on import" in " ".join(call("score", tmp_path / "run", "--json").json["marks"])


def test_allow_dropped_ends_well(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text(GOOD[0], None), "utf-8")
    assert call("import", "answers", file, "--out", tmp_path / "run", "--allow-dropped").code == 0


def test_a_torn_last_line_costs_that_row(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text(GOOD[0]) + json.dumps(GOOD[1])[:-20], "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (1, 1)
    assert done.json["left_out"] == [{"where": f"{file}:2", "reason": "torn line: the file ends inside it"}]


def test_a_broken_line_in_the_middle_costs_that_row(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(GOOD[0])[:-20] + "\n" + text(GOOD[1]), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (1, 1)
    assert done.json["left_out"][0]["reason"].startswith("not JSON")


def test_two_objects_on_one_line_are_both_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(GOOD[0]) + json.dumps(GOOD[1]) + "\n", "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"], done.json["left_out"]) == (0, 2, [])
    assert done.json["notes"] == [{"where": f"{file}:1", "reason": "2 objects on one line; each was read"}]
    assert f"{file}:1" in done.err


def test_a_torn_object_before_a_whole_one_costs_the_line(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(GOOD[0])[:-20] + json.dumps(GOOD[1]) + "\n" + text(wire_row("3", P)), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (1, 1)
    assert done.json["left_out"][0]["where"] == f"{file}:1"


def test_no_final_newline_is_named_and_the_line_kept(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text(*GOOD).rstrip("\n"), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (0, 2)
    assert done.json["notes"][0]["where"] == f"{file}:2"
    assert "no newline" in done.json["notes"][0]["reason"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"type": "choice", "choice": "z", "probabilities": {"z": 1.0}}, "missing"),
        ({"type": "choice", "choice": "a", "probabilities": {**P, "z": 0.0}}, "option 'z' is unknown"),
        ({"type": "choice", "choice": "a", "probabilities": {"a": 0.5, "b": 0.2, "c": 0.1}}, "sum to"),
        ({"type": "noul", "noul": 0.5}, "type 'noul'"),
        ({"type": "choice", "choice": "a", "probabilities": {"a": float("nan"), "b": 0, "c": 1}}, "nan"),
        (None, "no answer"),
    ],
)
def test_an_answer_the_gate_refuses_is_named_and_counts_as_wrong(tmp_path: Path, answer: object, reason: str) -> None:
    """Leaving such rows out would reward a model for its bad answers."""
    file = tmp_path / "answers.jsonl"
    file.write_text(text(GOOD[0], {**wire_row("2", P), "answer": answer}), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--json")
    assert (done.code, done.json["decisions"]) == (0, 2)
    (named,) = done.json["invalid_answers"]
    assert named.startswith(f"{file}:2: ")
    assert reason in named
    found = call("score", tmp_path / "run", "--json").json
    assert (found["metrics"]["accuracy"], found["metrics"]["coverage"]) == (0.5, 0.5)


def test_answers_that_json_cannot_say_pass_the_audit(tmp_path: Path) -> None:
    nan = {"type": "choice", "choice": "a", "probabilities": {"a": float("nan"), "b": 0, "c": 1}}
    failed = {key: value for key, value in wire_row("3", P, error="refused").items() if key != "answer"}
    run = imported(tmp_path / "run", [*GOOD, {**wire_row("4", P), "answer": nan}, failed])
    assert call("publish", run, "-o", tmp_path / "site").code == 0


def test_a_failed_call_is_a_row(tmp_path: Path) -> None:
    rows = [wire_row("1", P), {**wire_row("2", P), "error": "HTTP 429: too many"}]
    del rows[1]["answer"]
    run = imported(tmp_path / "run", rows)
    assert [row["outcome"] for row in RunReader(run).rows()] == ["ok", "server_error"]
    assert call("score", run, "--json").json["metrics"]["accuracy"] == 0.5
    esen = call("score", run, "--profile", "esen", "--json").json
    assert esen["metrics"]["accuracy"] == 1.0
    assert esen["marks"][1] == "* 1 case with a request error left out"


def test_odd_keys_and_line_separators_survive(tmp_path: Path) -> None:
    odd = {"10": 0.6, "9": 0.2, "00": 0.1, "Où ça?": 0.1}
    run = imported(tmp_path / "run", [wire_row("x\u2028y", odd, gold="10", state="a\x85b\u2028c")])
    (row,) = RunReader(run).rows()
    assert list(row["question"]["criteria"]) == ["10", "9", "00", "Où ça?"]
    assert (row["committed"], row["correct"], row["state"]) == ("10", True, "a\x85b\u2028c")


def test_typed_golds(tmp_path: Path) -> None:
    score = {"type": "score", "instructions": "?", "criteria": ["low", "high"]}
    level = {"type": "score", "score": 0.8, "probabilities": {"0": 0.2, "1": 0.8}}
    noul = {"type": "noul", "instructions": "?"}
    place = {"suite": "s", "item": "1"}
    rows = [
        {**place, "question_name": "level", "question": score, "gold": "1", "answer": level},
        {**place, "question_name": "number", "question": score, "gold": 1, "answer": level},
        {**place, "question_name": "yes", "question": noul, "gold": 1, "answer": {"type": "noul", "noul": 1}},
        {**place, "question_name": "no", "question": noul, "gold": False, "answer": {"type": "noul", "noul": 0.2}},
        wire_row("1", P, gold=["b", "a"]),
    ]
    golds = {row["question_name"]: row["gold"]["accepted"] for row in RunReader(imported(tmp_path / "r", rows)).rows()}
    assert golds == {"level": [1], "number": [1], "yes": [True], "no": [False], "q": ["b", "a"]}


def test_two_models_in_one_file_are_refused_until_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text(wire_row("1", P, model="m1"), wire_row("1", P, model="m2")), "utf-8")
    done = call("import", "answers", file, "--out", tmp_path / "run", "--model", "m1", "--json")
    assert (done.code, done.json["decisions"], done.json["model"]) == (0, 1, "m1")
    other = tmp_path / "two.jsonl"
    other.write_text(text(wire_row("1", P, model="m1"), wire_row("2", P, model="m2")), "utf-8")
    done = call("import", "answers", other, "--out", tmp_path / "two")
    assert done.code == 2
    assert "--model NAME" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("nothing.jsonl", "--out", "r"), 4, "nothing.jsonl"),
        (("empty.jsonl", "--out", "r"), 3, "no usable answer"),
        (("good.jsonl", "--out", "taken"), 2, "is there already"),
        (("good.jsonl", "--out", "r", "--format", "esne"), 2, "did you mean esen"),
        (("good.jsonl", "--out", "r", "--format", "esen"), 2, "is not JSON"),
        (("good.jsonl", "--out", "r", "--lane", "slow"), 2, "--lane"),
    ],
)
def test_usage_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.jsonl").write_text(text(*GOOD), "utf-8")
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    done = call("import", "answers", *arguments)
    assert done.code == code
    assert told in done.err


def test_a_gzip_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl.gz"
    file.write_bytes(gzip.compress(text(*GOOD).encode()))
    assert call("import", "answers", file, "--out", tmp_path / "run", "--json").json["decisions"] == 2
    file.write_bytes(file.read_bytes()[:-12])
    assert call("import", "answers", file, "--out", tmp_path / "again").code == 4


def test_sources_stand_in_the_header(tmp_path: Path) -> None:
    from arena.identity import sha256_file

    run = imported(tmp_path / "run", GOOD)
    header = RunReader(run).config["imported"]
    assert header["sources"] == [{"file": "run.jsonl", "sha256": sha256_file(tmp_path / "run.jsonl")}]
    assert header["format"] == "jsonl"
    assert RunReader(run).summary is not None
    assert RunReader(run).summary["imported"] is True  # type: ignore[index]


def test_latencies_count_only_where_they_were_serial(tmp_path: Path) -> None:
    rows = [wire_row("1", P, latency_ms=12.5), wire_row("2", P, latency_ms=20.0)]
    assert call("score", imported(tmp_path / "a", rows), "--json").json["metrics"]["latency_s"]["p50"] is None
    run = imported(tmp_path / "b", rows, "--lane", "latency")
    assert call("score", run, "--json").json["metrics"]["latency_s"]["p50"] == 0.01625
