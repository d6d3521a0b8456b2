"""Speed and memory of the engine, and how fast the command starts.

``engine``: a model that answers at once, static items, logging on: decisions a second through asking, gate, log
and tally, for items of one question and for the shipped intent items (three questions, up to 56 options).
``memory``: peak memory after 10,000 and after 200,000 decisions, each in a process of its own, and what the
summary takes on top. ``items``: ``arena eval`` with sparrow-nano on 1,005 static items. ``help``: ``arena --help``.

    python benchmarks/bench_engine.py [--decisions N] [--check]

Prints one JSON object. Wall time counts against the targets; CPU time stands beside it, because on a busy
machine wall time measures the neighbours. With ``--check`` the exit code is 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from arena.identity import load
from arena.items import Case, Gold, Item
from arena.leaderboard.summary import summarise
from arena.log.reader import RunReader
from arena.log.writer import RunWriter
from arena.models.answers import one_hot, wire_answer
from arena.records import ModelCard
from arena.run.config import RunConfig, StopRule, resolve
from arena.run.plan import Plan
from arena.run.planned import Planned
from arena.run.record import Channel, Past, Tally
from arena.run.schedule import Schedule
from arena.session import Ask, Reply
from arena.types import Choice

TARGETS = {"decisions_per_s": 3000.0, "growth_mib": 8.0, "items_s": 5.0, "help_s": 0.3}
SMALL, LARGE = 10_000, 200_000
LETTER = (
    "Dear Sir or Madam, my order {n} has not arrived. The tracking page has shown the same depot for nine days "
    "and nobody answers the telephone. I would rather have the money back than wait any longer."
)
QUESTION = Choice(
    instructions="What does the customer want?",
    criteria={
        "refund": "the money back",
        "replacement": "another item",
        "status": "to know where the parcel is",
        "complaint": "to complain, without a wish",
    },
)


class Instant:
    """Answers each question with the same reply every time."""

    card = ModelCard(name="instant", version="1")

    def __init__(self) -> None:
        self._replies: dict[int, Any] = {}

    async def decide(self, ask: Ask) -> Reply:
        answers = {}
        for name, question in ask.questions.items():
            if id(question) not in self._replies:
                labels = question.labels()
                self._replies[id(question)] = (question, wire_answer(question, one_hot(labels, labels[0])))
            answers[name] = self._replies[id(question)][1]
        return Reply(answers, latency_ms=0.0)

    async def aclose(self) -> None:
        """Nothing to release."""


class Cases:
    """A plan of so many static items, made while it is played."""

    def __init__(self, cases: Callable[[], Iterator[Planned]]) -> None:
        self.items = cases

    def episodes(self) -> Iterator[Planned]:
        """None."""
        return iter(())


def letters(count: int) -> Iterator[Planned]:
    """``count`` items of one question."""
    golds = {"wish": Gold(accepted=("refund",))}
    for n in range(count):
        item = Item(
            id=f"letter-{n}",
            suite="bench@1",
            domain="intent",
            tier="T1",
            split="test",
            state=LETTER.format(n=n),
            questions={"wish": QUESTION},
        )
        yield Planned(Case(unit=item.id, domain=item.domain, tier=item.tier), item, golds)


def intents(count: int) -> Iterator[Planned]:
    """The shipped intent items again and again, until ``count`` decisions."""
    repeats = -(-count // 720)
    return Plan(RunConfig(model="instant", domains=("intent",), repeats=repeats)).items()


def play(cases: Callable[[], Iterator[Planned]], folder: Path) -> dict[str, float]:
    """Play ``cases`` with logging on; decisions a second of wall and of CPU time."""
    config = RunConfig(model="instant", domains=("intent",))
    header = {"resolved": resolve(config, Instant.card.model_dump(mode="json"), {}, {}), "limited": True}
    tally = Tally()
    with RunWriter(folder, header) as writer:
        channel = Channel(Instant(), None, "throughput", 60.0, Past())
        schedule = Schedule("bench", channel, writer, tally, StopRule(), {}, {}, lambda _: None)
        plan: Any = Cases(cases)
        wall, cpu = time.perf_counter(), time.process_time()
        anyio.run(schedule.carry_out, plan, 1, 1)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "decisions": tally.decisions,
        "decisions_per_s": tally.decisions / wall,
        "decisions_per_cpu_s": tally.decisions / cpu,
    }


def peak_mib() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(count: int) -> dict[str, float]:
    """Peak memory of a process that plays and summarises ``count`` decisions. Runs in the process measured."""
    with TemporaryDirectory() as folder:
        play(lambda: letters(count), Path(folder) / "run")
        engine = peak_mib()
        summarise(RunReader(Path(folder) / "run"))
        return {"decisions": count, "engine_mib": engine, "with_summary_mib": peak_mib()}


def in_a_process(count: int) -> dict[str, float]:
    """``memory(count)``, measured apart."""
    done = subprocess.run([sys.executable, __file__, "--memory", str(count)], capture_output=True, check=True)
    found: dict[str, float] = load(done.stdout)
    return found


def command(*arguments: str, tries: int = 1) -> dict[str, float]:
    """The best wall and CPU time of a command, in seconds."""
    walls, cpus = [], []
    for _ in range(tries):
        with TemporaryDirectory() as folder:
            start = "from arena.cli.main import main; main()"
            before, begun = os.times(), time.perf_counter()
            line = [sys.executable, "-c", start, *arguments]
            subprocess.run(line, cwd=folder, check=True, capture_output=True)
            after = os.times()
        walls.append(time.perf_counter() - begun)
        cpus.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return {"wall_s": min(walls), "cpu_s": min(cpus)}


def measure(count: int) -> dict[str, Any]:
    """All figures."""
    engine = {}
    for name, cases in (("letters", letters), ("intent", intents)):
        with TemporaryDirectory() as folder:
            engine[name] = play(lambda cases=cases: cases(count), Path(folder) / "run")  # type: ignore[misc]
    small, large = in_a_process(SMALL), in_a_process(LARGE)
    found: dict[str, Any] = {
        "engine": engine,
        "memory": {"small": small, "large": large, "growth_mib": large["engine_mib"] - small["engine_mib"]},
        "items": command("eval", "--model", "sparrow-nano", "--domain", "intent", "--limit", "67", "--repeats", "5"),
        "help": command("--help", tries=5),
        "load": os.getloadavg()[0],
        "targets": TARGETS,
    }
    found["met"] = {
        "decisions_per_s": min(each["decisions_per_s"] for each in engine.values()) >= TARGETS["decisions_per_s"],
        "growth_mib": found["memory"]["growth_mib"] <= TARGETS["growth_mib"],
        "items_s": found["items"]["wall_s"] <= TARGETS["items_s"],
        "help_s": found["help"]["wall_s"] <= TARGETS["help_s"],
    }
    return found


def main() -> int:
    """Command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=20_000, help="of each engine measurement")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory is not None:
        print(json.dumps(memory(given.memory)))
        return 0
    found = measure(given.decisions)
    print(json.dumps(found, indent=2))
    return 0 if not given.check or all(found["met"].values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
