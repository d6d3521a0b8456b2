"""Episodes in the runner: a failure is a record, an interruption costs no call, a failed call is owed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from run_tools import CHOICE, GOLD, Scripted

from arena.errors import MissingNeed
from arena.items import Case, EpisodeRef, Recording, Variant
from arena.log.reader import RunReader, iter_rows
from arena.log.writer import RunWriter
from arena.run.config import StopRule
from arena.run.planned import Planned
from arena.run.record import Channel, Tally, read_past
from arena.run.schedule import Schedule
from arena.session import Ask, Ended, EndVerdict, Reply, Turn

STEPS = 3


@dataclass
class Corridor:
    """An environment of three steps. ``breaks_at``: step whose page cannot be read, ``breaks`` times; ``salt``: what
    its pages say. ``opened``: the paths."""

    breaks_at: int | None = None
    breaks: int = 99
    salt: str = ""
    error: Exception = field(default_factory=lambda: RuntimeError("the page crashed"))
    closed: int = 0
    opened: list[str] = field(default_factory=list)

    async def open(self, path: str, *, ask_prefix: str) -> Walk:
        self.opened.append(path)
        return Walk(self, ask_prefix)


@dataclass
class Walk:
    corridor: Corridor
    prefix: str
    at: int = 0
    right: int = 0

    def turn(self) -> Turn:
        if self.corridor.breaks_at == self.at and self.corridor.breaks > 0:
            self.corridor.breaks -= 1
            raise self.corridor.error
        ask = Ask(f"{self.prefix}:teacher:{self.at}", f"door {self.at}{self.corridor.salt}", {"q": CHOICE}, "s@1")
        return Turn(ask, {"q": GOLD}, step=self.at, page_hash=f"h{self.at}")

    async def start(self) -> Turn:
        return self.turn()

    async def advance(self, judged: Any) -> Turn | None:
        self.right += bool(judged["q"].correct)
        self.at += 1
        return self.turn() if self.at < STEPS else None

    async def finish(self) -> Ended:
        return Ended(end_state={"right": self.right}, gold_steps=STEPS)

    async def aclose(self) -> None:
        self.corridor.closed += 1


def verify(conditions: Any, end_state: Any, claimed: str | None) -> EndVerdict:
    return EndVerdict("success" if end_state["right"] == STEPS else "failure")


def reference(name: str = "walk") -> EpisodeRef:
    where = {"suite": "s@1", "domain": "d", "tier": "T1", "split": "test", "path": "p", "sha256": "0" * 64}
    return EpisodeRef(id=name, env="corridor", verifier="v", steps=STEPS, **where)


class Walks:
    def items(self) -> Iterator[Planned]:
        return iter(())

    def episodes(self) -> Iterator[Planned]:
        yield Planned(Case(unit="walk", domain="d", tier="T1"), reference())


def run(folder: Path, model: Scripted, corridor: Corridor, verifier: Any = verify, plan: Any = None) -> Tally:
    with RunWriter(folder, {"resolved": {}}) as writer:
        tally = Tally()
        past = read_past(RunReader(folder), tally)
        schedule = Schedule(
            run=folder.name,
            channel=Channel(model, None, "throughput", 5.0, past),
            writer=writer,
            tally=tally,
            stop=StopRule(),
            environments={"corridor": corridor},  # type: ignore[dict-item]
            verifiers={"v": verifier},
            on_progress=lambda _: None,
        )
        anyio.run(schedule.carry_out, plan or Walks(), 1, 1)
    return tally


def the_episode(folder: Path) -> dict[str, Any]:
    (row,) = RunReader(folder).episode_rows()
    return row


def steps_recorded(folder: Path) -> list[tuple[int, int, str]]:
    return [(row["step"], row["retry"], row["outcome"]) for row in RunReader(folder).rows()]


def test_an_episode_is_recorded_step_by_step(tmp_path: Path) -> None:
    corridor = Corridor()
    tally = run(tmp_path / "run", Scripted(), corridor)
    row = the_episode(tmp_path / "run")
    assert (row["ending"], row["end_state"], row["error"]) == ("success", {"right": 3}, None)
    assert [(step["page_hash"], step["correct"]) for step in row["steps"]] == [("h0", True), ("h1", True), ("h2", True)]
    assert (tally.cases, tally.decisions, corridor.closed) == (1, 3, 1)


def test_a_finished_episode_is_not_played_again(tmp_path: Path) -> None:
    run(tmp_path / "run", Scripted(), Corridor())
    again = Scripted()
    tally = run(tmp_path / "run", again, Corridor(breaks_at=0))
    assert again.asked == []
    assert (tally.cases, tally.decisions) == (1, 3)


def test_a_broken_environment_ends_the_episode_not_the_run(tmp_path: Path) -> None:
    corridor = Corridor(breaks_at=2)
    run(tmp_path / "run", Scripted(), corridor)
    row = the_episode(tmp_path / "run")
    assert row["ending"] == "error"
    assert row["error"] == {
        "boundary": "env",
        "type": "RuntimeError",
        "message": "episode walk: RuntimeError: the page crashed",
    }
    assert (len(row["steps"]), row["retry"], corridor.closed) == (2, 1, 2)


def test_a_broken_episode_is_played_again_from_what_is_on_record(tmp_path: Path) -> None:
    run(tmp_path / "run", Scripted(), Corridor(breaks_at=2))
    again = Scripted()
    run(tmp_path / "run", again, Corridor())
    assert [ask.rpartition(":")[2] for ask in again.asked] == ["2"]
    row = the_episode(tmp_path / "run")
    assert (row["ending"], row["retry"], len(row["steps"])) == ("success", 2, 3)
    assert steps_recorded(tmp_path / "run") == [(0, 0, "ok"), (1, 0, "ok"), (2, 0, "ok")]


def test_an_episode_that_breaks_once_is_played_once_more_at_once(tmp_path: Path) -> None:
    """From its start, as a step may not be done twice; nothing is asked again, and both tries are kept."""
    corridor, model = Corridor(breaks_at=2, breaks=1), Scripted()
    tally = run(tmp_path / "run", model, corridor)
    assert [ask.rpartition(":")[2] for ask in model.asked] == ["0", "1", "2"]
    assert (tally.cases, tally.asks, tally.decisions) == (1, 3, 3)
    tries = [(row["ending"], row["retry"]) for row in iter_rows(tmp_path / "run" / "episodes.jsonl")]
    assert tries == [("error", 0), ("success", 1)]
    assert the_episode(tmp_path / "run")["ending"] == "success"
    assert steps_recorded(tmp_path / "run") == [(0, 0, "ok"), (1, 0, "ok"), (2, 0, "ok")]
    assert len(corridor.opened) == corridor.closed == 2


def test_a_verifier_that_fails_is_no_reason_to_play_again(tmp_path: Path) -> None:
    corridor = Corridor()
    run(tmp_path / "run", Scripted(), corridor, lambda *_: 1 / 0)
    assert (the_episode(tmp_path / "run")["ending"], len(corridor.opened)) == ("not_evaluated", 1)


class Tried(Walks):
    """The walk and three further trials, one other drawing of it frozen."""

    def episodes(self) -> Iterator[Planned]:
        unit = reference().model_copy(update={"trials": (Recording(path="q", sha256="1" * 64),)})
        for index in range(4):
            variant = Variant(kind="trial", index=index) if index else Variant()
            yield Planned(Case(unit="walk", domain="d", tier="T1", variant=variant), unit)


def test_trials_take_the_drawings_in_turn_and_each_its_own_option_order(tmp_path: Path) -> None:
    corridor, model = Corridor(), Scripted()
    run(tmp_path / "run", model, corridor, plan=Tried())
    assert corridor.opened == ["p", "q", "p", "q"]
    rows = list(RunReader(tmp_path / "run").rows())
    orders: dict[int, set[tuple[str, ...]]] = {}
    for row in rows:
        orders.setdefault(row["variant"]["index"], set()).add(tuple(row["question"]["criteria"]))
    assert all(len(seen) == 1 for seen in orders.values())
    canonical = tuple(CHOICE.criteria)
    assert orders[0] == {canonical}
    assert all(next(iter(orders[trial])) != canonical for trial in (1, 2, 3))
    assert len({row["question_id"] for row in rows}) == 1
    assert all(row["correct"] for row in rows)
    played = {row["variant"]["index"]: row["recording_sha256"][0] for row in RunReader(tmp_path / "run").episode_rows()}
    assert played == {0: "0", 1: "1", 2: "0", 3: "1"}


def test_pages_that_changed_meanwhile_are_asked_again_and_replace_the_old_lines(tmp_path: Path) -> None:
    """Else the log would hold answers to pages that the episode on record never showed."""
    run(tmp_path / "run", Scripted(), Corridor(breaks_at=2))
    again = Scripted()
    run(tmp_path / "run", again, Corridor(salt=" (new paint)"))
    assert len(again.asked) == 3
    assert steps_recorded(tmp_path / "run") == [(0, 1, "ok"), (1, 1, "ok"), (2, 0, "ok")]
    assert {row["state"] for row in RunReader(tmp_path / "run").rows()} == {f"door {n} (new paint)" for n in range(3)}


def test_an_error_for_the_user_in_the_environment_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(MissingNeed, match="no browser"):
        run(tmp_path / "run", Scripted(), Corridor(breaks_at=0, error=MissingNeed("no browser")))
    assert list(RunReader(tmp_path / "run").episode_rows()) == []


class FailsOnce(Scripted):
    """The call at one step fails; ``healthy`` mends it."""

    healthy = False

    async def decide(self, ask: Ask) -> Reply:
        if ask.id.endswith(":1") and not self.healthy:
            self.asked.append(ask.id)
            return Reply({}, "timeout", "no answer")
        return await super().decide(ask)


def test_an_episode_with_a_failed_call_is_owed_again(tmp_path: Path) -> None:
    run(tmp_path / "run", FailsOnce(), Corridor())
    assert the_episode(tmp_path / "run")["ending"] == "failure"
    mended = FailsOnce()
    mended.healthy = True
    run(tmp_path / "run", mended, Corridor())
    assert [ask.rpartition(":")[2] for ask in mended.asked] == ["1"]
    row = the_episode(tmp_path / "run")
    assert (row["ending"], row["retry"]) == ("success", 1)
    assert sorted(steps_recorded(tmp_path / "run")) == [(0, 0, "ok"), (1, 1, "ok"), (2, 0, "ok")]
    assert all(row["correct"] for row in RunReader(tmp_path / "run").rows())


def test_a_verifier_that_fails_leaves_the_episode_not_evaluated(tmp_path: Path) -> None:
    def broken(conditions: Any, end_state: Any, claimed: str | None) -> EndVerdict:
        raise KeyError("no such node")

    run(tmp_path / "run", Scripted(), Corridor(), broken)
    row = the_episode(tmp_path / "run")
    assert row["ending"] == "not_evaluated"
    assert row["error"]["boundary"] == "verifier"
    assert row["end_state"] == {"right": 3}
