"""The ``arena`` command: finds the subcommand, turns errors into one line and an exit code.

Nothing heavy is imported here: a command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from arena.cli import compare, doctor, evaluate, export, imports, listing, publish, replay, score
from arena.errors import ArenaError

app = typer.Typer(
    name="arena",
    help="Capability and reliability of System One decision models, measured together.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from arena.identity import PROTOCOL

        typer.echo(f"arena {version('system-one-arena')} (protocol {PROTOCOL})")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print version and protocol.")
    ] = False,
) -> None:
    """Evaluate a model, replay one decision, publish the board.

    \b
    arena eval --model sparrow-nano --domain web
    arena replay runs/RUN
    arena publish runs/RUN -o site/
    """


app.command("eval")(evaluate.command)
app.command("replay")(replay.command)
app.command("score")(score.command)
app.command("compare")(compare.command)
app.command("export")(export.command)
app.command("publish")(publish.command)
app.add_typer(listing.app, name="list")
app.add_typer(imports.app, name="import")
app.command("doctor")(doctor.command)


def main() -> None:
    """Entry point of the ``arena`` command."""
    try:
        app()
    except ArenaError as error:
        report(error)
        sys.exit(error.code)


def report(error: ArenaError) -> None:
    """One line on stderr (two with a hint); under ``--json`` also one JSON object on stdout."""
    typer.echo(f"error: {error}", err=True)
    if "--json" in sys.argv:
        from arena.identity import dump

        typer.echo(dump({"error": {"message": error.message, "hint": error.hint, "code": error.code}}))
