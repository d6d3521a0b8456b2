"""``arena export``: the decisions of a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, or a decision log (.jsonl, .jsonl.gz).")],
    kind: Annotated[str, typer.Option("--format", "-f", help="csv, parquet or hf (a Hugging Face dataset folder).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")],
    root: Annotated[Path, typer.Option("--runs", help="Folder that holds runs.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Write a run's decisions as csv, parquet or a Hugging Face dataset folder.

    \b
    Examples:
      arena export runs/RUN --format csv -o out/
      arena export runs/RUN --format parquet -o out/
      arena export runs/RUN --format hf -o dataset/

    One row a decision; nested fields are JSON text. Nothing is lost by sharing decisions.jsonl.gz alone: arena score
    reads it as it is.

    Exit codes: 0 written, 2 usage or a file that is there already, 4 pyarrow is missing.
    """
    from arena.cli.score import open_run
    from arena.identity import dump
    from arena.log.export import export

    files = export(open_run(run, root), kind, out)
    if as_json:
        typer.echo(dump({"format": kind, "files": [str(path) for path in files]}))
    else:
        for path in files:
            typer.echo(f"wrote {path}")
