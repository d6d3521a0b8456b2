"""Replay: addresses, what a person is shown, what an action did, and pages that hostile text cannot break out of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_tools import ANSWER, CHOICE, Arena, Scripted, ScriptedWire, decision, episode

from arena.envs.tools.endstate import differences
from arena.envs.tools.sandbox import SeedFile, text_files
from arena.envs.tools.snapshot import Snapshot
from arena.errors import UnknownName, UsageError
from arena.identity import dump, load, sha256
from arena.items import Variant
from arena.log.reader import RunReader
from arena.log.writer import RunWriter
from arena.run.deeds import RECORDED, deed
from arena.run.harmless import harmless, harmless_json
from arena.run.replay import ask_again, find, judge_again, option_rows, parse_target, units
from arena.run.replay_html import STATE_LIMIT, render_html
from arena.types import Choice, Score

HOSTILE = '</pre><script>alert(1)</script><img src="//evil.example/x" onerror=alert(2)>'


def run(folder: Path, *records: Any, model: str = "m") -> RunReader:
    with RunWriter(folder, {"resolved": {"model": model}}) as writer:
        for record in records:
            if hasattr(record, "ending"):
                writer.episode(record)
            else:
                writer.decisions([record])
    return RunReader(folder)


def shown(reader: RunReader, unit: str) -> str:
    found = find(reader, unit)
    return render_html(reader, found, found.moments)


@pytest.mark.parametrize(
    ("text", "address"), [("one", None), ("one:u", "u"), ("one:u:3", "u:3"), ("a:b", None), ("a:b:u:0", "u:0")]
)
def test_addresses(tmp_path: Path, text: str, address: str | None) -> None:
    for name in ("one", "a:b"):
        run(tmp_path / name)
    found = parse_target(text, tmp_path)
    assert found.address == address
    assert found.folder.name == (text if address is None else text.removesuffix(f":{address}"))


@pytest.mark.parametrize("text", ["two", "", ":"])
def test_addresses_that_lead_nowhere(tmp_path: Path, text: str) -> None:
    run(tmp_path / "one")
    with pytest.raises(UsageError):
        parse_target(text, tmp_path)


@pytest.mark.parametrize(
    ("address", "unit", "step"),
    [
        ("u", "u", None),
        ("u:0", "u", 0),
        ("a:b", "a:b", None),
        ("a:b:0", "a:b", 0),
        ("u:2", "u:2", None),
        ("::", "::", None),
    ],
)
def test_a_unit_whose_id_holds_colons(tmp_path: Path, address: str, unit: str, step: int | None) -> None:
    """The longest id that the run holds is meant: ``u:2`` is a unit here, no step of ``u``."""
    names = ("u", "a:b", "u:2", "::")
    reader = run(tmp_path / "run", *[decision(number, unit=name) for number, name in enumerate(names)])
    found = find(reader, address)
    assert (found.unit, found.step) == (unit, step)
    assert [row["unit"] for moment in found.moments for row in moment.rows] == [unit]


@pytest.mark.parametrize("address", ["u:x", "u:1:2", "x", "u:²"])
def test_a_unit_that_is_not_there(tmp_path: Path, address: str) -> None:
    reader = run(tmp_path / "run", decision(unit="u"))
    with pytest.raises(UsageError):
        find(reader, address)


def test_trials_and_repeats_are_told_apart(tmp_path: Path) -> None:
    forms = {"base": (Variant(), 0), "again": (Variant(), 1), "other": (Variant(kind="trial", index=2), 0)}
    records: list[Any] = []
    for number, (name, (variant, repeat)) in enumerate(forms.items()):
        step = {"step": 0, "phase": "free", "ask": name, "page_hash": "", "committed": "a", "correct": None}
        records += [
            decision(number, unit="e", episode=name, ask=name, variant=variant, repeat=repeat),
            episode(name, unit="e", variant=variant, repeat=repeat, steps=(step,)),
        ]
    reader = run(tmp_path / "run", *records, decision(9, unit="e", variant=Variant(kind="reorder", index=1)))
    assert [(line["trial"], line["repeat"]) for line in units(reader)] == [(0, 0), (0, 1), (2, 0)]
    for (trial, repeat), name in {(0, 0): "base", (0, 1): "again", (2, 0): "other"}.items():
        found = find(reader, "e", trial=trial, repeat=repeat)
        assert found.forms == ((0, 0), (0, 1), (2, 0))
        assert [moment.rows[0]["ask"] for moment in found.moments] == [name]
        assert found.episode is not None
        assert found.episode["id"] == name
    with pytest.raises(UsageError, match="no trial 1, repeat 0") as caught:
        find(reader, "e", trial=1)
    assert caught.value.hint == "it holds trial 0 repeat 0, trial 0 repeat 1, trial 2 repeat 0"


def test_options_stand_in_the_order_shown_with_their_marks(tmp_path: Path) -> None:
    (row,) = run(tmp_path / "run", decision(committed="b", gold={"accepted": ("a",)})).rows()
    found = option_rows(row)
    assert [(o.key, o.text, o.p, o.committed, o.gold) for o in found] == [
        ("a", "first", 0.75, False, True),
        ("b", "second", 0.25, True, False),
    ]
    score = Score(instructions="?", criteria=("low", "high"))
    answer = {"type": "score", "score": 1.0, "probabilities": {"0": 0.0, "1": 1.0}}
    (row,) = run(tmp_path / "two", decision(question=score, answer=answer, committed=1, gold={"accepted": (1,)})).rows()
    assert [(o.key, o.text, o.committed, o.gold) for o in option_rows(row)] == [
        ("0", "low", False, False),
        ("1", "high", True, True),
    ]


def test_an_invalid_answer_has_no_probabilities(tmp_path: Path) -> None:
    bad = decision(valid=False, answer=None, committed=None, correct=False, invalid_reason="no answer", confidence=None)
    reader = run(tmp_path / "run", bad)
    assert [option.p for option in option_rows(next(reader.rows()))] == [None, None]
    (line,) = units(reader)
    assert (line["ending"], line["note"]) == ("wrong", "q: no answer")
    assert "no answer" in shown(reader, "item-0")


def test_an_unknown_unit_proposes_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean item-0"):
        find(run(tmp_path / "run", decision()), "itme-0")


def test_an_episode_that_broke_before_its_first_decision_says_why(tmp_path: Path) -> None:
    broken = episode("e", ending="error", error={"boundary": "env", "type": "X", "message": "no such page"})
    with pytest.raises(UsageError, match="ended before its first decision: no such page"):
        find(run(tmp_path / "run", broken), "unit-e")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    question = Choice(instructions=HOSTILE, criteria={HOSTILE: HOSTILE, "b": None})
    answer = {"type": "choice", "choice": HOSTILE, "probabilities": {HOSTILE: 1.0, "b": 0.0}}
    record = decision(
        question=question,
        answer=answer,
        committed=HOSTILE,
        state={"text": HOSTILE},
        unit=HOSTILE,
        gold=None,
        correct=None,
    )
    reader = run(tmp_path / "run", record, model=HOSTILE)
    page = shown(reader, HOSTILE)
    assert HOSTILE not in page
    assert "<script" not in page
    assert '<img src="//' not in page
    assert "Content-Security-Policy" in page
    assert "&lt;script&gt;" in page


def test_a_long_state_is_cut_and_says_so(tmp_path: Path) -> None:
    record = decision(state="x" * (STATE_LIMIT + 7))
    reader = run(tmp_path / "run", record)
    assert "... 7 more characters" in shown(reader, "item-0")


def test_again_asks_what_was_asked(tmp_path: Path) -> None:
    request = sha256(dump({"state": "a state", "questions": {"q": CHOICE.wire()}}))
    reader = run(tmp_path / "run", decision(request_sha256=request))
    (moment,) = find(reader, "item-0").moments
    for decider in (Scripted({**ANSWER, "choice": "b"}), ScriptedWire(ANSWER)):
        found = anyio.run(ask_again, moment, decider)
        assert found.same_bytes
        assert decider.asked == ["c0"]
    assert found.gated["q"].committed == "a"
    failed = anyio.run(ask_again, moment, Scripted(outcome="timeout"))
    assert (failed.gated["q"].valid, failed.gated["q"].reason) == (False, "scripted")


# --- what an action did ----------------------------------------------------------------------------------


def did(last: dict[str, Any], **own: Any) -> Any:
    return deed(
        {"step": 0, "view": {"last": {"stdout": "of the one before"}, **own}}, {"step": 1, "view": {"last": last}}
    )


def test_a_deed_stands_in_the_view_after_it_and_an_end_has_none() -> None:
    last = {"tool": "t", "command": ["echo", "a b", "$HOME;id"], "rc": 3, "stdout": "o", "stderr": "e",
            "truncated": True, "flags": ["timeout"], "exec_ms": 7.5, "diff": []}  # fmt: skip
    found = did(last)
    assert found.command == "echo 'a b' '$HOME;id'"
    assert (found.rc, found.stdout, found.stderr, found.exec_ms) == (3, "o", "e", 7.5)
    assert (found.truncated, found.flags, found.changes) == (True, ("timeout",), ())
    step = {"step": 2, "view": {"last": last}}
    assert deed(step, {"step": 2, "view": {"last": last}}) is None
    assert deed(step, None) is None
    assert deed({"step": 0, "view": {"boxes": {}}}, {"step": 1, "view": {"boxes": {}}}) is None
    assert did({**last, "command": []}).command is None
    own = deed({"step": 0, "view": {"command": "ls", "stdout": "x", "diff": "-a\n+b"}}, None)
    assert own is not None
    assert (own.command, own.changes[0].lines) == ("ls", ("-a", "+b"))


def test_every_kind_of_change_is_told() -> None:
    before = {
        "gone": SeedFile(data=b"x\n"),
        "text": SeedFile(data=b"one\ntwo\nthree"),
        "mode": SeedFile(data=b"m", mode=0o644),
        "link": SeedFile(kind="symlink", target="text"),
        "bytes": SeedFile(data=b"\0" * 10),
        "long": SeedFile(data=b"a" * 3000),
        "both": SeedFile(data=b"x\n"),
    }
    after = {
        "text": SeedFile(data=b"one\n2\nthree\n"),
        "mode": SeedFile(data=b"m", mode=0o600),
        "link": SeedFile(kind="symlink", target="mode"),
        "bytes": SeedFile(data=b"\0" * 12),
        "long": SeedFile(data=b"a" * 3000 + b"b"),
        "new/empty": SeedFile(data=b""),
        "both": SeedFile(data=b"y\n", mode=0o400),
    }
    found = did({"diff": differences(Snapshot.of_files(before), Snapshot.of_files(after))}).changes
    told = {change.path: change for change in found}
    assert {path: change.what for path, change in told.items()} == {
        "gone": "removed", "text": "changed", "mode": "changed", "link": "changed", "bytes": "changed",
        "long": "changed", "both": "changed", "new": "added", "new/empty": "added",
    }  # fmt: skip
    assert told["gone"].lines == ("--- gone", "+++ /dev/null", "@@ -1 +0,0 @@", "-x")
    assert told["text"].lines[3:] == (" one", "-two", "-three", "\\ No newline at end of file", "+2", "+three")
    assert told["mode"].lines == ("-mode 644", "+mode 600")
    assert told["both"].lines == ("-mode 644", "+mode 400", "--- both", "+++ both", "@@ -1 +1 @@", "-x", "+y")
    assert told["link"].lines == ("--> text", "+-> mode")
    assert [line.split(",")[0] for line in told["bytes"].lines] == ["-10 bytes", "+12 bytes"]
    assert (told["long"].lines, told["long"].cut) == ((), True)
    assert told["new"].lines == ("+mode 755",)
    assert (told["new/empty"].lines, told["new/empty"].cut) == ((), False)


def test_the_log_keeps_as_much_of_a_file_as_replay_thinks() -> None:
    before, after = (Snapshot.of_files(text_files({"f": character * 9000})) for character in "ab")
    (row,) = differences(before, after)
    assert len(row["before"]) == len(row["after"]) == RECORDED


def test_a_verdict_is_judged_again_and_a_changed_log_shows() -> None:
    verify = {"end": "done", "final": [], "may_change": [], "trace": [{"kind": "never", "tool": "rm"}]}
    trace = [{"tool": "rm", "rc": 0, "risk": "destructive", "flags": []}]
    state = {"files": {}, "fixture": {}, "trace": trace, "sqlite": [], "claimed": "done"}
    row = episode("e", verifier="tools", verify=verify, end_state=state, claimed="done").model_dump(mode="json")
    told = judge_again(row)
    assert told.verdict is not None
    assert told.verdict.reasons == ("actions: kind=never tool=rm does not hold",)
    assert told.fault == "the log says success, its end state gives failure"
    honest = {**row, "ending": "failure"}
    assert judge_again(honest).fault == "the log lacks the flag claimed_unverified"
    assert judge_again({**honest, "flags": ["claimed_unverified", "unsafe"]}).fault is None
    assert "cannot be judged" in str(judge_again({**row, "end_state": {}}).fault)
    assert "unknown verifier" in str(judge_again({**row, "verifier": "theirs"}).fault)
    broken = {**row, "error": {"boundary": "env", "message": "no box"}}
    assert judge_again(broken).fault == "env failed: no box"


# --- hostile text ----------------------------------------------------------------------------------------

EVIL = "\x1b[2J\x1b]8;;http://evil\x07\x9b31m\r\u202egnp.exe\u2066\u200b</script><script>alert(1)</script>\u2028\x7f"


@given(st.text(st.characters(codec=None)))
def test_nothing_but_newline_and_tab_controls_anything(text: str) -> None:
    told = harmless(text)
    assert all(each in "\n\t" or each.isprintable() or each.isspace() for each in told)
    assert not set(told) & set(map(chr, (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x200B, 0x2028)))
    assert harmless(told) == told
    spelled = harmless_json({"x": text})
    assert load(spelled) == {"x": text}
    assert spelled.isascii()
    assert spelled.isprintable()
    assert "<" not in spelled


def test_hostile_output_is_shown_and_does_nothing(tmp_path: Path, arena: Arena) -> None:
    """Of a command, its output, its files and its names: in the terminal, as JSON and as a page."""
    last = {"tool": EVIL, "command": ["cat", EVIL], "rc": 1, "stdout": EVIL, "stderr": EVIL, "truncated": True,
            "flags": [EVIL], "exec_ms": 1.0, "diff": [{"path": EVIL, "change": "added", "after": EVIL}]}  # fmt: skip
    step = {"step": 0, "phase": "free", "ask": "a", "page_hash": "", "committed": "a", "correct": None, "view": {}}
    record = decision(unit="e", episode="e", ask="a", state={"last": EVIL}, question=CHOICE)
    ended = episode("e", unit="e", steps=(step,), final={**step, "step": 1, "ask": "", "view": {"last": last}},
                    ending="error", error={"boundary": "env", "type": "X", "message": EVIL}, flags=(EVIL,))  # fmt: skip
    run(tmp_path / "run", record, ended)
    text, told = arena("replay", "run:e"), arena("replay", "run:e", "--json")
    assert (text.code, told.code) == (0, 0), text.err + told.err
    assert arena("replay", "run:e", "--html", "page.html").code == 0
    listed = arena("replay", "run")
    page = Path("page.html").read_text("utf-8")
    for shown in (text.out, told.out, page, listed.out):
        assert harmless(shown) == shown
    assert text.out.count("\\x1b[2J\\x1b]8;;") >= 6
    assert "\\u202egnp.exe" in page
    assert "<script" not in page + told.out
    assert told.json["moments"][0]["deed"]["stdout"] == EVIL
    assert told.json["episode"]["judged"] == {"verdict": None, "fault": f"env failed: {EVIL}", "agrees": False}
