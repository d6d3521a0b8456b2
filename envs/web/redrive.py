"""Drive a recorded run again in a live browser and stop where the page first differs from the log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.envs.web.browser import SharedBrowser
from arena.envs.web.episode import read_recording
from arena.envs.web.options import ENDINGS
from arena.envs.web.stage import BrowserStage
from arena.errors import UsageError
from arena.records import Step


@dataclass(frozen=True, slots=True)
class Logged:
    """One step of a logged run: the page's hash before it, and the option that was done (None: nothing)."""

    page_hash: str
    action: str | None


@dataclass(frozen=True, slots=True)
class Redriven:
    """One step as it is now. ``live``: the page's hash; ``note``: what the action ran into; ``png``: the picture."""

    step: int
    action: str | None
    recorded: str
    live: str
    png: bytes
    note: str | None = None

    @property
    def same(self) -> bool:
        """Whether the page is the one in the log."""
        return self.recorded == self.live


def logged_run(steps: Sequence[Step]) -> list[Logged]:
    """The run whose end was judged, from an episode's logged steps.

    That is the recorded walk where it was followed; where the model left it, the walk up to the first wrong
    decision, that decision, and the free steps after it.
    """
    teacher = [step for step in steps if step.phase == "teacher"]
    free = [step for step in steps if step.phase == "free"]
    run = []
    for step in teacher:
        wrong = step.correct is not True
        if free and wrong:
            run.append(Logged(step.page_hash, None if step.committed is None else str(step.committed)))
            break
        run.append(Logged(step.page_hash, (step.view or {}).get("executes")))
    return run + [Logged(step.page_hash, None if step.committed is None else str(step.committed)) for step in free]


async def redrive(
    path: str | Path, run: Sequence[Logged], *, until: int | None = None, headed: bool = False
) -> AsyncGenerator[Redriven, None]:
    """Yield every step with its recorded and live hash; ends at the first difference, or after step ``until``.

    Raises:
        UsageError: ``until`` is beyond the run, or the logged action does not exist on the page.
        MissingNeed, ChangedData: no browser, no episode, a changed file. Failure: ``env``.
    """
    if until is not None and not 0 <= until < len(run):
        raise UsageError(f"step {until} is not in the run, which has {len(run)} steps (0 to {len(run) - 1})")
    browser = SharedBrowser(headed=headed)
    stage = BrowserStage(read_recording(Path(path)), browser)
    try:
        await stage.start()
        history: list[str] = []
        for number, logged in enumerate(run if until is None else run[: until + 1]):
            scene = await stage.look(number, history)
            shown = await stage.screenshot()
            seen = Redriven(number, logged.action, logged.page_hash, scene.sem_hash, shown or b"")
            if not seen.same or logged.action is None or logged.action in ENDINGS or number == until:
                yield seen
                return
            option = scene.table.get(logged.action)
            if option is None:
                raise UsageError(
                    f"step {number}: the page has no option {logged.action!r}, which the log says was done"
                )
            note = await stage.act(option)
            yield Redriven(number, seen.action, seen.recorded, seen.live, seen.png, note)
    finally:
        await stage.aclose()
        await browser.aclose()
