"""What a check must refuse, each with its reason and place; and what it must let through."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board_runs import arena, evaluate, registered, script
from pydantic import ValidationError
from submission_made import DECLARED, Made

from arena.errors import UsageError
from arena.leaderboard.recheck import Refused
from arena.leaderboard.submission import Declared, check, prepare, schemas
from arena.leaderboard.submission.bundle import sums
from arena.leaderboard.summary import summarise
from arena.log.reader import RunReader

Row = dict[str, Any]


def rules(folder: Path) -> list[str]:
    """Rules of the refusals of a bundle."""
    return [refusal.rule for refusal in check(folder).refusals]


def run_of(bundle: Path) -> Path:
    return next((bundle / "runs").iterdir())


def sealed(bundle: Path) -> None:
    """Write the sums anew, as a forger would."""
    (bundle / "SHA256SUMS").write_text(sums(bundle), "utf-8")


def forged(bundle: Path, change: Callable[[list[Row]], list[Row]], *, log: str = "decisions") -> None:
    """Change lines of a log, then the summary, the claims and the sums, so that only the truth is against it."""
    run = run_of(bundle)
    path = run / f"{log}.jsonl.gz"
    rows = change([json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]])
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    summary = summarise(RunReader(run))
    (run / "summary.json").write_text(json.dumps(summary), "utf-8")
    edited(bundle / "submission.json", lambda body: body["runs"][0].update(decisions=summary["counts"]["decisions"]))
    sealed(bundle)


def edited(path: Path, change: Callable[[Row], Any]) -> None:
    body = json.loads(path.read_bytes())
    change(body)
    path.write_text(json.dumps(body), "utf-8")


def test_a_true_bundle_holds_and_is_the_same_bytes_twice(made: Made, bundle: Path, tmp_path: Path) -> None:
    report = check(bundle)
    assert report.refusals == ()
    assert report.submission is not None
    claim = report.submission.runs[0]
    assert claim.reliability
    assert [(cell.domain, cell.tier) for cell in claim.cells] == [("alpha", "T1"), ("alpha", "T2")]
    again = prepare([made.run], tmp_path / "again", DECLARED)
    assert sums(again) == sums(bundle)


def test_changed_bytes_are_refused(bundle: Path) -> None:
    config = run_of(bundle) / "config.json"
    config.write_bytes(config.read_bytes() + b"\n")
    (refusal,) = check(bundle).refusals
    assert refusal.rule == "hash"
    assert refusal.file.endswith("config.json")


def test_a_file_too_many_one_too_few_and_a_link_are_refused(bundle: Path) -> None:
    (bundle / "extra.txt").write_text("x")
    (run_of(bundle) / "canary.json").unlink()
    (bundle / "link").symlink_to("/etc/hostname")
    reasons = {refusal.file.rsplit("/", 1)[-1]: refusal.reason for refusal in check(bundle).refusals}
    assert "not in SHA256SUMS" in reasons["extra.txt"]
    assert "not in the bundle" in reasons["canary.json"]
    assert "link" in reasons["link"]


def test_a_listed_stranger_is_refused(bundle: Path) -> None:
    (bundle / "runs" / "other").mkdir()
    (bundle / "runs" / "other" / "notes.json").write_text("{}")
    sealed(bundle)
    assert rules(bundle) == ["files"]


def test_paths_out_of_the_bundle_are_refused(bundle: Path) -> None:
    with (bundle / "SHA256SUMS").open("a") as out:
        out.write(f"{'0' * 64}  ../outside\n")
    assert "hash" in rules(bundle)


def test_an_edited_summary_is_refused(bundle: Path) -> None:
    edited(run_of(bundle) / "summary.json", lambda body: body["cells"][0].update(accuracy=1.0))
    sealed(bundle)
    (refusal,) = check(bundle).refusals
    assert refusal.rule == "audit"
    assert "is not what the log gives" in refusal.reason


def test_an_answer_made_right_is_refused(bundle: Path) -> None:
    def cheat(rows: list[Row]) -> list[Row]:
        wrong = next(row for row in rows if row["correct"] is False and row["variant"]["kind"] == "base")
        wrong["correct"] = True
        return rows

    forged(bundle, cheat)
    (refusal,) = check(bundle).refusals
    assert refusal.rule == "audit"
    assert "its raw answer gives" in refusal.reason


def test_a_gold_that_is_not_the_locked_one_is_refused(bundle: Path) -> None:
    def cheat(rows: list[Row]) -> list[Row]:
        for row in rows:
            if row["correct"] is False and row["valid"] and row["variant"]["kind"] == "base":
                row["gold"]["accepted"], row["correct"] = [row["committed"]], True
        return rows

    forged(bundle, cheat)
    (refusal,) = check(bundle).refusals
    assert refusal.rule == "audit"
    assert "but the frozen one is" in refusal.reason


def test_another_lock_is_refused(bundle: Path) -> None:
    edited(run_of(bundle) / "config.json", lambda body: body["resolved"]["data"].update(alpha="0" * 64))
    sealed(bundle)
    assert any("are not the ones in the registry" in refusal.reason for refusal in check(bundle).refusals)


def test_a_question_left_out_is_refused(bundle: Path) -> None:
    def drop(rows: list[Row]) -> list[Row]:
        at = next(
            n for n, row in enumerate(rows) if row["variant"]["kind"] == "base" and row["question_name"] == "urgent"
        )
        return rows[:at] + rows[at + 1 :]

    forged(bundle, drop)
    (refusal,) = (refusal for refusal in check(bundle).refusals if refusal.rule == "complete")
    assert "lacks 1 of" in refusal.reason
    assert "urgent" in refusal.reason


def test_a_probe_left_out_is_refused_whatever_its_question_and_unit(bundle: Path) -> None:
    """Probes run on questions of every type, and on units that S and N are not measured on."""
    varied = {row["unit"] for row in RunReader(run_of(bundle)).rows() if row["variant"]["kind"] == "repeat"}

    def found(row: Row) -> bool:
        mine = row["variant"]["question"] == row["question_name"] == "urgent"
        return row["variant"]["kind"] == "probe" and mine and row["unit"] not in varied

    def drop(rows: list[Row]) -> list[Row]:
        at = next(n for n, row in enumerate(rows) if found(row))
        return rows[:at] + rows[at + 1 :]

    forged(bundle, drop)
    (refusal,) = (refusal for refusal in check(bundle).refusals if refusal.rule == "complete")
    assert "urgent" in refusal.reason


@pytest.mark.parametrize("kind", ["reorder", "repeat", "null_removed", "removed", "probe"])
def test_a_variant_left_out_is_refused(bundle: Path, kind: str) -> None:
    def drop(rows: list[Row]) -> list[Row]:
        at = next(
            n
            for n, row in enumerate(rows)
            if row["variant"]["kind"] == kind and row["variant"]["question"] == row["question_name"] == "sign"
        )
        return rows[:at] + rows[at + 1 :]

    forged(bundle, drop)
    complete = [refusal for refusal in check(bundle).refusals if refusal.rule == "complete"]
    assert len(complete) == 1
    assert "reliability of" in complete[0].reason
    assert kind in complete[0].reason


def test_a_secret_is_refused_and_not_repeated(bundle: Path) -> None:
    secret = "sk-" + "a1B2" * 8

    def leak(rows: list[Row]) -> list[Row]:
        rows[0]["error"] = f"401 for Bearer {secret}"
        return rows

    forged(bundle, leak)
    refusals = [refusal for refusal in check(bundle).refusals if refusal.rule == "secret"]
    assert {refusal.file.rsplit("/", 1)[1] for refusal in refusals} == {"decisions.jsonl.gz:1"}
    assert secret not in str(refusals)


def test_the_value_of_a_key_variable_stops_prepare(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_API_KEY", "alpha-T2-test-3".lower())  # stands in the log as a unit id
    with registered(made.suite), pytest.raises(Refused, match=r"\$ANY_API_KEY"):
        prepare([made.run], tmp_path / "out", DECLARED)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change, rule",
    [
        (lambda body: body.update(protocol="9.9.9"), "protocol"),
        (lambda body: body.update(verified="live"), "verified"),
        (lambda body: body["model"].update(version="other"), "claims"),
        (lambda body: body["runs"][0].update(decisions=1), "claims"),
        (lambda body: body["runs"][0].update(reliability=False), "claims"),
        (lambda body: body["runs"][0]["cells"].pop(), "claims"),
        (lambda body: body["runs"][0].update(gold_versions={}), "claims"),
        (lambda body: body["runs"][0].update(folder="runs/absent"), "files"),
        (lambda body: body["model"]["identity"].update(publish="needs terms review"), "terms"),
        (lambda body: body["declared"].pop("train_split_seen"), "schema"),
        (lambda body: body["declared"].update(train_split_seen="maybe"), "schema"),
        (lambda body: body["declared"].update(submitter="me@example.org"), "schema"),
        (lambda body: body["runs"][0].update(folder="../elsewhere"), "schema"),
    ],
)
def test_what_a_bundle_says_of_itself_is_checked(bundle: Path, change: Callable[[Row], Any], rule: str) -> None:
    edited(bundle / "submission.json", change)
    sealed(bundle)
    assert rule in rules(bundle)


def test_a_line_that_breaks_the_schema_is_named(bundle: Path) -> None:
    def broken(rows: list[Row]) -> list[Row]:
        rows[4]["latency_ms"] = "fast"
        return rows

    run = run_of(bundle)
    path = run / "decisions.jsonl.gz"
    rows = broken([json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]])
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    sealed(bundle)
    (refusal,) = check(bundle).refusals
    assert (refusal.rule, refusal.file.rsplit("/", 1)[1]) == ("schema", "decisions.jsonl.gz:5")
    assert "latency_ms" in refusal.reason


def test_a_limited_run_is_refused(made: Made, tmp_path: Path) -> None:
    told = script(tmp_path / "script.json", hasty=False)
    with registered(made.suite):
        run = evaluate(tmp_path / "runs", "--model", "fake", "--script", told, "--domain", "alpha", "--limit", "2")
        with pytest.raises(Refused, match="limited"):
            prepare([run], tmp_path / "out", DECLARED)
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_is_refused(made: Made, tmp_path: Path) -> None:
    run = tmp_path / made.run.name
    shutil.copytree(made.run, run)
    (run / "summary.json").unlink()
    with registered(made.suite), pytest.raises(Refused, match="unfinished"):
        prepare([run], tmp_path / "out", DECLARED)


def test_two_models_are_two_submissions(made: Made, tmp_path: Path) -> None:
    with registered(made.suite):
        other = evaluate(tmp_path / "runs", "--model", "uniform", "--domain", "alpha")
        with pytest.raises(Refused, match="different models"):
            prepare([made.run, other], tmp_path / "out", DECLARED)


def test_a_folder_that_holds_something_is_left_alone(made: Made, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        prepare([made.run], tmp_path, DECLARED)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_no_bundle_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no submission\.json"):
        check(tmp_path)


@pytest.mark.parametrize("name", ["a@b.example", "see https://example.org", "call 030 1234567"])
def test_contact_details_are_not_taken(name: str) -> None:
    with pytest.raises(ValidationError):
        Declared(submitter=name, train_split_seen="no", answers_licence="CC0-1.0")


def test_schemas_describe_the_files_of_a_bundle(bundle: Path) -> None:
    found = schemas()
    assert set(found) == {"submission", "config", "decision", "episode"}
    run = run_of(bundle)
    line = gzip.decompress((run / "decisions.jsonl.gz").read_bytes()).split(b"\n")[0]
    bodies = {
        "submission": json.loads((bundle / "submission.json").read_bytes()),
        "config": json.loads((run / "config.json").read_bytes()),
        "decision": json.loads(line),
    }
    for name, body in bodies.items():
        schema = found[name]
        assert set(schema["required"]) <= set(body)
        if schema.get("additionalProperties") is False:
            assert set(body) <= set(schema["properties"])


def test_the_commands(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = ("--by", "Example Group", "--train-split-seen", "unknown", "--answers-licence", "CC0-1.0")
    with registered(made.suite):
        done = arena("submit", "prepare", made.run, "-o", out, *told, "--json")
        assert done.exit_code == 0, (done.output, done.exception)
        assert json.loads(done.stdout)["ok"] is True
        done = arena("submit", "check", out)
        assert (done.exit_code, "holds" in done.stdout) == (0, True)
        (run_of(out) / "summary.json").write_text("{}")
        done = arena("submit", "check", out, "--json")
        assert done.exit_code == 1
        body = json.loads(done.stdout)
        assert body["ok"] is False
        assert body["refusals"][0]["rule"] == "hash"
        assert arena("submit", "prepare", made.run, "-o", tmp_path / "x", *told[:4]).exit_code == 2
    assert json.loads(arena("submit", "schema", "decision").stdout)["title"] == "Decision"
