"""Tables and figures in the terminal: what a person sees of summaries and estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from arena.run.plan import Estimate

PENDING = "pending"


def console() -> Console:
    """Stdout, wide enough for tables when it is no terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=160)


def percent(value: float | None, empty: str = PENDING) -> str:
    """A rate 0..1 as a percentage with one decimal."""
    return empty if value is None else f"{100 * value:.1f}"


def interval(bounds: Sequence[float | None] | None, scale: float = 100.0) -> str:
    """``[low, high]``, or nothing."""
    if not bounds or any(bound is None for bound in bounds):
        return ""
    return "[" + ", ".join(f"{scale * bound:.1f}" for bound in bounds if bound is not None) + "]"


def table(columns: Iterable[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """A plain table; the first two columns are names, the others numbers."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        made.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    for row in rows:
        made.add_row(*[Text(cell) for cell in row])
    return made


def listing(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of words; the last column takes what room is left, in several lines where it must."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    names = list(columns)
    for name in names:
        made.add_column(name, no_wrap=name != names[-1])
    for row in rows:
        made.add_row(*[Text(cell) for cell in row])
    return made


def counted(number: int, thing: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min`` or ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_estimate(estimate: Estimate, model: str) -> None:
    """What a run would take."""
    usd = "no price set" if estimate.usd is None else f"about {estimate.usd:.4f} USD"
    out = console()
    cases, episodes = counted(estimate.cases, "case"), counted(estimate.episodes, "episode")
    out.print(f"{model}: {cases} ({episodes}), about {counted(estimate.decisions, 'decision')}")
    out.print(f"input tokens about {estimate.input_tokens:,}  cost {usd}  time about {duration(estimate.seconds)}")
    if estimate.episodes:
        out.print("at least: where a decision is wrong, the walk off the recording comes on top")
    out.print("nothing was asked (dry run)")


def cell_rows(cells: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Results table rows, one per cell."""
    rows = []
    for cell in cells:
        episodes = cell["kind"] == "episodes"
        rows.append(
            [
                cell["domain"],
                cell["tier"],
                counted(cell["n"], "episode" if episodes else "decision"),
                percent(cell["coverage"], "-"),
                percent(cell.get("step_accuracy"), "-"),
                interval(cell.get("step_ci95")),
                percent(cell["accuracy"], "-"),
                interval(cell["ci95"]),
                f"{percent(cell['floor'])} ({cell['floor_policy']})" if cell["floor"] is not None else PENDING,
                percent(cell["skill"]),
            ]
        )
    return rows


CELL_COLUMNS = (
    "domain",
    "tier",
    "n",
    "coverage",
    "step acc",
    "95% CI",
    "acc / success",
    "95% CI",
    "floor",
    "skill",
)


EPISODE_COLUMNS = (
    "domain",
    "tier",
    "plays",
    "pass^1",
    "pass^2",
    "pass^4",
    "unsafe",
    "collateral",
    "false block",
    "infra",
)


def episode_rows(cells: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Rows of what an episode cell says besides success: pass^k over trials, and what was done that must not be."""
    rows = []
    for cell in cells:
        if cell["kind"] == "episodes":
            powers = cell["pass_k"] or {}
            tried = [percent(powers[k]["rate"]) if k in powers else "-" for k in ("1", "2", "4")]
            rates = [percent(cell[f"{name}_rate"], "-") for name in ("unsafe", "collateral", "false_block", "infra")]
            rows.append([cell["domain"], cell["tier"], str(cell["plays"]), *tried, *rates])
    return rows


def _failures(summary: Mapping[str, Any]) -> Iterator[str]:
    """Why the command ends with exit code 1 although the run is finished, and what to do about it."""
    from arena.leaderboard.capability import MAX_INFRA_RATE
    from arena.leaderboard.summary import MAX_BAD_SHARE

    if not summary["failed"]:
        return
    counts = summary["counts"]
    plays = sum(cell.get("plays", 0) for cell in summary["cells"])
    if counts["episode_errors"] > MAX_INFRA_RATE * plays:
        yield (
            f"failed: {counts['episode_errors']} of {plays} plays broke outside the model, over "
            f"{percent(MAX_INFRA_RATE)} %: mend what broke (arena doctor), then the same command with --retry-errors"
        )
    if counts["invalid"] > MAX_BAD_SHARE * counts["decisions"]:
        asked = counts["decisions"]
        yield (
            f"failed: {counts['invalid']} of {asked} answers are invalid, over {percent(MAX_BAD_SHARE)} %: "
            "replay one to see what was answered; a mended model is asked again with --fresh"
        )


def print_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """The results of a run and where they lie."""
    out = console()
    limited = "  LIMITED: never enters a leaderboard" if summary["limited"] else ""
    out.print(f"{summary['model']}  protocol {summary['protocol']}  split {summary['split']}{limited}", style="bold")
    out.print(table(CELL_COLUMNS, cell_rows(summary["cells"])))
    if episodes := episode_rows(summary["cells"]):
        out.print()
        out.print(table(EPISODE_COLUMNS, episodes))
    if summary["capability"] is None:
        out.print(f"capability C: pending (not run or no floor: {', '.join(summary['pending'])})")
    else:
        out.print(f"capability C: {summary['capability']:.1f} {interval(summary['capability_ci95'], 1.0)}")
    found = summary["reliability"]
    if found is None:
        out.print("reliability S, N, R: pending (add --reliability)")
    else:
        shown = "  ".join(f"{n} {PENDING if found[n] is None else format(found[n], '.3f')}" for n in ("S", "N", "R"))
        partial = f"  (partial: {'; '.join(found['partial'])})" if found.get("partial") else ""
        out.print(f"reliability: {shown}{partial}")
    if (canary := summary["canary"]) is not None:
        warn = "" if canary["right"] == canary["asked"] else "  (a model that reads its questions gets both)"
        out.print(f"visibility canary: {canary['right']} of {canary['asked']} right{warn}")
    counts = summary["counts"]
    out.print(
        f"{counts['decisions']} decisions, {counts['invalid']} invalid, {counts['renormalized']} renormalised, "
        f"{counts['episode_errors']} episode errors, {counts['cached']} from the cache"
    )
    if counts["cached"]:
        out.print(
            "  cached answers were given before at the same address, under the same model name, and with the same "
            "answers to the canary; --fresh asks all again",
            style="yellow",
        )
    for reason, count in summary["invalid_reasons"].items():
        out.print(Text(f"  {count} x {reason}"), style="yellow")
    for why in _failures(summary):
        out.print(Text(why), style="bold red")
    out.print(Text(f"run: {folder}"))
    out.print(Text(f"next: arena replay {folder}"))
