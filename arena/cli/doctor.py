"""``arena doctor``: what works on this machine, what is missing, and the command that mends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer


def _python() -> str:
    import platform

    return f"Python {platform.python_version()} on {platform.system()}"


def _default_model() -> str:
    from arena.models import ModelOptions, open_model

    card = open_model("sparrow-nano", ModelOptions()).card
    return f"{card.name} {card.version}, weights as pinned"


def _data() -> str:
    from arena import tasks

    count = 0
    for name in tasks.domains():
        each = tasks.domain(name)
        for tier in each.tier_names:
            for split in each.lock.cells.get(tier, {}):
                count += len(tasks.load_units(name, tier, split))
    return f"{count} frozen items and episodes match their locks ({', '.join(tasks.domains())})"


def _browser() -> str:
    from arena.envs.web.chromium import browser_version, find_chromium

    path = find_chromium()
    return f"{browser_version(path)} at {path}"


def _sandbox() -> str:
    from arena.envs.tools.backends import open_backend
    from arena.envs.tools.environment import IMAGE

    with open_backend("auto", image=IMAGE, notice=lambda _: None) as backend:
        return f"{backend.kind}, isolation {backend.isolation}, {backend.check.engine}"


def _cache() -> str:
    from arena.log.cache import ResponseCache, cache_path
    from arena.records import ModelCard

    path = cache_path()
    ResponseCache(path, ModelCard(name="doctor")).close()
    return f"{path} ({path.stat().st_size / 2**20:.1f} MiB)"


def _disk() -> str:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    if free < 1:
        raise RuntimeError(f"only {free:.1f} GiB free here")
    return f"{free:.0f} GiB free here"


CHECKS: dict[str, tuple[Callable[[], str], str]] = {
    "python": (_python, "install Python 3.11 or newer"),
    "default model": (_default_model, "pip install sparrow-decider==0.2.0"),
    "frozen data": (_data, "git checkout, or reinstall the package"),
    "browser": (_browser, "make browser"),
    "sandbox": (_sandbox, "make engine, then: arena sandbox build (arena sandbox doctor says more)"),
    "response cache": (_cache, "set ARENA_CACHE to a folder you may write"),
    "disk": (_disk, "free some space"),
}


def _run() -> Iterator[dict[str, str | bool]]:
    for name, (check, remedy) in CHECKS.items():
        try:
            yield {"check": name, "ok": True, "found": check(), "remedy": ""}
        except Exception as error:  # a broken part must not hide the others
            yield {"check": name, "ok": False, "found": str(error).split("\n")[0], "remedy": remedy}


def command(as_json: Annotated[bool, typer.Option("--json", help="One JSON array on stdout.")] = False) -> None:
    """Check this machine: interpreter, default model, frozen data, browser, sandbox, cache, disk.

    Exit code 4 when something is missing. Example: arena doctor
    """
    from rich.text import Text

    from arena.cli.render import console
    from arena.identity import dump

    rows = list(_run())
    if as_json:
        typer.echo(dump(rows))
    else:
        out = console()
        for row in rows:
            mark, style = ("ok     ", "green") if row["ok"] else ("missing", "red")
            fix = f"\n        fix: {row['remedy']}" if row["remedy"] else ""
            out.print(Text.assemble((mark, style), f" {row['check']}: {row['found']}{fix}"), soft_wrap=True)
    raise typer.Exit(0 if all(row["ok"] for row in rows) else 4)
