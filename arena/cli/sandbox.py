"""``arena sandbox``: build the image that boxes are made of, remove what dead runs left, say what works here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Sandboxes of the tools domain: build, gc, doctor.")

Json = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


def _note(text: str) -> None:
    typer.echo(text, err=True)


@app.command()
def build(
    image: Annotated[
        str | None, typer.Argument(help="busybox-sqlite (default), busybox, debian, or a name for --dockerfile.")
    ] = None,
    dockerfile: Annotated[Path | None, typer.Option(help="Build this file; needs a Docker engine.")] = None,
    as_json: Json = False,
) -> None:
    """Build a sandbox image; needs no registry. Example: arena sandbox build"""
    from arena.envs.tools.backends import build_image
    from arena.envs.tools.environment import IMAGE
    from arena.identity import dump

    built = build_image(image or IMAGE, dockerfile=dockerfile, notice=_note)
    if as_json:
        typer.echo(dump({"image": built.name, "sha256": built.sha256, "folder": str(built.folder)}))
    else:
        typer.echo(f"{built.name} sha256 {built.sha256}")


@app.command()
def gc(as_json: Json = False) -> None:
    """Remove containers and control groups that dead runs left, and nothing else. Example: arena sandbox gc"""
    from arena.envs.tools.backends import collect_garbage
    from arena.identity import dump

    removed = collect_garbage()
    if as_json:
        typer.echo(dump([{"kind": each.kind, "what": each.what, "why": each.why} for each in removed]))
        return
    for each in removed:
        typer.echo(f"removed {each.kind} {each.what}: {each.why}")
    typer.echo(f"{len(removed)} removed")


@app.command()
def doctor(as_json: Json = False) -> None:
    """Open each kind of sandbox and check it from inside; exit code 4 when none works. Example: arena sandbox doctor"""
    from arena.envs.tools.backends import doctor_report
    from arena.envs.tools.environment import IMAGE
    from arena.identity import dump

    findings = doctor_report(IMAGE)
    if as_json:
        typer.echo(dump([finding.model_dump() for finding in findings]))
    else:
        for finding in findings:
            fix = f"\n        fix: {finding.hint}" if finding.hint and not finding.ok else ""
            typer.echo(f"{'ok     ' if finding.ok else 'missing'} {finding.name}: {finding.detail}{fix}")
    works = any(finding.ok and finding.name.startswith("sandbox ") for finding in findings)
    raise typer.Exit(0 if works else 4)
