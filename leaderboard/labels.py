"""Where the names of a scatter plot go: beside their marks, over no other name and no mark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""

NEAR = 14
"""Pixels between marks that are read as one."""


def place_labels(points: list[dict[str, Any]], tops: tuple[float, float], size: tuple[int, int], grey: str) -> None:
    """Give each point ``label``, ``label_c``, ``label_r`` (data units), where it meets no other label or mark.

    Ranked rows choose first; a label lies on an interval where nothing else is free. Baselines whose marks lie on one
    another share a label: their names, or how many they are. A label that fits nowhere is left out: its mark still
    says it on hover. ``tops``: upper ends of the axes; ``size``: pixels; ``grey``: the colour of baselines.
    """
    (c_top, r_top), (width, height) = tops, size

    def pixel(c: float, r: float) -> tuple[float, float]:
        return c / c_top * width, (1 - r / r_top) * height

    marks = [pixel(p["c"], p["r"]) for p in points]
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for x, y in marks]
    whiskers: list[Box] = []
    for point, (x, y) in zip(points, marks, strict=True):
        left, bottom = pixel(point["c_low"], point["r_low"])
        right, top = pixel(point["c_high"], point["r_high"])
        whiskers += [(left, y - 1, right, y + 1), (x - 1, top, x + 1, bottom)]
        point["label"] = ""
    for i, texts in _named(points, marks, grey):
        tries = ((text, blocked) for blocked in ([*taken, *whiskers], taken) for text in texts)
        for text, blocked in tries:
            boxes = _label_boxes(marks[i], 6.6 * len(text), size)
            free = next((box for box in boxes if not any(_meet(box, other) for other in blocked)), None)
            if free is not None:
                taken.append(free)
                label_c, label_r = free[0] / width * c_top, (1 - (free[1] + 8) / height) * r_top
                points[i] |= {"label": text, "label_c": label_c, "label_r": label_r}
                break


def _named(
    points: Sequence[Mapping[str, Any]], marks: Sequence[tuple[float, float]], grey: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(index of a mark, what its label may say, best first): ranked rows, then baselines, by falling C."""
    ranked = [i for i, point in enumerate(points) if point["colour"] != grey]
    for i in sorted(ranked, key=lambda i: (-points[i]["c"], i)):
        yield i, (points[i]["name"],)
    shared: dict[int, list[str]] = {}
    for i in sorted(set(range(len(points))) - set(ranked), key=lambda i: (-points[i]["c"], i)):
        (x, y) = marks[i]
        first = next((j for j in shared if abs(x - marks[j][0]) < NEAR and abs(y - marks[j][1]) < NEAR), i)
        shared.setdefault(first, []).append(points[i]["name"])
    for i, names in shared.items():
        yield i, (", ".join(names), f"{len(names)} baselines")[: min(2, len(names))]


def _label_boxes(mark: tuple[float, float], wide: float, size: tuple[int, int]) -> Iterator[Box]:
    """Places for a label beside its mark, best first, as far as they lie in the plot."""
    (x, y), (width, height) = mark, size
    beside = ((10, -10), (10, 11), (-10 - wide, -10), (-10 - wide, 11), (10, -26), (10, 27), (-wide / 2, -26))
    for dx, dy in (*beside, (4, -42), (4, -58)):
        box = (x + dx, y + dy - 8, x + dx + wide, y + dy + 8)
        if box[0] >= 0 and box[1] >= 0 and box[2] <= width + 40 and box[3] <= height:
            yield box


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
