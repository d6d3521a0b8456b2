"""One evaluation from configuration to summary; reads as the list of its steps.

select and plan -> estimate -> (dry run stops) -> paid check -> preflight -> resolve -> open or resume the
run folder -> schedule -> summarise -> finish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import ValidationError

from arena.envs import ENVS
from arena.errors import ConfigMismatch, RunStopped, UsageError
from arena.identity import digest
from arena.leaderboard.summary import summarise
from arena.log.cache import ResponseCache, cache_path
from arena.log.reader import RunReader, read_header
from arena.log.writer import RunWriter
from arena.models import ModelOptions, open_model, preflight
from arena.records import ModelCard
from arena.run import config as configs
from arena.run.canary import ask_canary
from arena.run.config import Operation, RunConfig
from arena.run.plan import Estimate, Pace, Plan
from arena.run.record import Channel, Past, Tally, read_past
from arena.run.schedule import Schedule, utc_now
from arena.session import Decider, Environment, Trainable, WireDecider
from arena.tasks import domain, training_examples
from arena.verifiers import VERIFIERS

WIRE_CONCURRENCY = 8
STARTED = (".lock", "config.json.tmp")
"""What a run that was killed at its very start may have left in its folder."""

LONGEST_CALL_S = 600.0
"""A call that its own transport has not ended by then is ended here."""


class Reporter:
    """What a front end may show while a run goes on. The base class shows nothing."""

    def planned(self, estimate: Estimate, card: ModelCard) -> None:
        """The plan is made; nothing was asked yet."""

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        """The run folder is open; ``resumed`` of ``total`` cases were already done."""

    def progress(self, tally: Tally) -> None:
        """Some case ended."""

    def closed(self) -> None:
        """No more progress will come."""


@dataclass(frozen=True, slots=True)
class Result:
    """How an evaluation ended. ``folder`` and ``summary`` are None after a dry run."""

    estimate: Estimate
    folder: Path | None
    summary: dict[str, Any] | None


async def evaluate(config: RunConfig, operation: Operation, reporter: Reporter, dry_run: bool = False) -> Result:
    """Run (or resume) one evaluation.

    Raises:
        ArenaError: with the exit code the command should end with.
    """
    async with AsyncExitStack() as stack:
        plan = Plan(config)
        decider = open_model(config.model, model_options(config), need_key=not dry_run)
        stack.push_async_callback(decider.aclose)
        environments = _open_environments(plan, config, stack)
        plan.add_reliability(environments)
        requests, sessions = _limits(decider, config, operation)
        pace = Pace(isinstance(decider, WireDecider), requests, sessions)
        estimate = plan.estimate(decider.card.usd_per_million_input_tokens, environments, pace)
        reporter.planned(estimate, decider.card)
        if dry_run:
            return Result(estimate, None, None)
        _check_paid(decider.card, operation, estimate)
        identities = {name: environment.identity() for name, environment in environments.items()}
        data = {name: digest(domain(name).lock.model_dump(mode="json"), 64) for name in config.domains}
        resolved = configs.resolve(config, decider.card.model_dump(mode="json"), identities, data)
        folder = choose_folder(resolved, operation)
        if (done := _already_complete(folder, operation)) is not None:
            return Result(estimate, folder, done)
        await preflight(decider)
        _train(decider, plan)
        with RunWriter(folder, _header(resolved, config, folder.name)) as writer:
            tally = Tally()
            reader = RunReader(folder)
            past = read_past(reader, tally)
            channel = _channel(decider, config, operation, past)
            canary = await ask_canary(channel, writer)
            _check_canary(canary, operation)
            channel.cache = _cache(decider, config, operation, reader, stack, canary)
            schedule = Schedule(
                run=folder.name,
                channel=channel,
                writer=writer,
                tally=tally,
                stop=config.stop,
                environments=environments,
                verifiers={name: VERIFIERS.get(name) for name in plan.verifiers()},
                on_progress=reporter.progress,
            )
            reporter.opened(folder, sum(past.answered.values()) + len(past.episodes), estimate.cases)
            try:
                await schedule.carry_out(plan, requests, sessions)
            finally:
                reporter.closed()
            summary = summarise(reader)
            writer.finish(summary)
        return Result(estimate, folder, summary)


def model_options(config: RunConfig) -> ModelOptions:
    """The options of a configuration's model.

    Raises:
        UsageError: an option that no model takes.
    """
    try:
        return ModelOptions.model_validate(config.model_options)
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"model option {spot!r}: {first['msg']}", hint=f"known options: {', '.join(ModelOptions.model_fields)}"
        ) from error


def _check_paid(card: ModelCard, operation: Operation, estimate: Estimate) -> None:
    if card.paid and not operation.allow_paid:
        usd = "an unknown sum (no price is set)" if estimate.usd is None else f"{estimate.usd:.2f} USD"
        raise UsageError(
            f"{card.name} is a paid endpoint; this run would cost at least {usd} "
            f"for {estimate.decisions} decisions, about {estimate.input_tokens} input tokens",
            hint="add --allow-paid to go on, or --dry-run to see the whole estimate",
        )


def _check_canary(found: dict[str, Any], operation: Operation) -> None:
    if operation.strict and found["right"] < found["asked"]:
        raise RunStopped(
            f"the canary failed: {found['right']} of {found['asked']} questions whose answer stands in their text",
            hint="does the server put the questions before the model? without --strict the result is only shown",
        )


def _open_environments(plan: Plan, config: RunConfig, stack: AsyncExitStack) -> dict[str, Environment]:
    opened: dict[str, Environment] = {}
    for name in plan.environments():
        factory: Callable[..., Environment] = ENVS.get(name)
        options = {**config.environment.get("*", {}), **config.environment.get(name, {})}
        known = signature(factory).parameters
        if unknown := sorted(options.keys() - set(known)):
            raise UsageError(f"environment {name} has no option {unknown[0]!r}", hint=f"it has: {', '.join(known)}")
        for key, value in options.items():
            if isinstance(known[key].default, bool) and not isinstance(value, bool):
                raise UsageError(f"environment {name}: {key} is {value!r}", hint=f"write {key}=true or {key}=false")
        opened[name] = factory(**options)
        stack.push_async_callback(opened[name].aclose)
    for name in config.environment:
        if name not in opened and not (name == "*" and opened):
            what = "an environment" if name == "*" else f"environment {name}"
            found = f"--env gives options for {what}, and this run opens none"
            raise UsageError(found, hint=f"leave --env out; the run opens: {', '.join(opened) or 'none'}")
    return opened


def choose_folder(resolved: dict[str, Any], operation: Operation) -> Path:
    """The run folder of a resolved configuration: its own, or the next free one under ``fresh``.

    Raises:
        ConfigMismatch: the folder holds a run of another configuration; names the keys.
    """
    name = configs.run_id(resolved)
    folder = operation.out or operation.root / name
    if operation.fresh:
        base, n = folder, 2
        while (folder / "config.json").exists():
            folder, n = base.with_name(f"{base.name}-{n}"), n + 1
    if (folder / "config.json").exists():
        before = read_header(folder).config.get("resolved")
        if keys := configs.differing(before, resolved):
            raise ConfigMismatch(str(folder), keys)
    elif folder.exists() and (not folder.is_dir() or any(path.name not in STARTED for path in folder.iterdir())):
        raise UsageError(f"{folder} exists and is not a run", hint="choose another --out")
    return folder


def _already_complete(folder: Path, operation: Operation) -> dict[str, Any] | None:
    if not (folder / "config.json").exists() or operation.retry_errors:
        return None
    reader = RunReader(folder)
    return summarise(reader) if reader.finished else None


def _header(resolved: dict[str, Any], config: RunConfig, run: str) -> dict[str, Any]:
    return {
        "run": run,
        "token": token_hex(8),
        "resolved": resolved,
        "limited": config.limited,
        "started_at": utc_now(),
        "hardware": configs.hardware(),
        "packages": configs.packages(),
        "git": configs.git(),
    }


def _cache(
    decider: Decider,
    config: RunConfig,
    operation: Operation,
    reader: RunReader,
    stack: AsyncExitStack,
    canary: Mapping[str, Any],
) -> ResponseCache | None:
    """Wire models are cached (a call costs money or time); embedded ones answer faster than a look-up.

    A model whose canary says nothing about it shares no answer with another run.
    """
    if not operation.cache or config.lane != "throughput" or not isinstance(decider, WireDecider):
        return None
    token = reader.config.get("token", "")
    cache = ResponseCache(cache_path(), decider.card, token, canary.get("generation") or token)
    stack.callback(cache.close)
    return cache


def _channel(decider: Decider, config: RunConfig, operation: Operation, past: Past) -> Channel:
    deadline = model_options(config).timeout_s or LONGEST_CALL_S
    return Channel(decider, None, config.lane, deadline, past, read_cache=not operation.fresh)


def _limits(decider: Decider, config: RunConfig, operation: Operation) -> tuple[int, int]:
    """(requests in flight, sessions open). The latency lane and embedded models go one at a time."""
    if config.lane == "latency":
        return 1, 1
    default = WIRE_CONCURRENCY if isinstance(decider, WireDecider) else 1
    return operation.concurrency or default, operation.sessions


def _train(decider: Decider, plan: Plan) -> None:
    """Fit a supervised baseline on the train split of the suites it will meet, and on nothing else."""
    if not isinstance(decider, Trainable):
        return
    for name in plan.config.domains:
        examples = training_examples(name)
        if examples:
            decider.fit(domain(name).suite_id, examples)
