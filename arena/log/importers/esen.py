"""``esen``: the ``results/<run>/<phase>.json`` files of system-one-bench, with its case files as golds.

One file a phase: ``meta`` and ``cases`` (id -> ``answers`` by question, or ``error``). The file holds answers only, so
a question is rebuilt from them: its options in the order shown (``meta.choice_order`` where the run permuted them,
else the order of the answer), a score's levels from its legend; instructions are not in the file. A case that
failed is asked the same questions as the others of its phase.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.errors import MissingNeed, UsageError
from arena.gate import number
from arena.log.importers.foreign import Foreign, Notices, Options, read_gold
from arena.types import JSON, Choice, Noul, Score

INSTRUCTIONS = "(the answer file does not hold the text of this question)"
NOT_QUESTIONS = frozenset({"state", "family", "rule_target", "name", "id", "es", "en", "expected"})


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a gold file: its state, its golds by question, the file it stands in."""

    state: JSON
    golds: Mapping[str, JSON]
    where: str


def read(files: Sequence[Path], options: Options, notices: Notices) -> Iterator[Foreign]:
    """Every answer of the phases in ``files`` (or folders of them), case by case.

    Golds: the case files in ``options.cases``, else every JSON file of the ``data`` folder beside ``results``.
    """
    for path in _phases(files):
        text = _text(path)
        body = _object(path, text, notices)
        meta, cases = body.get("meta") or {}, body.get("cases")
        if not isinstance(cases, dict) or not isinstance(meta, dict):
            raise UsageError(f"{path}: expected an object with 'meta' and 'cases'", hint="arena import answers --help")
        golds = read_cases(options.cases or _beside(path), str(meta.get("phase") or path.stem))
        questions = _questions(cases, meta)
        phase = _Phase(path, meta, questions, golds, options)
        for case, row in cases.items():
            yield from _case(case, row, f"{path}:{_line(text, case)}", phase, notices)


@dataclass(frozen=True, slots=True)
class _Phase:
    path: Path
    meta: Mapping[str, Any]
    questions: Mapping[str, Choice | Score | Noul]
    golds: Mapping[str, Case]
    options: Options

    @property
    def suite(self) -> str:
        return self.options.suite or str(self.meta.get("phase") or self.path.stem)


def _case(case: str, row: JSON, where: str, phase: _Phase, notices: Notices) -> Iterator[Foreign]:
    if not isinstance(row, dict):
        notices.leave_out(where, f"case {case} is {'null' if row is None else type(row).__name__}, not an object")
        return
    gold = phase.golds.get(case)
    if gold is None:
        notices.leave_out(where, f"case {case}: no gold: no case file holds it")
        return
    answers, error = row.get("answers"), row.get("error")
    if error is None and not isinstance(answers, dict):
        notices.leave_out(where, f"case {case}: neither 'answers' nor 'error'")
        return
    for name, question in phase.questions.items():
        accepted = read_gold(question, gold.golds.get(name))
        if isinstance(accepted, str):
            notices.leave_out(where, f"case {case}, question {name}: {accepted} (in {gold.where})")
            continue
        raw = answers.get(name) if isinstance(answers, dict) else None
        yield Foreign(
            suite=phase.suite,
            item=case,
            name=name,
            question=_as_shown(question, raw, phase.meta.get("choice_order") or {}, name),
            accepted=accepted,
            answer=raw,
            where=where,
            error=None if error is None else str(error),
            state=gold.state,
            group=case,
            model=phase.meta.get("model"),
            version=row.get("model"),
            latency_s=None if (ms := number(row.get("ms"))) is None else ms / 1000.0,
            usage=row.get("usage"),
            cost_usd=number(row.get("cost")),
        )


def _as_shown(
    question: Choice | Score | Noul, raw: JSON, orders: Mapping[str, Any], name: str
) -> Choice | Score | Noul:
    """The question with its options as this case was shown them."""
    given = raw.get("probabilities") if isinstance(raw, dict) else None
    if not isinstance(question, Choice) or name in orders or not isinstance(given, dict):
        return question
    if given.keys() != question.criteria.keys():
        return question
    return Choice(instructions=question.instructions, criteria={key: question.criteria[key] for key in given})


def _questions(cases: Mapping[str, JSON], meta: Mapping[str, Any]) -> dict[str, Choice | Score | Noul]:
    """The questions of a phase, from the first readable answer to each."""
    found: dict[str, Choice | Score | Noul] = {}
    orders = meta.get("choice_order") or {}
    for row in cases.values():
        answers = row.get("answers") if isinstance(row, dict) else None
        for name, raw in (answers if isinstance(answers, dict) else {}).items():
            if name not in found and isinstance(raw, dict) and (question := _question(raw, orders.get(name))):
                found[name] = question
    return found


def _question(raw: Mapping[str, JSON], order: JSON) -> Choice | Score | Noul | None:
    kind, given = raw.get("type"), raw.get("probabilities")
    if kind == "noul":
        return Noul(instructions=INSTRUCTIONS)
    if not isinstance(given, dict) or len(given) < 2:
        return None
    if kind == "choice":
        keys = order if isinstance(order, list) and set(order) == set(given) else list(given)
        return Choice(instructions=INSTRUCTIONS, criteria=dict.fromkeys(keys))
    if kind == "score":
        legend = raw.get("legend") or {}
        levels = [str(level) for level in range(len(given))]
        return Score(instructions=INSTRUCTIONS, criteria=tuple(legend.get(level) for level in levels))
    return None


def _phases(files: Sequence[Path]) -> Iterator[Path]:
    for path in files:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not found:
            raise UsageError(f"{path} holds no phase files (*.json)")
        yield from found


def _beside(path: Path) -> tuple[Path, ...]:
    """The case files of the tree that ``results/<run>/<phase>.json`` lies in."""
    folder = path.absolute().parent.parent.parent / "data"
    found = tuple(sorted(folder.glob("*.json"))) if folder.is_dir() else ()
    if not found:
        raise MissingNeed(f"no case files for {path}: {folder} holds none", hint="name them with --cases FILE")
    return found


def read_cases(files: Sequence[Path], phase: str) -> dict[str, Case]:
    """Case id -> case, over all case files. ``phase`` picks the language where a case has a text in each."""
    language = phase.rsplit("_", 1)[-1]
    found: dict[str, Case] = {}
    for path in files:
        body = _parsed(path, _text(path))
        rows = body.items() if isinstance(body, dict) else [(_case_name(row), row) for row in body]
        for case, row in rows:
            if not isinstance(row, dict):
                continue
            golds = row["expected"] if isinstance(row.get("expected"), dict) else row
            state = row.get("state", row.get(language))
            found[str(case)] = Case(state, {k: v for k, v in golds.items() if k not in NOT_QUESTIONS}, path.name)
    return found


def _case_name(row: JSON) -> str | None:
    return (row.get("name") or row.get("id")) if isinstance(row, dict) else None


def _object(path: Path, text: str, notices: Notices) -> dict[str, Any]:
    """The file's object; a key that occurs twice in one object is noted, and its first value is kept."""

    def first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                notices.leave_out(f"{path}:{_line(text, key, 2)}", f"{key!r} occurs twice; the first is kept")
            else:
                made[key] = value
        return made

    body = _parsed(path, text, first)
    if not isinstance(body, dict):
        raise UsageError(f"{path}: expected an object, found {'null' if body is None else type(body).__name__}")
    return body


def _parsed(path: Path, text: str, hook: Any = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=hook)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}", hint="arena import answers --help") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise MissingNeed(f"{path} cannot be read: {why}", hint="give the path of a file that is there") from error


def _line(text: str, key: str, occurrence: int = 1) -> int:
    """Line (from 1) of the ``occurrence``-th place where ``key`` stands as a JSON key."""
    spot = -1
    for _ in range(occurrence):
        spot = text.find(f"{json.dumps(key, ensure_ascii=False)}:", spot + 1)
    return text.count("\n", 0, max(spot, 0)) + 1
