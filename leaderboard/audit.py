"""Can a run stand on a board? Everything it says is computed again from its log, and held against what is frozen.

The lines are checked one by one (``recheck``), the items must be those of the registry, and the summary must be the
one that the log gives. What cannot be trusted is refused with file, line and reason. What is honest but incomplete
(limited, unfinished, units missing) is refused too, unless the caller asks for partial rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.identity import PROTOCOL, digest
from arena.leaderboard.recheck import Locked, Refused, Seen, check_decisions, check_episodes
from arena.leaderboard.summary import summarise
from arena.log.reader import SUMMARY, Row, RunReader
from arena.tasks import domains, select

TOLERANCE = 1e-9
"""Two summaries agree when their numbers differ by no more: the last digit of a percentile is the machine's."""

HEADER = ("run", "limited", "started_at", "hardware", "packages", "git")
RESOLVED = ("protocol", "model", "model_card", "domains", "tiers", "split", "lane", "reliability", "data")
"""What a run's ``config.json`` must say."""


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
    def imported(self) -> Row | None:
        """Where the answers come from, when others published them; None for a run of arena's own."""
        found: Row | None = self.reader.config.get("imported") or None
        return found

    @property
    def cells(self) -> frozenset[tuple[str, str]]:
        """(domain, tier) that the run measured."""
        return frozenset((cell["domain"], cell["tier"]) for cell in self.summary["cells"])


def audit(folder: Path, locked: Locked, partial: bool = False) -> Audited:
    """Check a run folder from its bytes. ``locked``: what the registry froze, shared between runs.

    Raises:
        Refused: the log, the summary or the data it is about cannot be trusted; or the run is limited,
            unfinished or incomplete and ``partial`` is False.
        LogCorrupt: a line that cannot be read.
    """
    reader = RunReader(folder)
    _check_config(reader, locked)
    seen, said = check_decisions(reader, locked)
    for cell, units in check_episodes(reader, locked, said).items():
        seen.setdefault(cell, set()).update(units)
    if not seen:
        raise Refused(f"{folder}: the log holds no decision", hint="run it again: arena eval")
    faults = list(_faults(reader, seen))
    summary = summarise(reader)
    faults += (summary["reliability"] or {}).get("partial", [])
    if faults and not partial:
        raise Refused(
            f"{folder} may not enter a board: {'; '.join(faults)}",
            hint="run what is lacking with arena eval, leave the run out, or publish it marked as partial (--partial)",
        )
    check_summary(reader, summary)
    return Audited(reader, summary, tuple(faults))


def check_summary(reader: RunReader, computed: Row) -> None:
    """Hold the stored summary against what the log gives.

    Raises:
        Refused: names the first figure that differs.
    """
    stored = reader.summary
    if stored is None:
        return
    # The folder may have been renamed since; the run's own name is in its config.
    found = first_difference({**stored, "run": None}, {**computed, "run": None})
    if found is not None:
        key, was, now = found
        raise Refused(
            f"{reader.folder / SUMMARY} is not what the log gives: {key} is {was!r}, recomputed {now!r}",
            hint="a summary is computed, never edited: restore it, or run again with the arena that publishes",
        )


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


def _check_config(reader: RunReader, locked: Locked) -> None:
    folder, config = reader.folder, reader.config
    resolved = config.get("resolved")
    if not isinstance(resolved, dict):
        raise Refused(f"{folder / 'config.json'} has no resolved configuration")
    if lacking := [*(key for key in HEADER if key not in config), *(key for key in RESOLVED if key not in resolved)]:
        raise Refused(f"{folder / 'config.json'} lacks {', '.join(lacking)}", hint="it was made by another arena")
    if resolved["protocol"] != PROTOCOL:
        raise Refused(
            f"{folder} follows protocol {resolved['protocol']}, this arena computes {PROTOCOL}",
            hint="numbers of different protocols never share a table: publish it with the arena that made it",
        )
    if resolved["split"] != "test":
        raise Refused(f"{folder} ran on split {resolved['split']!r}; a board holds the test split only")
    if config.get("imported"):
        return
    for name in resolved["domains"]:
        if name not in domains():
            raise Refused(f"{folder}: domain {name!r} is not in this arena's registry, so it cannot be checked")
        then, now = resolved["data"].get(name), digest(locked.domain(name).lock.model_dump(mode="json"), 64)
        if now != then:
            raise Refused(
                f"{folder}: the items of domain {name!r} are not the ones in the registry "
                f"(the run's lock {str(then)[:12]}..., the registry's {now[:12]}...)",
                hint="publish it with the arena version whose items it was run on, or run it again",
            )


def _faults(reader: RunReader, seen: Seen) -> Iterator[str]:
    """Why an honest run is not whole."""
    resolved = reader.config["resolved"]
    if not reader.finished:
        yield "unfinished"
    if reader.config["limited"]:
        yield "limited (--limit or --item)"
    for name, identity in (resolved.get("environments") or {}).items():
        if identity.get("isolation") == "simulated":
            yield f"{name} was simulated (--sandbox sim), its commands ran in no box"
    if reader.config.get("imported"):
        return
    tiers = resolved["tiers"][0] if resolved["tiers"] in (["all"], ["hardest"]) else resolved["tiers"]
    for cell in select(resolved["domains"], tiers, resolved["split"]).cells:
        found = len(seen.get((cell.domain, cell.tier), ()))
        if found < len(cell.ids):
            yield f"{cell.domain}/{cell.tier} has {found} of {len(cell.ids)} units"
