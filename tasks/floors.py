"""Floors of episode domains: what trivial policies won on the very recordings that are frozen.

``NAME.floors.json`` beside the domain's lock holds, per tier and policy, episodes played and won, and a
digest of the recordings they were played on. Floors of other recordings are not used: the cell's floor is
then unknown, and so is its skill.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from arena.errors import UsageError
from arena.identity import digest, load
from arena.tasks.registry import domain


def floors_path(name: str) -> Path:
    """Where the floors of a domain lie."""
    return domain(name).folder / f"{name}.floors.json"


def recordings_digest(name: str, tier: str, split: str = "test") -> str:
    """Identity of the frozen recordings of one cell: a digest over ids and sha256."""
    cell = domain(name).lock.cells.get(tier, {}).get(split, {})
    return digest({unit: locked.sha256 for unit, locked in cell.items()}, 64)


@lru_cache(maxsize=256)
def episode_floors(name: str, tier: str) -> dict[str, float]:
    """Success rate 0..1 of each trivial policy on the test episodes of a cell; empty when not measured.

    Raises:
        UsageError: the floors file cannot be read.
    """
    path = floors_path(name)
    if domain(name).kind != "episode" or not path.is_file():
        return {}
    try:
        tiers = load(path.read_bytes())["tiers"]
        found = tiers.get(tier)
        if found is None or found["recordings"] != recordings_digest(name, tier):
            return {}
        return {policy: row["won"] / row["played"] for policy, row in found["policies"].items()}
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise UsageError(f"{path} is not a floors file: {error!r}", hint="git checkout, or reinstall") from error
