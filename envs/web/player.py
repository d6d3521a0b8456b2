"""Plays walks on a live page for the baker: by option id where the path is known, by description elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arena.envs.web.browser import SharedBrowser
from arena.envs.web.observe import Observation
from arena.envs.web.options import ENDINGS, Option, Table, build_table
from arena.envs.web.page import LivePage
from arena.envs.web.probes import trail_entry
from arena.envs.web.router import Router, misses
from arena.envs.web.scene import deed
from arena.envs.web.walk import Walk, WalkStep, resolve
from arena.types import JSON


@dataclass(frozen=True)
class State:
    """A page at rest: what is seen, its options, and the hidden state of our own sites as JSON text."""

    observation: Observation
    table: Table
    app_state: str | None

    def same(self, other: State) -> bool:
        """Whether both are the same for everything that can be told."""
        return self.observation.sem_hash == other.observation.sem_hash and self.app_state == other.app_state


@dataclass
class Play:
    """One run over a walk. ``network``: makes a fresh router."""

    walk: Walk
    browser: SharedBrowser
    network: Callable[[], Router]
    start: str
    page: LivePage | None = None
    state: State | None = None
    trail: list[JSON] = field(default_factory=list)
    history: list[str] = field(default_factory=list)

    async def begin(self) -> State:
        """Open the first state."""
        self.page = await self.browser.open(self.walk.frame, self.network())
        await self.page.open(self.start, seed=self.walk.seed, params=self.walk.params)
        return await self._look()

    async def _look(self) -> State:
        assert self.page is not None
        observation = await self.page.observe()
        self.trail.append(await trail_entry(self.page.probe, self.walk.verify))
        self.state = State(observation, build_table(observation, self.walk.values), await self.page.app_state())
        return self.state

    async def do(self, option: Option) -> tuple[State, str | None]:
        """Act; the next state, and what the action ran into."""
        assert self.page is not None
        note = await self.page.act(option)
        self.history.append(deed(option) + (f" ({note})" if note else ""))
        return await self._look(), note

    async def follow(self, keys: Sequence[str]) -> None:
        """Act by option ids on a known path."""
        for key in keys:
            assert self.state is not None
            option = self.state.table.get(key)
            if option is None:
                raise LookupError(f"the page has no option {key!r} on a known path")
            await self.do(option)

    async def follow_loosely(self, steps: Sequence[WalkStep]) -> None:
        """Act by description; a step whose element is not there is passed over."""
        for step in steps:
            assert self.state is not None
            if step.op in ENDINGS:
                return
            option = resolve(step, self.state.observation, self.state.table)
            if isinstance(option, Option):
                await self.do(option)

    async def end_state(self) -> JSON:
        """What the verifier judges."""
        assert self.page is not None
        assert self.state is not None
        seen = self.state.observation
        return {
            "url": seen.url,
            "title": seen.title,
            "sem_hash": seen.sem_hash,
            "final": await self.page.probe(self.walk.verify["final"]),
            "trail": list(self.trail),
            "requests": self.page.requests(),
        }

    def missed(self) -> list[str]:
        """Requests that the recording does not hold."""
        return [] if self.page is None else [f"{call.method} {call.url}" for call in misses(self.page.router)]

    async def close(self) -> None:
        """Close the page."""
        page, self.page = self.page, None
        if page is not None:
            await self.browser.close_page(page)
