"""From a turn to log lines: what is asked, what is taken from the past, what a failure leaves behind."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from run_tools import ANSWER, CHOICE, Scripted, ScriptedWire, item, planned

from arena.errors import MissingNeed, RunStopped, UsageError
from arena.items import Item
from arena.log.cache import ResponseCache
from arena.log.reader import RunReader
from arena.log.writer import RunWriter
from arena.records import ModelCard
from arena.run.config import StopRule
from arena.run.planned import Planned
from arena.run.record import Channel, Tally, read_past
from arena.run.schedule import Schedule
from arena.types import Choice, Noul

NOUL = Noul(instructions="Yes?")


class Cases:
    """A plan of static items."""

    def __init__(self, cases: Iterable[Planned]) -> None:
        self.cases = list(cases)

    def items(self) -> Iterator[Planned]:
        return iter(self.cases)

    def episodes(self) -> Iterator[Planned]:
        return iter(())


def run(
    folder: Path,
    model: Scripted,
    units: Iterable[Item],
    *,
    cache: Path | None = None,
    stop: StopRule = StopRule(),  # noqa: B008  # frozen
    requests: int = 1,
    repeat: int = 0,
) -> Tally:
    """One session of a run, as ``evaluate`` arranges it, without planning and summary."""
    cases = [planned(unit) for unit in units]
    cases = [Planned(p.case.model_copy(update={"repeat": repeat}), p.unit, p.golds) for p in cases]
    opened = None if cache is None else ResponseCache(cache, model.card)
    with RunWriter(folder, {"resolved": {}}) as writer:
        tally = Tally()
        past = read_past(RunReader(folder), tally)
        schedule = Schedule(
            run=folder.name,
            channel=Channel(model, opened, "throughput", 5.0, past),
            writer=writer,
            tally=tally,
            stop=stop,
            environments={},
            verifiers={},
            on_progress=lambda _: None,
        )
        try:
            anyio.run(schedule.carry_out, Cases(cases), requests, 1)
        finally:
            if opened is not None:
                opened.close()
    return tally


def rows(folder: Path) -> list[dict[str, Any]]:
    return list(RunReader(folder).rows())


def test_a_line_holds_all_that_was_asked_and_answered(tmp_path: Path) -> None:
    run(tmp_path / "run", Scripted(), [item("i", {"from": "x"}, q=CHOICE, yes=NOUL)])
    one, two = rows(tmp_path / "run")
    assert (one["question_name"], one["question"]["criteria"], one["state"]) == ("q", CHOICE.criteria, {"from": "x"})
    assert one["response"] == ANSWER
    assert (one["valid"], one["committed"], one["correct"], one["confidence"]) == (True, "a", True, 0.75)
    assert one["gold"]["accepted"] == ["a"]
    assert (two["valid"], two["correct"], two["invalid_reason"]) == (False, False, "type 'choice' for a noul question")
    assert one["ask"] == two["ask"]
    assert one["id"] != two["id"]
    assert next(iter(RunReader(tmp_path / "run").decisions())).question == CHOICE


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        ({**ANSWER, "probabilities": {"a": math.nan, "b": 1.0}}, False),
        ({**ANSWER, "confidence": math.nan}, True),
        ({**ANSWER, "extra": [math.inf, {"deep": -math.inf}]}, True),
    ],
)
def test_an_answer_that_json_cannot_hold_is_kept_as_text(tmp_path: Path, answer: Any, valid: bool) -> None:
    run(tmp_path / "run", Scripted(answer), [item("i")])
    (row,) = rows(tmp_path / "run")
    assert row["valid"] is valid
    assert row["response"] is None
    assert repr(json.loads(row["body"])) == repr(answer)


def test_integers_beyond_64_bits_are_kept_exactly(tmp_path: Path) -> None:
    run(tmp_path / "run", Scripted({**ANSWER, "confidence": 2**70}), [item("i")])
    assert rows(tmp_path / "run")[0]["response"]["confidence"] == 2**70


@pytest.mark.parametrize("depth", [90, 300, 5000])
def test_a_deeply_nested_answer_ends_no_run(tmp_path: Path, depth: int) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    run(tmp_path / "run", Scripted({**ANSWER, "nested": nested}), [item("i"), item("j")])
    found = rows(tmp_path / "run")
    assert [row["valid"] for row in found] == [True, True]
    assert (found[0]["response"] is None) == (depth > 100)
    assert (found[0]["body"] is None) == (depth <= 100)


def test_a_model_that_raises_is_a_failed_call(tmp_path: Path) -> None:
    tally = run(tmp_path / "run", Scripted(raises=RuntimeError("out of memory")), [item("i")])
    (row,) = rows(tmp_path / "run")
    assert (row["outcome"], row["error"]) == ("server_error", "RuntimeError: out of memory")
    assert (row["valid"], row["correct"]) == (False, False)
    assert (tally.asks, tally.errors) == (1, 1)


def test_an_error_for_the_user_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mend me"):
        run(tmp_path / "run", Scripted(raises=UsageError("mend me")), [item("i")])
    assert rows(tmp_path / "run") == []


def test_a_finished_case_is_not_asked_again(tmp_path: Path) -> None:
    units = [item(f"i{n}", q=CHOICE, yes=NOUL) for n in range(4)]
    run(tmp_path / "run", Scripted(), units[:3])
    again = Scripted()
    tally = run(tmp_path / "run", again, units)
    assert again.asked == [planned(units[3]).case.id]
    assert (tally.cases, tally.decisions, tally.asks) == (4, 8, 1)
    assert len(rows(tmp_path / "run")) == 8


@pytest.mark.parametrize("outcome", ["timeout", "server_error", "rate_limited", "warming", "auth"])
def test_a_call_that_failed_is_owed_again_and_both_lines_stay(tmp_path: Path, outcome: str) -> None:
    for _ in range(2):
        run(tmp_path / "run", Scripted(outcome=outcome), [item("i")])
    tally = run(tmp_path / "run", Scripted(), [item("i")])
    (row,) = rows(tmp_path / "run")
    assert (row["outcome"], row["retry"], tally.errors) == ("ok", 2, 0)
    assert (tmp_path / "run" / "decisions.jsonl").read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("outcome", ["refused", "unsupported", "invalid_response"])
def test_what_the_model_itself_did_is_final(tmp_path: Path, outcome: str) -> None:
    run(tmp_path / "run", Scripted(outcome=outcome), [item("i")])
    again = Scripted()
    run(tmp_path / "run", again, [item("i")])
    assert again.asked == []
    assert rows(tmp_path / "run")[0]["outcome"] == outcome


def cut_last_line(folder: Path) -> None:
    log = folder / "decisions.jsonl"
    log.write_bytes(b"\n".join(log.read_bytes().split(b"\n")[:-2]) + b'\n{"torn')


def test_an_ask_recorded_in_part_is_completed_and_no_line_is_doubled(tmp_path: Path) -> None:
    units = [item("i", q=CHOICE, yes=NOUL), item("j", q=CHOICE, yes=NOUL)]
    run(tmp_path / "run", Scripted(), units)
    cut_last_line(tmp_path / "run")
    again = Scripted()
    run(tmp_path / "run", again, units)
    assert again.asked == [planned(units[1]).case.id]
    assert len({row["id"] for row in rows(tmp_path / "run")}) == 4


def test_a_crash_between_cache_and_line_costs_no_call(tmp_path: Path) -> None:
    units = [item("i", q=CHOICE, yes=NOUL), item("j")]
    cache = tmp_path / "cache.sqlite"
    run(tmp_path / "run", ScriptedWire(), units, cache=cache)
    whole = rows(tmp_path / "run")
    cut_last_line(tmp_path / "run")
    again = ScriptedWire()
    run(tmp_path / "run", again, units, cache=cache)
    assert again.asked == []
    found = rows(tmp_path / "run")
    assert [row["cached"] for row in found] == [False, False, True]
    changing = {"cached", "started_at", "latency_ms"}
    for one, two in zip(whole, found, strict=True):
        assert {k: v for k, v in one.items() if k not in changing} == {
            k: v for k, v in two.items() if k not in changing
        }


def test_repeats_are_never_answered_from_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    run(tmp_path / "run", ScriptedWire(), [item("i")], cache=cache)
    again = ScriptedWire()
    run(tmp_path / "run", again, [item("i")], cache=cache, repeat=1)
    assert len(again.asked) == 1


def test_another_model_of_the_same_name_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    run(tmp_path / "one", ScriptedWire(), [item("i")], cache=cache)
    other = ScriptedWire(card=ModelCard(name="scripted", version="1", identity={"endpoint": "elsewhere"}))
    run(tmp_path / "two", other, [item("i")], cache=cache)
    assert len(other.asked) == 1


def test_the_stop_rule_counts_calls_not_questions(tmp_path: Path) -> None:
    """Three questions an ask and every call failing: half of all calls is reached at once."""
    units = [item(f"i{n}", a=CHOICE, b=CHOICE, c=CHOICE) for n in range(100)]
    with pytest.raises(RunStopped, match="20 failed calls of 20") as caught:
        run(tmp_path / "run", Scripted(outcome="server_error"), units)
    assert "same command again" in str(caught.value.hint)
    assert len(rows(tmp_path / "run")) == 60


def test_an_absolute_stop_rule(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match="4 failed calls of 4"):
        run(tmp_path / "run", Scripted(outcome="timeout"), [item(f"i{n}") for n in range(9)], stop=StopRule(errors=3))


def test_a_session_that_resumes_counts_its_own_failures(tmp_path: Path) -> None:
    units = [item(f"i{n}") for n in range(100)]
    run(tmp_path / "run", Scripted(), units[:70])
    with pytest.raises(RunStopped, match="20 failed calls of 20"):
        run(tmp_path / "run", Scripted(outcome="server_error"), units)


def test_many_workers_write_every_case_once(tmp_path: Path) -> None:
    class Slow(Scripted):
        async def decide(self, ask: Any) -> Any:
            await anyio.sleep(0.001 * (len(self.asked) % 3))
            return await super().decide(ask)

    units = [item(f"i{n}") for n in range(60)]
    run(tmp_path / "run", Slow(), units, requests=8)
    assert sorted(row["unit"] for row in rows(tmp_path / "run")) == sorted(unit.id for unit in units)


def test_a_full_disk_ends_the_run_and_keeps_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Scripted()
    original = RunWriter.decisions

    def full(self: RunWriter, records: Any) -> None:
        if len(asked.asked) > 3:
            raise MissingNeed("the disk is full")
        original(self, records)

    monkeypatch.setattr(RunWriter, "decisions", full)
    with pytest.raises(MissingNeed, match="disk is full"):
        run(tmp_path / "run", asked, [item(f"i{n}") for n in range(9)])
    assert len(rows(tmp_path / "run")) == 3


def test_options_are_shown_in_the_order_given(tmp_path: Path) -> None:
    keys = ["10", "9", "00", "Zebra", "ähnlich", "a?"]
    question = Choice(instructions="", criteria=dict.fromkeys(keys))
    answer = {"type": "choice", "choice": "9", "probabilities": {key: float(key == "9") for key in reversed(keys)}}
    run(tmp_path / "run", Scripted(answer), [item("i", q=question)])
    (row,) = rows(tmp_path / "run")
    assert list(row["question"]["criteria"]) == keys
    assert list(row["answer"]["probabilities"]) == keys
    assert list(row["response"]["probabilities"]) == keys[::-1]


def test_the_same_bytes_are_not_sent_twice_at_once(tmp_path: Path) -> None:
    class Slow(ScriptedWire):
        async def decide(self, ask: Any) -> Any:
            await anyio.sleep(0.01)
            return await super().decide(ask)

    model = Slow()
    units = [item(name, "one state") for name in "abcd"] + [item("e", "another")]
    run(tmp_path / "run", model, units, cache=tmp_path / "cache.sqlite", requests=5)
    assert len(model.asked) == 2
    assert sorted((row["unit"], row["committed"]) for row in rows(tmp_path / "run")) == [(n, "a") for n in "abcde"]


def test_the_price_of_a_call_is_shared_by_its_questions(tmp_path: Path) -> None:
    class Priced(ScriptedWire):
        async def decide(self, ask: Any) -> Any:
            return replace(await super().decide(ask), usage={"input_tokens": 600})

    card = ModelCard(name="priced", version="1", usd_per_million_input_tokens=5.0)
    run(tmp_path / "run", Priced(card=card), [item("i", q=CHOICE, yes=NOUL, no=NOUL), item("j")])
    assert [row["cost_usd"] for row in rows(tmp_path / "run")] == pytest.approx([1e-3, 1e-3, 1e-3, 3e-3])
