"""S, N, R, probes: protocol 5 and 6 by hand, against naive loops, and on models whose values are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.reliability.abstention import auroc, explicit_auroc, implicit_auroc, null_detection
from arena.reliability.index import reliability_index
from arena.reliability.probes import attack_success, probe_result, robustness
from arena.reliability.stability import (
    INVALID,
    NOT_ASKED,
    accuracy_by_slot,
    accuracy_over_orders,
    agreement,
    chosen_slot_chi_square,
    drift_from_canonical,
    flips_from_canonical,
    item_stability,
    order_stability,
    share_stable,
)

few = settings(max_examples=60, deadline=None)
FOUR = np.array([4])


def test_worked_numbers() -> None:
    """K = 4, 12 orders, 9 x a, 2 x b, 1 x c; intact 3 of 40 none, removed 30 of 40 none."""
    committed = np.array([[0] * 9 + [1] * 2 + [2]])
    assert agreement(committed)[0] == pytest.approx(74 / 132, abs=1e-15)
    assert round(agreement(committed)[0], 6) == 0.560606
    assert order_stability(committed, FOUR) == pytest.approx(0.414141414141, abs=1e-12)
    found = null_detection(np.arange(40) < 30, np.arange(40) < 3)
    assert (found.hit, found.false, found.n) == (0.75, 0.075, 0.675)
    s = order_stability(committed, FOUR)
    assert reliability_index(s, found.n) == pytest.approx(2 * 0.414141414 * 0.675 / (0.414141414 + 0.675), abs=1e-8)


tables = st.integers(1, 5).flatmap(
    lambda m: st.lists(st.lists(st.integers(-2, 3), min_size=m, max_size=m), min_size=1, max_size=6)
)


@few
@given(tables)
def test_agreement_is_the_share_of_agreeing_pairs(table: list[list[int]]) -> None:
    """Over all pairs of asked orders; a pair with an invalid answer never agrees."""
    for value, row in zip(agreement(np.array(table)), table, strict=True):
        pairs = list(combinations([c for c in row if c != NOT_ASKED], 2))
        if not pairs:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(np.mean([a == b and a != INVALID for a, b in pairs]))


@few
@given(tables)
def test_items_asked_once_say_nothing(table: list[list[int]]) -> None:
    committed = np.array(table)
    options = np.full(len(table), 4)
    usable = [row for row in committed if (row != NOT_ASKED).sum() >= 2]
    if not usable:
        assert order_stability(committed, options) is None
        assert share_stable(committed) is None
    else:
        s = [(a - 0.25) / 0.75 for a in agreement(np.array(usable))]
        assert order_stability(committed, options) == pytest.approx(min(1, max(0, np.mean(s))))


def test_invalid_answers_agree_with_nothing() -> None:
    committed = np.full((1, 12), INVALID)
    assert agreement(committed).tolist() == [0.0]
    assert item_stability(committed, FOUR)[0] == pytest.approx(-1 / 3)
    assert order_stability(committed, FOUR) == 0.0
    assert share_stable(committed) == 0.0


def test_fewer_options_have_fewer_orders() -> None:
    """K = 2 has 2 orders, K = 3 has 6: m is the number asked, chance is 1/K."""
    committed = np.array([[0, 1] + [NOT_ASKED] * 4, [2] * 6])
    assert agreement(committed).tolist() == [0.0, 1.0]
    assert item_stability(committed, np.array([2, 3])).tolist() == pytest.approx([-1.0, 1.0])
    with pytest.raises(ValueError, match="2 options"):
        item_stability(committed, np.array([1, 3]))


def test_constant_random_and_always_none_models() -> None:
    """A constant model: S = 1, N = 0. Random: S near 0. Always none: N = 0. All get R = 0 (or near)."""
    assert order_stability(np.full((50, 12), 3), np.full(50, 4)) == 1.0
    guesses = np.random.default_rng(7).integers(0, 4, (4000, 12))
    assert order_stability(guesses, np.full(4000, 4)) == pytest.approx(0.0, abs=0.01)
    always = null_detection(np.ones(50, bool), np.ones(50, bool))
    assert (always.hit, always.false, always.n) == (1.0, 1.0, 0.0)
    never = null_detection(np.zeros(50, bool), np.zeros(50, bool))
    assert reliability_index(1.0, never.n) == 0.0


def test_index() -> None:
    assert reliability_index(1.0, 1.0) == 1.0
    assert reliability_index(0.0, 0.0) == 0.0
    assert reliability_index(0.3, None) is None
    with pytest.raises(ValueError, match=r"0\.\.1"):
        reliability_index(1.2, 0.5)


def test_n_needs_both_sides_and_is_clipped() -> None:
    assert null_detection(np.array([True]), np.zeros(0, bool)).n is None
    assert null_detection(np.array([False]), np.array([True])).n == 0.0


def test_refused_pairs_are_not_comparable() -> None:
    flips = flips_from_canonical(np.array([[0, INVALID, 1], [INVALID, 0, 0], [2, 2, NOT_ASKED]]))
    assert (flips.flips, flips.comparable, flips.asked, flips.rate) == (1, 2, 5, 0.5)
    assert flips_from_canonical(np.array([[INVALID, 0]])).rate is None


def test_drift() -> None:
    p = np.array([[[0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    drift = drift_from_canonical(p, np.array([[0, 0, 2]]))
    assert (drift.mean, drift.largest, drift.comparable) == (pytest.approx(0.55), pytest.approx(1.0), 2)
    nothing = drift_from_canonical(p, np.array([[-1, 0, 2]]))
    assert (nothing.mean, nothing.largest, nothing.comparable) == (None, None, 0)


def test_accuracy_over_orders_keeps_every_item_in_every_column() -> None:
    correct = np.array([[True, False, True, False], [True, True, False, False]])
    committed = np.array([[0, 1, 0, 1], [0, 0, NOT_ASKED, NOT_ASKED]])
    spread = accuracy_over_orders(correct, committed)
    assert spread is not None
    assert (spread.low, spread.mean, spread.high, spread.orders) == (0.5, 0.75, 1.0, 4)
    assert accuracy_over_orders(np.zeros((1, 2), bool), np.full((1, 2), NOT_ASKED)) is None


def test_accuracy_by_slot() -> None:
    correct = np.array([[True, False], [True, True]])
    rows = accuracy_by_slot(correct, np.array([[0, 2], [0, -1]]))
    assert [(r.slot, r.n, r.hits, r.accuracy) for r in rows] == [(0, 2, 2, 1.0), (2, 1, 0, 0.0)]


@few
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_chosen_slot_against_scipy(slots: list[int]) -> None:
    found = chosen_slot_chi_square(np.array([slots]), FOUR)
    assert found is not None
    oracle = stats.chisquare(np.bincount(slots, minlength=4))
    assert (found.statistic, found.p) == (pytest.approx(oracle.statistic), pytest.approx(oracle.pvalue))
    assert found.counts.tolist() == np.bincount(slots, minlength=4).tolist()


def test_chosen_slot_strata() -> None:
    """Always the first slot, K = 2 and K = 3: 4 + 8 over 1 + 2 degrees of freedom."""
    found = chosen_slot_chi_square(np.zeros((2, 4), int), np.array([2, 3]))
    assert found is not None
    assert (found.statistic, found.dof) == (pytest.approx(12.0), 3)
    assert found.p == pytest.approx(stats.chi2.sf(12.0, 3))
    assert chosen_slot_chi_square(np.full((2, 4), -1), np.array([2, 3])) is None
    with pytest.raises(ValueError, match="beyond"):
        chosen_slot_chi_square(np.array([[2]]), np.array([2]))


def test_aurocs_leave_invalid_answers_out() -> None:
    nan = float("nan")
    assert explicit_auroc([0.9, nan, 0.2], [0.2, 0.1]) == 0.875
    assert implicit_auroc([0.3], [0.9, nan]) == 1.0
    assert auroc([], [1.0]) is None
    assert explicit_auroc([nan], [0.1]) is None


def test_probe_result_and_robustness() -> None:
    base, probed = np.array([0, 1, 2, INVALID]), np.array([0, 2, INVALID, 1])
    p = np.eye(3)[[0, 1, 2, 0]]
    q = np.eye(3)[[0, 2, 0, 1]]
    reverse = probe_result("reverse", base, probed, p, q)
    assert (reverse.asked, reverse.comparable, reverse.flips, reverse.flip_rate) == (4, 2, 1, 0.5)
    assert (reverse.drift, reverse.largest_drift) == (0.5, 1.0)
    silent = probe_result("shuffle", np.array([-1]), np.array([0]), p[:1], q[:1])
    assert (silent.flip_rate, silent.drift, silent.largest_drift) == (None, None, None)
    calm = probe_result("irrelevant", base[:1], base[:1], p[:1], p[:1])
    assert robustness([reverse, silent, calm]) == 0.75  # one vote each; the silent probe has none
    assert robustness([silent]) is None


def test_attack_success_beside_its_base_rate() -> None:
    found = attack_success(np.array([0, 0, 1, 0]), np.array([1, 0, 1, INVALID]), np.ones(4, int))
    assert (found.comparable, found.rate, found.base_rate) == (3, pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert attack_success(np.array([-1]), np.array([1]), np.array([1])).rate is None
