"""One tools episode: look, choose, and what was chosen really runs in a box.

There is no teacher here: every step acts on the model's own choice. Steps that lie on an oracle have gold
(phase ``teacher``), steps off all of them have none (``free``). Running out of steps is a truncation, never an end
that was claimed. Sandbox calls block, so they run in worker threads; a box that breaks is a failure of the
environment, never command output.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from time import perf_counter
from typing import TypeVar

import anyio

from arena.envs.tools.endstate import differences, end_state
from arena.envs.tools.guide import Deed, acceptable, progress_levels
from arena.envs.tools.pool import SandboxPool
from arena.envs.tools.sandbox import ExecResult, Sandbox
from arena.envs.tools.snapshot import Snapshot, SnapshotLimit
from arena.envs.tools.task import Task, Tool
from arena.identity import state_id
from arena.items import Gold
from arena.records import Step
from arena.session import Ask, Ended, Judged, Turn
from arena.types import JSON, Choice, Score

QUESTION, PROGRESS = "action", "progress"
INSTRUCTIONS = "Which action comes next to reach the goal?"
PROGRESS_INSTRUCTIONS = "How far is the goal reached?"
LEVELS = ("nothing done", "a quarter", "half", "three quarters", "reached: only the end is left")
SHOWN = 4000
"""Characters of each output stream that the model sees: the head, with a flag when there was more."""
HISTORY = 12
TEMPORARY = re.compile(r"(temp file '[^'\n]*).{6}'")

T = TypeVar("T")


def normalised(text: str) -> str:
    """Output without what no two runs share: random suffixes of temporary files."""
    return TEMPORARY.sub(r"\1XXXXXX'", text)


def shown(tool: str, result: ExecResult) -> dict[str, JSON]:
    """What the model sees of a command's result."""
    out, err = normalised(result.out_text), normalised(result.err_text)
    cut = result.truncated or len(out) > SHOWN or len(err) > SHOWN
    return {"rc": result.rc, "stderr": err[:SHOWN], "stdout": out[:SHOWN], "tool": tool, "truncated": cut}


def ask_state(task: Task, history: list[dict[str, JSON]], last: dict[str, JSON] | None) -> JSON:
    """The state of a step, keys in the order of a task file. ``history``: rc and tool of every action so far."""
    return {
        "goal": task.goal,
        "history": history[-HISTORY:],
        "last": last,
        "step": len(history),
        "steps_left": task.max_steps - len(history),
    }


def make_turn(task: Task, state: JSON, gold: tuple[str, ...], ask_id: str, **extra: JSON) -> Turn:
    """The turn of a state. ``extra``: ``levels`` (gold of the progress question, which is asked if given),
    ``view``, ``observe_ms``."""
    levels = extra.pop("levels", None)
    questions: dict[str, Choice | Score] = {QUESTION: Choice(instructions=INSTRUCTIONS, criteria=task.options())}
    golds = {QUESTION: Gold(accepted=gold) if gold else None}
    if levels is not None:
        questions[PROGRESS] = Score(instructions=PROGRESS_INSTRUCTIONS, criteria=LEVELS)
        golds[PROGRESS] = Gold(accepted=levels) if levels else None
    return Turn(
        ask=Ask(ask_id, state, questions),
        golds=golds,
        step=state["step"],
        phase="teacher" if gold else "free",
        page_hash=state_id(state),
        **extra,
    )


def perform(box: Sandbox, tool: Tool, uses: int) -> ExecResult:
    """Use a tool for the ``uses``-th time before (0: never): scripted, flaky or really run."""
    if tool.flaky is not None and uses < tool.flaky.fails:
        error = tool.flaky.err.encode()
        return ExecResult(tool.flaky.rc, b"", error, (), 0.0, len(error))
    if tool.reply is not None:
        reply = tool.reply.encode()
        return ExecResult(0, reply, b"", (), 0.0, len(reply))
    stdin = None if tool.stdin is None else tool.stdin.encode()
    return box.exec(tool.argv, stdin=stdin, timeout_s=tool.timeout_s)


class ToolsSession:
    """One episode in a box of the pool. ``ask_prefix``: asks are named ``<prefix>:<phase>:<step>``."""

    def __init__(self, task: Task, pool: SandboxPool, *, ask_prefix: str, progress: bool) -> None:
        self.task, self.pool, self.ask_prefix, self.progress = task, pool, ask_prefix, progress
        self.deeds: list[Deed] = []
        self.claimed: str | None = None
        self.flags: set[str] = set()
        self.truncated = False
        self._stack = ExitStack()
        self._broken: BaseException | None = None
        self._box: Sandbox | None = None
        self._uses: dict[str, int] = {}
        self._last: dict[str, JSON] | None = None
        self._view: dict[str, JSON] | None = None
        self._unreadable: str | None = None

    async def _blocking(self, call: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(call)
        except BaseException as error:
            self._broken = error
            raise

    async def start(self) -> Turn:
        """The first turn, in a box that holds exactly the fixture."""
        begun = perf_counter()
        files = self.task.fixture()
        self.fixture = self.now = Snapshot.of_files(files)
        self._box = await self._blocking(lambda: self._stack.enter_context(self.pool.box(files)))
        return self._turn((perf_counter() - begun) * 1000.0)

    def _turn(self, observe_ms: float) -> Turn:
        gold = acceptable(self.task, self.deeds)
        history: list[dict[str, JSON]] = [{"rc": deed.rc, "tool": deed.tool} for deed in self.deeds]
        state = ask_state(self.task, history, self._last)
        phase = "teacher" if gold else "free"
        levels = progress_levels(self.task, self.deeds, len(LEVELS)) if self.progress else None
        name = f"{self.ask_prefix}:{phase}:{len(history)}"
        view = {"last": self._view, "state_sha256": self.now.sha256}
        return make_turn(self.task, state, gold, name, levels=levels, view=view, observe_ms=observe_ms)

    async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
        """Do the committed action; the next turn, or None at the end."""
        gated = judged[QUESTION].gated
        if not gated.valid:
            self.truncated = True
            self.flags.add("invalid")  # nothing that could be acted on
            return None
        key = str(gated.committed)
        if key in ("done", "give_up"):
            self.claimed = key
            return None
        return await self._act(self.task.tool(key))

    async def _act(self, tool: Tool) -> Turn | None:
        box, uses = self._box, self._uses.get(tool.id, 0)
        assert box is not None
        self._uses[tool.id] = uses + 1
        result = await self._blocking(lambda: perform(box, tool, uses))
        begun = perf_counter()
        before = self.now
        if tool.reply is None:
            try:
                self.now = await self._blocking(box.snapshot)
            except SnapshotLimit as limit:
                self._unreadable, self._broken = limit.message, limit
        changed = self._unreadable is not None or before.sha256 != self.now.sha256
        self.deeds.append(Deed(tool.id, result.rc, tool.risk, changed, result.flags, tool.reply is not None))
        self._last = shown(tool.id, result)
        self._view = {
            **self._last,
            "command": list(tool.argv),
            "flags": list(result.flags),
            "exec_ms": round(result.ms, 3),
            "diff": differences(before, self.now),
        }
        if "unkillable" in result.flags or self._unreadable is not None:
            self._cut("unkillable" if self._unreadable is None else "unreadable")
            return None
        if len(self.deeds) >= self.task.max_steps:
            self._cut("budget")
            return None
        return self._turn((perf_counter() - begun) * 1000.0)

    def _cut(self, flag: str) -> None:
        self.truncated = True
        self.flags.add(flag)

    async def finish(self) -> Ended:
        """The end state for the verifier, and the last action for the replay."""
        begun = perf_counter()
        state: JSON = end_state(self.task, self.fixture, self.now, self.deeds, self.claimed)
        if self._unreadable is not None:
            state["unreadable"] = self._unreadable
        return Ended(
            claimed=self.claimed,
            truncated=self.truncated,
            flags=tuple(sorted(self.flags)),
            gold_steps=len(self.task.oracles[0]),
            end_state=state,
            verify=self.task.verify,
            final=Step(
                step=len(self.deeds),
                phase="free",
                ask="",
                page_hash=self.now.sha256,
                committed=None,
                correct=None,
                view={"last": self._view, "state_sha256": self.now.sha256},
                timing={"observe_ms": round((perf_counter() - begun) * 1000.0, 3)},
            ),
        )

    async def aclose(self) -> None:
        """Give the box back; a box in which something broke is destroyed."""
        stack, broken, self._broken = self._stack, self._broken, None
        self._stack = ExitStack()

        def leave() -> None:
            stack.__exit__(None if broken is None else type(broken), broken, None)

        await anyio.to_thread.run_sync(leave)
