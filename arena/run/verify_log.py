"""Check a run from its log: every decision gated again, every episode judged again, all against what is frozen.

Reads files alone: verifiers are pure, so no engine, browser or model is asked. A run that was limited, or is not
finished, is checked as far as it goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from arena.errors import UsageError
from arena.leaderboard.audit import check_summary
from arena.leaderboard.logs import BareLog
from arena.leaderboard.recheck import RESTORE, Locked, Refused, check_decisions, check_episodes
from arena.leaderboard.submission.complete import missing
from arena.leaderboard.summary import summarise
from arena.log.reader import DECISIONS, EPISODES, RunReader, iter_lines, iter_rows, log_file


@dataclass(frozen=True, slots=True)
class Checked:
    """How many lines hold. ``judged``: episodes whose verdict was given again; the rest ended in an error."""

    decisions: int
    episodes: int
    judged: int


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
    locked = Locked(reader.config["resolved"]["split"])
    _, said = check_decisions(reader, locked)
    check_episodes(reader, locked, said)
    if reader.finished:
        check_summary(reader, summarise(reader))
        if not reader.config["limited"] and not reader.config.get("imported"):
            for told in missing(reader, locked):
                raise Refused(f"{reader.folder}: {told}", hint=RESTORE)
    decisions, episodes = log_file(reader.folder, DECISIONS), log_file(reader.folder, EPISODES)
    errors = [] if episodes is None else [row["error"] for row in iter_rows(episodes)]
    return Checked(
        decisions=0 if decisions is None else sum(1 for _ in iter_lines(decisions)),
        episodes=len(errors),
        judged=sum(error is None for error in errors),
    )
