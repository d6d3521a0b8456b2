"""The environment: opens sessions over episode files and owns the browser they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from arena.envs.web.browser import SharedBrowser, versions
from arena.envs.web.episode import Recording, read_recording
from arena.envs.web.scene import turn_of
from arena.envs.web.session import Mode, WebSession
from arena.envs.web.stage import BrowserStage, GraphStage, Stage
from arena.errors import UnknownName, UsageError
from arena.session import Turn

MODES: tuple[str, ...] = get_args(Mode)
BACKENDS = ("browser", "graph")


class WebEnvironment:
    """See ``arena.envs.web.open_environment``. Finds the browser at once, starts it with the first session."""

    def __init__(self, *, mode: Mode, backend: str, screenshots: bool, headed: bool) -> None:
        if mode not in MODES:
            raise UnknownName("mode of web/replay-v1", mode, MODES)
        if backend not in BACKENDS:
            raise UnknownName("backend of web/replay-v1", backend, BACKENDS)
        if backend == "graph" and mode != "teacher":
            raise UsageError(
                f"the graph backend follows recorded walks only and cannot play mode={mode}",
                hint="set mode=teacher, or backend=browser",
            )
        self.mode: Mode = mode
        self.backend, self.screenshots = backend, screenshots
        self._versions = versions() if backend == "browser" else {}
        self._browser = SharedBrowser(headed=headed)
        self._recordings: dict[str, Recording] = {}

    def _read(self, path: str) -> Recording:
        if path not in self._recordings:
            self._recordings[path] = read_recording(Path(path))
        return self._recordings[path]

    async def open(self, path: str, *, ask_prefix: str = "web") -> WebSession:
        """A session over the episode file at ``path``. Asks are named ``<prefix>:<phase>:<step>``.

        Raises:
            MissingNeed: the file, or a file of its site, is gone. ChangedData: one was changed.
        """
        recording = self._read(path)
        stage: Stage
        if self.backend == "graph":
            stage = GraphStage(recording)
        else:
            recording.router()  # a changed site is an error of the user's, told before any page opens
            stage = BrowserStage(recording, self._browser)
        pictures = self.screenshots and self.backend == "browser"
        return WebSession(recording, stage, mode=self.mode, ask_prefix=ask_prefix, screenshots=pictures)

    def recorded(self, path: str) -> list[Turn]:
        """The recorded decisions of an episode as turns, from the file alone."""
        recording = self._read(path)
        return [
            turn_of(recording.manifest, step, ask_id=f"recorded:teacher:{step.t}", phase="teacher")
            for step in recording.steps
        ]

    async def aclose(self) -> None:
        """Close the browser."""
        await self._browser.aclose()

    def identity(self) -> dict[str, Any]:
        """Mode, backend and, with a browser, its versions: what decides what is asked and observed."""
        return {"mode": self.mode, "backend": self.backend, "screenshots": self.screenshots, **self._versions}
