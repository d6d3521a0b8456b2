"""The supervised baseline against scikit-learn's features and classifier on the same rows."""

from __future__ import annotations

import random

import anyio
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from arena.items import Gold
from arena.models import open_model
from arena.models.tfidf import PENALTY, Linear, fit_linear, terms
from arena.session import Ask, Trainable
from arena.types import Choice, Noul, Score

TOPICS = {
    "billing": "invoice charge refund card paid twice money",
    "travel": "flight hotel book seat ticket airport",
    "bug": "crash error broken screen login fails",
}


def rows(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """States of six words, four of the topic and two of any."""
    rng = random.Random(seed)
    everything = " ".join(TOPICS.values()).split()
    drawn = []
    for _ in range(count):
        label = rng.choice(sorted(TOPICS))
        words = rng.choices(TOPICS[label].split(), k=4) + rng.choices(everything, k=2)
        drawn.append((" ".join(rng.sample(words, 6)), label))
    return drawn


@pytest.fixture(scope="module")
def train() -> list[tuple[str, str]]:
    return rows(120)


@pytest.fixture(scope="module")
def fitted(train: list[tuple[str, str]]) -> Linear:
    return fit_linear(list(train))


def test_features_and_probabilities_agree_with_the_oracle(train: list[tuple[str, str]], fitted: Linear) -> None:
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\w+")
    features = vectorizer.fit_transform([state for state, _ in train]).toarray()
    assert fitted.idf == pytest.approx(dict(zip(vectorizer.get_feature_names_out(), vectorizer.idf_, strict=True)))
    ones = np.ones((len(train), 1))
    oracle = LogisticRegression(C=1 / (PENALTY * len(train)), fit_intercept=False, tol=1e-8, max_iter=5000)
    oracle.fit(np.hstack([features, ones]), [label for _, label in train])
    assert tuple(oracle.classes_) == fitted.labels
    fresh = [state for state, _ in rows(60, seed=1)]
    expected = oracle.predict_proba(np.hstack([vectorizer.transform(fresh).toarray(), ones[:60]]))
    for state, probabilities in zip(fresh, expected, strict=True):
        assert list(fitted.probabilities(terms(state)).values()) == pytest.approx(probabilities, abs=0.01)


def test_it_learns_and_names_itself_supervised(train: list[tuple[str, str]]) -> None:
    model = open_model("tfidf")
    assert isinstance(model, Trainable)
    assert model.card.trained_on is not None
    before = model.card.identity
    question = Choice(instructions="Which team?", criteria=dict.fromkeys(TOPICS))
    model.fit("s", [(state, "team", question, Gold(accepted=(label,))) for state, label in train])
    assert model.card.identity != before

    async def right() -> int:
        hits = 0
        for state, label in rows(100, seed=2):
            reply = await model.decide(Ask("x", state, {"team": question}, "s"))
            hits += reply.answers["team"]["choice"] == label
        return hits

    assert anyio.run(right) >= 90


def test_offered_labels_decide(train: list[tuple[str, str]]) -> None:
    """A removed option gets nothing, a new one next to nothing; a question it never saw is uniform."""
    model = open_model("tfidf")
    assert isinstance(model, Trainable)
    question = Choice(instructions="Which team?", criteria=dict.fromkeys(TOPICS))
    levels, yes = Score(instructions="?", criteria=("a", "b")), Noul(instructions="?")
    model.fit(
        "s",
        [
            *(({"text": state}, "team", question, Gold(accepted=(label,))) for state, label in train),
            ("high", "level", levels, Gold(accepted=(1,))),
            ("low", "level", levels, Gold(accepted=(0,))),
            ("so", "yes", yes, Gold(accepted=(True,))),
        ],
    )
    fewer = Choice(instructions="Which team?", criteria={"none_of_the_above": None, "travel": None, "bug": None})
    new = Choice(instructions="?", criteria={"p": None, "q": None})
    ask = Ask("x", {"text": "refund my card"}, {"team": fewer, "level": levels, "yes": yes, "other": new}, "s")
    answers = anyio.run(model.decide, ask).answers
    assert set(answers["team"]["probabilities"]) == {"none_of_the_above", "travel", "bug"}
    assert answers["team"]["probabilities"]["none_of_the_above"] < 1e-4
    assert answers["other"]["probabilities"] == {"p": 0.5, "q": 0.5}
    assert answers["yes"]["noul"] > 0.99
    high = anyio.run(model.decide, Ask("x", "high", {"level": levels}, "s")).answers["level"]
    assert high["score"] > 0.5
    elsewhere = anyio.run(model.decide, Ask("x", "refund", {"team": question}, "other")).answers["team"]
    assert set(elsewhere["probabilities"].values()) == {1 / 3}
