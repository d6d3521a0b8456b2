"""``arena view``: look at runs in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    root: Annotated[Path, typer.Argument(metavar="[RUNS_ROOT]", help="Folder that holds runs, or one run.")] = Path(
        "runs"
    ),
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = None,
    decision: Annotated[
        str | None, typer.Option("--decision", metavar="ID", help="Start at this decision of the one run.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it listens as one JSON object.")] = False,
) -> None:
    """Look at runs, decisions, option orders and episodes in the browser. Listens on this machine only.

    \b
    Examples:
      arena view
      arena view runs/RUN
      arena view runs/RUN --decision 9ff9a95c6b39707fdc7cfcff
      arena view runs/ --port 9000 --no-open
    """
    from arena.view.server import HOST, bind, require, serve

    require()
    from urllib.parse import quote

    from arena.errors import UsageError
    from arena.log.reader import run_folder
    from arena.view.runs import Runs

    root = run_folder(root, Path("runs")) or root
    only = Runs(root).only
    if decision is not None and only is None:
        raise UsageError(f"{root} holds many runs, and --decision names one of one run", hint="arena view runs/RUN")
    page = f"run/{quote(only)}" if only is not None else ""
    if decision is not None:
        page += f"/decisions/{quote(decision, safe='')}"
    with bind(port) as sock:
        url = f"http://{HOST}:{sock.getsockname()[1]}/{page}"
        if as_json:
            from arena.identity import dump

            typer.echo(dump({"url": url, "root": str(root)}))
        else:
            typer.echo(f"arena view: {url}  (stop with Ctrl-C)")
        if not no_open:
            typer.launch(url)
        serve(root, sock)
