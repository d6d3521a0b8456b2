"""Metrics against scikit-learn, scipy and naive loops on random decisions, invalid answers included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_strategies import LABELS, batches
from scipy import stats
from sklearn import metrics as sk

from arena.reliability.abstention import auroc
from arena.reliability.metrics.brier import brier_esen_per_item, brier_per_item, brier_soft_per_item
from arena.reliability.metrics.confusion import confusion
from arena.reliability.metrics.ece import ece
from arena.reliability.metrics.kl import kl_per_item
from arena.reliability.metrics.latency import percentile
from arena.reliability.metrics.macro_f1 import macro_f1
from arena.reliability.metrics.nll import nll_per_item
from arena.reliability.metrics.ranks import average_ranks
from arena.reliability.metrics.risk_coverage import risk_coverage
from arena.reliability.metrics.rows import from_rows
from arena.reliability.metrics.selective import selective_table
from arena.reliability.metrics.spearman import spearman
from arena.reliability.metrics.summary import Conventions, per_item, summarise
from arena.reliability.metrics.sums import row_sums

few = settings(max_examples=60, deadline=None)

codes = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), min_size=1, max_size=40)
confidences = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([k / 10 for k in range(11)])), st.booleans()),
    min_size=1,
    max_size=60,
)


def columns(pairs: list[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


@few
@given(codes)
def test_macro_f1_and_confusion(pairs: list[tuple[int, int]]) -> None:
    """Labels 0..4, some empty; -1 (invalid) is a class that no label list names."""
    gold, predicted = columns(pairs)
    labels = list(range(5))
    expected = sk.f1_score(gold, predicted, labels=labels, average="macro", zero_division=0)
    assert macro_f1(gold, predicted, 5) == pytest.approx(expected)
    seen = sorted(set(gold) | (set(predicted) - {-1}))
    expected = sk.f1_score(gold, predicted, labels=seen, average="macro", zero_division=0)
    assert macro_f1(gold, predicted, 5, absent="skip") == pytest.approx(expected)
    table = sk.confusion_matrix(gold, np.where(predicted == -1, 5, predicted), labels=[*labels, 5])
    assert confusion(gold, predicted, 5).tolist() == table[:5].tolist()


def naive_ece(conf: np.ndarray, right: np.ndarray, closed_right: bool) -> float:
    total = 0.0
    for b in range(10):
        low, high = b / 10, (b + 1) / 10
        if closed_right:
            inside = ((conf > low) & (conf <= high)) | ((b == 0) & (conf == 0))
        else:
            inside = ((conf >= low) & (conf < high)) | ((b == 9) & (conf == 1))
        if inside.any():
            total += inside.sum() * abs(conf[inside].mean() - right[inside].mean())
    return total / len(conf)


@few
@given(confidences)
def test_ece_both_edges(pairs: list[tuple[float, bool]]) -> None:
    conf, right = columns(pairs)
    assert ece(conf, right) == pytest.approx(naive_ece(conf, right, False), abs=1e-12)
    assert ece(conf, right, edges="(lo,hi]") == pytest.approx(naive_ece(conf, right, True), abs=1e-12)


@few
@given(batches("choice"))
def test_choice_scores(batch: list[dict[str, Any]]) -> None:
    scored = from_rows(batch)
    answered = [row for row in batch if "probabilities" in row]
    summary = summarise(scored)
    assert summary.coverage == len(answered) / len(batch)
    hits = [row.get("committed") in row["gold"] for row in batch]
    assert summary.accuracy == sk.accuracy_score([True] * len(hits), hits)
    if not answered:
        assert (summary.ece, summary.brier, summary.nll) == (None, None, None)
        return
    gold = [row["gold"][0] for row in answered]
    p = np.array([[row["probabilities"][label] for label in LABELS] for row in answered])
    truth = np.array([[label == g for label in LABELS] for g in gold], dtype=float)
    assert summary.brier == pytest.approx(((p - truth) ** 2).sum(axis=1).mean())
    floored = np.array([max(1e-12, row["probabilities"][g]) for row, g in zip(answered, gold, strict=True)])
    assert summary.nll == pytest.approx(-np.log(floored).mean())
    if p.min() > 0:  # sklearn clips at machine precision, arena at 1e-12
        order = np.argsort(LABELS)
        loss = sk.log_loss(gold, p[:, order], labels=sorted(LABELS))
        assert summary.nll == pytest.approx(loss)


@few
@given(batches("noul"))
def test_noul_brier_is_twice_the_scalar(batch: list[dict[str, Any]]) -> None:
    scored = from_rows(batch)
    given_ = scored.select(scored.valid)
    if not len(given_):
        return
    p = given_.probabilities[1::2]
    y = np.array([row["gold"][0] == "true" for row in batch if "probabilities" in row])
    scalar = sk.brier_score_loss(y, p, pos_label=True)
    args = given_.probabilities, given_.accepted, given_.offsets
    assert brier_per_item(*args).mean() == pytest.approx(2 * scalar)
    assert brier_esen_per_item(given_.kind, *args).mean() == pytest.approx(scalar)


@few
@given(batches("score"))
def test_levels(batch: list[dict[str, Any]]) -> None:
    summary = summarise(from_rows(batch))
    answered = [row for row in batch if "probabilities" in row]
    expected = [sum(int(k) * p for k, p in row["probabilities"].items()) for row in answered]
    gold = [int(row["gold"][0]) for row in answered]
    if not answered:
        assert summary.mae is None
        return
    assert summary.mae == pytest.approx(sk.mean_absolute_error(gold, expected))


pairs_of_numbers = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30)


@few
@given(pairs_of_numbers)
def test_spearman_and_ranks(pairs: list[tuple[int, int]]) -> None:
    a, b = columns(pairs)
    assert average_ranks(a) == pytest.approx(stats.rankdata(a))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert spearman(a, b) is None
    else:
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)


@few
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_auroc(positive: list[int], negative: list[int]) -> None:
    truth = [1] * len(positive) + [0] * len(negative)
    assert auroc(positive, negative) == pytest.approx(sk.roc_auc_score(truth, positive + negative))


@few
@given(batches("choice"), st.data())
def test_soft_labels(batch: list[dict[str, Any]], data: st.DataObject) -> None:
    answered = [row for row in batch if "probabilities" in row]
    for row in answered:
        weights = data.draw(st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any))
        row["label_distribution"] = {k: w / sum(weights) for k, w in zip(LABELS, weights, strict=True)}
    if not answered:
        return
    scored = from_rows(answered)
    assert scored.distribution is not None
    args = scored.probabilities, scored.distribution, scored.offsets
    for row, kl, brier in zip(answered, kl_per_item(*args), brier_soft_per_item(*args), strict=True):
        p = np.array([row["probabilities"][k] for k in LABELS])
        q = np.array([row["label_distribution"][k] for k in LABELS])
        assert kl == pytest.approx(stats.entropy(q, np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum()), abs=1e-9)
        assert brier == pytest.approx(((p - q) ** 2).sum())
    summary = summarise(scored)
    assert summary.kl == pytest.approx(kl_per_item(*args).mean())


@few
@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=50), st.sampled_from([0.0, 0.05, 0.5, 0.95, 0.99, 1.0]))
def test_percentile(values: list[float], share: float) -> None:
    array = np.array(values)
    assert percentile(array, share) == pytest.approx(np.percentile(array, 100 * share), rel=1e-12, abs=1e-12)
    nearest = sorted(values)[max(1, math.ceil(share * len(values))) - 1]
    assert percentile(array, share, "nearest-rank") == nearest


@few
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30), st.randoms())
def test_risk_coverage_ignores_row_order(pairs: list[tuple[int, bool]], random: Any) -> None:
    conf, right = columns([(c / 4 if c else math.nan, r) for c, r in pairs])
    curve = risk_coverage(conf, right)
    order = list(range(len(pairs)))
    random.shuffle(order)
    assert risk_coverage(conf[order], right[order]) == curve
    correct = right & ~np.isnan(conf)
    assert curve[-1].risk == pytest.approx(1 - correct.mean())
    assert [p.kept for p in curve] == [math.ceil(len(pairs) * k / 10 - 1e-9) for k in range(1, 11)]
    if len(set(conf[~np.isnan(conf)])) == len(conf):  # no ties, no invalid: the plain sort is right
        best = np.argsort(-conf)
        for point in curve:
            assert point.risk == pytest.approx(1 - right[best[: point.kept]].mean())


@few
@given(batches(golds=3))
def test_selection_against_a_filter(batch: list[dict[str, Any]]) -> None:
    scored = from_rows(batch)
    for row in selective_table(scored.confidence, scored.correct):
        taken = [r for r in batch if "probabilities" in r and r["probabilities"][r["committed"]] >= row.threshold]
        assert (row.accepted, row.coverage) == (len(taken), len(taken) / len(batch))
        hits = [r["committed"] in r["gold"] for r in taken]
        assert row.accuracy == (pytest.approx(np.mean(hits)) if taken else None)


@few
@given(batches(golds=3))
def test_several_golds_are_one_outcome(batch: list[dict[str, Any]]) -> None:
    scored = from_rows(batch)
    values = per_item(scored)
    for i, row in enumerate(batch):
        if "probabilities" not in row:
            assert values["accuracy"][i] == 0.0
            assert np.isnan(values["brier"][i])
            assert np.isnan(values["nll"][i])
            continue
        inside = sum(p for k, p in row["probabilities"].items() if k in row["gold"])
        rest = sum(p * p for k, p in row["probabilities"].items() if k not in row["gold"])
        assert values["brier"][i] == pytest.approx((inside - 1) ** 2 + rest)
        assert values["nll"][i] == pytest.approx(-math.log(min(1.0, max(1e-12, inside))), abs=1e-9)
        assert values["accuracy"][i] == float(row["committed"] in row["gold"])


@few
@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=9), min_size=1, max_size=8))
def test_row_sums_are_exactly_rounded(table: list[list[float]]) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in table])])
    flat = np.array([value for row in table for value in row])
    assert row_sums(flat, offsets) == pytest.approx([math.fsum(row) for row in table], rel=1e-14, abs=1e-22)


@few
@given(batches(golds=2))
def test_esen_conventions(batch: list[dict[str, Any]]) -> None:
    """Probabilities that sum to .99: divided by their total, NLL floor 1e-6, edges (lo, hi]."""
    for row in batch:
        if "probabilities" in row and row["type"] != "noul":
            row["probabilities"] = {k: 0.99 * p for k, p in row["probabilities"].items()}
    rules = Conventions(edges="(lo,hi]", brier="esen", nll_floor=1e-6)
    values = per_item(from_rows(batch), rules)
    for i, row in enumerate(batch):
        if "probabilities" not in row:
            continue
        p = row["probabilities"]
        total = sum(p.values())
        inside = sum(v for k, v in p.items() if k in row["gold"]) / total
        assert values["nll"][i] == pytest.approx(-math.log(min(1.0, max(1e-6, inside))), abs=1e-9)
        if row["type"] == "noul":
            assert values["brier"][i] == pytest.approx((p["true"] - ("true" in row["gold"])) ** 2)
        else:
            rest = sum((v / total) ** 2 for k, v in p.items() if k not in row["gold"])
            assert values["brier"][i] == pytest.approx((inside - 1) ** 2 + rest)


def test_nll_is_never_minus_zero() -> None:
    value = nll_per_item(np.array([0.0, 1.0]), np.array([False, True]), np.array([0, 2]))[0]
    assert math.copysign(1.0, value) == 1.0
