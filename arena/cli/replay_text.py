"""A replay in the terminal: the state, the options, what the action did, and the verdict with its reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from arena.cli.render import console
from arena.run.deeds import Change, Deed
from arena.run.harmless import harmless
from arena.run.replay import Moment, Recorded, form_of, judge_again, listed, option_rows

BAR = 30
OPTIONS_SHOWN = 20
STATE_SHOWN = 4000
OUTPUT_SHOWN = 2000
ANSWER_SHOWN = 600
LINES_SHOWN = 60


def print_unit(found: Recorded, chosen: Sequence[Moment]) -> None:
    """A unit: its head line, the chosen moments, and for an episode the verdict.

    A whole web episode is one line a step; a step, an item and what ran in a sandbox are shown in full.
    """
    episode = found.episode
    if episode is not None:
        form = "".join(f"  {name} {value}" for name, value in _form(found) if value)
        _say(f"{found.unit}{form}  {episode['domain']} {episode['tier']}", "bold")
    if len(found.forms) > 1:
        _say(f"on record: {listed(found.forms)}", "dim")
    full = found.step is not None or episode is None or any(moment.deed for moment in chosen)
    for moment in chosen:
        if full:
            _print_moment(moment)
        else:
            _print_line(moment)
    if episode is not None:
        _print_verdict(episode)


def _form(found: Recorded) -> tuple[tuple[str, int], ...]:
    return ("trial", found.trial), ("repeat", found.repeat)


def _say(text: str, style: str = "") -> None:
    """A line of foreign text: nothing in it moves the cursor, and no line is broken that was not."""
    console().print(Text(harmless(text), style=style), soft_wrap=True)


def _print_line(moment: Moment) -> None:
    row = moment.rows[0]
    mark, style = _mark(row)
    gold = "" if row["gold"] is None else f"  gold {', '.join(map(str, row['gold']['accepted']))}"
    p = "" if row["confidence"] is None else f" p={row['confidence']:.3f}"
    _say(f"{row['phase']:>7} {row['step']:>3}  {mark:8} {row['committed']}{p}{gold}", style)


def _mark(row: dict[str, Any]) -> tuple[str, str]:
    if not row["valid"]:
        return "invalid", "yellow"
    if row["correct"] is None:
        return "no gold", "dim"
    return ("right", "green") if row["correct"] else ("wrong", "red")


def _print_moment(moment: Moment) -> None:
    text = moment.state if isinstance(moment.state, str) else json.dumps(moment.state, indent=1, ensure_ascii=False)
    first = moment.rows[0]
    console().rule(Text(f"step {first['step']} ({first['phase']})"))
    _say(_head(text, STATE_SHOWN), "dim")
    for row in moment.rows:
        _print_decision(row)
    if moment.deed is not None:
        _print_deed(moment.deed)
    _print_times(moment)


def _head(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n... {len(text) - limit} more characters (--json has all)"


def _print_times(moment: Moment) -> None:
    first = moment.rows[0]
    timing = "  ".join(f"{name} {ms:.1f}" for name, ms in ((moment.step or {}).get("timing") or {}).items())
    attempts = "; ".join(
        f"attempt {a['n']}: {a['error'] or a['status'] or 'ok'} {1000 * a['seconds']:.1f} ms"
        + (f" after waiting {a['waited']:.1f} s" if a["waited"] else "")
        for a in first["attempts"]
    )
    latency = "" if first["latency_ms"] is None else f"latency {first['latency_ms']:.2f} ms  "
    _say(f"{latency}{timing}  {attempts}".strip(), "dim")
    if moment.step is not None:
        _say(f"page hash {moment.step['page_hash']}", "dim")


def _print_decision(row: dict[str, Any]) -> None:
    mark, style = _mark(row)
    _say(f"{row['question_name']} ({row['question']['type']}): {row['question']['instructions']}", "bold")
    if form := form_of(row):
        _say(f"{form}; shown as: {', '.join(option_row.key for option_row in option_rows(row))}", "dim")
    reason = f": {row['invalid_reason']}" if row["invalid_reason"] else ""
    _say(f"{mark}{reason}", style)
    if not row["valid"]:
        _say(f"answered: {_head(_answered(row), ANSWER_SHOWN)}", style)
    options = sorted(option_rows(row), key=lambda option: (-(option.p or 0.0), option.key))
    for option in options[:OPTIONS_SHOWN]:
        bar = "█" * round(BAR * (option.p or 0.0))
        marks = (" <- chosen" if option.committed else "") + (" (gold)" if option.gold else "")
        shown = "  ?   " if option.p is None else f"{option.p:.4f}"
        colour = "green" if option.gold else "red" if option.committed else ""
        _say(f"  {shown} {bar:{BAR}} {option.key}  {option.text}{marks}", colour)
    rest = options[OPTIONS_SHOWN:]
    if rest:
        gold = next((option for option in rest if option.gold), None)
        also = f"; the gold {gold.key} has p {gold.p}" if gold else ""
        _say(f"  ... and {len(rest)} more options{also}")


def _answered(row: dict[str, Any]) -> str:
    """What came back in place of a valid answer: its JSON, else the body or the error of the call."""
    if row["response"] is not None:
        return json.dumps(row["response"], ensure_ascii=False)
    return row["body"] or row["error"] or "nothing"


def _print_deed(deed: Deed) -> None:
    """What ran and what came of it; quoted for reading, and nothing of it runs again."""
    _say(f"$ {deed.command}" if deed.command else "no command ran: a scripted reply", "bold")
    ran = "" if deed.exec_ms is None else f"  exec {deed.exec_ms:.1f} ms"
    flags = f"  flags {', '.join(deed.flags)}" if deed.flags else ""
    _say(f"rc {deed.rc}{ran}{flags}", "green" if deed.rc == 0 else "yellow")
    for name, text in (("stdout", deed.stdout), ("stderr", deed.stderr)):
        if text:
            _say(f"{name}:")
            _say(_head(text.removesuffix("\n"), OUTPUT_SHOWN))
    if deed.truncated:
        _say("output truncated: the command wrote more than is on record", "yellow")
    for change in deed.changes:
        _print_change(change)
    if not deed.changes:
        _say("no file changed", "dim")


def _print_change(change: Change) -> None:
    _say(f"{change.what} {change.path}".strip(), "bold")
    for line in change.lines[:LINES_SHOWN]:
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        _say(f"  {line}", colour)
    if len(change.lines) > LINES_SHOWN:
        _say(f"  ... {len(change.lines) - LINES_SHOWN} more lines (--json has all)", "dim")
    if change.cut:
        _say("  the log keeps the head of this file only", "yellow")


def _print_verdict(episode: dict[str, Any]) -> None:
    """How it ended, judged again from the end state in the log."""
    judged = judge_again(episode)
    style = "green" if episode["ending"] == "success" else "red"
    share = "" if episode["key_nodes"] is None else f"  {100 * episode['key_nodes']:.0f} % of the final conditions"
    console().rule(Text("verdict"))
    _say(f"{episode['ending']}{share}", f"bold {style}")
    claim = episode["claimed"] or ("nothing: truncated" if episode["truncated"] else "nothing")
    _say(f"claimed {claim}{'  flags ' + ', '.join(episode['flags']) if episode['flags'] else ''}")
    if judged.verdict is not None:
        for reason in judged.verdict.reasons:
            _say(f"  {reason}")
        if judged.verdict.ending == "success":
            _say("  every condition holds")
    if judged.fault is None:
        _say("judged again from the log: the same", "dim")
    elif judged.verdict is None:
        _say(f"not judged again: {judged.fault}", "yellow")
    else:
        _say(f"JUDGED AGAIN, THE VERDICT DIFFERS: {judged.fault}", "bold red")
