"""All tools tasks from their seeds: which family in which tier, how many, and under which id.

A task depends on its family, tier, split and number alone. What is missing here is what only a box can say:
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


def tasks() -> Iterator[dict[str, JSON]]:
    """Every task, without ``recorded``, in the order of tier, family, split and number."""
    for tier, families in TIERS.items():
        for family, write in families.items():
            for split, count in COUNTS[tier].items():
                for number in range(1, count + 1):
                    yield task(tier, family, split, number, write)


def task(tier: str, family: str, split: str, number: int, write: Family) -> dict[str, JSON]:
    """One task, without ``recorded``."""
    rng = rng_for("tools", "1", tier, family, split, number)
    seed = rng.getrandbits(31)
    name = f"{family}-{tier.lower()}-{number:02d}" + ("" if split == "test" else f"-{split}")
    draft = write(rng, number)
    place = {"format": 1, "id": name, "family": family, "tier": tier, "split": split, "seed": seed}
    return place | draft.body(rng, tier)
