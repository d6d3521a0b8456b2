"""``jsonl``: one wire answer a line.

An object a line: ``suite``, ``item``, ``question_name``, ``question`` (wire form), ``gold`` (option key, level,
true/false, or a list where several are right), ``answer`` (wire form) or ``error`` (text); optional ``group``,
``model``, ``model_version``, ``state``, ``label_distribution``, ``latency_ms``, ``usage``, ``cost_usd``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arena.errors import UsageError
from arena.gate import number
from arena.log.importers.foreign import Foreign, Notices, Options, read_gold
from arena.log.importers.lines import objects
from arena.types import JSON, parse_question

NEEDED = ("suite", "item", "question_name", "question")
KNOWN = frozenset(
    {*NEEDED, "gold", "answer", "error", "group", "model", "model_version"}
    | {"state", "label_distribution", "latency_ms", "usage", "cost_usd"}
)


def read(files: Sequence[Path], options: Options, notices: Notices) -> Iterator[Foreign]:
    """Every usable row of the files, in order."""
    if options.cases:
        raise UsageError(
            "the plain form holds its golds in each row", hint="to lay others over: arena score --gold FILE"
        )
    strange: set[str] = set()
    for path in files:
        for where, row in objects(path, notices):
            if options.model is not None and row.get("model") not in (None, options.model):
                continue
            for key in sorted(row.keys() - KNOWN - strange):
                strange.add(key)
                notices.keep(where, f"unknown key {key!r} is not read")
            found = _foreign(row, where, options)
            if isinstance(found, str):
                notices.leave_out(where, found)
            else:
                yield found


def _foreign(row: Mapping[str, JSON], where: str, options: Options) -> Foreign | str:
    for key in NEEDED:
        if row.get(key) in (None, ""):
            return f"no {key!r}" + (" (or name one for all: --suite NAME)" if key == "suite" else "")
    if not isinstance(row["question"], dict):
        return "question is not an object"
    try:
        question = parse_question(row["question"], "question")
    except UsageError as unreadable:
        return unreadable.message
    accepted = read_gold(question, row.get("gold"))
    if isinstance(accepted, str):
        return accepted
    if "answer" not in row and row.get("error") is None:
        return "neither 'answer' nor 'error'"
    error, soft = row.get("error"), row.get("label_distribution")
    if soft is not None and not _is_distribution(soft, question.labels()):
        return "label_distribution is not a number for each of the question's labels"
    latency = number(row.get("latency_ms"))
    usage = row.get("usage")
    return Foreign(
        suite=options.suite or str(row["suite"]),
        item=str(row["item"]),
        name=str(row["question_name"]),
        question=question,
        accepted=accepted,
        answer=row.get("answer"),
        where=where,
        error=None if error is None else str(error),
        state=row.get("state"),
        group=None if row.get("group") is None else str(row["group"]),
        model=None if row.get("model") is None else str(row["model"]),
        version=None if row.get("model_version") is None else str(row["model_version"]),
        label_distribution=None if soft is None else {key: float(q) for key, q in soft.items()},
        latency_s=None if latency is None else latency / 1000.0,
        usage=usage if isinstance(usage, dict) else None,
        cost_usd=number(row.get("cost_usd")),
    )


def _is_distribution(value: JSON, labels: Sequence[str]) -> bool:
    return isinstance(value, dict) and set(value) <= set(labels) and all(number(q) is not None for q in value.values())
