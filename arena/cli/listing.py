"""``arena list``: models, domains, suites, environments, runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(no_args_is_help=True, help="List models, domains, suites, environments or runs.")

Json = Annotated[bool, typer.Option("--json", help="One JSON array on stdout.")]


def _print(rows: list[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    if as_json:
        from arena.identity import dump

        typer.echo(dump(rows))
        return
    from arena.cli.render import console, listing

    console().print(listing(columns, [["" if row.get(c) is None else str(row[c]) for c in columns] for row in rows]))


@app.command()
def models(as_json: Json = False) -> None:
    """Models by name, with what each needs. Example: arena list models"""
    from arena.models import known_models

    rows = [asdict(info) for info in known_models()]
    for row in rows:
        row["costs"] = "paid" if row["paid"] else ""
        if not as_json:
            row["needs"] = ", ".join(part for part in (row["needs"], *row["also"]) if part)
    _print(rows, ("name", "kind", "needs", "costs", "verified", "summary"), as_json)


@app.command()
def domains(as_json: Json = False) -> None:
    """Domains with their tiers and sizes. Example: arena list domains --json"""
    from arena import tasks

    rows = []
    for name in tasks.domains():
        each = tasks.domain(name)
        for tier in each.tiers:
            cell = each.lock.cells.get(tier.name, {})
            sizes = ", ".join(f"{split} {len(units)}" for split, units in cell.items())
            hardest = tier.name == tasks.hardest_tier(name)
            rows.append(
                {
                    "domain": name,
                    "tier": tier.name + (" (counts for C)" if hardest else ""),
                    "kind": each.kind,
                    "units": sizes,
                    "rule": tier.rule,
                }
            )
    _print(rows, ("domain", "tier", "kind", "units", "rule"), as_json)


@app.command()
def suites(as_json: Json = False) -> None:
    """Suites: version, licence, gold versions. Example: arena list suites"""
    from arena import tasks

    rows = [
        {
            "suite": each.suite_id,
            "domain": each.name,
            "licence": each.licence,
            "language": each.language,
            "gold": ", ".join(each.gold_versions) or "in the recordings",
            "title": each.title,
        }
        for each in map(tasks.domain, tasks.domains())
    ]
    _print(rows, ("suite", "domain", "licence", "language", "gold", "title"), as_json)


@app.command()
def envs(as_json: Json = False) -> None:
    """Environments by id. Example: arena list envs"""
    from arena.envs import ENVS

    rows = [{"environment": name, "target": ENVS.builtin.get(name, "plug-in")} for name in ENVS]
    _print(rows, ("environment", "target"), as_json)


@app.command()
def runs(
    root: Annotated[Path, typer.Argument(help="Folder that holds runs.")] = Path("runs"), as_json: Json = False
) -> None:
    """Runs and their headline figures; reads headers only. Example: arena list runs"""
    from arena.log.reader import find_runs

    rows = []
    for header in find_runs(root):
        resolved, summary = header.config.get("resolved", {}), header.summary or {}
        rows.append(
            {
                "run": str(header.folder),
                "model": resolved.get("model"),
                "status": "damaged" if header.damage else "complete" if header.summary else "unfinished",
                "limited": "limited" if header.config.get("limited") else "",
                "imported": "imported" if header.config.get("imported") else "",
                "started": header.config.get("started_at"),
                "decisions": summary.get("counts", {}).get("decisions"),
                "C": summary.get("capability"),
            }
        )
    if not rows:
        typer.echo(f"no runs in {root}: arena eval --help shows how to make one", err=True)
    _print(rows, ("run", "model", "status", "limited", "imported", "started", "decisions", "C"), as_json)
