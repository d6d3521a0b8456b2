"""Deciders by name: embedded models, baselines, a scripted fake, and wire adapters.

Importing this package and listing what it knows loads neither numpy nor httpx; opening a model does. Other
distributions add models through the entry-point group ``arena.models`` (a ``Factory``).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from arena.models.catalog import providers
from arena.models.options import FLAGS, Factory, ModelInfo, ModelOptions
from arena.registry import Registry
from arena.session import Decider

__all__ = ["FLAGS", "MODELS", "Factory", "ModelInfo", "ModelOptions", "known_models", "open_model", "preflight"]

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

_HERE = (
    ModelInfo(
        "sparrow-nano",
        "embedded",
        "the default: 2.2 MB static-embedding decision model, runs in process",
        source="PyPI sparrow-decider 0.2.0, sparrow-nano-general-v1.1",
        note="Apache-2.0; reads the first 512 tokens of a state; a reference, not a contender",
    ),
    ModelInfo("tfidf", "baseline", "word statistics fitted on the train split (supervised)", source="arena"),
    *(ModelInfo(name, "baseline", summary, source="arena") for name, summary in _BASELINES.items()),
    ModelInfo("fake", "fake", "answers and fails as a script says (--script FILE)", source="arena"),
)

MODELS: Registry[Factory] = Registry(
    "model",
    "arena.models",
    {
        "sparrow-nano": "arena.models.sparrow:open_sparrow",
        **dict.fromkeys(_BASELINES, "arena.models.baselines:open_baseline"),
        "tfidf": "arena.models.tfidf:open_tfidf",
        "fake": "arena.models.fake:open_fake",
        **dict.fromkeys(providers(), "arena.models.systemone:open_wire"),
    },
    "arena list models",
)


@runtime_checkable
class _Checked(Protocol):
    async def preflight(self) -> None: ...


def open_model(name: str, options: ModelOptions | None = None, *, need_key: bool = True) -> Decider:
    """Open the model registered as ``name``.

    ``need_key`` False opens a hosted model without its key, for an estimate; asking it then raises.

    Raises:
        UnknownName: no such model; proposes the nearest.
        UsageError: an option that this model does not take, or one that it needs.
        MissingNeed: a key, a package or weights that are not there.
    """
    factory = MODELS.get(name)
    options = options or ModelOptions()
    if not need_key and name in providers():
        from arena.models.systemone import open_wire

        return open_wire(name, options, need_key=False)
    return factory(name, options)


def known_models() -> tuple[ModelInfo, ...]:
    """Every model that can be opened: those that run here, then the catalog's, then plugins."""
    known = _HERE + tuple(provider.info() for provider in providers().values())
    names = {info.name for info in known}
    plugins = tuple(ModelInfo(name, "plugin", "added by another package") for name in MODELS if name not in names)
    return known + plugins


async def preflight(decider: Decider) -> None:
    """Check, without asking for a decision that costs money, that a model can be reached.

    Models that run in process need no check.

    Raises:
        MissingNeed: no key, no server, or no decision server at the address.
    """
    if isinstance(decider, _Checked):
        await decider.preflight()
