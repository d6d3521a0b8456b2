"""What a new gold version changed: fields, items, and the effect on every model. And second annotations.

Both read logs and gold files only. Agreement is never pooled over human and model annotators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arena.errors import NothingSelected, UsageError
from arena.items import Gold
from arena.leaderboard.golds import Golds, Regolded
from arena.leaderboard.profiles.rules import Profile
from arena.leaderboard.profiles.table import tabulate
from arena.leaderboard.rows import labels_of
from arena.leaderboard.score import case_values
from arena.leaderboard.statistics import clopper_pearson, kappa
from arena.log.importers.foreign import Notices, read_gold
from arena.log.importers.lines import objects
from arena.log.reader import Row, RunReader
from arena.reliability.metrics.accuracy import accuracy
from arena.reliability.metrics.sums import mean
from arena.types import parse_question

KINDS = ("human", "model")


def gold_report(readers: Sequence[RunReader], old: Golds, new: Golds, rules: Profile) -> dict[str, Any]:
    """What changed between two gold versions on the items these runs asked.

    Returns ``old``, ``new`` (version, source, sha256), ``fields`` {question: {``n``, ``changed``}}, ``items`` (suite,
    item, question, old, new) and ``models`` (run, pct and accuracy under each, hits gained and lost).
    """
    fields: dict[str, dict[str, int]] = {}
    items: dict[tuple[str, str, str], dict[str, Any]] = {}
    seen: set[tuple[str, str, str]] = set()
    for reader in readers:
        for row in _judged(reader):
            key = (row["suite"], row["unit"], row["question_name"])
            if key in seen:
                continue
            seen.add(key)
            before, after = old.of(row), new.of(row)
            field = fields.setdefault(f"{row['suite']}/{row['question_name']}", {"n": 0, "changed": 0})
            field["n"] += 1
            if _same(before, after):
                continue
            field["changed"] += 1
            items[key] = {
                "suite": key[0],
                "item": key[1],
                "question": key[2],
                "old": None if before is None else list(before.accepted),
                "new": None if after is None else list(after.accepted),
            }
    if not seen:
        raise NothingSelected("the runs hold no decision with a gold")
    return {
        "old": _version(old),
        "new": _version(new),
        "profile": rules.name,
        "labels": len(seen),
        "changed": len(items),
        "fields": dict(sorted(fields.items())),
        "items": [items[key] for key in sorted(items)],
        "models": [_effect(reader, old, new, rules) for reader in readers],
    }


def _version(golds: Golds) -> dict[str, Any]:
    return {"version": golds.version, "source": golds.source, "sha256": golds.sha256}


def _same(before: Gold | None, after: Gold | None) -> bool:
    if before is None or after is None:
        return before is after
    return set(map(repr, before.accepted)) == set(map(repr, after.accepted)) and (
        before.label_distribution == after.label_distribution
    )


def _judged(reader: RunReader) -> Iterable[Row]:
    for row in reader.rows():
        if row["variant"]["kind"] == "base" and row["phase"] == "teacher" and row["gold"] is not None:
            yield row


def _effect(reader: RunReader, old: Golds, new: Golds, rules: Profile) -> dict[str, Any]:
    """One model under both versions. Hits are of decisions that have a gold in both."""
    before, after = (tabulate(Regolded(reader, golds), rules) for golds in (old, new))
    was = dict(zip(before.key.tolist(), before.scored.correct.tolist(), strict=True))
    now = dict(zip(after.key.tolist(), after.scored.correct.tolist(), strict=True))
    both = was.keys() & now.keys()
    percents = [mean(case_values(table, rules)[0]) for table in (before, after)]
    pct = [None if each is None else 100.0 * each for each in percents]
    return {
        "run": str(reader.folder),
        "model": reader.config["resolved"]["model"],
        "pct": {"old": pct[0], "new": pct[1], "difference": None if None in pct else pct[1] - pct[0]},  # type: ignore[operator]
        "accuracy": {"old": accuracy(before.scored.correct), "new": accuracy(after.scored.correct)},
        "gained": sum(now[key] and not was[key] for key in both),
        "lost": sum(was[key] and not now[key] for key in both),
        "not_in_both": len(was.keys() ^ now.keys()),
    }


def agreement(readers: Sequence[RunReader], path: Path) -> list[dict[str, Any]]:
    """Agreement of second annotators with the gold and with each other, by kind and question.

    ``path``: JSONL of ``item``, ``question_name``, ``annotator``, ``kind`` (human or model), ``label``, ``suite``?.
    Rows of the result: ``kind``, ``question``, ``first``, ``second`` ("gold" or an annotator), ``n``, ``agreement``,
    ``ci95`` (Clopper-Pearson), ``kappa``, ``weights`` (linear for levels, else none). Where several golds are
    accepted, a label among them agrees. A human is never paired with a model.

    Raises:
        UsageError: a row that is no annotation, or of an item no run asked; names the line.
    """
    asked = {(row["suite"], _item(row), row["question_name"]): row for reader in readers for row in _judged(reader)}
    if not asked:
        raise NothingSelected("the runs hold no decision with a gold")
    labels = _annotations(path, asked)
    rows = []
    for question in sorted({(suite, name) for suite, _, name in labels}):
        for kind in KINDS:
            names = sorted(
                {name for key in labels for k, name in labels[key] if k == kind and (key[0], key[2]) == question}
            )
            pairs = [("gold", name) for name in names] + [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
            found = [_pair(kind, question, pair, labels, asked) for pair in pairs]
            rows += [row for row in found if row["n"]]
    return rows


Key = tuple[str, str, str]
Labels = dict[Key, dict[tuple[str, str], str]]
"""(suite, item, question) -> (kind, annotator) -> label as an option key."""


def _item(row: Row) -> str:
    return str(row["unit"]).removeprefix(f"{row['suite']}/")


def _annotations(path: Path, asked: dict[Key, Row]) -> Labels:
    notices = Notices()
    suites: dict[tuple[str, str], list[str]] = {}
    for suite, item, name in asked:
        suites.setdefault((item, name), []).append(suite)
    found: Labels = {}
    for where, row in objects(path, notices):
        kind, annotator, item, name = (str(row.get(k)) for k in ("kind", "annotator", "item", "question_name"))
        if kind not in KINDS or "annotator" not in row or "label" not in row:
            raise UsageError(f"{where}: an annotation has item, question_name, annotator, kind (human or model), label")
        for suite in [row["suite"]] if "suite" in row else suites.get((item, name), []):
            if (suite, item, name) not in asked:
                break
            question = parse_question(asked[suite, item, name]["question"])
            label = read_gold(question, row["label"])
            if isinstance(label, str):
                raise UsageError(f"{where}: {label.replace('gold', 'label', 1)}")
            if found.setdefault((suite, item, name), {}).setdefault((kind, annotator), _text(label[0])) != _text(
                label[0]
            ):
                raise UsageError(f"{where}: {annotator} labelled item {item}, question {name} twice")
        else:
            if "suite" in row or (item, name) in suites:
                continue
        raise UsageError(f"{where}: no run here asked item {item}, question {name}")
    if notices.left_out:
        raise UsageError(f"{path} is damaged: {notices.left_out[0]}")
    return found


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _pair(
    kind: str, question: tuple[str, str], pair: tuple[str, str], labels: Labels, asked: dict[Key, Row]
) -> dict[str, Any]:
    first, second, codes, ordered = [], [], dict[str, int](), False
    for key in sorted(labels):
        given = labels[key].get((kind, pair[1]))
        other = labels[key].get((kind, pair[0])) if pair[0] != "gold" else given
        if (key[0], key[2]) != question or given is None or other is None:
            continue
        row = asked[key]
        ordered = row["question"]["type"] == "score"
        if pair[0] == "gold":
            golds = [_text(value) for value in row["gold"]["accepted"]]
            other = given if given in golds else golds[0]
        options = labels_of(row["question"])
        for label in options if ordered else sorted(options):
            codes.setdefault(label, len(codes))
        first.append(codes[other])
        second.append(codes[given])
    hits = sum(a == b for a, b in zip(first, second, strict=True))
    interval = clopper_pearson(hits, len(first)) if first else None
    weights = "linear" if ordered else "none"
    return {
        "kind": kind,
        "question": f"{question[0]}/{question[1]}",
        "first": pair[0],
        "second": pair[1],
        "n": len(first),
        "agreement": hits / len(first) if first else None,
        "ci95": None if interval is None else [interval.low, interval.high],
        "kappa": kappa(first, second, len(codes), weights) if first else None,  # type: ignore[arg-type]
        "weights": weights,
    }
