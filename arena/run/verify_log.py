"""Check a run from its log: every decision gated again, every episode judged again, all against what is frozen.

Reads files alone: verifiers are pure, so no engine, browser or model is asked. A run that was limited, or is not
finished, is checked as far as it goes.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arena.errors import UsageError
from arena.identity import load
from arena.items import EpisodeRef, Item
from arena.leaderboard.logs import BareLog
from arena.leaderboard.recheck import RESTORE, Locked, Refused, check_decisions, check_episodes
from arena.log.reader import DECISIONS, EPISODES, Row, RunReader, iter_lines, iter_rows, log_file
from arena.tasks import load_golds, load_units
from arena.types import JSON


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

    def conditions(self, row: Row) -> JSON:
        """What the recording of an episode says must hold, from its verified file."""
        (unit,) = load_units(row["domain"], row["tier"], self.split, [row["unit"]])
        assert isinstance(unit, EpisodeRef)
        return _conditions(unit.recording(row["variant"]["index"]).path)


@cache
def _conditions(path: str) -> JSON:
    """A web recording is an archive with the conditions in a file of their own; a tools task is one JSON file."""
    if not zipfile.is_zipfile(path):
        return load(Path(path).read_bytes())["verify"]
    with zipfile.ZipFile(path) as recording:
        return load(recording.read("verify.json"))["conditions"]


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
    errors = []
    for number, row in enumerate(iter_rows(episodes), 1) if episodes is not None else ():
        errors.append(row["error"])
        # A walk that broke, or that follows its recording to the end, was judged by nothing.
        if row["verify"] is not None and row["verify"] != locked.conditions(row):
            where = f"{episodes}:{number}: episode {row['id']}"
            raise Refused(f"{where}: judged by other conditions than its recording's", hint=RESTORE)
    return Checked(
        decisions=0 if decisions is None else sum(1 for _ in iter_lines(decisions)),
        episodes=len(errors),
        judged=sum(error is None for error in errors),
    )
