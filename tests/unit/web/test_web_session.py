"""The four modes over a stage that is a few lines long: who is asked what, what is done, and what is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from web_makers import corridor, scene

from arena.envs.check import sure
from arena.envs.web.episode import GoldStep, Recording
from arena.envs.web.options import Option
from arena.envs.web.session import Mode, WebSession
from arena.errors import Failure
from arena.session import Ask, Ended, Judged, Reply, Turn, play
from arena.types import JSON
from arena.verifiers.web import verify


class Corridor:
    """A stage: button 1 goes one state on, button 2 falls into state 9 (off the tape when ``taped``)."""

    def __init__(self, recording: Recording, *, taped: bool = False, drift: bool = False) -> None:
        self.recording, self.taped, self.drift = recording, taped, drift
        self.at, self.off, self.starts, self.closed = 0, False, 0, 0

    async def start(self) -> None:
        self.at, self.off = 0, False
        self.starts += 1

    async def look(self, t: int, history: Sequence[str]) -> GoldStep:
        seen = "drifted" if self.drift and self.at == 1 else f"hash-{self.at}"
        return scene(t, ["On", "Trap"], [], seen).model_copy(
            update={"history": tuple(history), "text": f"State {self.at}"}
        )

    async def act(self, option: Option) -> str | None:
        if option.id == "click:e1" and self.at != 9:
            self.at += 1
        elif option.id == "click:e2":
            self.at, self.off = 9, self.taped
        return None

    async def probe(self, conditions: Sequence[JSON]) -> list[JSON]:
        return [{"value": eval(c["expr"].replace("===", "=="), {"at": self.at})} for c in conditions]

    async def screenshot(self) -> bytes | None:
        return b"png"

    def flags(self) -> list[str]:
        return ["off_tape"] if self.off else []

    def requests(self) -> list[JSON]:
        return []

    async def aclose(self) -> None:
        self.closed += 1


class Game:
    """A played session: its turns, its end, its verdict."""

    def __init__(
        self, mode: Mode, answers: Mapping[str, str | None], *, taped: bool = False, drift: bool = False
    ) -> None:
        recording = corridor()
        self.stage = Corridor(recording, taped=taped, drift=drift)
        self.session = WebSession(recording, self.stage, mode=mode, ask_prefix="p")
        self.turns: list[Turn] = []
        self.right: list[bool | None] = []
        self.answers = answers
        self.ended: Ended = asyncio.run(self._play())
        self.ending = verify(self.ended.verify, self.ended.end_state, self.ended.claimed)

    async def _play(self) -> Ended:
        async def decide(ask: Ask) -> Reply:
            answer = self.answers.get(ask.id.removeprefix("p:"), "done")
            return Reply({"action": None if answer is None else sure(ask.questions["action"], answer)})

        async def note(turn: Turn, reply: Reply, judged: Mapping[str, Judged], acted: float) -> None:
            self.turns.append(turn)
            self.right.append(judged["action"].correct)

        return await play(self.session, decide, note)

    @property
    def asked(self) -> list[str]:
        """Names of the asks, without the prefix."""
        return [turn.ask.id.removeprefix("p:") for turn in self.turns]


RIGHT = {"teacher:0": "click:e1", "teacher:1": "click:e1", "teacher:2": "done"}


def test_all_right_needs_no_second_run() -> None:
    game = Game("teacher+free", RIGHT)
    assert game.asked == ["teacher:0", "teacher:1", "teacher:2"]
    assert game.right == [True, True, True]
    assert (game.ending.ending, game.ending.key_nodes, game.ended.claimed) == ("success", 1.0, "done")
    assert game.stage.starts == 1
    assert [turn.view["executes"] for turn in game.turns] == ["click:e1", "click:e1", "done"]
    assert game.turns[1].ask.state["history"] == ['Click button "On"']
    assert game.turns[0].artifacts == {"screenshot": b"png"}


def test_teacher_asks_every_decision_once_whatever_is_answered() -> None:
    game = Game("teacher", {"teacher:0": "click:e2", "teacher:1": "click:e1", "teacher:2": "blocked"})
    assert game.asked == ["teacher:0", "teacher:1", "teacher:2"]
    assert game.right == [False, True, False]
    assert game.ended.end_state is None
    assert game.ending.ending == "not_evaluated", "no run of the model's own was made"


def test_a_wrong_answer_is_done_and_not_asked_again() -> None:
    game = Game("teacher+free", RIGHT | {"teacher:1": "click:e2", "free:2": "done"})
    assert game.asked == ["teacher:0", "teacher:1", "teacher:2", "free:2"]
    assert game.right == [True, False, True, None]
    assert game.turns[-1].phase == "free"
    assert game.turns[-1].page_hash == "hash-9"
    assert game.turns[-1].ask.state["history"] == ['Click button "On"', 'Click button "Trap"']
    assert game.ending.ending == "failure"
    assert "forbidden" in game.ending.flags


def test_a_detour_that_reaches_the_goal_is_a_success() -> None:
    game = Game(
        "teacher+free", RIGHT | {"teacher:0": "wait", "free:1": "click:e1", "free:2": "click:e1", "free:3": "done"}
    )
    assert game.right == [False, True, True, None, None, None]
    assert game.ending.ending == "success"


def test_stopping_too_early_ends_the_free_run_at_once() -> None:
    game = Game("teacher+free", RIGHT | {"teacher:1": "done"})
    assert game.asked == ["teacher:0", "teacher:1", "teacher:2"]
    assert (game.ended.claimed, game.ending.ending) == ("done", "failure")
    assert game.ending.flags == ("claimed_unverified",)


def test_giving_up_where_the_goal_can_be_reached_is_a_failure() -> None:
    game = Game("teacher+free", RIGHT | {"teacher:2": "blocked"})
    assert game.ending.ending == "failure"
    assert game.ending.flags == ("wrong_claim",)


def test_an_invalid_answer_ends_the_free_run() -> None:
    game = Game("teacher+free", RIGHT | {"teacher:1": None})
    assert game.right == [True, False, True]
    assert game.ended.truncated
    assert "invalid" in game.ended.flags


def test_the_budget_is_two_gold_steps_and_two() -> None:
    game = Game("free", {f"free:{t}": "wait" for t in range(50)})
    assert len(game.turns) == 2 * 3 + 2
    assert game.ended.truncated
    assert "budget" in game.ended.flags


def test_free_has_gold_only_while_on_the_walk() -> None:
    game = Game("free", {"free:0": "click:e1", "free:1": "click:e2", "free:2": "click:e1"})
    assert game.right == [True, False, None, None]


def test_a_miss_cuts_a_free_run() -> None:
    game = Game("free", {"free:0": "click:e2"}, taped=True)
    assert game.asked == ["free:0"]
    assert game.ended.truncated
    assert game.ended.flags == ("off_tape",)


def test_recover_takes_the_option_away_and_asks_again() -> None:
    answers = {"free:0": "click:e1", "free:1": "click:e2", "free:1:again1": "click:e1", "free:2": "done"}
    game = Game("recover", answers, taped=True)
    assert game.asked == ["free:0", "free:1", "free:1:again1", "free:2"]
    assert "click:e2" not in game.turns[2].ask.questions["action"].labels()
    assert "click:e2" in game.turns[3].ask.questions["action"].labels()
    assert game.ending.ending == "success"


def test_a_page_that_is_not_the_recorded_one_is_a_failure_of_the_env() -> None:
    with pytest.raises(Failure, match="step 1: the page differs from the recording") as caught:
        Game("teacher", RIGHT, drift=True)
    assert caught.value.boundary == "env"


def test_recorded_decisions_are_only_followed() -> None:
    recording = corridor()
    recorded = Recording(
        recording.manifest.model_copy(update={"decisions": "recorded"}),
        recording.steps,
        conditions=recording.conditions,
    )
    session = WebSession(recorded, Corridor(recorded), mode="teacher+free", ask_prefix="p")
    assert session.mode == "teacher"
