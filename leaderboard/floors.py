"""Floors: what the best trivial policy gets on the same cell (protocol 4).

Static cells: uniform chance and the constant majority label, both read off the golds of the cell's own
decisions. Episode cells: random (20 seeds), always-first and give-up-at-once, played beforehand through the
same runner and frozen with the domain, because the log of one model cannot contain them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from arena.leaderboard.rows import labels_of
from arena.log.reader import Row


@dataclass(slots=True)
class StaticFloor:
    """Running floor of a static cell: feed it every judged decision once."""

    decisions: int = 0
    chance: float = 0.0
    accepted: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count one decision that has a gold."""
        golds = row["gold"]["accepted"]
        self.decisions += 1
        self.chance += len(golds) / len(labels_of(row["question"]))
        self.accepted.setdefault(row["question_name"], Counter()).update(repr(gold) for gold in golds)

    def floors(self) -> dict[str, float]:
        """``uniform``: mean of 1/K (each accepted option counts); ``majority``: the best constant label of
        each question name. Rates 0..1."""
        if not self.decisions:
            return {}
        majority = sum(counts.most_common(1)[0][1] for counts in self.accepted.values())
        return {"uniform": self.chance / self.decisions, "majority": majority / self.decisions}


def best(floors: dict[str, float]) -> tuple[str | None, float | None]:
    """(policy, rate) of the best trivial policy, (None, None) when none is known. Ties: the first name."""
    return min(floors.items(), key=lambda pair: (-pair[1], pair[0])) if floors else (None, None)
