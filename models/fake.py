"""``fake``: a model that answers from a script, for testing a suite, a stop rule or a report without a model.

The script is a TOML or JSON file of rules; the first rule that matches a question decides. Rules can answer,
answer badly (``nan``, ``zeros``, ``missing``, ``sum``, ``not_mode``, ``null``), fail the whole call (any outcome,
such as ``timeout``) and wait. Without a script the option shown first gets 0.6 and the rest share 0.4.
Everything is decided by the ask itself, so a rerun gives the same answers.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal, get_args

import anyio
from pydantic import Field, ValidationError, model_validator

from arena.errors import MissingNeed, UsageError
from arena.identity import dump, load, rng_for, sha256
from arena.models.answers import wire_answer
from arena.models.options import FLAGS, ModelOptions
from arena.records import ModelCard, Outcome
from arena.session import Ask, Decider, Reply
from arena.types import JSON, Frozen, Question, Score

BadAnswer = Literal["nan", "zeros", "missing", "sum", "not_mode", "null"]
"""Faults of one answer; every other fault is the outcome of the whole call."""


class Rule(Frozen):
    """One rule of a script.

    ``suite``, ``ask``, ``question`` (its name), ``instructions``, ``state``: substrings that must all occur
    (instructions and state as JSON text). ``share``: part of the matching asks that it applies to, 0..1, drawn
    by name. ``pick``: ``first``, ``last``, ``random`` or a label; it gets ``p``, the rest share 1 - p; a label
    that is not offered makes the rule not match. ``probabilities``: label -> p, missing labels 0. ``answer``: the
    wire answer verbatim. ``delay_s``: seconds to wait before replying.
    """

    suite: str = ""
    ask: str = ""
    question: str = ""
    instructions: str = ""
    state: str = ""
    share: Annotated[float, Field(ge=0, le=1, strict=False)] = 1.0
    pick: str = "first"
    p: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.6
    probabilities: dict[str, Annotated[float, Field(strict=False)]] | None = None
    answer: JSON = None
    fault: Outcome | BadAnswer | None = None
    delay_s: Annotated[float, Field(ge=0, strict=False)] = 0.0

    @model_validator(mode="after")
    def _a_fault(self) -> Rule:
        if self.fault == "ok":
            raise ValueError("fault 'ok' is no fault")
        return self

    def matches(self, ask: Ask, name: str, question: Question, state: str) -> bool:
        """Whether this rule decides the question. ``state``: the state as JSON text."""
        hit = (
            self.suite in ask.suite
            and self.ask in ask.id
            and self.question in name
            and self.instructions in dump(question.instructions).decode()
            and self.state in state
        )
        if not hit or (self.pick not in ("first", "last", "random") and self.pick not in question.labels()):
            return False
        return self.share >= 1.0 or rng_for("fake-share", ask.id, name).random() < self.share


class Script(Frozen):
    """The rules, in order of precedence."""

    rule: Annotated[tuple[Rule, ...], Field(strict=False)] = ()


class Fake:
    """The decider. ``script_sha256`` names the script on the card."""

    def __init__(self, name: str, script: Script, script_sha256: str, seed: int) -> None:
        self._rules = (*script.rule, Rule())
        self._needs_state = any(rule.state for rule in self._rules)
        self._seed = seed
        identity: dict[str, JSON] = {"adapter": "fake/1", "script_sha256": script_sha256, "seed": seed}
        self.card = ModelCard(name=name, version="1", identity=identity)

    async def decide(self, ask: Ask) -> Reply:
        """Answer as the script says."""
        begun = perf_counter()
        state = dump(ask.state).decode() if self._needs_state else ""
        answers: dict[str, JSON] = {}
        failed: Outcome = "ok"
        delay = 0.0
        for name, question in ask.questions.items():
            rule = next(rule for rule in self._rules if rule.matches(ask, name, question, state))
            delay = max(delay, rule.delay_s)
            if rule.fault is None or rule.fault in get_args(BadAnswer):
                answers[name] = self._answer(rule, ask, name, question)
            else:
                failed = rule.fault  # type: ignore[assignment]  # what is no BadAnswer is an Outcome
        if delay:
            await anyio.sleep(delay)
        if failed != "ok":
            return Reply({}, outcome=failed, error=f"scripted {failed}", model_version=self.card.version)
        latency = (perf_counter() - begun) * 1000.0
        return Reply(answers, latency_ms=latency, model_version=self.card.version)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _answer(self, rule: Rule, ask: Ask, name: str, question: Question) -> JSON:
        if rule.answer is not None:
            return rule.answer
        labels = question.labels()
        if rule.probabilities is not None:
            probabilities = {label: float(rule.probabilities.get(label, 0.0)) for label in labels}
        else:
            rest = (1.0 - rule.p) / (len(labels) - 1)
            picked = self._pick(rule.pick, ask, name, labels)
            probabilities = {label: rule.p if label == picked else rest for label in labels}
        answer = wire_answer(question, probabilities)
        return answer if rule.fault is None else _spoil(answer, question, rule.fault)

    def _pick(self, pick: str, ask: Ask, name: str, labels: tuple[str, ...]) -> str:
        if pick == "random":
            return rng_for("fake-pick", self._seed, ask.id, name).choice(sorted(labels))
        return {"first": labels[0], "last": labels[-1]}.get(pick, pick)


def _spoil(answer: dict[str, JSON], question: Question, fault: str) -> JSON:
    """The answer with one fault that the gate must refuse."""
    if fault == "null":
        return None
    if answer["type"] == "noul":
        bad = {"nan": math.nan, "zeros": None, "missing": None, "sum": 1.5, "not_mode": -0.5}[fault]
        return {"type": "noul", "noul": bad} if fault != "missing" else {"type": "noul"}
    labels = question.labels()
    probabilities = dict(answer["probabilities"])
    if fault == "nan":
        probabilities[labels[0]] = math.nan
    elif fault == "zeros" or (fault == "not_mode" and isinstance(question, Score)):
        probabilities = dict.fromkeys(labels, 0.0)
    elif fault == "missing":
        del probabilities[labels[-1]]
    elif fault == "sum":
        probabilities = {label: p * 0.7 for label, p in probabilities.items()}
    else:
        top = max(probabilities, key=lambda label: probabilities[label])
        other = next(label for label in labels if label != top)
        probabilities = {label: 1.0 if label == top else 0.0 for label in labels}
        return {**answer, "choice": other, "probabilities": probabilities}
    return {**answer, "probabilities": probabilities}


def read_script(path: Path) -> tuple[Script, str]:
    """The script in ``path`` and the sha256 of its bytes.

    Raises:
        MissingNeed: the file cannot be read.
        UsageError: it is no script; names the first fault.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MissingNeed(
            f"script {path} cannot be read: {error.strerror}", hint=f"give a file by {FLAGS['script']}"
        ) from None
    try:
        content = tomllib.loads(data.decode()) if path.suffix == ".toml" else load(data)
        return Script.model_validate(content), sha256(data)
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"script {path}: at {spot or 'the top'}: {first['msg']}") from error
    except ValueError as error:
        raise UsageError(f"script {path} is neither TOML (.toml) nor JSON: {error}") from error


def open_fake(name: str, options: ModelOptions) -> Decider:
    """The scripted model; ``options.script`` names its file."""
    options.only(name, "script")
    script, digest = read_script(Path(options.script)) if options.script else (Script(), "default")
    return Fake(name, script, digest, options.seed)
