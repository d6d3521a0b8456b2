"""Every line of a log, held against what it says of itself and against what is frozen.

A decision is gated again from its raw answer and judged again by its gold; state, question, gold and variant must be
those that the locked item gives. An episode is verified again from its end state under the conditions of its
recording, and its steps are those that its decisions committed to. Of a recorded step asked again for reliability only
the episode is checked: its state lies in the recording, which needs its environment to be read. A log forged whole,
from the raw answers on, is beyond arithmetic: the command to reproduce it is for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from arena.errors import ArenaError, UsageError
from arena.gate import Gated, gate
from arena.identity import dump, load, presented_id, question_id, sha256, state_id
from arena.items import Gold, Item, Variant
from arena.log.reader import DECISIONS, EPISODES, Row, RunReader, iter_rows, log_file
from arena.reliability.variants import apply, null_variants, probe_variants, repeat_variants, stability_variants
from arena.tasks import conditions, domain, domains, load_golds, load_units
from arena.types import JSON, Choice, parse_question
from arena.verifiers import VERIFIERS


class Locked:
    """What the registry froze of one split, read once however many lines are held against it."""

    def __init__(self, split: str = "test") -> None:
        self.split = split
        self.domain = cache(domain)
        self.golds = cache(lambda name, tier, version: load_golds(name, tier, split, version))
        self.conditions = cache(conditions)
        """(domain, path of a recording relative to its folder) -> what the recording says must hold."""
        self._items: dict[tuple[str, str], dict[str, Item]] = {}
        self._variants: dict[tuple[Any, ...], list[Variant]] = {}

    def item(self, name: str, tier: str, unit: str) -> Item:
        """An item of a static cell, from verified files."""
        if (name, tier) not in self._items:
            units = load_units(name, tier, self.split)
            self._items[name, tier] = {each.id: each for each in units if isinstance(each, Item)}
        return self._items[name, tier][unit]

    def variants(self, item: Item, golds: Mapping[str, Gold], orders: int, repeats: int) -> list[Variant]:
        """Every variant that a run with this plan may hold of an item."""
        key = (item.suite, item.id, tuple(gold.version for gold in golds.values()), orders, repeats)
        if key not in self._variants:
            if len(self._variants) >= VARIANTS_KEPT:
                self._variants.clear()
            self._variants[key] = list(_drawn(item, golds, orders, repeats))
        return self._variants[key]


VARIANTS_KEPT = 4096
"""Items whose variants are remembered: those of one item follow one another in a log."""

Seen = dict[tuple[str, str], set[str]]
"""(domain, tier) -> units that stand in the log in their base form."""

RESTORE = "the log was changed after the run; restore the folder from a copy, or run again with --fresh"


class Refused(ArenaError):
    """A run that may not stand on a board; names the run, the place and the reason."""


Said = set[int]
"""Hashes of (ask, committed) of the decisions in episodes."""


def check_decisions(reader: RunReader, locked: Locked) -> tuple[Seen, Said]:
    """Check every complete line, superseded retries included.

    Raises:
        Refused: file, line, decision and reason.
    """
    seen: Seen = {}
    said: Said = set()
    expected = _of_the_run(reader)
    for where, row in _lines(reader, DECISIONS):
        try:
            fault = (
                _foreign(reader, expected, row)
                or _identity_fault(row)
                or _gate_fault(row)
                or (None if reader.config.get("imported") else _frozen_fault(reader, row, locked))
            )
        except UsageError as error:
            fault = error.message
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            fault = f"not a decision: {type(error).__name__}: {error}"
        if fault:
            raise Refused(f"{where}: decision {row.get('id')}: {fault}", hint=RESTORE)
        # Of an episode its own line counts: its decisions may be there although it never ended.
        if row["variant"]["kind"] == "base" and row["episode"] is None:
            seen.setdefault((row["domain"], row["tier"]), set()).add(row["unit"])
        if row["episode"] is not None:
            said.add(hash((row["ask"], row["committed"])))
    return seen, said


def check_episodes(reader: RunReader, locked: Locked, said: Said) -> Seen:
    """Check every episode: played on the locked recording by the decisions that were ``said``, ended as it says.

    Raises:
        Refused: file, line, episode and reason.
    """
    seen: Seen = {}
    trials = reader.config["resolved"].get("trials", 1)
    for where, row in _lines(reader, EPISODES):
        try:
            fault = _trial_fault(row, trials) or _episode_fault(row, locked) or _deeds_fault(row, said)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            fault = f"not an episode: {type(error).__name__}: {error}"
        if fault:
            raise Refused(f"{where}: episode {row.get('id')}: {fault}", hint=RESTORE)
        if row["variant"]["kind"] == "base":
            seen.setdefault((row["domain"], row["tier"]), set()).add(row["unit"])
    return seen


def _lines(reader: RunReader, name: str) -> Iterator[tuple[str, Row]]:
    """(``file:line``, row)."""
    path = log_file(reader.folder, name)
    if path is not None:
        for number, row in enumerate(iter_rows(path), 1):
            yield f"{path}:{number}", row


def _of_the_run(reader: RunReader) -> dict[str, Any]:
    """What every line of the run says alike."""
    resolved = reader.config["resolved"]
    expected = {
        "run": reader.config["run"],
        "protocol": resolved["protocol"],
        "model": resolved["model_card"]["name"],
        "split": resolved["split"],
    }
    # Published answers carry their own lane: some were measured serially, some not.
    return expected if reader.config.get("imported") else {**expected, "lane": resolved["lane"]}


def _foreign(reader: RunReader, expected: Mapping[str, Any], row: Row) -> str | None:
    """A line that is not of this run."""
    for key, value in expected.items():
        if row[key] != value:
            return f"{key} is {row[key]!r}, the run's is {value!r}"
    if row["domain"] not in reader.config["resolved"]["domains"]:
        return f"domain {row['domain']!r} is not one of the run's"
    if reader.config.get("imported") and row["domain"] in domains():
        return f"imported answers stand under the registry's domain {row['domain']!r}"
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
    gated = gate(question, _raw(row)) if row["outcome"] == "ok" else Gated(False, row["invalid_reason"])
    answer = None if gated.answer is None else {**gated.answer.__dict__}
    gold = None if row["gold"] is None else Gold.model_validate(row["gold"])
    expected = {
        "valid": gated.valid,
        "committed": gated.committed,
        "correct": None if gold is None else gated.valid and gold.accepts(gated.committed),
        "confidence": gated.confidence,
        "renormalized": gated.renormalized,
        "answer": answer,
    }
    # Where a body is kept, it may be a whole reply: then the answer itself, and so the reason, is not in the line.
    if row["body"] is None:
        expected["invalid_reason"] = gated.reason
    for key, value in expected.items():
        if row[key] != value or type(row[key]) is not type(value):
            return f"{key} is {row[key]!r}, but its raw answer gives {value!r}"
    return None


def _raw(row: Row) -> JSON:
    """The raw answer; one that JSON cannot hold (NaN) was kept as text in ``body``."""
    if row["response"] is not None or row["body"] is None:
        return row["response"]
    try:
        return load(row["body"])
    except ValueError:
        return None


def _frozen_fault(reader: RunReader, row: Row, locked: Locked) -> str | None:
    """A unit, state, question, variant or gold that the locked items do not give."""
    each = locked.domain(row["domain"])
    cell = each.lock.cells.get(row["tier"], {}).get(row["split"], {})
    unit = row["unit"]
    if each.kind == "episode" and unit not in cell:
        unit = unit.rpartition("#")[0]
    if unit not in cell:
        return f"{row['unit']!r} is not a locked unit of {row['domain']}/{row['tier']}"
    if row["suite"] != each.suite_id:
        return f"suite {row['suite']!r} is not the registry's {each.suite_id!r}"
    group = cell[unit].group or (unit if unit != row["unit"] else None)
    if row["group"] != group:
        return f"group {row['group']!r} is not the locked {group!r}"
    if each.kind == "episode":
        return None
    version = row["gold"]["version"] if row["gold"] else each.gold_versions[-1]
    item = locked.item(row["domain"], row["tier"], unit)
    golds = locked.golds(row["domain"], row["tier"], version)[unit]
    variant = Variant.model_validate(row["variant"])
    plan = reader.config["resolved"]["reliability"] or {"orders": 1, "repeats": 0}
    if variant not in locked.variants(item, golds, plan["orders"], plan["repeats"]):
        return f"variant {variant.kind} {variant.index} is not one that the protocol draws for {unit!r}"
    asked, held = apply(item, golds, variant)
    if row["state_id"] != state_id(asked.state):
        return "the state is not the frozen item's"
    question = asked.questions.get(row["question_name"])
    if question is None or row["presented_id"] != presented_id(question):
        return "the question is not the frozen item's"
    gold = held.get(row["question_name"])
    if dump(None if gold is None else gold.model_dump(mode="json")) != dump(row["gold"]):
        found = None if row["gold"] is None else row["gold"]["accepted"]
        return f"gold is {found!r}, but the frozen one is {None if gold is None else list(gold.accepted)!r}"
    return None


def _drawn(item: Item, golds: Mapping[str, Gold], orders: int, repeats: int) -> Iterator[Variant]:
    yield Variant()
    if orders <= 1:
        return
    for name, question in item.questions.items():
        gold = golds.get(name)
        if isinstance(question, Choice):
            yield from stability_variants(item.id, name, question, orders)
            yield from repeat_variants(name, repeats)
            if gold is not None:
                yield from null_variants(item.id, name, question, gold)
        if gold is not None:
            yield from probe_variants(item.id, name, question, gold)


def _trial_fault(row: Row, trials: int) -> str | None:
    """A play that the run's plan does not have."""
    kind, index = row["variant"]["kind"], row["variant"]["index"]
    planned = (kind, index) == ("base", 0) or (kind == "trial" and 0 < index < trials)
    return None if planned else f"{kind} {index} is none of the run's {trials} trials"


def _episode_fault(row: Row, locked: Locked) -> str | None:
    frozen = locked.domain(row["domain"]).lock.cells.get(row["tier"], {}).get(row["split"], {}).get(row["unit"])
    if frozen is None:
        return f"{row['unit']!r} is not a locked episode of {row['domain']}/{row['tier']}"
    paths = (str(frozen.path), *frozen.trials)
    path = paths[row["variant"]["index"] % len(paths)]
    due = locked.domain(row["domain"]).lock.files[path]
    if row["recording_sha256"] != due:
        return f"played on recording {row['recording_sha256'][:12]}..., locked is {due[:12]}..."
    if row["error"] is not None:
        return None if row["ending"] in ("error", "not_evaluated") else f"ended {row['ending']!r} with an error"
    # A walk that follows its recording to the end, whatever is answered, is judged by nothing.
    if row["verify"] is not None and row["verify"] != locked.conditions(row["domain"], path):
        return "judged by other conditions than its recording's"
    verdict = VERIFIERS.get(row["verifier"])(row["verify"], row["end_state"], row["claimed"])
    if (row["ending"], row["key_nodes"]) != (verdict.ending, verdict.key_nodes):
        return f"ending is {row['ending']!r}, but its end state gives {verdict.ending!r}"
    lacking = sorted(set(verdict.flags) - set(row["flags"]))
    return f"its end state gives the flag {lacking[0]!r}, which the line lacks" if lacking else None


def _deeds_fault(row: Row, said: Said) -> str | None:
    """Steps that no decision committed to, or deeds that are not the steps'."""
    for step in row["steps"]:
        if hash((step["ask"], step["committed"])) not in said:
            return f"step {step['step']} did {step['committed']!r}, and no decision says so"
    trace = (row["end_state"] or {}).get("trace")
    if trace is None:
        return None
    done = [step["committed"] for step in row["steps"] if step["committed"] not in (None, row["claimed"])]
    if [deed["tool"] for deed in trace] != done:
        return "the actions in its end state are not those that its decisions committed to"
    return None
