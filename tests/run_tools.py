"""What tests of the log, the runner and the command share: records, an instant model, the command in process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from arena.identity import load
from arena.items import Case, Gold, Item, Variant
from arena.log.writer import RunWriter
from arena.records import Decision, Episode, ModelCard
from arena.run.planned import Planned
from arena.session import Ask, Reply
from arena.types import Choice

CHOICE = Choice(instructions="Which?", criteria={"a": "first", "b": "second"})
GOLD = Gold(accepted=("a",))
ANSWER = {"type": "choice", "choice": "a", "probabilities": {"a": 0.75, "b": 0.25}}


def decision(number: int = 0, **changes: Any) -> Decision:
    """A valid decision record; ``changes`` replace fields."""
    fields: dict[str, Any] = {
        "protocol": "1.0.0",
        "run": "run",
        "id": f"{number:024x}",
        "case": f"c{number}",
        "ask": f"c{number}",
        "domain": "d",
        "tier": "T1",
        "suite": "s@1",
        "split": "test",
        "unit": f"item-{number}",
        "group": None,
        "episode": None,
        "step": 0,
        "question_name": "q",
        "question_id": "0" * 64,
        "presented_id": "0" * 64,
        "state_id": "0" * 64,
        "variant": Variant(),
        "model": "m",
        "model_version": "1",
        "question": CHOICE,
        "state": "a state",
        "state_blob": None,
        "request_sha256": "0" * 64,
        "response": ANSWER,
        "body": None,
        "outcome": "ok",
        "error": None,
        "answer": ANSWER,
        "valid": True,
        "invalid_reason": None,
        "renormalized": False,
        "committed": "a",
        "confidence": 0.75,
        "provider_confidence": None,
        "gold": GOLD,
        "correct": True,
        "latency_ms": 1.5,
        "server_latency_ms": None,
        "attempts": (),
        "usage": None,
        "cost_usd": None,
        "cached": False,
        "lane": "throughput",
        "started_at": "2026-01-01T00:00:00.000+00:00",
    }
    return Decision.model_validate(fields | changes)


def episode(name: str, **changes: Any) -> Episode:
    """A finished episode record; ``changes`` replace fields."""
    fields: dict[str, Any] = {
        "protocol": "1.0.0",
        "run": "run",
        "id": name,
        "unit": f"unit-{name}",
        "domain": "d",
        "tier": "T1",
        "suite": "s@1",
        "split": "test",
        "group": None,
        "env": "e",
        "verifier": "v",
        "recording_sha256": "0" * 64,
        "variant": Variant(),
        "steps": (),
        "gold_steps": 1,
        "ending": "success",
        "claimed": None,
        "truncated": False,
        "started_at": "2026-01-01T00:00:00.000+00:00",
        "seconds": 0.5,
    }
    return Episode.model_validate(fields | changes)


def write_run(folder: Path, decisions: int = 3, *, finish: bool = False) -> Path:
    """A run folder with ``decisions`` lines; returns it."""
    with RunWriter(folder, {"resolved": {}}) as writer:
        for number in range(decisions):
            writer.decisions([decision(number)])
        if finish:
            writer.finish({"done": True})
    return folder


def item(name: str, state: Any = "a state", **questions: Any) -> Item:
    """A static item; without ``questions`` it asks one choice named ``q``."""
    return Item(
        id=name, suite="s@1", domain="d", tier="T1", split="test", state=state, questions=questions or {"q": CHOICE}
    )


def planned(unit: Item, gold: Gold | None = GOLD) -> Planned:
    """The plain case of an item, the same gold for every question."""
    golds = {} if gold is None else dict.fromkeys(unit.questions, gold)
    return Planned(Case(unit=unit.id, domain=unit.domain, tier=unit.tier), unit, golds)


@dataclass
class Scripted:
    """A decider that answers every question with ``answer``, counts the asks, and raises where ``raises`` says."""

    answer: Any = field(default_factory=lambda: ANSWER)
    raises: Exception | None = None
    outcome: str = "ok"
    asked: list[str] = field(default_factory=list)
    card: ModelCard = field(default_factory=lambda: ModelCard(name="scripted", version="1"))

    async def decide(self, ask: Ask) -> Reply:
        self.asked.append(ask.id)
        if self.raises is not None:
            raise self.raises
        if self.outcome != "ok":
            return Reply({}, self.outcome, "scripted")  # type: ignore[arg-type]
        return Reply(dict.fromkeys(ask.questions, self.answer), latency_ms=0.1)

    async def aclose(self) -> None:
        pass


class ScriptedWire(Scripted):
    """The same as a model that sends bytes."""

    def encode(self, ask: Ask) -> bytes:
        from arena.identity import dump

        return dump({"state": ask.state, "questions": {name: q.wire() for name, q in ask.questions.items()}})


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as one JSON value."""
        return load(self.out)


Arena = Callable[..., Said]


@pytest.fixture
def arena(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Arena:
    """The command in this process, in an empty folder with its own cache: ``arena("eval", "--model", ...)``."""
    import signal

    from arena.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))

    def call(*arguments: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["arena", *map(str, arguments)])
        before = signal.getsignal(signal.SIGTERM)
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            signal.signal(signal.SIGTERM, before)
        told = capsys.readouterr()
        assert "Traceback" not in told.err + told.out
        return Said(code, told.out, told.err)

    return call
