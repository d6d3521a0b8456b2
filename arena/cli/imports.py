"""``arena import``: answers that others published, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arena.log.importers import Imported

app = typer.Typer(no_args_is_help=True, help="Turn published answers into a run that every command can read.")

SHOWN = 20

EXAMPLES = """\b
Examples:
  arena import answers --format esen results/clef_27b/adv1.json results/clef_27b/adv2.json --out runs/clef
  arena import answers --format esen results/clef_27b --cases data/adversarial_cases.json --out runs/clef
  arena import answers --format jsonl answers.jsonl --out runs/theirs
  arena import answers --format shisa results/easy.jsonl --out runs/easy
  arena score runs/clef --profile esen

Plain form (jsonl), one object a line: suite, item, question_name, question (wire form), gold (option key, level,
true/false, or a list of right ones), answer (wire form) or error (text); optional group, model, model_version,
state, label_distribution, latency_ms, usage, cost_usd.

Rows that cannot be used are named by file and line; the others are kept. An answer the schema gate refuses is kept
as invalid: it counts as wrong. Exit codes: 0 all rows used, 1 some left out (0 with --allow-dropped), 2 usage,
3 no usable row, 4 a file is missing."""


@app.callback()
def root() -> None:
    """Turn published answers into a run that every command can read."""


@app.command("answers")
def answers(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Answer files (esen: also run folders).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new run.")],
    kind: Annotated[str, typer.Option("--format", "-f", help="esen, jsonl or shisa.")] = "jsonl",
    cases: Annotated[list[Path] | None, typer.Option(help="File with the golds, where they lie apart; repeat.")] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model (jsonl: take only its rows).")] = None,
    suite: Annotated[str | None, typer.Option(help="Name of the suite, in place of the file's.")] = None,
    gold_version: Annotated[str, typer.Option(help="Version of the golds; two versions never share a table.")] = "v1",
    lane: Annotated[
        str | None, typer.Option(help="latency: the times were measured serially; throughput: they were not.")
    ] = None,
    allow_dropped: Annotated[bool, typer.Option("--allow-dropped", help="Exit 0 although rows were left out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Import answer files as a run, marked imported."""
    from arena.errors import UsageError
    from arena.identity import dump
    from arena.leaderboard.summary import summarise
    from arena.log.importers import FORMATS, Notices, Options, convert
    from arena.log.importers.convert import Source
    from arena.log.reader import RunReader
    from arena.log.writer import RunWriter

    if lane not in (None, "latency", "throughput"):
        raise UsageError(f"--lane {lane!r} is neither latency nor throughput")
    notices = Notices()
    found = FORMATS.get(kind)(files, Options(tuple(cases or ()), model, suite), notices)
    made = convert(out, Source(kind, tuple(files), gold_version, model), found, notices, lane)
    with RunWriter(out, None) as writer:
        writer.finish(summarise(RunReader(out)))
    _notices(made)
    if as_json:
        typer.echo(dump(made.as_dict()))
    else:
        _show(made)
    raise typer.Exit(1 if notices.left_out and not allow_dropped else 0)


answers.__doc__ = f"{answers.__doc__}\n\n{EXAMPLES}"


def _notices(made: Imported) -> None:
    """What was left out, is odd or is invalid: on stderr, by file and line."""
    for title, lines in (
        ("left out", [str(notice) for notice in made.notices.left_out]),
        ("note", [str(notice) for notice in made.notices.kept]),
        ("invalid", list(made.invalid)),
    ):
        for line in lines[:SHOWN]:
            typer.echo(f"{title}: {line}", err=True)
        if len(lines) > SHOWN:
            typer.echo(f"{title}: ... and {len(lines) - SHOWN} more (--json lists all)", err=True)


def _show(made: Imported) -> None:
    suites = ", ".join(f"{name} {count}" for name, count in made.suites.items())
    typer.echo(f"{made.model}: {made.decisions} decisions ({suites}), {len(made.invalid)} of them invalid answers")
    typer.echo(f"left out: {len(made.notices.left_out)}")
    typer.echo(f"run: {made.folder} (imported)")
    typer.echo(f"next: arena score {made.folder}")


@app.command("trace")
def trace(
    file: Annotated[Path, typer.Argument(metavar="TRACE", help="A jevnav trace (JSONL).")],
    page: Annotated[Path, typer.Option(help="The page it was recorded on (HTML).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the episode file.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Turn a recorded web trace and its page into an episode file that arena can play.

    \b
    Example:
      arena import trace demo.trace.jsonl --page app.html -o episodes/
    """
    from arena.envs.web.jevnav import import_jevnav
    from arena.errors import MissingNeed
    from arena.identity import dump

    for needed in (file, page):
        if not needed.is_file():
            raise MissingNeed(f"{needed} is not a file", hint="see: arena import trace --help")
    out.mkdir(parents=True, exist_ok=True)
    found = import_jevnav(file, page, out)
    if as_json:
        typer.echo(dump({"episode": str(found.path), "steps": found.steps, "left_out": list(found.left_out)}))
        return
    typer.echo(f"wrote {found.path}: {found.steps} decisions")
    for reason in found.left_out:
        typer.echo(f"left out: {reason}")
    typer.echo(f"check it: python -m arena.envs.web.check {found.path}")
