"""Replay: addresses, what a person is shown, and a page that hostile text cannot break out of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from run_tools import ANSWER, CHOICE, Scripted, ScriptedWire, decision, episode

from arena.errors import UnknownName, UsageError
from arena.identity import dump, sha256
from arena.log.reader import RunReader
from arena.log.writer import RunWriter
from arena.run.replay import ask_again, moments, option_rows, parse_target, units
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


@pytest.mark.parametrize(
    ("text", "unit", "step"),
    [("one", None, None), ("one:u", "u", None), ("one:u:3", "u", 3), ("a:b", None, None), ("a:b:u:0", "u", 0)],
)
def test_addresses(tmp_path: Path, text: str, unit: str | None, step: int | None) -> None:
    for name in ("one", "a:b"):
        run(tmp_path / name)
    found = parse_target(text, tmp_path)
    assert (found.unit, found.step) == (unit, step)
    assert found.folder.name == (text if text in ("one", "a:b") else text.removesuffix(f":{step}").removesuffix(":u"))


@pytest.mark.parametrize("text", ["two", "one:u:x", "one:u:1:2", "", ":"])
def test_addresses_that_lead_nowhere(tmp_path: Path, text: str) -> None:
    run(tmp_path / "one")
    with pytest.raises(UsageError):
        parse_target(text, tmp_path)


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
    assert "no answer" in render_html(reader, "item-0", moments(reader, "item-0"))


def test_an_unknown_unit_proposes_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean item-0"):
        moments(run(tmp_path / "run", decision()), "itme-0")


def test_an_episode_that_broke_before_its_first_decision_says_why(tmp_path: Path) -> None:
    broken = episode("e", ending="error", error={"boundary": "env", "type": "X", "message": "no such page"})
    with pytest.raises(UsageError, match="ended before its first decision: no such page"):
        moments(run(tmp_path / "run", broken), "unit-e")


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
    page = render_html(reader, HOSTILE, moments(reader, HOSTILE))
    assert HOSTILE not in page
    assert "<script" not in page
    assert '<img src="//' not in page
    assert "Content-Security-Policy" in page
    assert "&lt;script&gt;" in page


def test_a_long_state_is_cut_and_says_so(tmp_path: Path) -> None:
    record = decision(state="x" * (STATE_LIMIT + 7))
    reader = run(tmp_path / "run", record)
    assert "... 7 more characters" in render_html(reader, "item-0", moments(reader, "item-0"))


def test_again_asks_what_was_asked(tmp_path: Path) -> None:
    request = sha256(dump({"state": "a state", "questions": {"q": CHOICE.wire()}}))
    reader = run(tmp_path / "run", decision(request_sha256=request))
    (moment,) = moments(reader, "item-0")
    for decider in (Scripted({**ANSWER, "choice": "b"}), ScriptedWire(ANSWER)):
        found = anyio.run(ask_again, moment, decider)
        assert found.same_bytes
        assert decider.asked == ["c0"]
    assert found.gated["q"].committed == "a"
    failed = anyio.run(ask_again, moment, Scripted(outcome="timeout"))
    assert (failed.gated["q"].valid, failed.gated["q"].reason) == (False, "scripted")
