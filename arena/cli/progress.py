"""Progress on stderr: a live bar in a terminal, plain lines elsewhere.

Shows done / total, rate, invalid answers, failed calls and the time left.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.run.evaluate import Reporter

if TYPE_CHECKING:
    from arena.records import ModelCard
    from arena.run.plan import Estimate
    from arena.run.record import Tally

LINE_EVERY_S = 5.0
REFRESH_S = 0.1


def reporter_for(stream: TextIO) -> Reporter:
    """A live bar for a terminal, lines otherwise."""
    return LiveReporter(stream) if stream.isatty() else LineReporter(stream)


def _facts(tally: Tally, rate: float) -> str:
    cached = f"  {tally.cached} cached" if tally.cached else ""
    return f"{rate:,.1f} decisions/s  {tally.invalid} invalid  {tally.errors} errors{cached}"


class _Timed(Reporter):
    """Keeps the clock and the totals that both forms print."""

    def __init__(self) -> None:
        self.begun = self.last = monotonic()
        self.total = self.resumed = self.before = self.skipped = 0

    def planned(self, estimate: Estimate, card: ModelCard) -> None:
        self.total = estimate.cases

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        self.begun = self.last = monotonic()
        self.resumed, self.total, self.before = resumed, total, -1

    def rate(self, tally: Tally) -> float:
        """Decisions a second in this session of the run."""
        if self.before < 0:
            self.before, self.skipped = tally.decisions - 1, tally.cases - 1
        return (tally.decisions - self.before) / max(monotonic() - self.begun, 1e-6)

    def due(self, every: float) -> bool:
        """Whether ``every`` seconds went by since the last time this said yes."""
        now = monotonic()
        if now - self.last < every:
            return False
        self.last = now
        return True


class LineReporter(_Timed):
    """One line every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def planned(self, estimate: Estimate, card: ModelCard) -> None:
        super().planned(estimate, card)
        self._say(f"{card.name}: {estimate.cases} cases, about {estimate.decisions} decisions")

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        super().opened(folder, resumed, total)
        self._say(f"run {folder}" + (f" (resumed, {resumed} already recorded)" if resumed else ""))

    def progress(self, tally: Tally) -> None:
        rate = self.rate(tally)
        if self.due(LINE_EVERY_S):
            spent = monotonic() - self.begun
            left = (self.total - tally.cases) * spent / max(tally.cases - self.skipped, 1)
            self._say(f"{tally.cases}/{self.total}  {_facts(tally, rate)}  ETA {left:.0f} s")


class LiveReporter(_Timed):
    """A bar that redraws in place."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self.task = self.bar.add_task("planning", total=None, facts="")

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        super().opened(folder, resumed, total)
        self.bar.console.print(f"run {folder}" + (f" (resumed, {resumed} already recorded)" if resumed else ""))
        self.bar.update(self.task, description="playing", total=total)
        self.bar.start()

    def progress(self, tally: Tally) -> None:
        rate = self.rate(tally)
        if self.due(REFRESH_S):
            self.bar.update(self.task, completed=tally.cases, facts=_facts(tally, rate))

    def closed(self) -> None:
        self.bar.stop()
