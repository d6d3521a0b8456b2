"""The lock tool: what it freezes, what it refuses to freeze, and that a version is frozen for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import suite_maker as made
from suite_maker import GOLDS, QUESTIONS, write_rows

from arena.errors import ArenaError, MissingNeed, UsageError
from arena.identity import load, sha256
from arena.tasks.definition import read_lock
from arena.tasks.lock import lock, main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The static domain, unlocked."""
    made.write_static(tmp_path, count=70)
    return tmp_path


def test_it_holds_every_file_and_every_id(folder: Path) -> None:
    lock(folder, "mail")
    locked = read_lock(folder, "mail")
    assert locked is not None
    assert len(locked.files) == 8
    for name, digest in locked.files.items():
        assert sha256((folder / name).read_bytes()) == digest
    lines = (folder / "mail/T1.test.jsonl").read_bytes().split(b"\n")
    units = locked.cells["T1"]["test"]
    assert list(units) == [load(line)["id"] for line in lines if line]
    assert units["mail-t1-test-4"].sha256 == sha256(lines[4])


def test_reliability_ids_are_fifty_of_the_hardest_tier_and_do_not_move(folder: Path) -> None:
    lock(folder, "mail")
    first = read_lock(folder, "mail")
    assert first is not None
    assert len(set(first.reliability_ids)) == 50
    assert all(each.startswith("mail-t2-test-") for each in first.reliability_ids)
    assert list(first.reliability_ids) == sorted(first.reliability_ids, key=lambda each: int(each.split("-")[-1]))
    (folder / "mail.lock.json").unlink()
    lock(folder, "mail")
    assert read_lock(folder, "mail") == first


def test_items_without_a_choice_are_no_reliability_candidates(folder: Path) -> None:
    questions = {"reply": QUESTIONS["reply"]}
    write_rows(folder / "mail/T2.test.jsonl", [{"id": "x", "state": "s", "questions": questions}])
    write_rows(folder / "mail/gold/v1/T2.test.jsonl", [{"id": "x", "golds": {"reply": GOLDS["reply"]}}])
    lock(folder, "mail")
    locked = read_lock(folder, "mail")
    assert locked is not None
    assert locked.reliability_ids == ()


def _state(state: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        write_rows(folder / "mail/T1.test.jsonl", [{"id": "x", "state": state, "questions": QUESTIONS}])
        write_rows(folder / "mail/gold/v1/T1.test.jsonl", [{"id": "x", "golds": GOLDS}])

    return change


def _gold(**golds: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        _state("fresh")(folder)
        write_rows(folder / "mail/gold/v1/T1.test.jsonl", [{"id": "x", "golds": GOLDS | golds}])

    return change


def _ids(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        rows = [{"id": name, "state": f"{n}", "questions": QUESTIONS} for n, name in enumerate(names)]
        write_rows(folder / "mail/T1.test.jsonl", rows)
        write_rows(folder / "mail/gold/v1/T1.test.jsonl", [{"id": name, "golds": GOLDS} for name in names])

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_state({"gold": "9"}), "holds the key 'gold'"),
        (_state({"mail": [{"Label": 1}]}), "holds the key 'label'"),
        (_state([{"a": {"target": None}}]), "holds the key 'target'"),
        (_state({"answer": 1}), "holds the key 'answer'"),
        (_gold(folder={"accepted": ["bills"]}), "are not options"),
        (_gold(folder={"accepted": [9]}), "are not options"),
        (_gold(stars={"accepted": [3]}), "are not options"),
        (_gold(stars={"accepted": [True]}), "are not options"),
        (_gold(stars={"accepted": ["1"]}), "are not options"),
        (_gold(reply={"accepted": [0]}), "are not options"),
        (_gold(more={"accepted": [0]}), "golds for"),
        (_ids("y", "y"), "the id is used twice"),
        (_ids("mail-t1-train-0"), "the id is used twice"),
        (_state("mail-t1-train-0 a\x85b\u2028c"), "the same state is in another split"),
    ],
)
def test_what_must_not_be_frozen_is_refused(folder: Path, change: Callable[[Path], None], said: str) -> None:
    change(folder)
    with pytest.raises(UsageError, match=said):
        lock(folder, "mail")
    assert read_lock(folder, "mail") is None


def test_an_item_without_gold_or_a_row_that_is_no_item_is_refused(folder: Path) -> None:
    gold = folder / "mail/gold/v1/T1.test.jsonl"
    rows = gold.read_text("utf-8").split("\n")
    gold.write_text("\n".join(rows[1:]), "utf-8")
    with pytest.raises(UsageError, match="items and golds differ, first at mail-t1-test-0"):
        lock(folder, "mail")
    gold.unlink()
    with pytest.raises(MissingNeed, match="is missing"):
        lock(folder, "mail")
    write_rows(folder / "mail/T1.test.jsonl", [{"id": "x", "state": "s", "questions": {}}])
    with pytest.raises(UsageError, match="not an item"):
        lock(folder, "mail")


def test_a_locked_version_does_not_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mail", "--folder", str(folder)]) == 0
    assert "50 reliability decisions" in capsys.readouterr().out
    assert main(["mail", "--folder", str(folder)]) == 0, "the same bytes may be locked again"
    before = (folder / "mail.lock.json").read_bytes()
    _state("fresh")(folder)
    capsys.readouterr()
    assert main(["mail", "--folder", str(folder)]) == 2
    said = capsys.readouterr().err
    for part in (
        "mail 1.0.0 is locked",
        "mail/T1.test.jsonl changed",
        "the ids of a tier or split changed",
        "--new-version",
    ):
        assert part in said
    assert (folder / "mail.lock.json").read_bytes() == before
    assert main(["mail", "--folder", str(folder), "--new-version", "1.0.0"]) == 2
    assert main(["mail", "--folder", str(folder), "--new-version", "1.1.0"]) == 0
    locked = read_lock(folder, "mail")
    assert locked is not None
    assert locked.version == "1.1.0"
    assert 'version = "1.1.0"' in (folder / "mail.toml").read_text("utf-8")
    assert main(["mail", "--folder", str(folder)]) == 0


def test_a_changed_rule_or_a_lost_file_is_a_change(folder: Path) -> None:
    lock(folder, "mail")
    (folder / "mail.toml").write_text(made.STATIC.replace('"long"', '"longer"'), "utf-8")
    with pytest.raises(UsageError, match="the definition"):
        lock(folder, "mail")
    (folder / "mail.toml").write_text(made.STATIC, "utf-8")
    (folder / "mail/T1.train.jsonl").unlink()
    with pytest.raises(UsageError, match=r"mail/T1\.train\.jsonl is gone"):
        lock(folder, "mail")


def test_episodes_are_placed_by_their_manifest(tmp_path: Path) -> None:
    made.write_episodes(tmp_path)
    made.write_episode(tmp_path, "e5", "T4", "test", steps=3)
    lock(tmp_path, "pages")
    locked = read_lock(tmp_path, "pages")
    assert locked is not None
    assert {tier: {split: list(units) for split, units in each.items()} for tier, each in locked.cells.items()} == {
        "T1": {"dev": ["d4"], "test": ["a1", "b2"]},
        "T4": {"test": ["c3", "e5"]},
    }
    assert locked.cells["T4"]["test"]["e5"].path == "pages/episodes/e5.web.zip"
    assert locked.reliability_ids == ("c3#0", "c3#1", "e5#0", "e5#1", "e5#2")


def test_an_empty_tier_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made.write_episodes(tmp_path)
    (tmp_path / "pages/episodes/c3.web.zip").unlink()
    assert main(["pages", "--folder", str(tmp_path)]) == 0
    assert "tier T4 has no test unit" in capsys.readouterr().err


def test_a_faulty_recording_is_refused(tmp_path: Path) -> None:
    made.write_episodes(tmp_path)
    path = made.write_episode(tmp_path, "e5", "T2", "test")
    with pytest.raises(UsageError, match=r"e5\.web\.zip: tier 'T2', split 'test' are not declared"):
        lock(tmp_path, "pages")
    path.write_bytes(b"not a zip")
    with pytest.raises(UsageError, match="not a recording"):
        lock(tmp_path, "pages")
    made.write_episode(tmp_path, "a1", "T1", "test").rename(path)
    made.write_episode(tmp_path, "a1", "T1", "test")
    with pytest.raises(UsageError, match="the id 'a1' is used twice"):
        lock(tmp_path, "pages")


def test_no_recording_and_no_such_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pages.toml").write_text(made.EPISODE, "utf-8")
    with pytest.raises(MissingNeed, match="holds no recording"):
        lock(tmp_path, "pages")
    with pytest.raises(ArenaError, match=r"nothing\.toml does not exist \(there are: pages\)"):
        lock(tmp_path, "nothing")
    assert main(["nothing", "--folder", str(tmp_path)]) == 2
    assert "error: " in capsys.readouterr().err


def test_a_recording_may_be_a_plain_file(tmp_path: Path) -> None:
    made.write_episodes(tmp_path)
    plain = tmp_path / "pages/episodes/e5.json"
    plain.write_text('{"id": "e5", "tier": "T4", "split": "test", "recorded": [{}, {}]}', "utf-8")
    lock(tmp_path, "pages")
    locked = read_lock(tmp_path, "pages")
    assert locked is not None
    assert locked.cells["T4"]["test"]["e5"].path == "pages/episodes/e5.json"
    assert locked.reliability_ids[-2:] == ("e5#0", "e5#1")
    for text in ("no json", "[]", '{"recorded": []}', '{"id": "e5", "tier": "T4", "split": "test"}'):
        plain.write_text(text, "utf-8")
        with pytest.raises(UsageError, match=r"not a recording|its manifest lacks"):
            lock(tmp_path, "pages", "9.0.0")
