"""The front of capability against reliability, drawn so that noise makes no one a loser.

A dominates B when A is at least as good on both axes and *shown* to be better on one of them: on C the paired
interval of the difference lies above 0; on R the interval of A lies above that of B. Otherwise the two may be
equal, and neither takes the other off the front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A row with both figures: ``c`` 0..100, ``r`` 0..1 with its interval (None: unknown, never conclusive)."""

    key: str
    c: float
    r: float
    r_interval: tuple[float, float] | None = None


def front(points: Sequence[Point], better_c: Callable[[str, str], bool]) -> tuple[str, ...]:
    """Keys of the points that no other dominates, by falling C.

    ``better_c(a, b)``: whether the paired interval of C(a) - C(b) lies above 0.
    """

    def dominates(a: Point, b: Point) -> bool:
        if a.c < b.c or a.r < b.r:
            return False
        clear = a.r_interval is not None and b.r_interval is not None and a.r_interval[0] > b.r_interval[1]
        return clear or better_c(a.key, b.key)

    alive = [p for p in points if not any(dominates(other, p) for other in points if other is not p)]
    return tuple(p.key for p in sorted(alive, key=lambda p: (-p.c, -p.r, p.key)))
