"""Accuracy per slice (domain, tier, suite, question type, language) and the worst one. [S0, S3]"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from arena.reliability.metrics.columns import Bools, Codes


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: its ``name``, ``n`` decisions asked, ``hits`` right, ``accuracy`` = hits / n (0..1)."""

    name: str
    n: int
    hits: int
    accuracy: float


def slice_accuracy(right: Bools, column: Codes) -> tuple[Slice, ...]:
    """Accuracy of every value of a slice column that occurs, by name: the order of the log shows nowhere.

    ``right`` (n,) is False where invalid. Decisions without a value (code -1) are in no slice.

    >>> slice_accuracy(np.array([True, False, True]), Codes(np.array([0, 1, 1]), ("en", "es")))[1]
    Slice(name='es', n=2, hits=1, accuracy=0.5)
    """
    known = column.codes >= 0
    sizes = np.bincount(column.codes[known], minlength=len(column.names))
    hits = np.bincount(column.codes[known], right[known], minlength=len(column.names))
    rows = zip(column.names, sizes.tolist(), hits.tolist(), strict=True)
    return tuple(Slice(name, n, int(h), h / n) for name, n, h in sorted(rows) if n)


def worst_group(slices: Iterable[Slice]) -> Slice | None:
    """The slice of lowest accuracy; ties go to the first name in Unicode order. None when there is none.

    >>> worst_group([Slice("b", 2, 1, 0.5), Slice("a", 4, 2, 0.5), Slice("c", 1, 1, 1.0)]).name
    'a'
    """
    return min(slices, key=lambda row: (row.accuracy, row.name), default=None)
