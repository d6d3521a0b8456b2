"""Trivial policies: the floors that skill is measured from, and references whose reliability is known by hand.

None reads the state. ``majority`` is fitted on the train split and says so on its card. ``slot-biased`` is
a yardstick for order stability: how often it flips follows from its parameters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from time import perf_counter

from arena.identity import digest, question_id, rng_for
from arena.items import Gold
from arena.models.answers import one_hot, uniform, wire_answer
from arena.models.options import ModelOptions
from arena.records import ModelCard
from arena.session import Ask, Decider, Reply
from arena.types import JSON, NONE_OF_THE_ABOVE, Choice, Noul, Score

Distribution = dict[str, float]

GIVE_UP_KEYS = ("blocked", "give_up")
"""Option keys that end an episode without a result."""


class Baseline:
    """A policy that turns a question into probabilities over its labels, in the order shown."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        """Probabilities over ``question.labels()``, sum 1."""
        raise NotImplementedError

    async def decide(self, ask: Ask) -> Reply:
        """Answer every question of the ask."""
        begun = perf_counter()
        answers = {
            name: wire_answer(question, self.distribution(ask, name, question))
            for name, question in ask.questions.items()
        }
        return Reply(answers, latency_ms=(perf_counter() - begun) * 1000.0, model_version=self.card.version)

    async def aclose(self) -> None:
        """Nothing to release."""


class Uniform(Baseline):
    """Equal probability everywhere."""

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        return uniform(question.labels())


class Random(Baseline):
    """A draw from the flat Dirichlet, seeded by seed, ask and question: repeats differ, reruns agree.

    The mode is equally likely to be any label.
    """

    def __init__(self, card: ModelCard, seed: int) -> None:
        super().__init__(card)
        self._seed = seed

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        rng = rng_for("random", self._seed, ask.id, name)
        draws = {label: rng.expovariate(1.0) for label in sorted(question.labels())}
        total = sum(draws.values())
        return {label: draws[label] / total for label in question.labels()}


def _constant_label(question: Choice | Score | Noul) -> str:
    """The smallest Unicode key of a choice, level "0" of a score, "false" of a noul."""
    return min(question.labels()) if isinstance(question, Choice) else question.labels()[0]


class Constant(Baseline):
    """The smallest Unicode key whatever the order shown; level 0; no."""

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        return one_hot(question.labels(), _constant_label(question))


class AlwaysFirst(Baseline):
    """The option shown first; level 0; no."""

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        return one_hot(question.labels(), question.labels()[0])


class AlwaysNone(Baseline):
    """``none_of_the_above`` when it is offered, else uniform."""

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        labels = question.labels()
        return one_hot(labels, NONE_OF_THE_ABOVE) if NONE_OF_THE_ABOVE in labels else uniform(labels)


class GiveUp(AlwaysFirst):
    """Ends an episode at once where an option allows it (``blocked``, ``give_up``), else the first option."""

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        labels = question.labels()
        for key in GIVE_UP_KEYS:
            if key in labels:
                return one_hot(labels, key)
        return super().distribution(ask, name, question)


def label_of(value: str | int | bool) -> str:
    """A gold value as a label of its question."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Majority(Baseline):
    """The commonest gold label of a (suite, question name) in the train split; ties by ascending label.

    Where that label is not offered, or the suite was not fitted, it answers as ``constant`` does.
    """

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self._label: dict[tuple[str, str], str] = {}

    def fit(self, suite: str, examples: list[tuple[JSON, str, Choice | Score | Noul, Gold]]) -> None:
        """Learn from (state, question name, question, gold) rows; the card then names what was learnt."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for _, name, _, gold in examples:
            counts[name].update({label_of(value) for value in gold.accepted})
        for name, counter in counts.items():
            self._label[suite, name] = min(counter, key=lambda label: (-counter[label], label))
        fitted = {f"{where}/{name}": label for (where, name), label in self._label.items()}
        identity = {**self.card.identity, "fitted": digest(fitted)}
        self.card = self.card.model_copy(update={"identity": identity})

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        labels = question.labels()
        label = self._label.get((ask.suite, name))
        return one_hot(labels, label if label in labels else _constant_label(question))


class SlotBiased(Baseline):
    """A model with a known liking for the first slot.

    For a choice over K options, b puts ``peak`` on one key and (1 - peak)/(K - 1) on each other; the key is
    drawn from the question (not from its order) and ``seed``. The answer moves ``shift`` of all probability to
    the option in slot 0:

        p_k = (1 - shift) b_k + shift [k is in slot 0]

    in a fixed ``share`` q of questions; the other questions get b itself. Provided that
    shift > (1 - shift) (peak - (1 - peak)/(K - 1)), a biased question always commits to slot 0 and an
    unbiased one never moves. Then, under m orders that put each option in slot 0 equally often, the flip
    rate against an order with another first option is q, the mean over uniformly drawn orders
    q (K - 1)/K, and a biased question has agreement A = (m/K - 1)/(m - 1). Levels and yes/no have no slots.
    """

    def __init__(self, card: ModelCard, options: ModelOptions) -> None:
        super().__init__(card)
        self._seed = options.seed
        self._peak = options.share("slot-biased", "peak", 0.6)
        self._shift = options.share("slot-biased", "shift", 0.5)
        self._share = options.share("slot-biased", "share", 1.0)

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        labels = question.labels()
        rng = rng_for("slot-biased", self._seed, question_id(question))
        top = rng.choice(sorted(labels))
        rest = (1.0 - self._peak) / (len(labels) - 1)
        base = {label: self._peak if label == top else rest for label in labels}
        if not isinstance(question, Choice) or rng.random() >= self._share:
            return base
        moved = {label: (1.0 - self._shift) * p for label, p in base.items()}
        moved[labels[0]] += self._shift
        return moved


_INVARIANT = {"uniform": True, "random": None, "constant": True, "majority": True, "always-none": True}
_PLAIN = {
    "uniform": Uniform,
    "constant": Constant,
    "always-first": AlwaysFirst,
    "always-none": AlwaysNone,
    "give-up": GiveUp,
    "majority": Majority,
}


def open_baseline(name: str, options: ModelOptions) -> Decider:
    """The baseline registered as ``name``."""
    identity: dict[str, JSON] = {"baseline": name, "revision": 1}
    if name == "random":
        options.only(name)
        identity["seed"] = options.seed
        return Random(ModelCard(name=name, version="1", identity=identity), options.seed)
    if name == "slot-biased":
        options.only(name, extra=("peak", "shift", "share"))
        identity |= {"seed": options.seed, **options.extra}
        return SlotBiased(ModelCard(name=name, version="1", identity=identity, order_invariant=False), options)
    options.only(name)
    trained = "train split of the suite asked" if name == "majority" else None
    card = ModelCard(
        name=name, version="1", identity=identity, order_invariant=_INVARIANT.get(name, False), trained_on=trained
    )
    return _PLAIN[name](card)
