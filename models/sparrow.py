"""``sparrow-nano``: a 2.2 MB decision model that runs in process (PyPI ``sparrow-decider``, Apache-2.0).

The weights lie inside the installed package; their sha256 is checked before the first answer. It mean-pools
static word vectors of state, question and options, reads only the first 512 tokens of a state, and scores
options as a set: the order shown does not enter.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import fsum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from arena.errors import ChangedData, MissingNeed
from arena.identity import sha256_file
from arena.models.answers import wire_answer
from arena.models.options import ModelOptions
from arena.records import ModelCard
from arena.session import Ask, Decider, Reply
from arena.types import Choice, Noul, Score

if TYPE_CHECKING:
    from sparrow_decider import Decider as Engine

PACKAGE = "sparrow-decider"
WEIGHTS = "models/sparrow-nano-general-v1.1.sparrow"
WEIGHTS_SHA256 = "d1d3ee04cdfa58f325bb7f06b701df92bc29a3debea59743bf14a7a6215ef2e3"
TEXTS_KEPT = 4096
MAX_LEVELS = 10
"""The package refuses a score of more levels."""

_DIGITS = 5
"""Significant digits kept. Single precision gives about 6; the last ones depend on where an option stands in
the matrix, and must not break a tie between options that the model cannot tell apart."""


class SparrowNano:
    """The decider. ``weights``: the checked ``.sparrow`` file."""

    def __init__(self, name: str, weights: Path, release: str) -> None:
        from sparrow_decider import Decider as Engine
        from threadpoolctl import ThreadpoolController

        # The matrices are small: more BLAS threads only wait for each other, and round differently by core count.
        self._blas = ThreadpoolController()
        self._engine: Engine = Engine.load(str(weights))
        # A text's pooled vector depends on the text alone, and most of the time goes into its tokens: the state
        # of one ask, and options that recur, are read once. The vectors, and so the answers, stay the same.
        static = self._engine.static
        static._pool = lru_cache(maxsize=TEXTS_KEPT)(static._pool)
        self._window: int = self._engine.static.max_len
        self.card = ModelCard(
            name=name,
            version=f"{self._engine.name} ({PACKAGE} {release})",
            identity={
                "adapter": "sparrow/1",
                "package": f"{PACKAGE}=={release}",
                "weights_sha256": WEIGHTS_SHA256,
                "state_tokens_read": self._window,
            },
            order_invariant=True,
        )

    async def decide(self, ask: Ask) -> Reply:
        """Answer every question, or none when one is beyond the model's limits (``unsupported``)."""
        if reasons := _beyond(ask):
            return Reply({}, outcome="unsupported", error="; ".join(reasons), model_version=self.card.version)
        begun = perf_counter()
        with self._blas.limit(limits=1, user_api="blas"):
            answers = {
                name: wire_answer(question, self._probabilities(ask, question))
                for name, question in ask.questions.items()
            }
        latency = (perf_counter() - begun) * 1000.0
        return Reply(answers, latency_ms=latency, model_version=self.card.version)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _probabilities(self, ask: Ask, question: Choice | Score | Noul) -> dict[str, float]:
        _, labels, _, values = self._engine.probs(ask.state, question.wire())
        rounded = [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
        total = fsum(rounded)
        return {label: value / total for label, value in zip(labels, rounded, strict=True)}


def _beyond(ask: Ask) -> list[str]:
    return [
        f"{name}: {len(question.criteria)} levels, the model takes 2..{MAX_LEVELS}"
        for name, question in ask.questions.items()
        if isinstance(question, Score) and len(question.criteria) > MAX_LEVELS
    ]


def _weights() -> tuple[Path, str]:
    """The weights file and the package's release.

    Raises:
        MissingNeed: the package is not installed.
        ChangedData: the weights are not the ones this adapter was written for.
    """
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:
        raise MissingNeed(f"{PACKAGE} is not installed", hint=f"pip install {PACKAGE}==0.2.0") from None
    spec = find_spec("sparrow_decider")
    if spec is None or spec.origin is None:
        raise MissingNeed(f"{PACKAGE} {release} has no module", hint=f"pip install --force-reinstall {PACKAGE}==0.2.0")
    path = Path(spec.origin).parent / WEIGHTS
    if not path.is_file():
        raise MissingNeed(f"{path} is missing", hint=f"pip install --force-reinstall {PACKAGE}==0.2.0")
    if (found := sha256_file(path)) != WEIGHTS_SHA256:
        raise ChangedData(str(path), WEIGHTS_SHA256, found)
    return path, release


def open_sparrow(name: str, options: ModelOptions) -> Decider:
    """The embedded default model."""
    options.only(name)
    return SparrowNano(name, *_weights())
