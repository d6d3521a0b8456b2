"""Carry a plan out: workers that pull cases from one iterator, static items first, then episodes.

Each kind has its own limit (requests in flight, sessions open). A failed episode is a record, never the
end of a run; the stop rule is the only thing that ends one early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, perf_counter

import anyio
from anyio.lowlevel import checkpoint

from arena.errors import ArenaError, Failure, RunStopped, attributed
from arena.identity import PROTOCOL
from arena.items import EpisodeRef, Item
from arena.log.writer import RunWriter
from arena.records import Episode
from arena.reliability.variants import apply
from arena.run.config import StopRule
from arena.run.plan import Plan
from arena.run.planned import Planned
from arena.run.record import CaseRecorder, Channel, Tally
from arena.run.static import StaticSession
from arena.run.trials import TrialSession
from arena.session import Ended, EndVerdict, Environment, Session, Verifier, play

YIELD_EVERY_S = 0.05


@dataclass(slots=True)
class Schedule:
    """Everything the workers share."""

    run: str
    channel: Channel
    writer: RunWriter
    tally: Tally
    stop: StopRule
    environments: Mapping[str, Environment]
    verifiers: Mapping[str, Verifier]
    on_progress: Callable[[Tally], None]

    async def carry_out(self, plan: Plan, requests: int, sessions: int) -> None:
        """Play all cases that are still owed: items first, then episodes.

        Raises:
            RunStopped: the stop rule fired; what was recorded stays.
        """
        await self._pool(self._owed(plan.items()), requests)
        await self._pool(self._owed(plan.episodes()), sessions)

    def _owed(self, cases: Iterable[Planned]) -> Iterator[Planned]:
        for planned in cases:
            if self.channel.past.finished(planned):
                self.tally.done(planned)
            else:
                yield planned

    async def _pool(self, cases: Iterator[Planned], size: int) -> None:
        async def worker() -> None:
            yielded = monotonic()
            for planned in cases:
                await self._one(planned)
                self.tally.done(planned)
                self.on_progress(self.tally)
                self._check_stop()
                if (now := monotonic()) - yielded > YIELD_EVERY_S:
                    # An instant model never suspends; without this a signal would wait for the end.
                    await checkpoint()
                    yielded = now

        try:
            async with anyio.create_task_group() as group:
                for _ in range(size):
                    group.start_soon(worker)
        except BaseExceptionGroup as errors:
            raise _first(errors) from errors

    def _check_stop(self) -> None:
        rule, tally = self.stop, self.tally
        many = rule.errors is not None and tally.errors > rule.errors
        share = rule.share is not None and tally.errors >= rule.minimum and tally.errors > rule.share * tally.asks
        if many or share:
            raise RunStopped(
                f"stopped after {tally.errors} failed calls of {tally.asks} (the stop rule)",
                hint="mend the server or key and run the same command again: it resumes, failed calls are asked again",
            )

    async def _one(self, planned: Planned) -> None:
        recorder = CaseRecorder(planned, self.channel, self.writer, self.run, self.tally)
        if isinstance(planned.unit, Item):
            item, golds = apply(planned.unit, planned.golds, planned.case.variant)
            session = StaticSession(item, golds, ask_id=recorder.case)
            await play(session, recorder.decide, recorder.on_turn)
        else:
            await self._episode(planned, planned.unit, recorder)

    async def _episode(self, planned: Planned, unit: EpisodeRef, recorder: CaseRecorder) -> None:
        """Play an episode. One that its environment broke is played once more from its start; both stand in the log."""
        if await self._try(planned, unit, recorder):
            return
        self.channel.past.play_again(planned.case.id, recorder.answered)
        self.tally.decisions -= recorder.counted.decisions
        self.tally.invalid -= recorder.counted.invalid
        await self._try(planned, unit, CaseRecorder(planned, self.channel, self.writer, self.run, self.tally))

    async def _try(self, planned: Planned, unit: EpisodeRef, recorder: CaseRecorder) -> bool:
        """Play an episode and write its line; whether its environment held."""
        begun = perf_counter()
        ended, failure = Ended(), None
        try:
            ended = await self._play(planned, unit, recorder)
        except Failure as error:
            failure = error
        verdict = EndVerdict("error")
        if failure is None:
            try:
                with attributed("verifier", f"verifying {unit.id}"):
                    verdict = self.verifiers[unit.verifier](ended.verify, ended.end_state, ended.claimed)
            except Failure as error:
                verdict, failure = EndVerdict("not_evaluated"), error
        self.writer.episode(self._record(planned, unit, recorder, ended, verdict, failure, perf_counter() - begun))
        return failure is None or failure.boundary != "env"

    async def _play(self, planned: Planned, unit: EpisodeRef, recorder: CaseRecorder) -> Ended:
        with attributed("env", f"episode {unit.id}"):
            trial = planned.case.variant.index
            opened = await self.environments[unit.env].open(unit.recording(trial).path, ask_prefix=planned.case.id)
            session: Session = TrialSession(opened, unit.id, trial) if trial else opened
            try:
                return await play(session, recorder.decide, recorder.on_turn)
            finally:
                with anyio.CancelScope(shield=True):
                    await session.aclose()

    def _record(
        self,
        planned: Planned,
        unit: EpisodeRef,
        recorder: CaseRecorder,
        ended: Ended,
        verdict: EndVerdict,
        failure: Failure | None,
        seconds: float,
    ) -> Episode:
        case = planned.case
        final = ended.final
        if final is not None and ended.final_artifacts:
            blobs = {name: self.writer.put_blob(data) for name, data in ended.final_artifacts.items()}
            final = final.model_copy(update={"artifacts": blobs})
        error = None
        if failure is not None:
            error = {"boundary": failure.boundary, "type": failure.kind, "message": failure.message}
        return Episode(
            protocol=PROTOCOL,
            run=self.run,
            id=case.id,
            unit=unit.id,
            domain=case.domain,
            tier=case.tier,
            suite=unit.suite,
            split=unit.split,
            group=unit.group,
            env=unit.env,
            verifier=unit.verifier,
            recording_sha256=unit.recording(case.variant.index).sha256,
            variant=case.variant,
            repeat=case.repeat,
            retry=self.channel.past.retries.get(case.id, 0),
            steps=tuple(recorder.steps),
            gold_steps=unit.steps if failure else ended.gold_steps,
            ending=verdict.ending,
            claimed=ended.claimed,
            truncated=ended.truncated,
            flags=tuple(sorted({*ended.flags, *verdict.flags})),
            key_nodes=verdict.key_nodes,
            end_state=ended.end_state,
            verify=ended.verify,
            error=error,
            final=final,
            versions=dict(ended.versions),
            started_at=recorder.started.isoformat(timespec="milliseconds"),
            seconds=round(seconds, 3),
        )


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to show of a group: one for the user if there is one, else the first."""
    flat: list[BaseException] = []
    stack: list[BaseException] = [errors]
    while stack:
        error = stack.pop(0)
        if isinstance(error, BaseExceptionGroup):
            stack.extend(error.exceptions)
        else:
            flat.append(error)
    return next((error for error in flat if isinstance(error, ArenaError)), flat[0])


def utc_now() -> str:
    """ISO time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
