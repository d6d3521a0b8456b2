"""The intent domain: the generator's golds are what a second reader finds, and nothing gives them away."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from arena.identity import load
from arena.tasks.definition import DATA
from arena.tasks.intent import cues, dialogue, phrases, scripts, solve, vocabulary
from arena.tasks.intent.dialogue import Facts, Rules, self_service, urgency
from arena.tasks.intent.draw import grid, mirrored, plans, short_date
from arena.tasks.intent.generate import main, render
from arena.tasks.intent.solve import Unsolved
from arena.types import parse_question

CELLS = [(tier, split) for tier in ("T1", "T2", "T3") for split in ("train", "dev", "test")]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """What the generator writes now."""
    return render()


def _rows(content: bytes) -> list[dict[str, Any]]:
    return [load(line) for line in content.split(b"\n") if line]


def _cell(files: dict[str, bytes], tier: str, split: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(item, question -> gold) of a cell."""
    golds = _rows(files[f"gold/v1/{tier}.{split}.jsonl"])
    for item, row in zip(_rows(files[f"{tier}.{split}.jsonl"]), golds, strict=True):
        assert item["id"] == row["id"]
        yield item, {key: gold["accepted"][0] for key, gold in row["golds"].items()}


def _solved(item: dict[str, Any]) -> dict[str, str | int | bool]:
    return solve.solve(item["state"], {key: parse_question(body) for key, body in item["questions"].items()})


def _text(state: Any) -> str:
    if isinstance(state, str):
        return state
    return str(state.get("message") or " ".join(turn["text"] for turn in state["conversation"]))


def _shingles(text: str, size: int = 4) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def test_generating_again_gives_the_frozen_bytes(files: dict[str, bytes], tmp_path: Path) -> None:
    frozen = {str(path.relative_to(DATA / "intent")): path.read_bytes() for path in (DATA / "intent").rglob("*.jsonl")}
    assert files == frozen
    assert main(["--out", str(tmp_path)]) == 0
    assert {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == frozen


@pytest.mark.parametrize(("tier", "split"), CELLS)
def test_the_second_solver_agrees_on_every_item(files: dict[str, bytes], tier: str, split: str) -> None:
    differ = [item["id"] for item, gold in _cell(files, tier, split) if _solved(item) != gold]
    assert differ == []


def test_the_solver_shares_nothing_with_the_generator() -> None:
    for module in (solve, cues):
        imports = [
            node
            for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8")))
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        own = [ast.unparse(node) for node in imports if "arena" in ast.unparse(node)]
        assert set(own) <= {"from arena.tasks.intent import cues", "from arena.types import JSON, Choice, Noul, Score"}


@pytest.mark.parametrize(
    ("tier", "change"),
    [
        ("T1", lambda s: s.replace("fault", "receipt") if "fault" in s else None),
        ("T2", lambda s: s | {"today": "Monday 3 January 2025"}),
        ("T3", lambda s: s | {"policy": [row for row in s["policy"] if not row.startswith("Self")]}),
        ("T3", lambda s: s | {"conversation": s["conversation"][:1]} if len(s["conversation"]) > 1 else None),
        ("T3", lambda s: s | {"account": s["account"] | {"verified": not s["account"]["verified"]}}),
    ],
    ids=["other word", "impossible date", "rule gone", "turns gone", "account changed"],
)
def test_the_solver_reads_the_state(files: dict[str, bytes], tier: str, change: Any) -> None:
    noticed = 0
    for item, gold in _cell(files, tier, "dev"):
        state = change(item["state"])
        if state is None:
            continue
        try:
            noticed += _solved(item | {"state": state}) != gold
        except (Unsolved, KeyError):
            noticed += 1
    assert noticed >= 5


def test_a_text_with_two_readings_is_refused() -> None:
    body = {"type": "choice", "instructions": "?", "criteria": {"cancel_parcel": None, "move_parcel": None}}
    question = {"intent": parse_question(body)}
    two = "Cancel my parcel. Cancel my course in tango."
    for text in ("Please cancel my parcel and the hired tent.", "Cancel it.", "Hello.", two):
        with pytest.raises(Unsolved):
            solve.solve(text, question)
    with pytest.raises(Unsolved, match="is not the option"):
        solve.solve("Please cancel my parcel.", question)


@pytest.mark.parametrize(("tier", "split"), CELLS)
def test_labels_are_balanced_and_the_slot_of_the_gold_says_nothing(
    files: dict[str, bytes], tier: str, split: str
) -> None:
    rows = list(_cell(files, tier, split))
    yes = "self_service" if tier == "T3" else "human"
    assert Counter(gold[yes] for _, gold in rows) == {True: len(rows) // 2, False: len(rows) // 2}
    assert set(Counter(gold["urgency"] for _, gold in rows).values()) == {len(rows) // 5}
    assert max(Counter(gold["intent"] for _, gold in rows).values()) <= -(-len(rows) // 64)
    observed, expected = [0.0] * 4, [0.0] * 4
    for item, gold in rows:
        keys = list(item["questions"]["intent"]["criteria"])
        observed[4 * keys.index(gold["intent"]) // len(keys)] += 1
        for slot in range(len(keys)):
            expected[4 * slot // len(keys)] += 1 / len(keys)
    assert chisquare(observed, expected).pvalue > 0.05


def test_option_sets_follow_the_tier_rules(files: dict[str, bytes]) -> None:
    sizes = {"T1": (4, 6), "T2": (8, 16), "T3": (20, 56)}
    for tier, split in CELLS:
        for item, gold in _cell(files, tier, split):
            keys = item["questions"]["intent"]["criteria"]
            parts = [key.split("_") for key in keys]
            actions, things = {a for a, _ in parts}, {t for _, t in parts}
            assert sizes[tier][0] <= len(keys) <= sizes[tier][1]
            if tier == "T1":
                assert len(actions) == len(things) == len(keys)
            else:  # a full grid: the gold has no more neighbours than any other option
                assert len(actions) * len(things) == len(keys)
            assert gold["intent"] in keys


def test_paraphrases_avoid_the_words_of_the_options() -> None:
    stop = {"a", "an", "to", "for", "with", "of", "the", "ask", "x", "another", "something"}
    options = " ".join([*vocabulary.ACTIONS.values(), *vocabulary.OBJECTS.values(), *vocabulary.ACTIONS])
    taken = set(re.findall(r"[a-z]+", options.lower())) - stop
    for table in (vocabulary.INDIRECT_ACTIONS, vocabulary.INDIRECT_OBJECTS):
        for wordings in table.values():
            for text in (text for texts in wordings.values() for text in texts):
                assert not taken & set(re.findall(r"[a-z]+", text.lower())), text


def _wordings(value: Any, split: str) -> Iterator[str]:
    """All texts of a split in a table, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in vocabulary.SPLITS or key == split:
                yield from _wordings(inner, split)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _wordings(inner, split)


def test_splits_share_no_wording_and_no_filler() -> None:
    shared = {"customer", "assistant", "{about}", "{ack}", "{req}", "{req2}"}
    checked = 0
    for module in (vocabulary, phrases, scripts):
        for name, table in vars(module).items():
            if not name.isupper() or not isinstance(table, dict) or "'train'" not in repr(table):
                continue
            texts = {split: set(_wordings(table, split)) - shared for split in vocabulary.SPLITS}
            checked += 1
            for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
                assert texts[one]
                assert not texts[one] & texts[other], name
    assert checked > 30


@pytest.mark.parametrize(("tier", "limit"), [("T1", 0.5), ("T2", 0.1), ("T3", 0.1)])
def test_no_text_is_near_one_of_another_split(files: dict[str, bytes], tier: str, limit: float) -> None:
    texts = {s: [_shingles(_text(item["state"])) for item, _ in _cell(files, tier, s)] for s in vocabulary.SPLITS}
    for one, other in (("train", "test"), ("dev", "test"), ("train", "dev")):
        nearest = max(len(a & b) / min(len(a), len(b)) for a in texts[one] for b in texts[other])
        assert nearest < limit, (one, other)


@pytest.mark.parametrize(("tier", "limit"), [("T1", 0.8), ("T2", 0.6), ("T3", 0.4)])
def test_no_two_test_items_are_near_duplicates(files: dict[str, bytes], tier: str, limit: float) -> None:
    texts = [_shingles(_text(item["state"])) for item, _ in _cell(files, tier, "test")]
    assert max(len(a & b) / len(a | b) for n, a in enumerate(texts) for b in texts[:n]) < limit


def test_the_wish_that_counts_is_not_always_the_last_named(files: dict[str, bytes]) -> None:
    last = 0
    rows = list(_cell(files, "T3", "test"))
    for item, gold in rows:
        said = [turn["text"].replace(">", " ").replace('"', " ") for turn in item["state"]["conversation"]]
        wishes = [w for text in said for w in map(solve._read, solve._clauses(text)) if w.action and w.thing]
        last += f"{wishes[-1].action}_{wishes[-1].thing}" == gold["intent"]
    assert 0.3 < last / len(rows) < 0.65


RULES = Rules(
    last=True, free_days=5, steps=(2, 6, 14), kinds=("cancel", "price"), limit=100, exception="member", number=2010
)
FACTS = Facts(
    verified=True,
    amount=150,
    contacts=1,
    since=2010,
    starts_in=3,
    left=6,
    first_left=None,
    health=False,
    stand_in=False,
)


@pytest.mark.parametrize(
    ("left", "health", "stand_in", "level"),
    [
        (None, True, False, 0),
        (0, False, False, 4),
        (2, True, False, 4),
        (3, False, False, 3),
        (6, True, False, 4),
        (7, False, True, 1),
        (14, False, False, 2),
        (15, False, False, 1),
        (15, False, True, 1),
        (15, True, False, 2),
    ],
)
def test_urgency_by_hand(left: int | None, health: bool, stand_in: bool, level: int) -> None:
    facts = Facts(**(vars(FACTS) | {"left": left, "health": health, "stand_in": stand_in}))
    assert urgency(RULES, facts) == level


@pytest.mark.parametrize(
    ("rules", "facts", "action", "level", "allowed"),
    [
        ({}, {}, "cancel", 2, True),
        ({}, {}, "move", 2, False),
        ({}, {"verified": False}, "cancel", 2, False),
        ({}, {"since": 2011}, "cancel", 2, False),
        ({}, {"since": 2011, "amount": 100}, "price", 4, True),
        ({}, {"amount": 201}, "cancel", 2, False),
        ({"exception": "urgent", "limit": 150}, {}, "cancel", 4, False),
        ({"exception": "urgent", "limit": 150}, {}, "cancel", 3, True),
        ({"exception": "contacts", "limit": 150, "number": 2}, {}, "cancel", 4, True),
        ({"exception": "contacts", "limit": 150, "number": 1}, {}, "cancel", 4, False),
    ],
)
def test_self_service_by_hand(rules: Any, facts: Any, action: str, level: int, allowed: bool) -> None:
    assert self_service(Rules(**(vars(RULES) | rules)), Facts(**(vars(FACTS) | facts)), action, level) is allowed


def test_plans_repeat_and_are_spread() -> None:
    first, again = plans("T3", "test", 80), plans("T3", "test", 80)
    assert first == again
    assert sorted(int(plan.slot * 80) for plan in first) == list(range(80))
    assert first[5].rng().random() == again[5].rng().random() != first[6].rng().random()
    scripts_used = Counter(dialogue.SCRIPTS[plan.turn % len(dialogue.SCRIPTS)] for plan in first)
    assert set(scripts_used.values()) <= {8, 9}


def test_small_words() -> None:
    assert mirrored("put my seat under the name of my sister") == "put your seat under the name of your sister"
    assert (
        mirrored("name what I owe us for the box you have sent out")
        == "name what you owe you for the box we have sent out"
    )
    assert mirrored("the maps I receive from you") == "the maps you receive from us"
    assert mirrored("the tent I am hiring from your yard") == "the tent you are hiring from our yard"
    assert [short_date(date(2023, 5, day), "train") for day in (1, 2, 3, 11, 13, 21, 22, 30)] == [
        f"the {day} of May" for day in ("1st", "2nd", "3rd", "11th", "13th", "21st", "22nd", "30th")
    ]
    assert short_date(date(2024, 5, 1), "dev") == "1 May"
    assert short_date(date(2025, 5, 1), "test") == "May 1"
    plan = plans("T2", "dev", 1)[0]
    assert len(set(grid(plan.rng(), [plan.wish], 3, 4))) == 12
