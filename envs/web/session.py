"""Sessions of one web episode.

``teacher``: every recorded decision is asked once, and the env follows the recorded walk whatever is answered.
``free``: what is answered is done, until done, blocked, the budget (2 gold steps + 2), or a miss of the tape.
``recover``: free, but after a miss the page is brought back and asked again without that option, at most 3 times.
``teacher+free``: the teacher's steps; if one was wrong, the page is then brought back to that step, the answer
already given there is done (not asked again), and the rest is played free. If all were right, the teacher's
walk is the free run. Step accuracy comes from teacher turns, task success from the end of the free run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from arena.envs.web.episode import GoldStep, Recording
from arena.envs.web.options import ENDINGS, Option, Table
from arena.envs.web.probes import trail_entry
from arena.envs.web.scene import QUESTION, Phase, deed, turn_of
from arena.envs.web.stage import Stage
from arena.errors import Failure
from arena.records import Step
from arena.session import Ended, Judged, Turn
from arena.types import JSON

Mode = Literal["teacher", "free", "recover", "teacher+free"]
MAX_RECOVERIES = 3


@dataclass
class _Run:
    """The run whose end is judged: its trail of probes, its deeds, and how it ended."""

    trail: list[JSON] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    on_path: bool = True
    claimed: str | None = None
    truncated: bool = False
    flags: set[str] = field(default_factory=set)
    over: bool = False


class WebSession:
    """One episode on a stage. ``ask_prefix``: asks are named ``<prefix>:<phase>:<step>``."""

    def __init__(
        self, recording: Recording, stage: Stage, *, mode: Mode, ask_prefix: str, screenshots: bool = True
    ) -> None:
        self.recording, self.stage = recording, stage
        # Options that come from a recording mean nothing on a page that left it.
        self.mode: Mode = "teacher" if recording.manifest.decisions == "recorded" else mode
        self.ask_prefix, self.screenshots = ask_prefix, screenshots
        self.budget = 2 * len(recording.steps) + 2
        self.phase: Phase = "teacher" if self.mode.startswith("teacher") else "free"
        self.run = _Run()
        self.scene: GoldStep | None = None
        self.t = 0
        self._answers: list[tuple[str | None, bool]] = []
        self._banned: set[str] = set()
        self._recoveries = 0
        self._note: str | None = None

    # --- the session contract

    async def start(self) -> Turn:
        """The first turn."""
        await self._restart()
        return await self._turn()

    async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
        """Act on the committed option; the next turn, or None at the end."""
        answer = judged[QUESTION]
        committed = answer.gated.committed if answer.gated.valid else None
        key = None if committed is None else str(committed)
        if self.phase == "free":
            return await self._free(key, right=answer.correct is True)
        self._answers.append((key, answer.correct is True))
        last = self.t + 1 == len(self.recording.steps)
        await self._follow(self.recording.steps[self.t])
        return await self._after_walk() if last else await self._turn()

    async def _follow(self, step: GoldStep) -> None:
        """Do what the recording does after a teacher's question."""
        if self.recording.manifest.decisions == "recorded":
            if step.deed is not None:
                await self._do(step.deed)
            else:
                self.t += 1
                await self._note_trail()
        elif step.action not in ENDINGS:
            await self._do(self._option(step.action))

    async def finish(self) -> Ended:
        """The end state of the run that is judged, the last look, and the versions that showed it."""
        run, recording = self.run, self.recording
        begun = perf_counter()
        last = await self.stage.look(self.t, run.history)
        picture = await self.stage.screenshot() if self.screenshots else None
        final = Step(
            step=self.t,
            phase=self.phase,
            ask="",
            page_hash=last.sem_hash,
            committed=None,
            correct=None,
            view={"url": last.url, "title": last.title, "viewport": list(last.viewport)},
            timing={"observe_ms": round((perf_counter() - begun) * 1000, 3)},
        )
        return Ended(
            claimed=run.claimed,
            truncated=run.truncated,
            flags=tuple(sorted({*run.flags, *self.stage.flags()})),
            gold_steps=len(recording.steps),
            end_state=await self._end_state(last) if run.over and recording.conditions else None,
            verify=recording.conditions,
            final=final,
            final_artifacts={"screenshot": picture} if picture else {},
            versions=self._versions(),
        )

    async def aclose(self) -> None:
        """Release the page."""
        await self.stage.aclose()

    # --- turns

    def _versions(self) -> dict[str, JSON]:
        return dict(getattr(self.stage, "versions", dict)())

    async def _restart(self) -> None:
        self.run, self.t = _Run(), 0
        await self.stage.start()
        await self._note_trail()

    async def _turn(self, again: str = "") -> Turn:
        """Look, and make the turn. On the recorded walk the page must be the recorded one."""
        begun = perf_counter()
        steps = self.recording.steps
        scene = await self.stage.look(self.t, self.run.history)
        followed = self.run.on_path and self.t < len(steps)
        if followed and self.phase == "teacher" and scene.sem_hash != steps[self.t].sem_hash:
            raise Failure("env", self._differs(scene, steps[self.t]))
        if followed and scene.sem_hash == steps[self.t].sem_hash:
            recorded = steps[self.t]
            if self.recording.manifest.decisions == "recorded":
                scene = recorded
            else:
                scene = scene.model_copy(update={"gold": recorded.gold, "action": recorded.action})
        if self._banned:
            left = tuple(option for option in scene.table.options if option.id not in self._banned)
            gold = tuple(key for key in scene.gold if key not in self._banned)
            table = Table(options=left, dropped=scene.table.dropped)
            scene = scene.model_copy(update={"table": table, "gold": gold})
        self.scene = scene
        picture = await self.stage.screenshot() if self.screenshots else None
        turn = turn_of(
            self.recording.manifest,
            scene,
            ask_id=f"{self.ask_prefix}:{self.phase}:{self.t}{again}",
            phase=self.phase,
            note=self._note,
            artifacts={"screenshot": picture} if picture else {},
            observe_ms=(perf_counter() - begun) * 1000,
        )
        turn.view["executes"] = scene.action if self.phase == "teacher" else None
        return turn

    def _differs(self, seen: GoldStep, recorded: GoldStep) -> str:
        for name in ("url", "title", "text"):
            new, old = getattr(seen, name), getattr(recorded, name)
            if new != old:
                pairs = enumerate(zip(new, old, strict=False))
                spot = next((n for n, (a, b) in pairs if a != b), min(len(new), len(old)))
                return (
                    f"step {self.t}: the page differs from the recording in its {name}: "
                    f"...{old[max(0, spot - 20) : spot + 40]!r} became ...{new[max(0, spot - 20) : spot + 40]!r}"
                )
        old_lines = {option.text for option in recorded.table.options}
        new_lines = {option.text for option in seen.table.options}
        gone, came = sorted(old_lines - new_lines)[:2], sorted(new_lines - old_lines)[:2]
        return f"step {self.t}: the page differs from the recording: gone {gone}, new {came}"

    # --- acting

    def _option(self, key: str) -> Option:
        option = None if self.scene is None else self.scene.table.get(key)
        if option is None:
            raise Failure("env", f"step {self.t}: the page has no option {key!r} any more")
        return option

    async def _do(self, option: Option) -> None:
        self._note = note = await self.stage.act(option)
        self.run.history.append(deed(option) + (f" ({note})" if note else ""))
        self.run.taken.append(option.id)
        self.t += 1
        await self._note_trail()

    async def _note_trail(self) -> None:
        conditions = self.recording.conditions
        if conditions is not None:
            self.run.trail.append(await trail_entry(self.stage.probe, conditions))

    async def _after_walk(self) -> Turn | None:
        """All recorded decisions are asked: end here, or play on from the first wrong one."""
        wrong = next((t for t, (_, right) in enumerate(self._answers) if not right), None)
        if wrong is None:
            recorded = self.recording.manifest.decisions == "recorded"
            self._claim(
                (self.recording.conditions or {}).get("claim", "") if recorded else self.recording.steps[-1].action
            )
            return None
        if self.mode == "teacher":
            return None
        await self._restart()
        self.phase = "free"
        await self._replay([step.action for step in self.recording.steps[:wrong]])
        self.run.on_path = False
        self.scene = await self.stage.look(self.t, self.run.history)
        return await self._free(self._answers[wrong][0], right=False)

    async def _replay(self, actions: list[str]) -> None:
        for key in actions:
            self.scene = await self.stage.look(self.t, self.run.history)
            await self._do(self._option(key))

    def _claim(self, op: str) -> None:
        self.run.claimed = op if op in ENDINGS else None
        self.run.over = True

    def _cut(self, flag: str) -> None:
        self.run.truncated = self.run.over = True
        self.run.flags.add(flag)

    async def _free(self, key: str | None, *, right: bool) -> Turn | None:
        """Do a committed option of the run that is judged."""
        if key is None:
            self._cut("invalid")  # nothing that could be acted on
            return None
        option = self._option(key)
        if option.op in ENDINGS:
            self._claim(option.op)
            return None
        before, taken = self.run.on_path, list(self.run.taken)
        await self._do(option)
        self._banned = self._banned if "off_tape" in self.stage.flags() else set()
        if "off_tape" in self.stage.flags():
            if self.mode == "recover" and self._recoveries < MAX_RECOVERIES:
                return await self._recover(taken, key, before)
            self._cut("off_tape")
            return None
        self.run.on_path = before and right
        if len(self.run.taken) >= self.budget:
            self._cut("budget")
            return None
        return await self._turn()

    async def _recover(self, taken: list[str], key: str, on_path: bool) -> Turn | None:
        self._recoveries += 1
        self._banned.add(key)
        await self._restart()
        await self._replay(taken)
        self.run.on_path = on_path
        self.run.flags.add("recovered")
        return await self._turn(again=f":again{self._recoveries}")

    async def _end_state(self, last: GoldStep) -> JSON:
        """What the verifier judges: raw facts only. ``trail`` has one entry per state of the run."""
        conditions = self.recording.conditions or {}
        return {
            "url": last.url,
            "title": last.title,
            "sem_hash": last.sem_hash,
            "final": await self.stage.probe(conditions["final"]),
            "trail": list(self.run.trail),
            "requests": self.stage.requests(),
        }
