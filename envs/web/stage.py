"""Where an episode is played: a browser page, or the baked states of the recording without any browser.

Both show the same scenes for the same recorded walk; only the browser can leave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arena.envs.web.browser import SharedBrowser, versions
from arena.envs.web.episode import GoldStep, Recording
from arena.envs.web.options import Option
from arena.envs.web.page import LivePage
from arena.envs.web.probes import TRAIL
from arena.envs.web.scene import scene_of
from arena.errors import Failure
from arena.types import JSON


class Stage(Protocol):
    """A place to act. ``start`` may be called again: it begins afresh."""

    async def start(self) -> None:
        """Come to the episode's first state."""
        ...

    async def look(self, t: int, history: Sequence[str]) -> GoldStep:
        """The scene as it is now; ``t`` and ``history`` are only noted in it."""
        ...

    async def act(self, option: Option) -> str | None:
        """Do an option of the last scene. Returns what it ran into, if anything."""
        ...

    async def probe(self, conditions: Sequence[JSON]) -> list[JSON]:
        """Raw facts for conditions, in order."""
        ...

    async def screenshot(self) -> bytes | None:
        """PNG, or None where there is no picture."""
        ...

    def flags(self) -> list[str]:
        """What happened beside the actions (``off_tape``, ...)."""
        ...

    def requests(self) -> list[JSON]:
        """Document loads and mutating requests so far."""
        ...

    async def aclose(self) -> None:
        """Leave. Safe to call twice."""
        ...


class BrowserStage:
    """A live page of a shared browser."""

    def __init__(self, recording: Recording, browser: SharedBrowser) -> None:
        self.recording, self.browser = recording, browser
        self._page: LivePage | None = None

    @property
    def page(self) -> LivePage:
        """The live page; there is one between ``start`` and ``aclose``."""
        if self._page is None:
            raise Failure("env", "the page is closed")
        return self._page

    async def start(self) -> None:
        """Come to the episode's first state, on a fresh page."""
        await self.aclose()
        manifest = self.recording.manifest
        self._page = await self.browser.open(manifest.frame, self.recording.router())
        await self._page.open(manifest.start, seed=manifest.seed, params=manifest.params)

    async def look(self, t: int, history: Sequence[str]) -> GoldStep:
        """The scene as it is now."""
        return scene_of(t, await self.page.observe(), self.recording.manifest.values, history)

    async def act(self, option: Option) -> str | None:
        """Do an option of the last scene."""
        return await self.page.act(option)

    async def probe(self, conditions: Sequence[JSON]) -> list[JSON]:
        """Raw facts for conditions, in order."""
        return await self.page.probe(conditions)

    async def screenshot(self) -> bytes | None:
        """PNG of the viewport."""
        return await self.page.screenshot()

    def flags(self) -> list[str]:
        """What happened beside the actions."""
        return self.page.flags()

    def requests(self) -> list[JSON]:
        """Document loads and mutating requests so far."""
        return self.page.requests()

    def versions(self) -> dict[str, str]:
        """Browser, driver, fonts."""
        return versions()

    async def aclose(self) -> None:
        """Close the page."""
        page, self._page = self._page, None
        if page is not None:
            await self.browser.close_page(page)


class GraphStage:
    """The recorded walk without a browser: it can only be followed."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._at = 0

    async def start(self) -> None:
        """Come to the first recorded state."""
        self._at = 0

    async def look(self, t: int, history: Sequence[str]) -> GoldStep:
        """The recorded scene; after the last action its end."""
        steps, final = self.recording.steps, self.recording.final
        if self._at < len(steps):
            step = steps[self._at]
            return step.model_copy(update={"t": t, "history": tuple(history), "gold": (), "action": ""})
        last = steps[-1]
        return last.model_copy(update={"t": t, "history": tuple(history), "gold": (), "action": "", **final})

    async def act(self, option: Option) -> str | None:
        """Follow the walk.

        Raises:
            Failure: ``harness``; the option leaves the recorded walk.
        """
        step = self.recording.steps[self._at]
        if option.id not in step.gold and option.id != step.action and option != step.deed:
            raise Failure("harness", f"the graph backend cannot leave the walk: {option.id} at step {self._at}")
        self._at += 1
        return None

    async def probe(self, conditions: Sequence[JSON]) -> list[JSON]:
        """The recorded facts: those of the trail at this state, or of the end."""
        if not conditions:
            return []
        end = self.recording.end_state
        known = self.recording.conditions or {}
        if list(conditions) == [condition for group in TRAIL for condition in known.get(group, ())]:
            return [fact for group in TRAIL for fact in end["trail"][self._at][group]]
        if list(conditions) == known.get("final"):
            return list(end["final"])
        raise Failure("harness", f"the recording has no facts for the conditions {list(conditions)}")

    async def screenshot(self) -> bytes | None:
        """There is no picture."""
        return None

    def flags(self) -> list[str]:
        """Nothing happens beside the actions."""
        return []

    def requests(self) -> list[JSON]:
        """The requests of the recorded walk."""
        return list((self.recording.end_state or {}).get("requests", ()))

    def versions(self) -> dict[str, str]:
        """Those of the baking."""
        return dict(self.recording.manifest.baked_with)

    async def aclose(self) -> None:
        """Nothing to leave."""
