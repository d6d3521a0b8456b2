"""``tfidf``: word statistics and a linear classifier, fitted on the train split of the suite it is asked about.

A supervised baseline: it knows what the labels of a suite looked like, which no model under test does, and its
card says so. One softmax regression per (suite, question name) over unit-length TF-IDF vectors of the state's
words and word pairs; the question's own text is not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from arena.identity import digest, dump, sha256
from arena.items import Gold
from arena.models.answers import uniform
from arena.models.baselines import Baseline, Distribution, label_of
from arena.models.options import ModelOptions
from arena.records import ModelCard
from arena.session import Ask, Decider
from arena.types import JSON, Choice, Noul, Score

Matrix = NDArray[np.float64]

PENALTY = 1e-3
"""Weight of half the squared norm against the mean log-loss."""

MAX_ROWS = 4000
"""Rows used per question; above it, those of the smallest hash: the fit works on a rows x rows matrix."""

STEPS = 600
UNSEEN = 1e-6
"""Probability, before scaling, of an offered label that no row had."""

_WORD = re.compile(r"\w+")


def terms(state: JSON) -> Counter[str]:
    """Words and neighbouring pairs of a state's text, lower case, with counts."""
    words = _WORD.findall((state if isinstance(state, str) else dump(state).decode()).lower())
    return Counter([*words, *(f"{one} {two}" for one, two in pairwise(words))])


@dataclass(frozen=True)
class Linear:
    """A fitted question. ``labels``: C labels; ``idf``: term -> weight; ``weights``: term -> (C,) array."""

    labels: tuple[str, ...]
    idf: dict[str, float]
    weights: dict[str, Matrix]
    bias: Matrix

    def probabilities(self, counts: Counter[str]) -> dict[str, float]:
        """Label -> p over the labels seen in training, sum 1."""
        vector = unit(counts, self.idf)
        logits = self.bias + sum((value * self.weights[term] for term, value in vector.items()), np.zeros(1))
        return dict(zip(self.labels, softmax(logits).tolist(), strict=True))


def unit(counts: Counter[str], idf: dict[str, float]) -> dict[str, float]:
    """The unit-length TF-IDF vector over known terms; empty when none is known."""
    vector = {term: count * idf[term] for term, count in counts.items() if term in idf}
    norm = sqrt(sum(value * value for value in vector.values()))
    return {term: value / norm for term, value in vector.items()} if norm else {}


def softmax(logits: Matrix) -> Matrix:
    """Along the last axis."""
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exps / exps.sum(axis=-1, keepdims=True))


def fit_linear(rows: list[tuple[JSON, str]]) -> Linear:
    """Softmax regression on (state, label) rows, at least one. Deterministic: it starts from nought.

    Minimises mean log-loss + PENALTY/2 |W|^2 with a constant feature for the bias, by accelerated gradient steps
    on one coefficient per row and label: W is a sum of rows, so no step needs the width of the vocabulary.
    """
    counts = [terms(state) for state, _ in rows]
    seen = Counter(term for count in counts for term in count)
    idf = {term: log((1 + len(rows)) / (1 + n)) + 1.0 for term, n in seen.items()}
    vectors = [unit(count, idf) for count in counts]
    labels = tuple(sorted({label for _, label in rows}))
    target = np.array([[float(label == own) for label in labels] for _, own in rows])
    kernel = _kernel(vectors)
    alpha = _descend(kernel, target)
    weights: dict[str, Any] = defaultdict(lambda: np.zeros(len(labels)))
    for vector, row in zip(vectors, alpha, strict=True):
        for term, value in vector.items():
            weights[term] = weights[term] + value * row
    return Linear(labels, idf, dict(weights), alpha.sum(axis=0))


def _kernel(vectors: list[dict[str, float]]) -> Matrix:
    """Inner products of the rows, constant feature included; shape (n, n)."""
    holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row, vector in enumerate(vectors):
        for term, value in vector.items():
            holders[term].append((row, value))
    kernel = np.ones((len(vectors), len(vectors)))
    for pairs in holders.values():
        index = np.array([row for row, _ in pairs])
        values = np.array([value for _, value in pairs])
        kernel[np.ix_(index, index)] += np.outer(values, values)
    return kernel


def _descend(kernel: Matrix, target: Matrix) -> Matrix:
    """Coefficients of the rows, shape (n, C)."""
    count = len(kernel)
    # A bound on the largest eigenvalue gives a step that cannot overshoot.
    step = 1.0 / (0.5 * float(np.abs(kernel).sum(axis=1).max()) / count + PENALTY)
    alpha = momentum = np.zeros_like(target)
    with threadpool_limits(limits=1, user_api="blas"):  # rounding must not depend on the number of cores
        for turn in range(STEPS):
            gradient = (softmax(kernel @ momentum) - target) / count + PENALTY * momentum
            following = momentum - step * gradient
            momentum = following + turn / (turn + 3) * (following - alpha)
            alpha = following
    return alpha


class Tfidf(Baseline):
    """The decider; uniform for a suite or question that it was not fitted on."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self._fitted: dict[tuple[str, str], Linear] = {}
        self._rows: dict[str, str] = {}

    def fit(self, suite: str, examples: list[tuple[JSON, str, Choice | Score | Noul, Gold]]) -> None:
        """Learn from (state, question name, question, gold) rows; the first accepted label is the target."""
        rows: dict[str, list[tuple[JSON, str]]] = defaultdict(list)
        for state, name, _, gold in examples:
            rows[name].append((state, label_of(gold.accepted[0])))
        for name, own in rows.items():
            used = sorted(own, key=lambda row: sha256(dump(row)))[:MAX_ROWS]
            self._fitted[suite, name] = fit_linear(used)
            self._rows[f"{suite}/{name}"] = digest(used)
        identity = {**self.card.identity, "fitted": digest(self._rows)}
        self.card = self.card.model_copy(update={"identity": identity})

    def distribution(self, ask: Ask, name: str, question: Choice | Score | Noul) -> Distribution:
        labels = question.labels()
        fitted = self._fitted.get((ask.suite, name))
        if fitted is None or not set(labels) & set(fitted.labels):
            return uniform(labels)
        known = fitted.probabilities(terms(ask.state))
        values = {label: max(known.get(label, 0.0), UNSEEN) for label in labels}
        total = sum(values.values())
        return {label: value / total for label, value in values.items()}


def open_tfidf(name: str, options: ModelOptions) -> Decider:
    """The supervised word-statistics baseline."""
    options.only(name)
    card = ModelCard(
        name=name,
        version="1",
        identity={"baseline": name, "revision": 1, "penalty": PENALTY, "steps": STEPS, "max_rows": MAX_ROWS},
        order_invariant=True,
        trained_on="train split of the suite asked",
    )
    return Tfidf(card)
