"""Progress on stderr: a live bar in a terminal, plain lines elsewhere.

Shows done / total, rate, invalid answers, failed calls and the time left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from arena.cli.render import counted, duration
from arena.run.evaluate import Reporter

if TYPE_CHECKING:
    from arena.records import ModelCard
    from arena.run.plan import Estimate, Part
    from arena.run.record import Tally

LINE_EVERY_S = 5.0
REFRESH_S = 0.1


def reporter_for(stream: TextIO) -> LiveReporter | LineReporter:
    """A live bar for a terminal, lines otherwise."""
    return LiveReporter(stream) if stream.isatty() else LineReporter(stream)


def _facts(tally: Tally, rate: float) -> str:
    cached = f"  {tally.cached} cached" if tally.cached else ""
    return f"{rate:,.1f} decisions/s  {tally.invalid} invalid  {tally.errors} errors{cached}"


class _Timed(Reporter):
    """Keeps the clock and the totals that both forms print.

    Time is kept by part of the plan: an item takes a thousandth of an episode, so one average promises anything.
    """

    def __init__(self) -> None:
        self.begun = self.last = self.seen = monotonic()
        self.total = self.resumed = self.before = 0
        self.playing = False
        self.parts: Mapping[str, Part] = {}
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.played: Counter[str] = Counter()

    def planned(self, estimate: Estimate, card: ModelCard) -> None:
        self.total, self.parts = estimate.cases, estimate.parts

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        self.begun = self.last = self.seen = monotonic()
        self.resumed, self.total, self.before, self.playing = resumed, total, -1, True

    def told(self, tally: Tally) -> None:
        """Note that a case ended."""
        now = monotonic()
        self.spent[tally.part] += now - self.seen
        self.played[tally.part] += 1
        self.seen = now

    def left(self, tally: Tally) -> float:
        """Seconds left: what each part takes here, and as assumed in the estimate while none of it was played."""
        seconds = 0.0
        for name, part in self.parts.items():
            each = self.spent[name] / self.played[name] if self.played[name] else part.seconds / part.cases
            seconds += (part.cases - tally.parts[name]) * each
        return seconds

    def rate(self, tally: Tally) -> float:
        """Decisions a second in this session of the run."""
        if self.before < 0:
            self.before = tally.decisions - 1
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
        self._say(f"{card.name}: {counted(estimate.cases, 'case')}, about {counted(estimate.decisions, 'decision')}")

    def opened(self, folder: Path, resumed: int, total: int) -> None:
        super().opened(folder, resumed, total)
        self._say(f"run {folder}" + (f" (resumed, {resumed} already recorded)" if resumed else ""))

    def progress(self, tally: Tally) -> None:
        self.told(tally)
        rate = self.rate(tally)
        if self.due(LINE_EVERY_S):
            self._say(f"{tally.cases}/{self.total}  {_facts(tally, rate)}  ETA {duration(self.left(tally))}")


class LiveReporter(_Timed):
    """A bar that redraws in place."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
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
        self.told(tally)
        rate = self.rate(tally)
        if self.due(REFRESH_S):
            facts = f"{_facts(tally, rate)}  ETA {duration(self.left(tally))}"
            self.bar.update(self.task, completed=tally.cases, facts=facts)

    def closed(self) -> None:
        self.bar.stop()
