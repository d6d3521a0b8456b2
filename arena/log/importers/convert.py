"""Foreign answers to a run: every answer passes the one gate and becomes a decision like any other.

The header says that the run was imported, from which files (sha256), in which format, and what was left out.
Domains are named ``imported/SUITE``, so that no foreign suite can pass for a domain of the registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isfinite, nextafter
from pathlib import Path
from typing import Any

from arena.errors import NothingSelected, UsageError
from arena.gate import Gated, gate
from arena.identity import PROTOCOL, case_id, dump, presented_id, question_id, sha256, sha256_file
from arena.items import BASE, Gold
from arena.log.importers.foreign import Foreign, Notices
from arena.log.writer import RunWriter
from arena.records import Decision, ModelCard, Outcome
from arena.types import JSON

DOMAIN = "imported/"
TIER = "all"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made: the run's folder, decisions and items written, invalid answers, and all notices."""

    folder: Path
    model: str
    suites: dict[str, int]
    decisions: int
    invalid: tuple[str, ...]
    notices: Notices

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "run": str(self.folder),
            "imported": True,
            "model": self.model,
            "suites": self.suites,
            "decisions": self.decisions,
            "left_out": [asdict(notice) for notice in self.notices.left_out],
            "notes": [asdict(notice) for notice in self.notices.kept],
            "invalid_answers": list(self.invalid),
        }


@dataclass(frozen=True, slots=True)
class Source:
    """Where the answers come from: ``files`` as named by the user, their ``format``, the version of their golds."""

    format: str
    files: tuple[Path, ...]
    gold_version: str = "v1"
    model: str | None = None


def convert(
    folder: Path, source: Source, answers: Iterable[Foreign], notices: Notices, lane: str | None = None
) -> Imported:
    """Write the answers as a run at ``folder`` (new, not finished: the caller adds the summary).

    ``lane``: "latency" to count all latencies as serial, "throughput" none; None: as the reader says.

    Raises:
        UsageError: the folder is taken, or the answers are of several models.
        NothingSelected: no answer is usable; says why the first one was not.
    """
    rows = _unique(answers, notices)
    if not rows:
        first = f"; the first: {notices.left_out[0]}" if notices.left_out else ""
        raise NothingSelected(f"no usable answer in {', '.join(map(str, source.files))}{first}")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is there already", hint="choose another --out")
    model, now = _model(rows, source), datetime.now(UTC).isoformat(timespec="seconds")
    invalid: list[str] = []
    suites: dict[str, int] = {}
    with RunWriter(folder, _header(folder.name, model, rows, source, notices, now)) as writer:
        for ask in _asks(rows):
            state, blob = writer.store_state(ask[0].state)
            shared = {"run": folder.name, "model": model, "state": state, "state_blob": blob, "started_at": now}
            made = [
                _decision(row, source, {**shared, "lane": lane or ("latency" if row.serial else "throughput")})
                for row in ask
            ]
            writer.decisions(made)
            suites[ask[0].suite] = suites.get(ask[0].suite, 0) + len(made)
            invalid += [f"{row.where}: {d.invalid_reason}" for row, d in zip(ask, made, strict=True) if not d.valid]
    return Imported(folder, model, suites, len(rows), tuple(invalid), notices)


def _unique(answers: Iterable[Foreign], notices: Notices) -> list[Foreign]:
    """The first answer to each question of each item; later ones are left out."""
    seen: dict[tuple[str, str, str], str] = {}
    rows = []
    for row in answers:
        key = (row.suite, row.item, row.name)
        if key in seen:
            notices.leave_out(row.where, f"item {row.item}, question {row.name}: duplicate of {seen[key]}")
        else:
            seen[key] = row.where
            rows.append(row)
    return rows


def _asks(rows: Sequence[Foreign]) -> list[list[Foreign]]:
    """Rows by item, in the order of first appearance."""
    asks: dict[tuple[str, str], list[Foreign]] = {}
    for row in rows:
        asks.setdefault((row.suite, row.item), []).append(row)
    return list(asks.values())


def _model(rows: Sequence[Foreign], source: Source) -> str:
    names = sorted({row.model for row in rows if row.model is not None})
    if len(names) > 1:
        raise UsageError(
            f"the answers are of {len(names)} models: {', '.join(names)}", hint="import one at a time: --model NAME"
        )
    return source.model or (names[0] if names else source.files[0].stem)


def _header(
    run: str, model: str, rows: Sequence[Foreign], source: Source, notices: Notices, now: str
) -> dict[str, Any]:
    sources = [{"file": path.name, "sha256": sha256_file(path)} for path in _files(source.files)]
    versions = sorted({row.version for row in rows if row.version})
    card = ModelCard(
        name=model,
        version=", ".join(versions),
        identity={"imported": [each["sha256"] for each in sources]},
        verified="not verified live",
    )
    return {
        "run": run,
        "resolved": {
            "protocol": PROTOCOL,
            "model": model,
            "model_options": {},
            "domains": [DOMAIN + suite for suite in dict.fromkeys(row.suite for row in rows)],
            "tiers": ["all"],
            "split": "test",
            "items": [],
            "limit": None,
            "repeats": 1,
            "environment": {},
            "lane": "throughput",
            "stop": {"errors": None, "share": None, "minimum": 0},
            "reliability": None,
            "prereg_sha256": None,
            "model_card": card.model_dump(mode="json"),
            "environments": {},
            "data": {},
        },
        "limited": False,
        "imported": {
            "format": source.format,
            "sources": sources,
            "gold_version": source.gold_version,
            "left_out": [asdict(notice) for notice in notices.left_out],
            "notes": [asdict(notice) for notice in notices.kept],
        },
        "started_at": now,
        "hardware": {},
        "packages": {},
        "git": None,
    }


def _files(files: Sequence[Path]) -> list[Path]:
    return [each for path in files for each in (sorted(path.glob("*.json")) if path.is_dir() else [path])]


def _decision(row: Foreign, source: Source, shared: Mapping[str, Any]) -> Decision:
    unit = f"{row.suite}/{row.item}"
    case = case_id(unit, BASE.key(), 0)
    gated = gate(row.question, row.answer) if row.error is None else Gated(False, row.error)
    gold = Gold(accepted=row.accepted, label_distribution=row.label_distribution, version=source.gold_version)
    keepable = _loggable(row.answer)
    fields: dict[str, Any] = {
        **shared,
        "protocol": PROTOCOL,
        "id": sha256(f"{case}\x1f{row.name}".encode())[:24],
        "case": case,
        "ask": case,
        "domain": DOMAIN + row.suite,
        "tier": TIER,
        "suite": row.suite,
        "split": "test",
        "unit": unit,
        "group": row.group,
        "episode": None,
        "step": 0,
        "question_name": row.name,
        "question_id": question_id(row.question),
        "presented_id": presented_id(row.question),
        "state_id": sha256(dump(row.state)),
        "variant": BASE,
        "model_version": row.version,
        "question": row.question,
        "request_sha256": sha256(dump({"state": row.state, "questions": {row.name: row.question.wire()}})),
        "response": row.answer if keepable else None,
        "body": None if keepable else json.dumps(row.answer, default=repr),
        "outcome": "ok" if row.error is None else _outcome(row.error),
        "error": row.error,
        "answer": None if gated.answer is None else {**gated.answer.__dict__},
        "valid": gated.valid,
        "invalid_reason": gated.reason,
        "renormalized": gated.renormalized,
        "committed": gated.committed,
        "confidence": gated.confidence,
        "provider_confidence": gated.provider_confidence,
        "gold": gold,
        "correct": gated.valid and gold.accepts(gated.committed),
        "latency_ms": None if row.latency_s is None else milliseconds(row.latency_s),
        "server_latency_ms": None,
        "attempts": (),
        "usage": row.usage,
        "cost_usd": row.cost_usd,
        "cached": False,
    }
    return Decision.model_construct(**fields)


def milliseconds(seconds: float) -> float:
    """Milliseconds that give back exactly ``seconds`` when divided by 1,000, where such a number exists.

    >>> milliseconds(0.019428899162448943) / 1000.0
    0.019428899162448943
    """
    plain = seconds * 1000.0
    near = (plain, nextafter(plain, 0.0), nextafter(plain, float("inf")))
    return next((each for each in near if each / 1000.0 == seconds), plain)


def _outcome(error: str) -> Outcome:
    text = error.lower()
    if "refus" in text:
        return "refused"
    return "timeout" if "timeout" in text or "timed out" in text else "server_error"


def _loggable(value: JSON) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, dict):
        return all(_loggable(inner) for inner in value.values())
    return all(map(_loggable, value)) if isinstance(value, list) else True
