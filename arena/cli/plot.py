"""``arena plot``: one figure of one run, or of two, to one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  arena plot runs/RUN --what reliability -o reliability.svg
  arena plot runs/RUN --what risk-coverage -o risk.png
  arena plot runs/RUN --what confusion --question adv1/department -o confusion.html
  arena plot runs/RUN --what spectrum -o spectrum.svg
  arena plot runs/A runs/B --what differences -o differences.svg

svg and html have the same bytes on a rerun; the html page loads nothing.

Exit codes: 0 written, 2 usage, 3 nothing to draw, 4 the plotting packages are missing."""


def command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="A run; differences takes two.")],
    what: Annotated[
        str, typer.Option("--what", "-w", help="reliability, risk-coverage, confusion, spectrum or differences.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.svg, FILE.png or FILE.html.")],
    question: Annotated[str | None, typer.Option(help="Confusion of this suite/question alone.")] = None,
    profile: Annotated[str, typer.Option("--profile", "-p", help="arena-v1, s1-v1, esen or foundation.")] = "arena-v1",
    gold: Annotated[str | None, typer.Option(help="Gold version of the registry, or a gold file.")] = None,
    root: Annotated[Path, typer.Option("--runs", help="Folder that holds runs.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout: file, title, words.")] = False,
) -> None:
    """Draw a figure of a run from its log."""
    from arena.cli.score import open_run
    from arena.identity import dump
    from arena.leaderboard.charts.draw import draw
    from arena.leaderboard.charts.files import write
    from arena.leaderboard.golds import Regolded, find_golds
    from arena.leaderboard.profiles.rules import profile as find_profile

    readers = [open_run(name, root) for name in runs]
    if gold is not None:
        golds = find_golds(gold)
        readers = [Regolded(reader, golds) for reader in readers]
    rules = find_profile(profile)
    figure = draw(what, readers, rules, question)
    write(figure, out)
    if as_json:
        told = {"title": figure.title, "note": figure.note, "told": figure.told.split("; ")}
        typer.echo(dump({"file": str(out), "profile": rules.name, "rules": rules.rules(), **told}))
    else:
        typer.echo(f"wrote {out}")


command.__doc__ = f"{command.__doc__}\n\n{EXAMPLES}"
