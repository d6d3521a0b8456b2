"""``arena replay --live``: drive a recorded episode again in a browser and hold every page against the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
import typer

if TYPE_CHECKING:
    from arena.log.reader import RunReader
    from arena.run.replay import Moment

WEB = "web/replay-v1"


def show_live(reader: RunReader, moments: Sequence[Moment], until: int | None, as_json: bool) -> int:
    """Re-drive and print; 0 when every page is the one in the log, 1 at the first that differs."""
    from arena.errors import UsageError
    from arena.identity import dump

    episode = moments[0].episode
    if episode is None or episode["env"] != WEB:
        raise UsageError("--live re-drives recorded web episodes only", hint="leave --live out to read the log")
    rows = anyio.run(_drive, episode, until, not as_json)
    if as_json:
        typer.echo(dump(rows))
    differs = [row for row in rows if not row["same"]]
    if differs and not as_json:
        typer.echo(f"the page differs from the log at step {differs[0]['step']}")
    elif not as_json:
        typer.echo(f"{len(rows)} pages, all as in the log")
    return 1 if differs else 0


async def _drive(episode: dict[str, Any], until: int | None, echo: bool) -> list[dict[str, Any]]:
    from arena.envs.web.chromium import can_show
    from arena.envs.web.redrive import logged_run, redrive
    from arena.records import Step
    from arena.tasks import load_units

    unit = next(u for u in load_units(episode["domain"], episode["tier"], episode["split"]) if u.id == episode["unit"])
    steps = [Step.model_validate(step) for step in episode["steps"]]
    rows = []
    async for seen in redrive(unit.path, logged_run(steps), until=until, headed=can_show()):  # type: ignore[union-attr]
        row = {"step": seen.step, "action": seen.action, "recorded": seen.recorded, "live": seen.live}
        rows.append({**row, "same": seen.same, "note": seen.note})
        if echo:
            mark = "same" if seen.same else "DIFFERS"
            typer.echo(f"step {seen.step}: {mark}  {seen.live}  then {seen.action or 'nothing'}")
    return rows
