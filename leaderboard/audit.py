"""Can a run stand on a board? Everything it says is computed again from its log, and held against what is frozen.

Each decision is gated again from its raw answer and judged again by its gold; gold, state and question must be
those of the locked items; each episode is verified again from its end state; the summary must be the one the log
gives. What cannot be trusted is refused with file, line and reason. What is honest but incomplete (limited,
unfinished, units missing) is refused too, unless the caller asks for partial rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from arena.errors import ArenaError, UsageError
from arena.gate import Gated, gate
from arena.identity import PROTOCOL, digest, dump, presented_id, question_id, sha256, state_id
from arena.items import Gold, Item
from arena.leaderboard.summary import summarise
from arena.log.reader import DECISIONS, EPISODES, SUMMARY, Row, RunReader, iter_rows, log_file
from arena.tasks import domain, domains, load_golds, load_units, select
from arena.types import parse_question
from arena.verifiers import VERIFIERS

TOLERANCE = 1e-9
"""Two summaries agree when their numbers differ by no more: the last digit of a percentile is the machine's."""

STANDARD_ORDERS, STANDARD_PER_DOMAIN = 12, 50
"""Reliability measured with other counts is no board figure (protocol 5): the row is partial."""

UNCHANGED = frozenset({"base", "repeat", "reorder"})
"""Variants that keep the item's state and gold."""


class Refused(ArenaError):
    """A run that may not stand on a board; names the run, the place and the reason."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A run whose log holds. ``summary`` is the recomputed one; ``faults`` say why it is partial (empty: whole)."""

    reader: RunReader
    summary: Row
    faults: tuple[str, ...]

    @property
    def resolved(self) -> Row:
        """The resolved configuration."""
        found: Row = self.reader.config["resolved"]
        return found

    @property
    def cells(self) -> frozenset[tuple[str, str]]:
        """(domain, tier) that the run measured."""
        return frozenset((cell["domain"], cell["tier"]) for cell in self.summary["cells"])


def audit(folder: Path, partial: bool = False) -> Audited:
    """Check a run folder from its bytes.

    Raises:
        Refused: the log, the summary or the data it is about cannot be trusted; or the run is limited,
            unfinished or incomplete and ``partial`` is False.
        LogCorrupt: a line that cannot be read.
    """
    reader = RunReader(folder)
    _check_config(reader)
    seen = _check_decisions(reader)
    _check_episodes(reader, seen)
    if not seen:
        raise Refused(f"{folder}: the log holds no decision", hint="run it again: arena eval")
    faults = tuple(_faults(reader, seen))
    if faults and not partial:
        raise Refused(
            f"{folder} may not enter a board: {'; '.join(faults)}",
            hint="finish it with the same arena eval command, leave it out, or list it with --partial (marked so)",
        )
    summary = summarise(reader)
    if (stored := reader.summary) is not None:
        # The folder may have been renamed since; the run's own name is in its config.
        found = first_difference({**stored, "run": None}, {**summary, "run": None})
        if found is not None:
            key, was, now = found
            raise Refused(
                f"{folder / SUMMARY} is not what the log gives: {key} is {was!r}, recomputed {now!r}",
                hint="a summary is computed, never edited; restore the folder, or run again",
            )
    return Audited(reader, summary, faults)


def first_difference(stored: Any, computed: Any, where: str = "") -> tuple[str, Any, Any] | None:
    """(dotted key, stored, computed) of the first place where two summaries differ, None when they agree."""
    if isinstance(stored, dict) and isinstance(computed, dict):
        for key in sorted({*stored, *computed}):
            spot = f"{where}.{key}" if where else str(key)
            if key not in stored or key not in computed:
                return spot, stored.get(key, "absent"), computed.get(key, "absent")
            if (found := first_difference(stored[key], computed[key], spot)) is not None:
                return found
        return None
    if isinstance(stored, list) and isinstance(computed, list):
        if len(stored) != len(computed):
            return f"{where} (length)", len(stored), len(computed)
        pairs = enumerate(zip(stored, computed, strict=True))
        return next((f for i, (a, b) in pairs if (f := first_difference(a, b, f"{where}[{i}]")) is not None), None)
    same = stored == computed and type(stored) is type(computed)
    if isinstance(stored, float | int) and isinstance(computed, float | int) and not isinstance(stored, bool):
        same = abs(stored - computed) <= TOLERANCE
    return None if same else (where, stored, computed)


def _check_config(reader: RunReader) -> None:
    folder, resolved = reader.folder, reader.config.get("resolved")
    if not isinstance(resolved, dict):
        raise Refused(f"{folder / 'config.json'} has no resolved configuration")
    if resolved["protocol"] != PROTOCOL:
        raise Refused(
            f"{folder} follows protocol {resolved['protocol']}, this arena computes {PROTOCOL}",
            hint="numbers of different protocols never share a table: publish it with the arena that made it",
        )
    if resolved["split"] != "test":
        raise Refused(f"{folder} ran on split {resolved['split']!r}; a board holds the test split only")
    for name, locked in resolved["data"].items():
        if name not in domains():
            raise Refused(f"{folder}: domain {name!r} is not in this arena's registry, so it cannot be checked")
        found = digest(domain(name).lock.model_dump(mode="json"), 64)
        if found != locked:
            raise Refused(
                f"{folder}: the items of domain {name!r} are not the ones in the registry "
                f"(the run's lock {locked[:12]}..., the registry's {found[:12]}...)",
                hint="publish it with the arena version whose items it was run on, or run it again",
            )


def _lines(reader: RunReader, name: str) -> Iterator[tuple[str, Row]]:
    """(``file:line``, row) of every complete line, superseded retries included."""
    path = log_file(reader.folder, name)
    if path is not None:
        for number, row in enumerate(iter_rows(path), 1):
            yield f"{path}:{number}", row


Seen = dict[tuple[str, str], set[str]]
"""(domain, tier) -> units that stand in the log in their base form."""


def _check_decisions(reader: RunReader) -> Seen:
    seen: Seen = {}
    resolved = reader.config["resolved"]
    for where, row in _lines(reader, DECISIONS):
        try:
            fault = _foreign(reader, resolved, row) or _identity_fault(row) or _gate_fault(row) or _frozen_fault(row)
        except (KeyError, TypeError, AttributeError, UsageError) as error:
            fault = f"not a decision: {error!r}" if not isinstance(error, UsageError) else error.message
        if fault:
            raise Refused(
                f"{where}: decision {row.get('id')}: {fault}",
                hint="the log was changed after the run; restore the folder, or run again",
            )
        if row["variant"]["kind"] == "base":
            seen.setdefault((row["domain"], row["tier"]), set()).add(row["unit"])
    return seen


def _foreign(reader: RunReader, resolved: Mapping[str, Any], row: Row) -> str | None:
    """A line that is not of this run."""
    expected = {
        "run": reader.config["run"],
        "protocol": resolved["protocol"],
        "model": resolved["model_card"]["name"],
        "split": resolved["split"],
        "lane": resolved["lane"],
    }
    for key, value in expected.items():
        if row[key] != value:
            return f"{key} is {row[key]!r}, the run's is {value!r}"
    if row["domain"] not in resolved["data"]:
        return f"domain {row['domain']!r} is not one of the run's"
    return None


def _identity_fault(row: Row) -> str | None:
    """A hash that does not belong to what stands beside it."""
    question = parse_question(row["question"])
    if presented_id(question) != row["presented_id"]:
        return "the question is not the one its presented_id names"
    if question_id(question) != row["question_id"]:
        return "the question is not the one its question_id names"
    found = state_id(row["state"]) if row["state_blob"] is None else row["state_blob"]
    if found != row["state_id"]:
        return "the state is not the one its state_id names"
    if sha256(f"{row['ask']}\x1f{row['question_name']}".encode())[:24] != row["id"]:
        return "the id does not belong to the ask and question"
    return None


def _gate_fault(row: Row) -> str | None:
    """What the gate and the gold say of the raw answer, against what the line says."""
    question = parse_question(row["question"])
    gated = gate(question, row["response"]) if row["outcome"] == "ok" else Gated(False, row["invalid_reason"])
    answer = None if gated.answer is None else {**gated.answer.__dict__}
    gold = None if row["gold"] is None else Gold.model_validate(row["gold"])
    correct = None if gold is None else gated.valid and gold.accepts(gated.committed)
    expected = {
        "valid": gated.valid,
        "committed": gated.committed,
        "correct": correct,
        "confidence": gated.confidence,
        "renormalized": gated.renormalized,
        "answer": answer,
    }
    # Where a raw answer held NaN, which JSON cannot say, its text is kept in ``body`` and only that has the reason.
    if row["body"] is None:
        expected["invalid_reason"] = gated.reason
    for key, value in expected.items():
        if row[key] != value or type(row[key]) is not type(value):
            return f"{key} is {row[key]!r}, but its raw answer gives {value!r}"
    return None


@lru_cache(maxsize=64)
def _frozen(name: str, tier: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Test items of a static cell: id -> (state_id, question name -> question_id), from verified files."""
    return {
        unit.id: (state_id(unit.state), {key: question_id(question) for key, question in unit.questions.items()})
        for unit in load_units(name, tier)
        if isinstance(unit, Item)
    }


@lru_cache(maxsize=64)
def _golds(name: str, tier: str, version: str) -> dict[str, dict[str, Gold]]:
    return load_golds(name, tier, "test", version)


def _frozen_fault(row: Row) -> str | None:
    """A unit, state, question or gold that is not the frozen one."""
    each = domain_of(row["domain"])
    locked = each.lock.cells.get(row["tier"], {}).get(row["split"], {})
    if row["unit"] not in locked:
        return f"{row['unit']!r} is not a locked unit of {row['domain']}/{row['tier']}"
    if row["suite"] != each.suite_id:
        return f"suite {row['suite']!r} is not the registry's {each.suite_id!r}"
    if row["group"] != locked[row["unit"]].group:
        return f"group {row['group']!r} is not the locked {locked[row['unit']].group!r}"
    if each.kind != "static" or row["variant"]["kind"] not in UNCHANGED:
        return None
    state, questions = _frozen(row["domain"], row["tier"])[row["unit"]]
    if row["state_id"] != state:
        return "the state is not the frozen item's"
    if row["question_id"] != questions.get(row["question_name"]):
        return "the question is not the frozen item's"
    gold = _golds(row["domain"], row["tier"], row["gold"]["version"])[row["unit"]][row["question_name"]]
    if dump(gold.model_dump(mode="json")) != dump(row["gold"]):
        return f"gold {row['gold']['accepted']!r} is not the frozen {list(gold.accepted)!r}"
    return None


domain_of = lru_cache(maxsize=64)(domain)


def _check_episodes(reader: RunReader, seen: Seen) -> None:
    for where, row in _lines(reader, EPISODES):
        locked = domain_of(row["domain"]).lock.cells.get(row["tier"], {}).get(row["split"], {}).get(row["unit"])
        fault = None
        if locked is None:
            fault = f"{row['unit']!r} is not a locked episode of {row['domain']}/{row['tier']}"
        elif row["recording_sha256"] != locked.sha256:
            fault = f"played on recording {row['recording_sha256'][:12]}..., locked is {locked.sha256[:12]}..."
        elif row["error"] is None:
            verdict = VERIFIERS.get(row["verifier"])(row["verify"], row["end_state"], row["claimed"])
            if (row["ending"], row["key_nodes"]) != (verdict.ending, verdict.key_nodes):
                fault = f"ending is {row['ending']!r}, but its end state gives {verdict.ending!r}"
            elif missing := sorted(set(verdict.flags) - set(row["flags"])):
                fault = f"its end state gives the flag {missing[0]!r}, which the line lacks"
        if fault:
            raise Refused(
                f"{where}: episode {row['id']}: {fault}",
                hint="the log was changed after the run, or the recordings were; restore them, or run again",
            )
        seen.setdefault((row["domain"], row["tier"]), set()).add(row["unit"])


def _faults(reader: RunReader, seen: Seen) -> Iterator[str]:
    """Why an honest run is not whole."""
    resolved = reader.config["resolved"]
    if not reader.finished:
        yield "unfinished"
    if reader.config["limited"]:
        yield "limited (--limit or --item)"
    tiers = resolved["tiers"][0] if resolved["tiers"] in (["all"], ["hardest"]) else resolved["tiers"]
    for cell in select(resolved["domains"], tiers, resolved["split"]).cells if resolved["capability"] else ():
        found = len(seen.get((cell.domain, cell.tier), ()))
        if found < len(cell.ids):
            yield f"{cell.domain}/{cell.tier} has {found} of {len(cell.ids)} units"
    plan = resolved["reliability"]
    if plan is not None and (plan["orders"], plan["per_domain"]) != (STANDARD_ORDERS, STANDARD_PER_DOMAIN):
        yield f"reliability with {plan['orders']} orders and {plan['per_domain']} items per domain"
