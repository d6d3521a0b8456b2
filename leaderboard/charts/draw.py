"""From runs to the figure that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arena.errors import NothingSelected, UnknownName, UsageError
from arena.leaderboard import plots
from arena.leaderboard.board import domain_row
from arena.leaderboard.charts import figures
from arena.leaderboard.compare import compare
from arena.leaderboard.evidence import calibration, confusions
from arena.leaderboard.plots import Figure
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.profiles.table import tabulate
from arena.leaderboard.score import score
from arena.log.reader import RunReader
from arena.reliability.metrics.columns import Scored
from arena.reliability.metrics.risk_coverage import risk_coverage
from arena.tasks import domains

RUNS = {"reliability": 1, "risk-coverage": 1, "confusion": 1, "spectrum": 1, "differences": 2}
"""What can be drawn -> how many runs it takes."""


def draw(what: str, readers: Sequence[RunReader], rules: Profile, question: str | None = None) -> Figure:
    """The figure ``what`` of these runs under ``rules``. ``question`` (``suite/name``): confusion of it alone.

    Raises:
        UnknownName: no such figure or question.
        UsageError: another number of runs than it takes.
        NothingSelected: there is nothing to draw.
    """
    if what not in RUNS:
        raise UnknownName("plot", what, RUNS, hint="arena plot --help")
    if len(readers) != RUNS[what]:
        raise UsageError(f"{what} takes {RUNS[what]} run(s), found {len(readers)}", hint="arena plot --help")
    if what == "differences":
        return figures.differences(compare(readers[0], readers[1], rules))
    if what == "spectrum":
        return _spectrum(readers[0], rules)
    scored, ways = tabulate(readers[0], rules).scored, rules.conventions
    if not len(scored):
        raise NothingSelected(f"{readers[0].folder} holds no decision with a gold")
    drawn: dict[str, Callable[[], Figure]] = {
        "reliability": lambda: plots.reliability_diagram({"calibration": calibration(scored, ways.bins, ways.edges)}),
        "risk-coverage": lambda: figures.risk_coverage(risk_coverage(scored.confidence, scored.correct)),
        "confusion": lambda: figures.confusion(_tables(scored, question)),
    }
    return drawn[what]()


def _tables(scored: Scored, question: str | None) -> list[dict[str, Any]]:
    tables = confusions(scored)
    if question is not None:
        names = [each["question"] for each in tables]
        if question not in names:
            raise UnknownName("question", question, names)
        tables = [each for each in tables if each["question"] == question]
    if not tables:
        raise NothingSelected("every question here has too many labels for a confusion table")
    return tables


def _spectrum(reader: RunReader, rules: Profile) -> Figure:
    cells = score(reader, rules.model_copy(update={"name": "arena-v1"}))["cells"]
    known = [domain_row(name) for name in domains()]
    for name in dict.fromkeys(cell["domain"] for cell in cells):
        if name not in domains():
            tiers = [{"name": cell["tier"]} for cell in cells if cell["domain"] == name]
            known.append({"name": name, "tiers": tiers})
    return plots.spectrum({"cells": cells}, known)
