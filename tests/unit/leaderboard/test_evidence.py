"""Which decisions a board keeps to be looked at."""

from __future__ import annotations

import random
from typing import Any

from view_runs import decision

from arena.leaderboard.evidence import WRONG_KEPT, Kept


def wrong(unit: str, confidence: float, step: int) -> dict[str, Any]:
    return decision(f"{unit}{step}", committed="b", confidence=confidence) | {"unit": unit}


def test_the_most_confident_mistake_of_each_unit_is_kept_whatever_their_order() -> None:
    rows = [wrong(f"u{n}", (n * 7 + step * 13) % 101 / 101, step) for n in range(60) for step in range(5)]
    best = {f"u{n}": max(row["confidence"] for row in rows if row["unit"] == f"u{n}") for n in range(60)}
    expected = sorted(best.items(), key=lambda pair: -pair[1])[:WRONG_KEPT]
    chosen = set()
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        kept = Kept()
        assert len(list(kept.watch(iter(rows), 0))) == 300
        found = [entry[3] for entry in kept.wrong.values()]
        assert sorted(row["confidence"] for row in found) == sorted(value for _, value in expected)
        assert len({row["unit"] for row in found}) == len(found) == WRONG_KEPT
        chosen.add(tuple(sorted(row["id"] for row in found)))
    assert len(chosen) == 1
