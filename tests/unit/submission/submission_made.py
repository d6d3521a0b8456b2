"""What the submission tests share: what is declared, and what was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arena.leaderboard.submission import Declared

DECLARED = Declared(submitter="Example Group", train_split_seen="no", answers_licence="CC0-1.0")


@dataclass(frozen=True)
class Made:
    """``suite``: the registry folder. ``run``: a finished run. ``bundle``: its submission."""

    suite: Path
    runs: Path
    run: Path
    bundle: Path
