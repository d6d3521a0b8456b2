"""``arena submit``: bundle finished runs for a board, check such a bundle, print its schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

app = typer.Typer(no_args_is_help=True, help="Prepare or check a submission of finished runs.")

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


@app.command()
def prepare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Finished runs of one model.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; must not hold anything.")],
    submitter: Annotated[str, typer.Option("--by", help="Who submits: a name, without contact details.")],
    train_split_seen: Annotated[
        Literal["yes", "no", "unknown"],
        typer.Option("--train-split-seen", help="Was the model trained on a domain's train split?"),
    ],
    licence: Annotated[str, typer.Option("--answers-licence", help="Licence of the answers, an SPDX id.")],
    terms_reviewed: Annotated[
        bool, typer.Option("--terms-reviewed", help="The provider's terms were read and allow publishing.")
    ] = False,
    note: Annotated[str, typer.Option(help="Anything a reader should know.")] = "",
    screenshots: Annotated[bool, typer.Option("--screenshots", help="Take screenshots of web steps along.")] = False,
    as_json: Json = False,
) -> None:
    """Write a bundle that others can check. Refuses what a board would refuse, with the reason.

    \b
    Examples:
      arena submit prepare runs/RUN -o submission/ --by "Example Group" --train-split-seen no --answers-licence CC0-1.0
    """
    from pydantic import ValidationError

    from arena.errors import UsageError
    from arena.leaderboard.submission import Declared
    from arena.leaderboard.submission import prepare as write

    try:
        declared = Declared(
            submitter=submitter,
            train_split_seen=train_split_seen,
            answers_licence=licence,
            terms_reviewed=terms_reviewed,
            note=note,
        )
    except ValidationError as error:
        first = error.errors()[0]
        flag = {"submitter": "by"}.get(str(first["loc"][0]), str(first["loc"][0]).replace("_", "-"))
        reason = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"--{flag}: {reason}", hint="see: arena submit prepare --help") from error
    folder = write(runs, out, declared, screenshots=screenshots)
    files = sum(path.is_file() for path in folder.rglob("*"))
    if as_json:
        _emit({"ok": True, "folder": str(folder), "files": files, "refusals": []})
    else:
        typer.echo(f"wrote {folder} ({files} files), checked\nnext: arena submit check {folder}")


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A bundle.")],
    as_json: Json = False,
) -> None:
    """Check a bundle: hashes, schema, every figure, completeness, secrets. Exit code 1 when it is refused.

    \b
    Examples:
      arena submit check submission/
      arena submit check submission/ --json
    """
    from dataclasses import asdict

    from arena.leaderboard.submission import check as look

    report = look(folder)
    if as_json:
        submission = None if report.submission is None else report.submission.model_dump(mode="json")
        refusals = [asdict(refusal) for refusal in report.refusals]
        _emit({"ok": not refusals, "folder": str(folder), "refusals": refusals, "submission": submission})
    elif report.refusals:
        typer.echo(f"{folder} is refused:", err=True)
        for refusal in report.refusals:
            typer.echo(f"  {refusal.file}: {refusal.reason}  [{refusal.rule}]", err=True)
    else:
        assert report.submission is not None
        runs = report.submission.runs
        decisions = sum(run.decisions for run in runs)
        typer.echo(f"{folder} holds: {report.submission.model.name}, {len(runs)} runs, {decisions} decisions")
    raise typer.Exit(1 if report.refusals else 0)


@app.command()
def schema(
    name: Annotated[
        Literal["submission", "config", "decision", "episode", "all"],
        typer.Argument(help="Which one; all: one object of all of them."),
    ] = "all",
) -> None:
    """Print the JSON Schema of a bundle's files, generated from the models that validate them.

    \b
    Examples:
      arena submit schema decision
    """
    from arena.leaderboard.submission import schemas

    found = schemas()
    _emit(found if name == "all" else found[name])


def _emit(value: dict[str, Any]) -> None:
    from arena.identity import dump

    typer.echo(dump(value))
