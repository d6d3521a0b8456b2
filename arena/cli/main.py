"""The ``arena`` command: finds the subcommand, turns errors into one line and an exit code.

Nothing heavy is imported here: a command imports what it needs when it runs.
"""

from __future__ import annotations

import errno
import sys
from typing import Annotated, Any, cast

import typer

from arena.cli import (
    compare,
    doctor,
    evaluate,
    export,
    imports,
    listing,
    plot,
    prereg,
    publish,
    reliability,
    replay,
    sandbox,
    score,
    submit,
    view,
)
from arena.errors import ArenaError, MissingNeed

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
app.command("reliability")(reliability.command)
app.command("score")(score.command)
app.command("compare")(compare.command)
app.command("export")(export.command)
app.command("plot")(plot.command)
app.command("publish")(publish.command)
app.command("view")(view.command)
app.add_typer(submit.app, name="submit")
app.add_typer(listing.app, name="list")
app.add_typer(imports.app, name="import")
app.add_typer(prereg.app, name="prereg")
app.add_typer(sandbox.app, name="sandbox")
app.command("doctor")(doctor.command)


_Refused = cast(Any, next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"))
"""What the parser raises for a command line that it cannot read; typer has no public name for it."""


def main() -> None:
    """Entry point of the ``arena`` command."""
    sys.exit(_run())


def _run() -> int:
    """Run the command; the exit code."""
    try:
        return int(app(prog_name="arena", standalone_mode=False) or 0)
    except ArenaError as error:
        typer.echo(f"error: {error}", err=True)
        return _report(error.message, error.hint, error.code)
    except _Refused as error:
        error.show()
        where = getattr(error, "ctx", None)
        return _report(error.format_message(), where and f"see: {where.command_path} --help", error.exit_code)
    except OSError as error:
        # What a command could say more about, it has caught; here are the paths that a user gave.
        message = f"{error.filename or 'the file'}: {error.strerror or error}"
        hint = "free some space" if error.errno == errno.ENOSPC else "check the path and what you may do there"
        typer.echo(f"error: {message}\n  {hint}", err=True)
        return _report(message, hint, MissingNeed.code)


def _report(message: str, hint: str | None, code: int) -> int:
    """Under ``--json`` an error is one JSON object on stdout, beside the line on stderr. Returns ``code``."""
    if "--json" in sys.argv:
        from arena.identity import dump

        typer.echo(dump({"error": {"message": message, "hint": hint, "code": code}}))
    return code
