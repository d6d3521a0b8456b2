"""Runs to a board: find, audit, join, compare, order. Refuses what may not share a table.

Rows whose paired interval of the difference in C contains 0 are tied; a letter names each tie group (a row may
stand in several: a tie is not transitive). Partial rows are shown, marked, and compared with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np

from arena.errors import NothingSelected, UsageError
from arena.identity import PROTOCOL
from arena.leaderboard.audit import Audited, audit
from arena.leaderboard.entries import Entry, build_entry, bundles, named
from arena.leaderboard.pareto import Point, front
from arena.leaderboard.recheck import Locked, Refused
from arena.leaderboard.statistics import Draws, pairwise, tie_groups
from arena.log.reader import CONFIG, find_runs, read_header
from arena.tasks import domain, domains


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """``entries`` in the order shown; ``front``: slugs by falling C; ``tie_groups``: slugs of each group."""

    entries: tuple[Entry, ...]
    front: tuple[str, ...]
    tie_groups: tuple[tuple[str, ...], ...]

    def data(self) -> dict[str, Any]:
        """The whole board as JSON; nothing in it depends on when or where it was computed."""
        return {
            "protocol": PROTOCOL,
            "date": max(entry.row["date"] for entry in self.entries),
            "domains": [domain_row(name) for name in [*domains(), *self._foreign()]],
            "front": list(self.front),
            "tie_groups": [list(group) for group in self.tie_groups],
            "rows": [entry.row for entry in self.entries],
        }

    def _foreign(self) -> list[str]:
        """Domains that only imported answers are about."""
        return sorted({cell["domain"] for entry in self.entries for cell in entry.row["cells"]} - set(domains()))


def domain_row(name: str) -> dict[str, Any]:
    """A domain as the board's legend shows it; one that the registry does not hold was imported, and has one tier."""
    if name not in domains():
        tier = {"name": "all", "rule": "answers that others published, scored again here; no part of C"}
        words = {"title": "imported answers", "suite": name, "kind": "static", "licence": "of its publisher"}
        return {"name": name, **words, "hardest": "all", "tiers": [tier]}
    each = domain(name)
    tiers = [{"name": tier.name, "rule": tier.rule} for tier in each.tiers]
    return {
        "name": name,
        "title": each.title,
        "suite": each.suite_id,
        "kind": each.kind,
        "licence": each.licence,
        "hardest": each.tier_names[-1],
        "tiers": tiers,
    }


def find(paths: Iterable[Path]) -> list[Path]:
    """Run folders among ``paths``: runs themselves, or folders that hold runs. Sorted by run name, each once.

    Raises:
        UsageError: a path that is neither.
        NothingSelected: no run at all.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        folders = [path] if (path / CONFIG).is_file() else [header.folder for header in find_runs(path)]
        if not folders:
            raise UsageError(f"{path} is no run and holds none", hint="see: arena list runs")
        found |= {folder.resolve(): folder for folder in folders}
    if not found:
        raise NothingSelected("no run given", hint="arena publish runs/ -o site/")
    return sorted(found.values(), key=lambda folder: (folder.name, str(folder.resolve())))


def load(folders: Sequence[Path], partial: bool = False) -> list[Audited]:
    """Audit every run.

    Raises:
        Refused: a run that may not stand on a board, or runs that may not share one.
    """
    protocols = {str(read_header(f).config.get("resolved", {}).get("protocol")): f for f in folders}
    if len(protocols) > 1:
        told = ", ".join(f"{name} ({protocols[name].name})" for name in sorted(protocols))
        raise Refused(
            f"the runs follow different protocols: {told}",
            hint="numbers of different protocols never share a table: publish them apart",
        )
    locked = Locked()
    return [audit(folder, locked, partial) for folder in folders]


def build(audited: Sequence[Audited]) -> Board:
    """Join runs into rows, compare the rows, order them.

    Raises:
        Refused: two gold versions of one domain.
    """
    rows = bundles(audited)
    entries = [build_entry(bundle, slug, name) for bundle, (slug, name) in zip(rows, named(rows), strict=True)]
    _one_gold_version(entries)
    entries.sort(key=_order)
    whole = [entry for entry in entries if entry.c_draws is not None and not entry.row["partial"]]
    low, high = _compared(whole)
    groups = tuple(tuple(whole[i].slug for i in group) for group in tie_groups(low, high))
    place = {entry.slug: i for i, entry in enumerate(whole)}
    # One letter for each group; a row that is tied with nobody stands alone in its own.
    for number, group in enumerate(groups):
        for slug in group:
            whole[place[slug]].row["ties"] += _letter(number)
    points = [point for entry in whole if (point := _point(entry)) is not None]
    best = front(points, lambda a, b: bool(low[place[a], place[b]] > 0))
    for slug in best:
        whole[place[slug]].row["front"] = True
    return Board(tuple(entries), best, groups)


def _order(entry: Entry) -> tuple[Any, ...]:
    """Measured before pending, better before worse, then by name."""
    c, found = entry.row["capability"], entry.row["reliability"]
    r = None if found is None else found["R"]
    return (c is None, -(c or 0.0), r is None, -(r or 0.0), entry.row["name"], entry.slug)


def _compared(entries: Sequence[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the paired interval of C(row) - C(column), each (M, M)."""
    if not entries:
        return np.zeros((0, 0)), np.zeros((0, 0))
    values = np.stack([entry.c_draws for entry in entries if entry.c_draws is not None], axis=1)
    return pairwise(Draws(np.array([entry.row["capability"] for entry in entries]), values))


def _letter(number: int) -> str:
    return ascii_lowercase[number] if number < 26 else f"[{number + 1}]"


def interval_of(found: dict[str, Any] | None, name: str) -> list[float] | None:
    """The 95 % interval of S, N or R beside its figure, None where it has none."""
    bounds = None if found is None else found.get(f"{name}_ci95")
    return None if bounds is None or any(bound is None for bound in bounds) else bounds


def _point(entry: Entry) -> Point | None:
    """The row on the plot of C against R; yardsticks and rows without R take no part in the front."""
    found = entry.row["reliability"]
    if entry.row["baseline"] or found is None or found["R"] is None:
        return None
    bounds = interval_of(found, "R")
    return Point(entry.slug, entry.row["capability"], found["R"], (bounds[0], bounds[1]) if bounds else None)


def _one_gold_version(entries: Sequence[Entry]) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for entry in entries:
        for name, versions in entry.row["gold_versions"].items():
            for version in versions:
                before, other = seen.setdefault(name, (version, entry.row["name"]))
                if before != version:
                    raise Refused(
                        f"two gold versions of {name}: {before} ({other}) and {version} ({entry.row['name']})",
                        hint="two gold versions never share a table: publish them apart",
                    )
