"""Check a tools task before it may be frozen: its oracles win, everything lazy loses, and it repeats.

Walks are played twice over: the first oracle in real sessions, and all walks (with 200 random ones) on a graph of
states, in which no command runs twice in the same state. Both use the same boxes, guide and verifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb

from arena.envs.check import Played, play_policy
from arena.envs.tools.endstate import end_state
from arena.envs.tools.environment import ToolsEnvironment
from arena.envs.tools.guide import Deed, acceptable
from arena.envs.tools.sandbox import Sandbox, SeedFile
from arena.envs.tools.session import perform
from arena.envs.tools.snapshot import Snapshot
from arena.envs.tools.task import Task
from arena.identity import dump, rng_for
from arena.session import EndVerdict, Turn
from arena.types import JSON
from arena.verifiers.tools import verify

ROLLOUTS = 200
UNLIKELY = 1e-4
ENDS = ("done", "give_up")

Key = tuple[str, tuple[tuple[str, int], ...]]
"""A state: sha256 of the files, and how often each flaky tool was used (as far as that matters)."""


@dataclass
class Graph:
    """The states of a task as far as they were visited. ``box``: started; its content is replaced at will."""

    task: Task
    box: Sandbox
    _states: dict[str, Snapshot] = field(default_factory=dict)
    _edges: dict[tuple[Key, str], tuple[Key, int, tuple[str, ...]]] = field(default_factory=dict)
    _ends: dict[str, dict[str, JSON]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fixture = Snapshot.of_files(self.task.fixture())
        self._states[self.fixture.sha256] = self.fixture
        self.start: Key = (self.fixture.sha256, ())

    def step(self, at: Key, name: str) -> tuple[Key, Deed]:
        """Use a tool in a state."""
        tool = self.task.tool(name)
        if (at, name) not in self._edges:
            state, uses = at[0], dict(at[1])
            files = {
                path: SeedFile(kind=each.kind, data=each.data, mode=each.mode, target=each.target)  # type: ignore[arg-type]
                for path, each in self._states[state].entries.items()
            }
            self.box.reset(files)
            result = perform(self.box, tool, uses.get(name, 0))
            after = self.box.snapshot()
            self._states.setdefault(after.sha256, after)
            if tool.flaky is not None:
                uses[name] = min(uses.get(name, 0) + 1, tool.flaky.fails)
            self._edges[at, name] = (after.sha256, tuple(sorted(uses.items()))), result.rc, result.flags
        there, rc, flags = self._edges[at, name]
        return there, Deed(name, rc, tool.risk, there[0] != at[0], flags, tool.reply is not None)

    def play(self, walk: Sequence[str]) -> tuple[list[Deed], EndVerdict]:
        """What a walk did, and the verdict on its end."""
        at, deeds, claimed = self.start, list[Deed](), None
        for name in walk:
            if name in ENDS or len(deeds) >= self.task.max_steps:
                claimed = name if name in ENDS and len(deeds) < self.task.max_steps else None
                break
            at, deed = self.step(at, name)
            deeds.append(deed)
        return deeds, self.judge(at, deeds, claimed)

    def judge(self, at: Key, deeds: Sequence[Deed], claimed: str | None, conditions: JSON | None = None) -> EndVerdict:
        """The verdict on stopping in a state, under the task's conditions or others."""
        if at[0] not in self._ends:
            self._ends[at[0]] = end_state(self.task, self.fixture, self._states[at[0]], (), None)
        trace = [{"tool": deed.tool, "rc": deed.rc, "risk": deed.risk, "flags": list(deed.flags)} for deed in deeds]
        state = {**self._ends[at[0]], "trace": trace, "claimed": claimed}
        return verify(conditions or self.task.verify, state, claimed)

    def random_wins(self, count: int) -> int:
        """How many of ``count`` seeded random walks succeed."""
        options = sorted(self.task.options())
        wins = 0
        for number in range(count):
            rng = rng_for("rollout", self.task.id, number)
            walk = [rng.choice(options) for _ in range(self.task.max_steps + 1)]
            wins += self.play(walk)[1].ending == "success"
        return wins


def scripted(walk: Sequence[str]) -> object:
    """A policy that plays a walk, and the easiest answer to every other question."""

    def policy(turn: Turn) -> dict[str, str | int | bool]:
        return {name: walk[turn.step] if name == "action" else 0 for name in turn.ask.questions}

    return policy


async def follow(environment: ToolsEnvironment, path: str, walk: Sequence[str]) -> Played:
    """Play a walk in a real session."""
    return await play_policy(environment, path, scripted(walk))  # type: ignore[arg-type]


def walk_faults(graph: Graph) -> Iterator[str]:
    """Oracles that do not win, errors or gaps on them, decoys that do not lose, tools that are not what they say."""
    task = graph.task
    for oracle in task.oracles:
        deeds, verdict = graph.play(oracle)
        if verdict.ending != "success":
            yield f"oracle {oracle} is a {verdict.ending}: {'; '.join(verdict.reasons)}"
        for number, name in enumerate(oracle):
            if name not in acceptable(task, deeds[:number]):
                yield f"oracle {oracle}: its step {number} is not acceptable"
        for number, deed in enumerate(deeds):
            flaky = task.tool(deed.tool).flaky
            failed = flaky is not None and sum(one.tool == deed.tool for one in deeds[:number]) < flaky.fails
            if deed.rc != 0 and deed.risk in ("write", "destructive") and not failed:
                yield f"oracle {oracle}: {deed.tool} changes something and fails with {deed.rc}"
    for decoy in (*task.decoys, *((end,) for end in ENDS)):
        if graph.play(decoy)[1].ending == "success":
            yield f"decoy {decoy} succeeds"
    states: dict[Key, None] = {graph.start: None}
    for oracle in task.oracles[:1]:
        at = graph.start
        for name in oracle[:-1]:
            at = graph.step(at, name)[0]
            states[at] = None
    for tool in task.tools:
        for at in states:
            if graph.step(at, tool.id)[1].changed and tool.risk == "read":
                yield f"tool {tool.id} says that it reads, and it changes something"
                break


def too_many(wins: int, tries: int, bound: float) -> bool:
    """Whether so many wins are next to impossible (p < 1e-4) if the true share is within the bound."""
    fewer = sum(comb(tries, k) * bound**k * (1 - bound) ** (tries - k) for k in range(wins))
    return 1.0 - fewer < UNLIKELY


async def session_faults(environment: ToolsEnvironment, path: str, task: Task, times: int = 3) -> list[str]:
    """What is wrong when the first oracle is really played ``times`` times: gold, verdict, repetition, recording."""
    found = []
    plays = [await follow(environment, path, task.oracles[0]) for _ in range(times)]
    for played in plays:
        verdict = verify(played.ended.verify, played.ended.end_state, played.ended.claimed)
        if verdict.ending != "success":
            found.append(f"the oracle is a {verdict.ending} in a session: {'; '.join(verdict.reasons)}")
        if not all(played.right):
            found.append(f"the oracle's steps are not all right: {played.right}")
        if played.trace != plays[0].trace or dump(played.ended.end_state) != dump(plays[0].ended.end_state):
            found.append("the oracle does not repeat")
    recorded = [(turn.ask.state, turn.golds["action"]) for turn in environment.recorded(path)]
    seen = [(turn.ask.state, turn.golds["action"]) for turn in plays[0].turns]
    if task.recorded and [dump(state) for state, _ in recorded] != [dump(state) for state, _ in seen]:
        found.append("what is recorded is not what a session shows")
    if task.recorded and [gold for _, gold in recorded] != [gold for _, gold in seen]:
        found.append("the recorded gold is not a session's")
    return found


def lint(task: Task, box: Sandbox, rollouts: int = ROLLOUTS) -> tuple[list[str], int]:
    """(faults, random wins) of a task on a started box."""
    graph = Graph(task, box)
    faults = list(walk_faults(graph))
    wins = graph.random_wins(rollouts)
    if too_many(wins, rollouts, task.random_ceiling):
        faults.append(f"{wins} of {rollouts} random walks succeed, at most {task.random_ceiling:g} should")
    return faults, wins
