"""What a run shows while it goes on."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from arena.cli import progress
from arena.cli.progress import LineReporter, LiveReporter, reporter_for
from arena.records import ModelCard
from arena.run.plan import Estimate, Part
from arena.run.record import Tally

ITEMS, EPISODES = "intent items", "web episodes"


def estimate(**parts: Part) -> Estimate:
    cases = sum(part.cases for part in parts.values())
    seconds = sum(part.seconds for part in parts.values())
    return Estimate(
        cases=cases, episodes=0, calls=cases, decisions=300, input_tokens=1, usd=None, seconds=seconds, parts=parts
    )


ESTIMATE = estimate(**{ITEMS: Part(cases=100, seconds=1.0)})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_lines_when_nobody_looks_at_a_terminal(clock: list[float]) -> None:
    out = io.StringIO()
    shown = reporter_for(out)
    assert isinstance(shown, LineReporter)
    shown.planned(ESTIMATE, ModelCard(name="m"))
    shown.opened(Path("runs/x"), 0, 100)
    tally = Tally()
    for case in range(1, 21):
        clock[0] += 0.5
        tally.cases, tally.decisions, tally.part, tally.parts[ITEMS] = case, case * 3, ITEMS, case
        shown.progress(tally)
    shown.closed()
    assert out.getvalue().split("\n") == [
        "m: 100 cases, about 300 decisions",
        "run runs/x",
        "10/100  5.6 decisions/s  0 invalid  0 errors  ETA 45 s",
        "20/100  5.8 decisions/s  0 invalid  0 errors  ETA 40 s",
        "",
    ]


def test_a_resumed_run_is_timed_by_what_it_does_itself(clock: list[float]) -> None:
    """Cases that were on record cost no time; counting them would promise the end too early."""
    out = io.StringIO()
    shown = LineReporter(out)
    shown.planned(ESTIMATE, ModelCard(name="m"))
    shown.opened(Path("runs/x"), 240, 100)
    tally = Tally(cases=81, decisions=243, invalid=2, errors=1, cached=3, part=ITEMS, parts=Counter({ITEMS: 81}))
    clock[0] += 1.0
    shown.progress(tally)
    for case in range(82, 86):
        tally.cases, tally.parts[ITEMS], tally.decisions = case, case, 3 * case
        clock[0] += 1.0
        shown.progress(tally)
    assert "run runs/x (resumed, 240 already recorded)" in out.getvalue()
    assert "85/100  2.6 decisions/s  2 invalid  1 errors  3 cached  ETA 15 s" in out.getvalue()


def test_quick_items_promise_nothing_about_slow_episodes(clock: list[float]) -> None:
    out = io.StringIO()
    shown = LineReporter(out)
    shown.planned(
        estimate(**{ITEMS: Part(cases=1000, seconds=20.0), EPISODES: Part(cases=60, seconds=240.0)}),
        ModelCard(name="m"),
    )
    shown.opened(Path("runs/x"), 0, 1060)
    tally = Tally(part=ITEMS)
    for _ in range(1000):
        clock[0] += 0.006
        tally.cases, tally.parts[ITEMS] = tally.cases + 1, tally.parts[ITEMS] + 1
        shown.progress(tally)
    assert out.getvalue().split("\n")[-2].endswith("ETA 4 min")
    tally.part = EPISODES
    for _ in range(20):
        clock[0] += 1.5
        tally.cases, tally.parts[EPISODES] = tally.cases + 1, tally.parts[EPISODES] + 1
        shown.progress(tally)
    assert out.getvalue().split("\n")[-2].endswith("ETA 62 s")  # after 19 of them


def test_a_bar_in_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    shown = reporter_for(out)
    assert isinstance(shown, LiveReporter)
    shown.planned(ESTIMATE, ModelCard(name="m"))
    shown.opened(Path("runs/x"), 0, 100)
    shown.progress(Tally(cases=3, decisions=9, part=ITEMS, parts=Counter({ITEMS: 3})))
    shown.closed()
    assert "runs/x" in out.getvalue()
