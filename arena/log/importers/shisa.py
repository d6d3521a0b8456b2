"""``shisa``: the per-item logs of jevbench runs by shisa-ai (one object a task).

The log holds the chosen option and whether it was right, not the gold: where it was right the choice is the gold;
where it was wrong the gold must come from a file of ``task_id`` and ``gold`` (JSONL, ``--cases``), and a row without
one is left out. Each family is a suite. Latencies count as serial where the timestamps show that no two calls overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from arena.gate import number
from arena.log.importers.foreign import Foreign, Notices, Options, read_gold
from arena.log.importers.lines import Line, objects
from arena.types import JSON, Choice

INSTRUCTIONS = "(the answer file does not hold the text of this question)"
CLOCK_SLACK_S = 0.001


def read(files: Sequence[Path], options: Options, notices: Notices) -> Iterator[Foreign]:
    """Every usable row of the files, in order."""
    golds = {str(row.get("task_id")): row.get("gold") for path in options.cases for _, row in objects(path, notices)}
    for path in files:
        rows = list(objects(path, notices))
        serial = _serial(rows)
        for where, row in rows:
            found = _foreign(row, where, serial, golds, options)
            if isinstance(found, str):
                notices.leave_out(where, found)
            else:
                yield found


def _serial(rows: Sequence[Line]) -> bool:
    """Whether every call began after the one before it had ended (``ts`` is the end of a call)."""
    ends = [(number(row.get("ts")), number(row.get("latency_s"))) for _, row in rows]
    for (before, _), (end, seconds) in pairwise(ends):
        if before is None or end is None or seconds is None or end - seconds < before - CLOCK_SLACK_S:
            return False
    return bool(ends)


def _foreign(
    row: Mapping[str, JSON], where: str, serial: bool, golds: Mapping[str, JSON], options: Options
) -> Foreign | str:
    item, given = row.get("task_id"), row.get("probs_as_returned")
    if not isinstance(item, str):
        return "no 'task_id'"
    if row.get("ordinal_ev") is not None:
        return "a score task: the log does not hold its scale"
    failed = None if row.get("ok") else str(row.get("error") or row.get("status") or "failed")
    given = given if isinstance(given, dict) else row.get("probs")
    if not isinstance(given, dict) or len(given) < 2:
        return f"no probabilities, so the options are unknown ({failed or 'the row has none'})"
    question = Choice(instructions=INSTRUCTIONS, criteria=dict.fromkeys(given))
    gold = golds.get(item, row.get("predicted") if row.get("correct") is True else None)
    accepted = read_gold(question, gold)
    if isinstance(accepted, str):
        known = accepted != "no gold" or item in golds
        return accepted if known else "no gold: the answer was wrong, and the log does not say what is right"
    usage = row.get("usage")
    return Foreign(
        suite=options.suite or str(row.get("family") or Path(where.rpartition(":")[0]).stem),
        item=item,
        name="decision",
        question=question,
        accepted=accepted,
        answer={"type": "choice", "choice": row.get("predicted"), "probabilities": given},
        where=where,
        error=failed,
        group=None if row.get("group") is None else str(row["group"]),
        model=None if row.get("model") is None else str(row["model"]),
        latency_s=number(row.get("latency_s")),
        serial=serial,
        usage=usage if isinstance(usage, dict) else None,
        cost_usd=number(row.get("cost_usd")),
    )
