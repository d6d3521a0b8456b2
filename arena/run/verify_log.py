"""Check a run from its log: every decision gated again, every episode judged again, all against what is frozen.

Reads files alone: verifiers are pure, so no engine, browser or model is asked. A run that was limited, or is not
finished, is checked as far as it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from arena.errors import UsageError
from arena.items import Item
from arena.leaderboard.logs import BareLog
from arena.leaderboard.recheck import Locked, check_decisions, check_episodes
from arena.log.reader import DECISIONS, EPISODES, RunReader, iter_lines, iter_rows, log_file
from arena.tasks import load_golds, load_units


@dataclass(frozen=True, slots=True)
class Checked:
    """How many lines hold. ``judged``: episodes whose verdict was given again; the rest ended in an error."""

    decisions: int
    episodes: int
    judged: int


class _LockedSplit(Locked):
    """What the registry froze of one split, whichever it is."""

    def __init__(self, split: str) -> None:
        super().__init__()
        self.split = split
        self.golds = cache(lambda name, tier, version: load_golds(name, tier, split, version))

    def item(self, name: str, tier: str, unit: str) -> Item:
        """An item of a static cell, from verified files."""
        if (name, tier) not in self._items:
            units = load_units(name, tier, self.split)
            self._items[name, tier] = {each.id: each for each in units if isinstance(each, Item)}
        return self._items[name, tier][unit]


def verify_log(reader: RunReader) -> Checked:
    """Check every line of a run.

    Raises:
        Refused: at the first line that does not hold; names file, line and reason. LogCorrupt: a damaged line.
        UsageError: a decision log without its run folder.
    """
    if isinstance(reader, BareLog):
        raise UsageError(
            f"{reader.folder} is a decision log alone; what it is held against stands in the config of its run",
            hint="arena score RUN --verify, with the run folder",
        )
    locked = _LockedSplit(reader.config["resolved"]["split"])
    check_decisions(reader, locked)
    check_episodes(reader, locked)
    decisions, episodes = log_file(reader.folder, DECISIONS), log_file(reader.folder, EPISODES)
    errors = [row["error"] for row in iter_rows(episodes)] if episodes is not None else []
    return Checked(
        decisions=0 if decisions is None else sum(1 for _ in iter_lines(decisions)),
        episodes=len(errors),
        judged=sum(error is None for error in errors),
    )
