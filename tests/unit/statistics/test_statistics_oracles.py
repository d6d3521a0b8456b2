"""Intervals, tests and agreement against scipy, statsmodels and scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from arena.errors import UsageError
from arena.leaderboard.statistics import (
    clopper_pearson,
    holm,
    kappa,
    mcnemar,
    mcnemar_hits,
    wilson,
)

few = settings(max_examples=80, deadline=None)
rates = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_mcnemar_by_hand() -> None:
    assert mcnemar(4, 0).p == 0.125
    assert mcnemar(0, 0).p == 1.0
    assert mcnemar(5, 5).p == 1.0


@few
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_against_scipy_and_statsmodels(b: int, c: int) -> None:
    found = mcnemar(b, c)
    if b + c:
        assert found.p == pytest.approx(stats.binomtest(min(b, c), b + c).pvalue, rel=1e-9)
        assert found.p == pytest.approx(sm_mcnemar([[0, b], [c, 0]], exact=True).pvalue, rel=1e-9)
    assert mcnemar(c, b).p == found.p


def test_mcnemar_of_hits() -> None:
    found = mcnemar_hits([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (found.only_first, found.only_second) == (2, 1)
    with pytest.raises(UsageError, match="same items"):
        mcnemar_hits([1], [1, 0])
    with pytest.raises(UsageError, match="counts"):
        mcnemar(-1, 2)


def test_clopper_pearson_and_wilson_by_hand() -> None:
    exact = clopper_pearson(918, 924)
    assert (round(100 * exact.low, 2), round(100 * exact.high, 2)) == (98.59, 99.76)
    assert round(100 * wilson(918, 924).high, 2) == 99.70


@few
@given(rates, st.sampled_from([0.9, 0.95, 0.99]))
def test_rate_intervals_against_statsmodels(rate: tuple[int, int], level: float) -> None:
    hits, n = rate
    exact, score = clopper_pearson(hits, n, level), wilson(hits, n, level)
    assert (exact.low, exact.high) == pytest.approx(proportion_confint(hits, n, 1 - level, "beta"), abs=1e-9)
    oracle = stats.binomtest(hits, n).proportion_ci(level, "exact")
    assert (exact.low, exact.high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert (score.low, score.high) == pytest.approx(proportion_confint(hits, n, 1 - level, "wilson"), abs=1e-9)
    assert exact.contains(hits / n)
    assert score.contains(hits / n)


@pytest.mark.parametrize("rate", [clopper_pearson, wilson])
def test_impossible_rates_are_refused(rate: object) -> None:
    for hits, n in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(UsageError, match="hits"):
            rate(hits, n)  # type: ignore[operator]


@settings(max_examples=10, deadline=None)  # multipletests collects garbage on every call
@given(st.lists(st.floats(0, 1), min_size=5, max_size=20))
def test_holm_against_statsmodels(p_values: list[float]) -> None:
    family = [f"cell{i}" for i in range(len(p_values))]
    adjusted = holm(family, dict(zip(family, p_values, strict=True)))
    assert list(adjusted.values()) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert list(adjusted) == family


def test_holm_of_one_is_p() -> None:
    assert holm(["only"], {"only": 0.04}) == {"only": 0.04}
    assert holm([], {}) == {}


def test_an_empty_cell_enters_holm_with_one() -> None:
    family = [f"cell{i}" for i in range(53)]
    adjusted = holm(family, {"cell0": 0.001, "cell1": None})
    assert adjusted["cell0"] == pytest.approx(0.053)
    assert set(list(adjusted.values())[1:]) == {1.0}


def test_holm_refuses_what_was_not_declared() -> None:
    with pytest.raises(UsageError, match="outside the declared family"):
        holm(["a"], {"b": 0.5})
    with pytest.raises(UsageError, match="twice"):
        holm(["a", "a"], {})
    with pytest.raises(UsageError, match=r"0\.\.1"):
        holm(["a"], {"a": 1.5})


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_kappa_against_sklearn(pairs: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    if len(set(a) | set(b)) == 1:
        assert kappa(a, b, 4) is None
        return
    for weights, name in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        oracle = cohen_kappa_score(a, b, labels=range(4), weights=name)
        assume(np.isfinite(oracle))
        assert kappa(a, b, 4, weights) == pytest.approx(oracle)  # type: ignore[arg-type]


def test_kappa_refuses_strangers() -> None:
    assert kappa([], [], 3) is None
    with pytest.raises(UsageError, match=r"0\.\.2"):
        kappa([0, 3], [0, 1], 3)
    with pytest.raises(UsageError, match="weights"):
        kappa([0, 1], [0, 1], 2, "cubic")  # type: ignore[arg-type]
