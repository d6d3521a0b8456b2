"""Find right walks that a task's oracles leave out: whoever is as quick as an oracle and wins must be called right.

The states of a task are searched together with what its conditions on actions remember, breadth first, no deeper than
the longest oracle. From every place on an oracle, an action that comes nearer to a win without being acceptable is a
fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from arena.envs.tools.guide import Deed, acceptable
from arena.run.tool_lint import Graph, Key
from arena.types import JSON

MOST_PLACES = 100_000

Memory = tuple[int, ...]
"""What each condition on actions remembers: whether its tool worked, or how many steps of its sequence did."""


@dataclass(frozen=True, slots=True)
class Place:
    """A state of the files, and what the conditions remember of the way there."""

    state: Key
    memory: Memory


def remembered(conditions: Sequence[JSON], memory: Memory, deed: Deed) -> Memory | None:
    """The memory after a deed; None where the walk can win no more."""
    after = []
    for condition, held in zip(conditions, memory, strict=True):
        kind, worked = condition["kind"], (deed.tool, deed.rc)
        if kind == "never" and deed.tool == condition["tool"]:
            return None
        if kind == "used":
            held = int(held or worked == (condition["tool"], condition.get("rc", 0)))
        elif kind == "before":
            held = int(held or worked == (condition["first"], condition.get("rc", 0)))
            if deed.tool == condition["then"] and not held:
                return None
        elif kind == "sequence" and held < len(condition["steps"]):
            step = condition["steps"][held]
            held += worked == (step["tool"], step["rc"])
        after.append(held)
    return None if deed.risk == "forbidden" else tuple(after)


def met(conditions: Sequence[JSON], memory: Memory) -> bool:
    """Whether the walk may end here, as far as its actions go."""
    return all(
        held == (len(condition["steps"]) if condition["kind"] == "sequence" else 1)
        for condition, held in zip(conditions, memory, strict=True)
        if condition["kind"] in ("used", "sequence")
    )


@dataclass
class Search:
    """The places of a task within reach of its longest oracle, and how many actions each is from a win."""

    graph: Graph
    left: dict[Place, int] = field(default_factory=dict)
    _before: dict[Place, list[Place]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        task = self.graph.task
        self.conditions: Sequence[JSON] = task.verify["trace"]
        self.longest = max(map(len, task.oracles))
        self.start = Place(self.graph.start, (0,) * len(self.conditions))
        self._walk()
        self._measure()

    def step(self, at: Place, name: str) -> tuple[Place, Deed] | None:
        """Use a tool; None where the walk can win no more."""
        state, deed = self.graph.step(at.state, name)
        memory = remembered(self.conditions, at.memory, deed)
        return None if memory is None else (Place(state, memory), deed)

    def _walk(self) -> None:
        depth, queue = {self.start: 0}, deque([self.start])
        while queue:
            at = queue.popleft()
            if depth[at] >= self.longest - 1:
                continue
            for tool in self.graph.task.tools:
                taken = self.step(at, tool.id)
                if taken is None or taken[0] == at:
                    continue
                there = taken[0]
                self._before.setdefault(there, []).append(at)
                if there not in depth:
                    depth[there] = depth[at] + 1
                    queue.append(there)
            if len(depth) > MOST_PLACES:
                raise ValueError(f"{self.graph.task.id}: more than {MOST_PLACES} places, too many to search")
        self._ends = [at for at in depth if met(self.conditions, at.memory) and self._good(at.state)]

    def _good(self, state: Key) -> bool:
        plain = {**self.graph.task.verify, "trace": []}
        return self.graph.judge(state, (), plain["end"], plain).ending == "success"

    def _measure(self) -> None:
        self.left = dict.fromkeys(self._ends, 1)
        queue = deque(self._ends)
        while queue:
            at = queue.popleft()
            for earlier in self._before.get(at, ()):
                if earlier not in self.left:
                    self.left[earlier] = self.left[at] + 1
                    queue.append(earlier)

    def faults(self) -> Iterator[str]:
        """Right actions that are not acceptable, one line each."""
        task = self.graph.task
        if self.left.get(self.start) != min(map(len, task.oracles)):
            yield f"the shortest win has {self.left.get(self.start)} actions, the shortest oracle another number"
        for prefix in sorted({oracle[:at] for oracle in task.oracles for at in range(len(oracle))}, key=len):
            at, deeds = self.start, list[Deed]()
            for name in prefix:
                taken = self.step(at, name)
                assert taken is not None, f"{task.id}: an oracle breaks its own conditions at {name}"
                at, deeds = taken[0], [*deeds, taken[1]]
            right = acceptable(task, deeds)
            for tool in task.tools:
                taken = None if tool.id in right else self.step(at, tool.id)
                if taken is not None and self._nearer(at, taken[0], len(prefix)):
                    yield f"after {prefix or 'nothing'}, {tool.id} comes nearer to a win, acceptable is only {right}"
            if self.left.get(at) == 1 and task.verify["end"] not in right:
                yield f"after {prefix}, the goal is reached, acceptable is only {right}"

    def _nearer(self, at: Place, there: Place, done: int) -> bool:
        left = self.left.get(there)
        return left is not None and left < self.left.get(at, self.longest) and done + 1 + left <= self.longest
