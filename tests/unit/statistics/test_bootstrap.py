"""Bootstrap: pairing, clusters, missing values, the esen draws; verdicts and tie groups."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import UsageError
from arena.leaderboard.statistics import (
    RESAMPLES,
    SEED,
    Interval,
    adjusted_interval,
    bootstrap_mean,
    bootstrap_means,
    bootstrap_statistic,
    case_interval,
    cluster_interval,
    non_inferiority,
    order_statistics,
    paired_difference,
    primacy,
    replica_stability,
    resample_counts,
    superiority,
    tie_groups,
    ties,
)
from arena.reliability.metrics.macro_f1 import macro_f1

few = settings(max_examples=40, deadline=None)


def test_protocol_constants() -> None:
    assert (RESAMPLES, SEED) == (1000, 20261006)
    assert sum(1 for _ in resample_counts(3)) == 1000


def test_means_against_explicit_indices() -> None:
    """The same generator, with the index arrays written out."""
    values = np.random.default_rng(3).random((37, 2))
    draws = bootstrap_means(values, resamples=50)
    generator = np.random.default_rng(SEED)
    naive = [values[generator.integers(0, 37, size=37)].mean(axis=0) for _ in range(50)]
    assert draws.values == pytest.approx(np.array(naive))
    assert draws.estimate == pytest.approx(values.mean(axis=0))
    low, high = np.percentile(np.array(naive)[:, 0], [2.5, 97.5])
    found = draws.interval(0)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).random((29, 3))
    whole = bootstrap_means(values, resamples=20).values
    monkeypatch.setattr("arena.leaderboard.stats.bootstrap._BATCH", 60)
    assert bootstrap_means(values, resamples=20).values == pytest.approx(whole, abs=1e-15)


def test_models_share_resamples() -> None:
    """A model that is right wherever the other is, and on 10 more items, never loses: the pairing shows it."""
    weak = np.array([1.0] * 30 + [0.0] * 30)
    strong = weak.copy()
    strong[40:50] = 1.0
    paired = paired_difference(strong, weak)
    assert paired.estimate == pytest.approx(10 / 60)
    assert paired.low > 0.06
    draws = bootstrap_means(np.stack([strong, weak], axis=1))
    assert draws.difference(0, 1).low == pytest.approx(paired.low)
    alone = draws.interval(0).high - draws.interval(0).low
    assert paired.high - paired.low < alone


def test_seed_and_repeatability() -> None:
    values = np.random.default_rng(5).random(50)
    assert bootstrap_mean(values) == bootstrap_mean(values)
    assert bootstrap_mean(values) != bootstrap_mean(values, seed=1)


def test_width_agrees_with_theory() -> None:
    values = (np.random.default_rng(6).random(4000) < 0.3).astype(float)
    found = bootstrap_mean(values)
    p = values.mean()
    half = 1.96 * np.sqrt(p * (1 - p) / 4000)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.08)


def test_clusters_are_drawn_whole() -> None:
    """Ten copies of each item carry no more information than one."""
    single = np.random.default_rng(8).random(40)
    copies, groups = np.repeat(single, 10), np.repeat([f"g{i:02d}" for i in range(40)], 10)
    one, ten = bootstrap_mean(single), bootstrap_mean(copies, groups)
    assert (ten.low, ten.high) == pytest.approx((one.low, one.high))
    ignored = bootstrap_mean(copies)
    assert ignored.high - ignored.low < 0.5 * (ten.high - ten.low)


def test_unequal_clusters_are_a_ratio_of_sums() -> None:
    values, groups = np.array([1.0, 0.0, 0.0, 1.0]), np.array(["a", "a", "a", "b"])
    draws = bootstrap_means(values, groups, resamples=200)
    assert set(np.round(draws.values[:, 0], 12)) == {round(1 / 3, 12), 0.5, 1.0}


def test_missing_values_leave_only_their_column() -> None:
    values = np.array([[1.0, np.nan], [0.0, 0.4], [1.0, 0.6]])
    draws = bootstrap_means(values, resamples=300)
    assert draws.estimate == pytest.approx([2 / 3, 0.5])
    assert np.isnan(draws.values[:, 1]).any()  # only the missing item was drawn, three times
    assert 0.4 <= draws.interval(1).low <= draws.interval(1).high <= 0.6
    with pytest.raises(UsageError, match="undefined in every resample"):
        bootstrap_mean(np.array([np.nan, np.nan]))


def test_statistic_sees_the_same_resamples_as_the_mean() -> None:
    values = np.random.default_rng(9).random(25)
    groups = np.arange(25) // 2
    means = bootstrap_means(values, groups, resamples=40)
    weighted = bootstrap_statistic(lambda w: np.average(values, weights=w), 25, groups, resamples=40)
    assert weighted.values == pytest.approx(means.values)
    assert weighted.estimate == pytest.approx(means.estimate)


def test_statistic_for_macro_f1() -> None:
    gold, said = np.array([0, 0, 1, 1, 2, 2] * 5), np.array([0, 1, 1, 1, 2, 0] * 5)

    def weighted(weights: np.ndarray) -> float:
        drawn = np.repeat(np.arange(30), weights.astype(int))
        value = macro_f1(gold[drawn], said[drawn], 3)
        assert value is not None
        return value

    found = bootstrap_statistic(weighted, 30, resamples=100).interval(0)
    assert found.estimate == macro_f1(gold, said, 3)
    assert found.low < found.estimate < found.high


def test_bad_input_is_named() -> None:
    with pytest.raises(UsageError, match="nothing to resample"):
        bootstrap_mean(np.array([]))
    with pytest.raises(UsageError, match="groups"):
        bootstrap_mean(np.array([1.0, 2.0]), ["a"])
    with pytest.raises(UsageError, match="same items"):
        paired_difference([1.0, np.nan], [1.0, 0.0])
    with pytest.raises(UsageError, match="no case"):
        case_interval([])
    with pytest.raises(UsageError, match="no cluster"):
        cluster_interval([[]])


def test_one_item_has_no_width() -> None:
    assert bootstrap_mean([0.5]) == Interval(0.5, 0.5, 0.5)
    assert case_interval([0.5]) == Interval(0.5, 0.5, 0.5)


def test_esen_indices() -> None:
    assert order_statistics(range(2000)) == (50, 1949)
    assert order_statistics(range(10_000)) == (250, 9749)


def test_esen_case_draws() -> None:
    """n randrange calls per resample, one generator seeded 0."""
    values = [0.2, 0.9, 1.0, 0.4, 0.6]
    generator = random.Random(0)
    picks = [[generator.randrange(5) for _ in range(5)] for _ in range(2000)]
    means = sorted(sum(values[i] for i in pick) / 5 for pick in picks)
    assert case_interval(values) == Interval(sum(values) / 5, means[50], means[1949])


def test_esen_cluster_draws() -> None:
    clusters = [[1.0, 0.0], [1.0], [0.0, 0.0, 1.0]]
    generator = random.Random(271828)
    means = []
    for _ in range(10_000):
        members = [v for cluster in generator.choices(clusters, k=3) for v in cluster]
        means.append(sum(members) / len(members))
    means.sort()
    assert cluster_interval(clusters) == Interval(0.5, means[250], means[9749])
    wider = cluster_interval(clusters, level=0.975)
    assert wider.level == 0.975
    assert wider.low <= means[250]


def test_esen_adjusted() -> None:
    """A phase whose majority is 100 % says nothing; one phase alone is the case interval, shifted and scaled."""
    values = [0.2, 0.9, 1.0, 0.4, 0.6]
    found, plain = adjusted_interval([(values, 40.0), ([1.0], 100.0)]), case_interval(values)
    assert found is not None
    for ours, theirs in ((found.estimate, plain.estimate), (found.low, plain.low), (found.high, plain.high)):
        assert ours == pytest.approx(100 * (100 * theirs - 40) / 60)
    assert adjusted_interval([([1.0], 100.0)]) is None


@pytest.mark.parametrize(
    ("low", "high", "superior", "not_inferior"),
    [
        (0.01, 0.03, "passes", "passes"),
        (-0.01, 0.03, "inconclusive", "passes"),
        (-0.05, 0.01, "inconclusive", "inconclusive"),
        (-0.05, -0.01, "fails", "inconclusive"),
        (-0.05, -0.03, "fails", "fails"),
    ],
)
def test_verdicts_by_interval(low: float, high: float, superior: str, not_inferior: str) -> None:
    difference = Interval((low + high) / 2, low, high)
    assert superiority(difference) == superior
    assert non_inferiority(difference, 0.02) == not_inferior


def test_a_margin_must_be_positive() -> None:
    with pytest.raises(UsageError, match="margin"):
        non_inferiority(Interval(0, 0, 0), 0.0)


@pytest.mark.parametrize(
    ("points", "low", "high", "p", "verdict"),
    [
        (5.0, 0.1, 12.0, 0.049, "confirmed"),
        (35.1, 20.0, 50.0, 0.009, "confirmed"),
        (5.0, 0.1, 12.0, 0.05, "inconclusive"),
        (5.0, 0.0, 12.0, 0.01, "inconclusive"),
        (4.9, 0.1, 12.0, 0.01, "inconclusive"),
        (-7.4, -12.0, -2.94, 0.01, "refuted"),
        (1.0, -2.0, 4.99, 1.0, "refuted"),
        (1.0, -2.0, 5.0, 1.0, "inconclusive"),
    ],
)
def test_primacy(points: float, low: float, high: float, p: float, verdict: str) -> None:
    assert primacy(points, Interval(points, low, high), p) == verdict


def test_replica_stability() -> None:
    assert replica_stability(95, 100, ["v1"] * 200) == "stable"
    assert replica_stability(94, 100, ["v1"] * 200) == "unstable"
    assert replica_stability(100, 100, ["v1"] * 199 + ["v2"]) == "not evaluable"
    assert replica_stability(100, 100, ["v1", None]) == "not evaluable"
    assert replica_stability(0, 0, ["v1"]) == "not evaluable"


@few
@given(st.integers(1, 6).flatmap(lambda m: st.lists(st.booleans(), min_size=m * m, max_size=m * m)))
def test_tie_groups_are_the_maximal_cliques(flags: list[bool]) -> None:
    size = int(len(flags) ** 0.5)
    tied = np.array(flags).reshape(size, size)
    tied = tied | tied.T | np.eye(size, dtype=bool)
    low = np.where(tied, -1.0, 1.0)
    found = tie_groups(low, np.full((size, size), 2.0))
    cliques = {
        rows
        for mask in range(1, 2**size)
        if tied[np.ix_(rows := tuple(i for i in range(size) if mask >> i & 1), rows)].all()
    }
    maximal = [c for c in cliques if not any(set(c) < set(other) for other in cliques)]
    assert found == tuple(sorted(maximal))


def test_ties_of_models() -> None:
    """Two models that differ on 2 of 200 items tie; the third is far behind."""
    generator = np.random.default_rng(2)
    first = (generator.random(200) < 0.8).astype(float)
    second = first.copy()
    second[[np.flatnonzero(first)[0], np.flatnonzero(1 - first)[0]]] = 0.0, 1.0
    third = (generator.random(200) < 0.4).astype(float)
    assert ties(np.stack([first, second, third], axis=1)) == ((0, 1), (2,))
    assert tie_groups(np.zeros((0, 0)), np.zeros((0, 0))) == ()
