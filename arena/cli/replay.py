"""``arena replay``: see why one decision went the way it did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arena.log.reader import RunReader
    from arena.run.replay import Again, Moment, Recorded

UNITS_SHOWN = 60


def command(
    target: Annotated[str, typer.Argument(metavar="RUN[:EPISODE[:STEP]]", help="A run, an item or episode, a step.")],
    runs: Annotated[Path, typer.Option(help="Folder that holds runs.")] = Path("runs"),
    trial: Annotated[int, typer.Option(min=0, help="Which trial of the episode; 0 is the episode as it is.")] = 0,
    repeat: Annotated[int, typer.Option(min=0, help="Which repeat.")] = 0,
    decision: Annotated[str | None, typer.Option(metavar="ID", help="One decision in any form, by its id.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    again: Annotated[str | None, typer.Option(help="Ask this model the recorded bytes; show the difference.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Server of the model of --again.")] = None,
    wrong: Annotated[bool, typer.Option("--wrong", help="List only what went wrong.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Re-drive the recorded actions in a browser.")] = False,
    until: Annotated[int | None, typer.Option(min=0, help="Stop --live at this step.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Replay recorded decisions from the log.

    \b
    Examples:
      arena replay runs/RUN
      arena replay runs/RUN:shop-t1-01
      arena replay runs/RUN:shop-t1-01:2 --html step.html
      arena replay runs/RUN:shop-t1-01:2 --again uniform
      arena replay runs/RUN:shop-t1-01 --live --until 3
      arena replay runs/RUN:logs-t3-01 --trial 2
      arena replay runs/RUN --decision 9ff9a95c6b39707fdc7cfcff --again uniform
    """
    from arena.errors import UsageError
    from arena.identity import dump
    from arena.log.reader import RunReader
    from arena.run.replay import find, find_decision, parse_target

    named = parse_target(target, runs)
    reader = RunReader(named.folder)
    if decision is not None and (named.address or trial or repeat or live):
        raise UsageError("--decision names its unit, trial and repeat itself", hint="arena replay RUN --decision ID")
    if (html is not None) + (again is not None) + live > 1:
        raise UsageError("--html, --again and --live exclude one another", hint="give one of them a command")
    if wrong and (named.address is not None or decision is not None):
        raise UsageError("--wrong lists the items and episodes of a run", hint=f"arena replay {named.folder} --wrong")
    if named.address is None and decision is None:
        if html or again or live or trial or repeat:
            raise UsageError(
                "--html, --again, --live, --trial and --repeat need an episode or item",
                hint=f"arena replay {target}:UNIT, or --decision ID",
            )
        _list_units(reader, wrong, as_json)
        return
    if decision is not None:
        found = find_decision(reader, decision)
    else:
        found = find(reader, str(named.address), trial=trial, repeat=repeat)
    chosen = _chosen(found)
    if live:
        from arena.cli.live import show_live

        raise typer.Exit(show_live(reader, found.moments, until if until is not None else found.step, as_json))
    if html is not None:
        from arena.run.replay_html import render_html

        html.write_text(render_html(reader, found, chosen), "utf-8")
        typer.echo(dump({"html": str(html)}) if as_json else f"wrote {html}")
    elif again is not None:
        _again(chosen, again, base_url, as_json)
    elif as_json:
        from arena.run.replay_json import replay_json

        typer.echo(replay_json(reader, found, chosen))
    else:
        from arena.cli.replay_text import print_unit

        print_unit(found, chosen)


def _chosen(found: Recorded) -> Sequence[Moment]:
    """The moments that the address means: all of the unit, or those of one step."""
    from arena.errors import UsageError

    if found.step is None:
        return found.moments
    chosen = [moment for moment in found.moments if moment.rows[0]["step"] == found.step]
    if not chosen:
        steps = sorted({moment.rows[0]["step"] for moment in found.moments})
        raise UsageError(f"{found.unit} has no step {found.step}", hint=f"its steps: {steps[0]}..{steps[-1]}")
    return chosen


def _list_units(reader: RunReader, wrong: bool, as_json: bool) -> None:
    from arena.cli.render import console, listing
    from arena.run.harmless import harmless, harmless_json
    from arena.run.replay import units

    rows = [row for row in units(reader) if not wrong or row["ending"] not in ("success", "right")]
    if as_json:
        typer.echo(harmless_json(rows))
        return
    forms = [name for name in ("trial", "repeat") if any(row[name] for row in rows)]
    columns = ("unit", *forms, "tier", "ending", "right", "note")
    out = console()
    out.print(listing(columns, [[harmless(str(row[c])) for c in columns] for row in rows[:UNITS_SHOWN]]))
    if len(rows) > UNITS_SHOWN:
        fewer = "" if wrong else ", --wrong only what went wrong"
        out.print(f"... and {len(rows) - UNITS_SHOWN} more (--json lists all{fewer})")
    if rows:
        form = "".join(f" --{name} {rows[0][name]}" for name in ("trial", "repeat") if rows[0][name])
        out.print(f"next: arena replay {reader.folder}:{harmless(rows[0]['unit'])}{form}", markup=False)


def _again(chosen: Sequence[Moment], model: str, base_url: str | None, as_json: bool) -> None:
    import anyio

    from arena.models import ModelOptions, open_model
    from arena.run.harmless import harmless_json
    from arena.run.replay import ask_again

    async def ask_all() -> list[Again]:
        decider = open_model(model, ModelOptions(base_url=base_url) if base_url else ModelOptions())
        try:
            return [await ask_again(moment, decider) for moment in chosen]
        finally:
            await decider.aclose()

    answers = anyio.run(ask_all)
    if as_json:
        typer.echo(harmless_json([_difference(m, a) for m, a in zip(chosen, answers, strict=True)]))
        return
    for moment, answer in zip(chosen, answers, strict=True):
        _print_difference(_difference(moment, answer))


def _difference(moment: Moment, again: Again) -> dict[str, Any]:
    rows = {}
    for row in moment.rows:
        gated = again.gated[row["question_name"]]
        rows[row["question_name"]] = {
            "recorded": {"committed": row["committed"], "answer": row["answer"]},
            "again": {
                "committed": gated.committed,
                "answer": None if gated.answer is None else gated.answer.model_dump(),
                "invalid_reason": gated.reason,
            },
            "gold": row["gold"],
            "changed": row["committed"] != gated.committed,
        }
    return {
        "step": moment.rows[0]["step"],
        "phase": moment.rows[0]["phase"],
        "model": {"recorded": moment.rows[0]["model"], "again": again.model},
        "same_bytes": again.same_bytes,
        "questions": rows,
    }


def _print_difference(found: dict[str, Any]) -> None:
    from rich.text import Text

    from arena.cli.render import console, table
    from arena.run.harmless import harmless

    out = console()
    names = found["model"]
    note = "" if found["same_bytes"] else "  (this model's request has other bytes around the same state and questions)"
    out.print(Text(f"step {found['step']} ({found['phase']}): {names['recorded']} -> {names['again']}{note}", "bold"))
    for name, both in found["questions"].items():
        before, after = both["recorded"], both["again"]
        change = "changed" if both["changed"] else "same"
        reason = f" ({after['invalid_reason']})" if after["invalid_reason"] else ""
        out.print(Text(harmless(f"{name}: {before['committed']} -> {after['committed']}{reason}  {change}")))
        was, now = _probabilities(before["answer"]), _probabilities(after["answer"])
        keys = sorted({*was, *now}, key=lambda key: -max(was.get(key, 0.0), now.get(key, 0.0)))[:10]
        pairs = [(key, was.get(key, 0.0), now.get(key, 0.0)) for key in keys]
        rows = [[harmless(key), "", f"{a:.4f}", f"{b:.4f}", f"{b - a:+.4f}"] for key, a, b in pairs]
        out.print(table(("option", "", "recorded", "again", "change"), rows))


def _probabilities(answer: dict[str, Any] | None) -> dict[str, float]:
    if answer is None:
        return {}
    if answer["type"] == "noul":
        return {"false": 1 - answer["noul"], "true": answer["noul"]}
    return dict(answer["probabilities"])
