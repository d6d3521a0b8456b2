"""``arena publish``: runs to a static site with board, plots, models and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arena.leaderboard.publish import Published


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs, or folders that hold runs.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the site.")] = Path("site"),
    partial: Annotated[
        bool, typer.Option("--partial", help="List limited and unfinished runs, marked partial, instead of refusing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Publish runs as a static site; every figure is computed again from the logs.

    \b
    Examples:
      arena publish runs/ -o site/
      arena publish runs/sparrow-nano_web_1f2e3d4c runs/uniform_web_0a1b2c3d -o site/
      arena publish runs/ --partial -o draft/
    """
    from arena.leaderboard.publish import publish

    _show(publish(runs, out, partial), as_json)


def _show(done: Published, as_json: bool) -> None:
    rows = done.board.data()["rows"]
    if as_json:
        from arena.identity import dump

        shown = ("name", "slug", "capability", "capability_ci95", "reliability", "pending", "partial", "ties", "front")
        summary = [{key: row[key] for key in shown} for row in rows]
        typer.echo(dump({"site": str(done.out), "files": done.files, "rows": summary}))
        return
    from arena.cli.render import PENDING, console, interval, table

    lines = []
    for row in rows:
        c, found = row["capability"], row["reliability"]
        marks = [name for name in ("baseline", "front", "imported") if row[name]] + ["partial"] * bool(row["partial"])
        reliability = [PENDING if found is None or found[n] is None else f"{found[n]:.3f}" for n in "RSN"]
        capability = [PENDING if c is None else f"{c:.1f}", interval(row["capability_ci95"], 1.0), row["ties"]]
        lines.append([row["name"], ", ".join(marks), *capability, *reliability])
    out = console()
    out.print(table(("model", "", "C", "95% CI", "ties", "R", "S", "N"), lines))
    out.print(f"wrote {done.files} files; open {done.out / 'index.html'}", markup=False, soft_wrap=True)
