"""All tools tasks from their seeds: which family in which tier, how many, and under which id.

A task depends on its family, tier, split, number and trial alone. What is missing here is what only a box can say:
the observations on the first oracle (see ``arena.run.freeze_tools``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arena.identity import rng_for
from arena.tasks.tools.dependent import T2
from arena.tasks.tools.draft import Family
from arena.tasks.tools.hazard import T3
from arena.tasks.tools.simple import T0
from arena.tasks.tools.stated import T1
from arena.tasks.tools.trust import GATE1, T4
from arena.types import JSON

TIERS: dict[str, Mapping[str, Family]] = {"T0": T0, "T1": T1 | GATE1, "T2": T2, "T3": T3, "T4": T4}
COUNTS = {
    "T0": {"test": 4, "dev": 1},
    "T1": {"test": 3, "dev": 1},
    "T2": {"test": 4, "dev": 1},
    "T3": {"test": 5, "dev": 1},
    "T4": {"test": 6, "dev": 1},
}
"""Tasks per family."""

TRIALS = 3
"""Further drawings of each task: the same goal in kind, over another fixture, with the options in another order."""


def tasks() -> Iterator[dict[str, JSON]]:
    """Every task, without ``recorded``, in the order of tier, family, split and number."""
    return (task(*place, trial=0) for place in _places())


def trials() -> Iterator[tuple[str, dict[str, JSON]]]:
    """(id of the task, one of its ``TRIALS`` other drawings), in the order of the tasks."""
    for place in _places():
        name = task(*place, trial=0)["id"]
        yield from ((name, task(*place, trial=trial)) for trial in range(1, TRIALS + 1))


def _places() -> Iterator[tuple[str, str, str, int, Family]]:
    for tier, families in TIERS.items():
        for family, write in families.items():
            for split, count in COUNTS[tier].items():
                for number in range(1, count + 1):
                    yield tier, family, split, number, write


def task(tier: str, family: str, split: str, number: int, write: Family, *, trial: int) -> dict[str, JSON]:
    """One task, without ``recorded``. ``trial`` 0 is the task itself; ids of others end in ``.t1``, ``.t2``, ..."""
    rng = rng_for("tools", "1", tier, family, split, number, *((f"sibling {trial}",) if trial else ()))
    seed = rng.getrandbits(31)
    name = f"{family}-{tier.lower()}-{number:02d}" + ("" if split == "test" else f"-{split}")
    draft = write(rng, number)
    name += f".t{trial}" if trial else ""
    place = {"format": 1, "id": name, "family": family, "tier": tier, "split": split, "seed": seed}
    return place | draft.body(rng, tier)
