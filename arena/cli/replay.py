"""``arena replay``: see why one decision went the way it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arena.log.reader import RunReader
    from arena.run.replay import Again, Moment

BAR = 30
UNITS_SHOWN = 60
OPTIONS_SHOWN = 20
STATE_SHOWN = 4000


def command(
    target: Annotated[str, typer.Argument(metavar="RUN[:EPISODE[:STEP]]", help="A run, an item or episode, a step.")],
    runs: Annotated[Path, typer.Option(help="Folder that holds runs.")] = Path("runs"),
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
    """
    from arena.errors import UsageError
    from arena.log.reader import RunReader
    from arena.run.replay import moments, parse_target

    found = parse_target(target, runs)
    reader = RunReader(found.folder)
    if found.unit is None:
        if html or again or live:
            raise UsageError("--html, --again and --live need an episode or item", hint=f"arena replay {target}:UNIT")
        _list_units(reader, wrong, as_json)
        return
    all_moments = moments(reader, found.unit)
    chosen = all_moments
    if found.step is not None:
        chosen = [moment for moment in all_moments if moment.rows[0]["step"] == found.step]
        if not chosen:
            steps = sorted({moment.rows[0]["step"] for moment in all_moments})
            raise UsageError(f"{found.unit} has no step {found.step}", hint=f"its steps: {steps[0]}..{steps[-1]}")
    if live:
        from arena.cli.live import show_live

        raise typer.Exit(show_live(reader, all_moments, until if until is not None else found.step, as_json))
    if html is not None:
        from arena.run.replay_html import render_html

        html.write_text(render_html(reader, found.unit, chosen), "utf-8")
        typer.echo(f"wrote {html}")
    elif again is not None:
        _again(chosen, again, base_url, as_json)
    else:
        _show(found.unit, chosen, found.step is not None or chosen[0].episode is None, as_json)


def _list_units(reader: RunReader, wrong: bool, as_json: bool) -> None:
    from arena.cli.render import console, listing
    from arena.identity import dump
    from arena.run.replay import units

    rows = [row for row in units(reader) if not wrong or row["ending"] not in ("success", "right")]
    if as_json:
        typer.echo(dump(rows))
        return
    columns = ("unit", "tier", "ending", "right", "note")
    out = console()
    out.print(listing(columns, [[str(row[c]) for c in columns] for row in rows[:UNITS_SHOWN]]))
    if len(rows) > UNITS_SHOWN:
        out.print(f"... and {len(rows) - UNITS_SHOWN} more (--json lists all, --wrong only what went wrong)")
    if rows:
        out.print(f"next: arena replay {reader.folder}:{rows[0]['unit']}")


def _show(unit: str, chosen: list[Moment], full: bool, as_json: bool) -> None:
    from arena.cli.render import console
    from arena.identity import dump

    if as_json:
        typer.echo(dump([{"state": m.state, "decisions": list(m.rows), "step": m.step} for m in chosen]))
        return
    out = console()
    episode = chosen[0].episode
    if episode is not None:
        flags = f"  {', '.join(episode['flags'])}" if episode["flags"] else ""
        claimed = f"  claimed {episode['claimed']}" if episode["claimed"] else ""
        out.print(f"{unit}  {episode['domain']} {episode['tier']}  {episode['ending']}{claimed}{flags}", style="bold")
    for moment in chosen:
        if full:
            _print_moment(moment)
        else:
            _print_line(moment)


def _print_line(moment: Moment) -> None:
    from rich.text import Text

    from arena.cli.render import console

    row = moment.rows[0]
    mark, style = _mark(row)
    gold = "" if row["gold"] is None else f"  gold {', '.join(map(str, row['gold']['accepted']))}"
    p = "" if row["confidence"] is None else f" p={row['confidence']:.3f}"
    line = f"{row['phase']:>7} {row['step']:>3}  {mark:8} {row['committed']}{p}{gold}"
    console().print(Text(line, style=style))


def _mark(row: dict[str, Any]) -> tuple[str, str]:
    if not row["valid"]:
        return "invalid", "yellow"
    if row["correct"] is None:
        return "no gold", "dim"
    return ("right", "green") if row["correct"] else ("wrong", "red")


def _print_moment(moment: Moment) -> None:
    from rich.text import Text

    from arena.cli.render import console

    out = console()
    text = moment.state if isinstance(moment.state, str) else json.dumps(moment.state, indent=1, ensure_ascii=False)
    first = moment.rows[0]
    out.rule(Text(f"step {first['step']} ({first['phase']})"))
    cut = f"\n... {len(text) - STATE_SHOWN} more characters" if len(text) > STATE_SHOWN else ""
    out.print(Text(text[:STATE_SHOWN] + cut, style="dim"))
    for row in moment.rows:
        _print_decision(row)
    timing = "  ".join(f"{name} {ms:.1f}" for name, ms in ((moment.step or {}).get("timing") or {}).items())
    attempts = "; ".join(
        f"attempt {a['n']}: {a['error'] or a['status'] or 'ok'} {1000 * a['seconds']:.1f} ms"
        + (f" after waiting {a['waited']:.1f} s" if a["waited"] else "")
        for a in first["attempts"]
    )
    latency = "" if first["latency_ms"] is None else f"latency {first['latency_ms']:.2f} ms  "
    out.print(Text(f"{latency}{timing}  {attempts}".strip(), style="dim"))
    if moment.step is not None:
        out.print(Text(f"page hash {moment.step['page_hash']}", style="dim"))


def _print_decision(row: dict[str, Any]) -> None:
    from rich.text import Text

    from arena.cli.render import console
    from arena.run.replay import option_rows

    out = console()
    mark, style = _mark(row)
    asked = row["question"]["instructions"]
    out.print(Text(f"{row['question_name']} ({row['question']['type']}): {asked}", style="bold"))
    reason = f": {row['invalid_reason']}" if row["invalid_reason"] else ""
    out.print(Text(f"{mark}{reason}", style=style))
    options = sorted(option_rows(row), key=lambda option: (-(option.p or 0.0), option.key))
    for option in options[:OPTIONS_SHOWN]:
        bar = "█" * round(BAR * (option.p or 0.0))
        marks = (" <- chosen" if option.committed else "") + (" (gold)" if option.gold else "")
        shown = "  ?   " if option.p is None else f"{option.p:.4f}"
        colour = "green" if option.gold else "red" if option.committed else ""
        out.print(Text(f"  {shown} {bar:{BAR}} {option.key}  {option.text}{marks}", style=colour))
    rest = options[OPTIONS_SHOWN:]
    if rest:
        gold = next((option for option in rest if option.gold), None)
        also = f"; the gold {gold.key} has p {gold.p}" if gold else ""
        out.print(f"  ... and {len(rest)} more options{also}")


def _again(chosen: list[Moment], model: str, base_url: str | None, as_json: bool) -> None:
    import anyio

    from arena.identity import dump
    from arena.models import ModelOptions, open_model
    from arena.run.replay import ask_again

    async def ask_all() -> list[Again]:
        decider = open_model(model, ModelOptions(base_url=base_url) if base_url else ModelOptions())
        try:
            return [await ask_again(moment, decider) for moment in chosen]
        finally:
            await decider.aclose()

    answers = anyio.run(ask_all)
    if as_json:
        typer.echo(dump([_difference(m, a) for m, a in zip(chosen, answers, strict=True)]))
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

    out = console()
    names = found["model"]
    note = "" if found["same_bytes"] else "  (this model's request has other bytes around the same state and questions)"
    out.print(Text(f"step {found['step']} ({found['phase']}): {names['recorded']} -> {names['again']}{note}", "bold"))
    for name, both in found["questions"].items():
        before, after = both["recorded"], both["again"]
        change = "changed" if both["changed"] else "same"
        reason = f" ({after['invalid_reason']})" if after["invalid_reason"] else ""
        out.print(Text(f"{name}: {before['committed']} -> {after['committed']}{reason}  {change}"))
        was, now = _probabilities(before["answer"]), _probabilities(after["answer"])
        keys = sorted({*was, *now}, key=lambda key: -max(was.get(key, 0.0), now.get(key, 0.0)))[:10]
        pairs = [(key, was.get(key, 0.0), now.get(key, 0.0)) for key in keys]
        rows = [[key, "", f"{a:.4f}", f"{b:.4f}", f"{b - a:+.4f}"] for key, a, b in pairs]
        out.print(table(("option", "", "recorded", "again", "change"), rows))


def _probabilities(answer: dict[str, Any] | None) -> dict[str, float]:
    if answer is None:
        return {}
    if answer["type"] == "noul":
        return {"false": 1 - answer["noul"], "true": answer["noul"]}
    return dict(answer["probabilities"])
