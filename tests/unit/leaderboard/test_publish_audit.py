"""What may not stand on a board: changed logs, foreign items, half runs, mixtures. Each refusal names its reason."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from board_runs import arena, copied, evaluate, registered, script, write_suite

from arena.errors import UsageError
from arena.identity import dump, presented_id, question_id, state_id
from arena.leaderboard.audit import audit, first_difference
from arena.leaderboard.board import build, find, load
from arena.leaderboard.publish import publish
from arena.leaderboard.recheck import Locked, Refused
from arena.leaderboard.summary import summarise
from arena.log.reader import RunReader
from arena.types import parse_question

Runs = dict[str, Path]
Row = dict[str, Any]


def rewrite(run: Path, change: Callable[[Row, int], Row | None], resummarise: bool = True) -> None:
    """Change a run's log as a forger would: line by line, and with a summary that fits."""
    path = run / "decisions.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).split(b"\n")[:-1]
    kept = [row for number, line in enumerate(lines, 1) if (row := change(orjson.loads(line), number)) is not None]
    path.write_bytes(gzip.compress(b"".join(dump(row) + b"\n" for row in kept), mtime=0))
    if resummarise:
        (run / "summary.json").write_bytes(orjson.dumps(summarise(RunReader(run))))


def first_wrong(row: Row) -> bool:
    return (
        row["variant"]["kind"] == "base"
        and row["correct"] is False
        and row["valid"]
        and row["question"]["type"] == "choice"
    )


def claim_right(row: Row) -> Row:
    return {**row, "correct": True}


def other_commitment(row: Row) -> Row:
    return {**row, "committed": row["gold"]["accepted"][0], "correct": True}


def easier_gold(row: Row) -> Row:
    return {**row, "gold": {**row["gold"], "accepted": [row["committed"]]}, "correct": True}


def other_answer(row: Row) -> Row:
    return {**row, "answer": {**row["answer"], "probabilities": {**row["answer"]["probabilities"], "red": 0.123}}}


def other_state(row: Row) -> Row:
    state = {"text": "an easier case"}
    return {**row, "state": state, "state_id": state_id(state)}


def other_state_quietly(row: Row) -> Row:
    return {**row, "state": {"text": "an easier case"}}


def other_question(row: Row) -> Row:
    question = {**row["question"], "instructions": "Easier?"}
    parsed = parse_question(question)
    return {**row, "question": question, "presented_id": presented_id(parsed), "question_id": question_id(parsed)}


def other_order(row: Row) -> Row:
    criteria = dict(reversed(row["question"]["criteria"].items()))
    return {**row, "question": {**row["question"], "criteria": criteria}}


def other_group(row: Row) -> Row:
    return {**row, "group": "one"}


def other_unit(row: Row) -> Row:
    return {**row, "unit": "alpha-t2-test-999"}


def other_run(row: Row) -> Row:
    return {**row, "run": "another"}


def other_id(row: Row) -> Row:
    return {**row, "id": "0" * 24}


def surer(row: Row) -> Row:
    return {**row, "confidence": 1.0}


def no_answer_field(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "answer"}


def drawn_order(row: Row) -> Row:
    variant = {
        **row["variant"],
        "kind": "reorder",
        "index": 1,
        "question": "sign",
        "order": list(row["question"]["criteria"]),
    }
    return {**row, "variant": variant}


FORGERIES = {
    claim_right: "correct is True, but its raw answer gives False",
    other_commitment: "committed is",
    easier_gold: "gold is",
    other_answer: "answer is",
    other_state: "the state is not the frozen item's",
    other_state_quietly: "the state is not the one its state_id names",
    other_question: "the question is not the frozen item's",
    other_order: "the question is not the one its presented_id names",
    other_group: "group 'one' is not the locked",
    other_unit: "not a locked unit",
    other_run: "run is 'another'",
    other_id: "the id does not belong",
    surer: "confidence is 1.0",
    no_answer_field: "not a decision",
    drawn_order: "not one that the protocol draws",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_one_changed_line_is_found(runs: Runs, tmp_path: Path, forge: Callable[[Row], Row]) -> None:
    run = copied(runs["hasty"], tmp_path)
    place: list[int] = []

    def change(row: Row, number: int) -> Row:
        if not place and first_wrong(row):
            place.append(number)
            return forge(row)
        return row

    # The summary is left as it was: the line must be found whatever the summary says.
    rewrite(run, change, resummarise=False)
    with pytest.raises(Refused) as caught:
        audit(run, Locked(), partial=True)
    assert f"decisions.jsonl.gz:{place[0]}: decision " in caught.value.message
    assert FORGERIES[forge] in caught.value.message


def test_a_response_changed_with_all_that_follows_from_it_is_found_by_the_summary(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["uniform"], tmp_path)

    def right(row: Row, number: int) -> Row:
        if row["question_name"] != "urgent" or row["variant"]["kind"] != "base":
            return row
        p = 0.9 if row["gold"]["accepted"][0] else 0.1
        answer = {"type": "noul", "noul": p}
        return {**row, "response": answer, "answer": answer, "committed": p > 0.5, "confidence": 0.9, "correct": True}

    rewrite(run, right, resummarise=False)
    with pytest.raises(Refused, match=r"summary\.json is not what the log gives"):
        audit(run, Locked())


def test_a_dropped_line_is_a_missing_unit(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["hasty"], tmp_path)
    gone: list[str] = []

    def drop(row: Row, number: int) -> Row | None:
        if first_wrong(row) and not gone:
            gone.append(row["unit"])
        return None if row["unit"] in gone[:1] else row

    rewrite(run, drop)
    with pytest.raises(Refused, match="has 15 of 16 units"):
        audit(run, Locked())


def test_an_edited_summary_names_the_first_key_that_differs(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["careful"], tmp_path)
    summary = json.loads((run / "summary.json").read_text())
    summary["capability"] = 99.5
    (run / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(Refused, match=r"capability is 99\.5, recomputed "):
        audit(run, Locked())


def test_differences_are_named_by_path() -> None:
    assert first_difference({"a": [{"b": 1.0}]}, {"a": [{"b": 1.0 + 1e-12}]}) is None
    assert first_difference({"a": [{"b": 1.0}]}, {"a": [{"b": 1.1}]}) == ("a[0].b", 1.0, 1.1)
    assert first_difference({"a": 1}, {}) == ("a", 1, "absent")
    assert first_difference({"a": [1]}, {"a": []}) == ("a (length)", 1, 0)
    assert first_difference({"a": True}, {"a": 1}) == ("a", True, 1)


def test_answers_that_json_cannot_hold_are_checked_from_their_text(runs: Runs, tmp_path: Path) -> None:
    bodies = [row for row in RunReader(runs["hasty"]).rows() if row["body"] is not None]
    assert bodies, "the hasty model answers NaN"
    assert not audit(runs["hasty"], Locked()).faults
    run = copied(runs["hasty"], tmp_path)
    valid = {"type": "score", "score": 1.0, "probabilities": {"0": 0.0, "1": 1.0, "2": 0.0}}
    wanted = bodies[0]["id"]
    rewrite(run, lambda row, _: {**row, "body": json.dumps(valid)} if row["id"] == wanted else row, resummarise=False)
    with pytest.raises(Refused, match="valid is False, but its raw answer gives True"):
        audit(run, Locked())


def test_a_limited_run_is_refused_and_listed_as_partial(runs: Runs, tmp_path: Path) -> None:
    run = evaluate(tmp_path / "runs", "--model", "uniform", "--domain", "alpha", "--limit", "2")
    with pytest.raises(Refused, match=r"limited \(--limit or --item\); alpha/T1 has 2 of 16 units"):
        load([run])
    board = build(load([run, runs["uniform"], runs["careful"]], partial=True))
    row = next(entry.row for entry in board.entries if entry.row["partial"])
    assert row["ties"] == ""
    assert not row["front"]
    assert any("limited" in fault for fault in row["partial"])


def test_an_unfinished_run_is_refused_and_listed_as_partial(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["constant"], tmp_path)
    (run / "summary.json").unlink()
    with pytest.raises(Refused, match="unfinished"):
        load([run])
    assert "unfinished" in build(load([run], partial=True)).entries[0].row["partial"][0]


def test_reliability_with_fewer_orders_is_partial(runs: Runs, tmp_path: Path) -> None:
    run = evaluate(tmp_path / "runs", "--model", "uniform", "--domain", "alpha", "--reliability", "--orders", "4")
    with pytest.raises(Refused, match="4 orders instead of 12"):
        load([run])


def configured(run: Path, **changes: Any) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text())
    config["resolved"] |= changes
    path.write_text(json.dumps(config))


def test_protocols_do_not_mix(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["uniform"], tmp_path)
    configured(run, protocol="0.9.0")
    with pytest.raises(Refused, match=r"different protocols: 0\.9\.0 .*, 1\.0\.0 "):
        load([run, runs["careful"]])
    with pytest.raises(Refused, match=r"follows protocol 0\.9\.0"):
        load([run])


def test_only_the_test_split(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["uniform"], tmp_path)
    configured(run, split="train")
    with pytest.raises(Refused, match="split 'train'"):
        load([run])


def test_changed_items_are_refused(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["uniform"], tmp_path)
    configured(run, data={"alpha": "0" * 64, "beta": "0" * 64})
    with pytest.raises(Refused, match="items of domain 'alpha' are not the ones in the registry"):
        load([run])
    with registered(_other_suite(tmp_path, ("gamma",))), pytest.raises(Refused, match="'alpha' is not in this arena's"):
        load([runs["uniform"]])


def _other_suite(folder: Path, names: tuple[str, ...], golds: tuple[str, ...] = ("v1",)) -> Path:
    write_suite(folder / "other", names, golds)
    return folder / "other"


def test_two_gold_versions_share_no_table(tmp_path: Path) -> None:
    with registered(_other_suite(tmp_path, ("alpha",), ("v1", "v2"))):
        told = script(tmp_path / "careful.json", False)
        one = evaluate(tmp_path / "runs", "--model", "uniform", "--domain", "alpha")
        two = evaluate(tmp_path / "runs", "--model", "fake", "--script", told, "--domain", "alpha")

        def older(row: Row, number: int) -> Row:
            return {**row, "gold": {**row["gold"], "version": "v1"}}

        rewrite(two, older)
        with pytest.raises(Refused, match=r"two gold versions of alpha: v2 .*v1|two gold versions of alpha: v1 .*v2"):
            build(load([one, two]))


def test_the_command_says_why_in_one_line(runs: Runs, tmp_path: Path) -> None:
    run = copied(runs["careful"], tmp_path)
    rewrite(run, lambda row, _: claim_right(row) if row["correct"] is False else row)
    done = arena("publish", run, "-o", tmp_path / "site")
    assert isinstance(done.exception, Refused)
    assert done.exception.code == 1
    assert not (tmp_path / "site").exists()


def test_runs_are_found_in_folders(runs: Runs, tmp_path: Path) -> None:
    folder = runs["careful"].parent
    assert len(find([folder])) == len(runs)
    assert len(find([folder, runs["careful"]])) == len(runs)
    with pytest.raises(UsageError, match="is no run and holds none"):
        find([tmp_path])


def test_a_folder_that_arena_did_not_write_is_left_alone(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    with pytest.raises(UsageError, match="not a site that arena wrote"):
        publish([runs["careful"]], tmp_path)
    assert (tmp_path / "letters").read_text() == "mine"
