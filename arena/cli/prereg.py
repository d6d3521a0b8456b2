"""``arena prereg``: fix the question before the run, and judge it as fixed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, help="Pre-register a question, run it, and get the verdict.")

EXAMPLES = """\b
Examples:
  arena prereg new gain.toml --template superiority
  arena prereg run gain.toml
  arena prereg verdict gain.toml --json

The file's sha256 stands in the header of its runs before the first call. A changed file is a new pre-registration:
no verdict is given on runs of another one. The stop rule under [stop] ends a run; its verdict is inconclusive."""

File = Annotated[Path, typer.Argument(metavar="FILE.toml", help="The pre-registration.")]
Runs = Annotated[Path, typer.Option(help="Folder that holds runs.")]


@app.callback()
def root() -> None:
    """Pre-register a question, run it, and get the verdict."""


root.__doc__ = f"{root.__doc__}\n\n{EXAMPLES}"


@app.command("new")
def new(
    path: File,
    template: Annotated[
        str,
        typer.Option(
            "--template",
            "-t",
            help="superiority, non-inferiority, replica-stability, primacy, alert or thinking-gain.",
        ),
    ] = "superiority",
) -> None:
    """Write a template to fill in. Example: arena prereg new gain.toml --template non-inferiority"""
    from arena.run.prereg import write_template

    write_template(template, path)
    typer.echo(f"wrote {path}")
    typer.echo(f"next: edit it, then: arena prereg run {path}")


@app.command("run")
def run(
    path: File,
    runs: Runs = Path("runs"),
    allow_paid: Annotated[bool, typer.Option("--allow-paid", help="Go on with a paid endpoint.")] = False,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would take; ask nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Run every arm, with the file's sha256 in each header; the same command resumes.

    Example: arena prereg run gain.toml

    Exit codes: 0 all arms complete, 1 ended by the stop rule, 2 usage, 4 something is missing, 130 interrupted.
    """
    from arena.cli import evaluate
    from arena.identity import dump
    from arena.run.prereg import read_prereg

    registered = read_prereg(path)
    typer.echo(f"{path}: {registered.says.kind}, sha256 {registered.sha256}", err=True)
    folders: dict[str, str | None] = {}
    for arm, config in registered.arms().items():
        typer.echo(f"arm {arm}: {config.model}", err=True)
        done = evaluate.interruptible(config, registered.operation(runs, arm, allow_paid, concurrency), dry_run)
        folders[arm] = None if done.folder is None else str(done.folder)
    if as_json:
        typer.echo(dump({"file": str(path), "sha256": registered.sha256, "dry_run": dry_run, "runs": folders}))
    elif dry_run:
        typer.echo("nothing was asked (dry run)")
    else:
        typer.echo(f"next: arena prereg verdict {path}")


@app.command("verdict")
def verdict(
    path: File,
    runs: Runs = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Judge the runs as the file declared: passes, fails or inconclusive.

    Example: arena prereg verdict gain.toml

    Exit codes: 0 passes, 1 fails or inconclusive, 2 not run, or the file or a run was changed.
    """
    from arena.identity import dump
    from arena.run.prereg import read_prereg
    from arena.run.verdicts import verdict as judge

    found = judge(read_prereg(path), runs)
    if as_json:
        typer.echo(dump(found))
    else:
        _print(found)
    raise typer.Exit(0 if found["verdict"] == "passes" else 1)


def _print(found: Mapping[str, Any]) -> None:
    typer.echo(f"{found['kind']}: {found['hypothesis']}")
    typer.echo(f"verdict: {found['verdict']}")
    typer.echo(f"why: {found['why']}")
    for arm, folder in found["runs"].items():
        typer.echo(f"run {arm}: {folder}")
    typer.echo(f"file: {found['file']}, sha256 {found['sha256']}")
