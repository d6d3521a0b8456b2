"""Suites as frozen data: the domain-tier registry, generators, importers.

The registry's names are re-exported lazily, so that importing ``arena.tasks`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.tasks.definition import Domain, Tier
    from arena.tasks.registry import (
        Cell,
        Selection,
        conditions,
        domain,
        domains,
        gold_versions,
        hardest_tier,
        load_golds,
        load_units,
        reliability_ids,
        select,
        training_examples,
    )

__all__ = [
    "Cell",
    "Domain",
    "Selection",
    "Tier",
    "conditions",
    "domain",
    "domains",
    "gold_versions",
    "hardest_tier",
    "load_golds",
    "load_units",
    "reliability_ids",
    "select",
    "training_examples",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from arena.tasks import registry

    return getattr(registry, name)
