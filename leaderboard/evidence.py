"""What a row rests on, gathered in one stream over its logs: cells, columns for metrics, decisions to look at.

Of the decisions only a bounded number is kept: the most confident wrong ones, one of each item or episode, and the
first invalid ones, by confidence and id, so that the choice does not depend on the order in which answers came in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.leaderboard.capability import CellData, collect, counts_for_capability
from arena.leaderboard.rows import metric_row
from arena.log.reader import Row, RunReader
from arena.reliability.metrics.columns import INVALID, Scored
from arena.reliability.metrics.confusion import confusion
from arena.reliability.metrics.reliability_bins import Edges, reliability_bins
from arena.reliability.metrics.rows import from_rows

WRONG_KEPT, INVALID_KEPT = 40, 20
LABELS_SHOWN = 12
"""A confusion table is drawn for questions with at most this many labels."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One decision worth a page of its own, with the run it comes from.

    ``walked``: for a form of a recorded step, the ask at which an episode of the run stood before the same state.
    """

    reader: RunReader
    row: Row
    walked: str | None = None


@dataclass(slots=True)
class Kept:
    """The bounded choice of decisions while rows stream by."""

    wrong: dict[tuple[str, str], tuple[float, str, int, Row]] = field(default_factory=dict)
    invalid: list[tuple[str, int, Row]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"decisions": 0, "valid": 0, "cached": 0})
    gold_versions: dict[str, set[str]] = field(default_factory=dict)

    def watch(self, rows: Iterator[Row], source: int) -> Iterator[Row]:
        """Pass rows on and keep what is to be shown."""
        for row in rows:
            self.counts["decisions"] += 1
            self.counts["valid"] += row["valid"]
            self.counts["cached"] += row["cached"]
            if counts_for_capability(row):
                self.gold_versions.setdefault(row["domain"], set()).add(row["gold"]["version"])
                if not row["valid"]:
                    self._invalid(row, source)
                elif not row["correct"]:
                    self._wrong(row, source)
            yield row

    def _wrong(self, row: Row, source: int) -> None:
        """Keep it if it is its unit's most confident one; the unit with the least confident one gives way."""
        unit, entry = (row["domain"], row["unit"]), (row["confidence"], _descending(row["id"]), source, row)
        if unit in self.wrong and entry[:3] <= self.wrong[unit][:3]:
            return
        self.wrong[unit] = entry
        if len(self.wrong) > WRONG_KEPT:
            del self.wrong[min(self.wrong, key=lambda each: self.wrong[each][:3])]

    def _invalid(self, row: Row, source: int) -> None:
        _bounded(self.invalid, (_descending(row["id"]), source, row), INVALID_KEPT)


def _descending(identity: str) -> str:
    """A hex id turned round, so that among equals the smaller id is kept."""
    return "".join(f"{15 - int(digit, 16):x}" for digit in identity)


def _bounded(heap: list[Any], entry: Any, size: int) -> None:
    if len(heap) < size:
        heappush(heap, entry)
    else:
        heappushpop(heap, entry)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """``cells``: (domain, tier) -> what accumulates of it. ``scored``: judged base decisions in columns."""

    cells: dict[tuple[str, str], CellData]
    scored: Scored
    counts: dict[str, int]
    gold_versions: dict[str, tuple[str, ...]]
    wrong: tuple[Exhibit, ...]
    invalid: tuple[Exhibit, ...]


def gather(readers: Sequence[RunReader]) -> Evidence:
    """Stream the logs of one row's runs (twice: once for cells and exhibits, once for columns)."""
    kept = Kept()
    streams = [kept.watch(reader.rows(), number) for number, reader in enumerate(readers)]
    cells = collect(chain.from_iterable(streams), chain.from_iterable(reader.episode_rows() for reader in readers))
    judged = (row for reader in readers for row in reader.rows() if counts_for_capability(row))
    return Evidence(
        cells=cells,
        scored=from_rows(map(metric_row, judged)),
        counts=kept.counts,
        gold_versions={name: tuple(sorted(found)) for name, found in sorted(kept.gold_versions.items())},
        wrong=tuple(
            Exhibit(readers[source], row)
            for _, _, source, row in sorted(kept.wrong.values(), key=lambda e: e[:3])[::-1]
        ),
        invalid=tuple(
            Exhibit(readers[source], row) for _, source, row in sorted(kept.invalid, key=lambda e: e[:2])[::-1]
        ),
    )


def serial_latencies(readers: Sequence[RunReader]) -> NDArray[np.float64]:
    """Seconds of every judged base decision of latency-lane runs, (n,), nan where unknown."""
    rows = (row for reader in readers for row in reader.rows() if counts_for_capability(row))
    return np.array([np.nan if (s := metric_row(row)["latency_s"]) is None else s for row in rows], dtype=np.float64)


def calibration(scored: Scored, bins: int = 10, edges: Edges = "[lo,hi)") -> list[dict[str, Any]]:
    """The bins of the reliability diagram (protocol 3: ten, equal width); empty bins are left out."""
    valid = scored.valid
    table = reliability_bins(scored.confidence[valid], scored.correct[valid], bins, edges)
    return [
        {
            "low": float(table.low[b]),
            "high": float(table.high[b]),
            "n": int(table.count[b]),
            "confidence": float(table.confidence[b]),
            "accuracy": float(table.accuracy[b]),
        }
        for b in range(len(table.count))
        if table.count[b]
    ]


def confusions(scored: Scored) -> list[dict[str, Any]]:
    """Confusion counts of each question with few labels: ``labels``, ``counts`` rows gold, columns committed.

    The last column counts invalid answers. Questions in the order of their names.
    """
    first, found = scored.offsets[:-1], []
    gold = scored.label[first + scored.gold]
    committed = np.full(len(scored), INVALID, dtype=np.int64)
    committed[scored.valid] = scored.label[first[scored.valid] + scored.committed[scored.valid]]
    for code, name in sorted(enumerate(scored.question.names), key=lambda pair: pair[1]):
        labels = scored.labels[code]
        if len(labels) > LABELS_SHOWN:
            continue
        rows = scored.question.codes == code
        counts = confusion(gold[rows], committed[rows], len(labels))
        order = sorted(range(len(labels)), key=lambda k: (int(labels[k]) if labels[k].isdecimal() else -1, labels[k]))
        found.append(
            {
                "question": name,
                "n": int(rows.sum()),
                "labels": [labels[k] for k in order],
                "counts": [[int(counts[k, j]) for j in [*order, len(labels)]] for k in order],
            }
        )
    return found
