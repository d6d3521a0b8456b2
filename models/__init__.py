"""Deciders by name: embedded models, baselines, a scripted fake, and wire adapters.

Importing this package and listing what it knows loads neither numpy nor httpx; opening a model does. Other
distributions add models through the entry-point group ``arena.models`` (a ``Factory``).
"""

from __future__ import annotations

from arena.models.options import FLAGS, Factory, ModelInfo, ModelOptions
from arena.registry import Registry
from arena.session import Decider

__all__ = ["FLAGS", "MODELS", "Factory", "ModelInfo", "ModelOptions", "known_models", "open_model"]

_BASELINES = {
    "uniform": "equal probability on every option",
    "random": "a seeded draw, new for every ask",
    "majority": "the commonest label of the train split (supervised)",
    "always-first": "the option shown first",
    "always-none": "none_of_the_above where offered, else uniform",
    "constant": "the smallest key whatever the order",
    "give-up": "ends an episode at once (blocked), else the first option",
    "slot-biased": "reference with a known liking for the first slot",
}

_EMBEDDED = (
    ModelInfo(
        "sparrow-nano",
        "embedded",
        "the default: 2.2 MB static-embedding decision model, runs in process",
        source="PyPI sparrow-decider 0.2.0, sparrow-nano-general-v1.1",
        note="Apache-2.0; reads the first 512 tokens of a state; a reference, not a contender",
    ),
    *(ModelInfo(name, "baseline", summary, source="arena") for name, summary in _BASELINES.items()),
)

MODELS: Registry[Factory] = Registry(
    "model",
    "arena.models",
    {
        "sparrow-nano": "arena.models.sparrow:open_sparrow",
        **dict.fromkeys(_BASELINES, "arena.models.baselines:open_baseline"),
    },
)


def open_model(name: str, options: ModelOptions | None = None) -> Decider:
    """Open the model registered as ``name``.

    Raises:
        UnknownName: no such model; proposes the nearest.
        UsageError: an option that this model does not take, or one that it needs.
        MissingNeed: a key, a package or weights that are not there.
    """
    return MODELS.get(name)(name, options or ModelOptions())


def known_models() -> tuple[ModelInfo, ...]:
    """Every model that can be opened, embedded first; plugins last."""
    known = {info.name for info in _EMBEDDED}
    plugins = tuple(ModelInfo(name, "plugin", "added by another package") for name in MODELS if name not in known)
    return _EMBEDDED + plugins
