"""Hand-worked figures and the edges: one item, one class, all invalid, nothing, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import UsageError
from arena.reliability.metrics.accuracy import correct
from arena.reliability.metrics.brier import brier_per_item
from arena.reliability.metrics.columns import NOUL, SCORE, Codes
from arena.reliability.metrics.cost import cost
from arena.reliability.metrics.credit import exact_credit, level_credit
from arena.reliability.metrics.ece import ece
from arena.reliability.metrics.latency import latency, percentile
from arena.reliability.metrics.macro_f1 import macro_f1
from arena.reliability.metrics.majority import majority
from arena.reliability.metrics.reliability_bins import bin_index, reliability_bins
from arena.reliability.metrics.rows import from_rows
from arena.reliability.metrics.selective import selective_table
from arena.reliability.metrics.slices import slice_accuracy, worst_group
from arena.reliability.metrics.spearman import spearman
from arena.reliability.metrics.summary import Conventions, pooled_macro_f1, summarise


def test_ece_by_hand() -> None:
    assert ece(np.array([0.95, 1.0]), np.array([True, False])) == pytest.approx(0.475, abs=1e-15)


@pytest.mark.parametrize("edges", ["[lo,hi)", "(lo,hi]"])
def test_zero_and_one_fall_in_the_first_and_last_bin(edges: str) -> None:
    assert bin_index(np.array([0.0, 1.0]), edges=edges).tolist() == [0, 9]  # type: ignore[arg-type]


def test_edges_move_ece() -> None:
    """.9 and .95 share a bin only under [lo, hi)."""
    confidence, right = np.array([0.9, 0.95]), np.array([True, False])
    assert ece(confidence, right) == pytest.approx(0.425)
    assert ece(confidence, right, edges="(lo,hi]") == pytest.approx((0.1 + 0.95) / 2)


def test_tenths_fall_on_their_own_edge() -> None:
    tenths = np.arange(11) / 10
    assert bin_index(tenths).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert bin_index(tenths, edges="(lo,hi]").tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    below = np.nextafter(tenths[1:], 0)
    assert bin_index(below).tolist() == list(range(10))


def test_bins_keep_the_empty_ones_as_nan() -> None:
    table = reliability_bins(np.array([0.05, 0.95]), np.array([False, True]))
    assert table.count.sum() == 2
    assert np.isnan(table.accuracy[1:9]).all()
    assert (table.accuracy[0], table.accuracy[9]) == (0.0, 1.0)
    assert (table.low[0], table.high[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.1])
def test_a_confidence_outside_its_range_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        ece(np.array([bad]), np.array([True]))


def test_all_invalid() -> None:
    scored = from_rows([{"type": "choice", "options": ["a", "b"], "gold": "a"}] * 3)
    summary = summarise(scored)
    assert (summary.n, summary.valid, summary.coverage, summary.accuracy, summary.macro_f1) == (3, 0, 0, 0, 0)
    assert (summary.ece, summary.brier, summary.nll, summary.mae, summary.spearman) == (None,) * 5
    assert [row.coverage for row in summary.selective] == [0.0] * 6
    assert [point.risk for point in summary.risk_coverage] == [1.0] * 10


def test_nothing_asked() -> None:
    summary = summarise(from_rows([]))
    assert (summary.n, summary.coverage, summary.accuracy, summary.macro_f1, summary.ece) == (0, None, None, None, None)
    assert (summary.risk_coverage, summary.cost.usd, summary.latency_s["p95"]) == ((), None, None)


def test_one_item_of_one_class() -> None:
    row = {"type": "choice", "probabilities": {"a": 0.75, "b": 0.25}, "committed": "a", "gold": "a"}
    summary = summarise(from_rows([row]))
    assert (summary.accuracy, summary.ece, summary.brier) == (1.0, 0.25, 0.125)
    assert summary.nll == pytest.approx(-np.log(0.75))
    assert summary.macro_f1 == 0.5  # label b is the question's too, and has F1 0
    assert summarise(from_rows([row]), Conventions(absent_labels="skip")).macro_f1 == 1.0


def test_perfect_model() -> None:
    rows = [
        {"type": "choice", "probabilities": {"a": 1.0, "b": 0.0}, "committed": "a", "gold": "a"},
        {"type": "choice", "probabilities": {"a": 0.0, "b": 1.0}, "committed": "b", "gold": "b"},
        {"type": "score", "question": "s", "probabilities": {"0": 0.0, "1": 1.0}, "committed": 1, "gold": 1},
        {"type": "score", "question": "s", "probabilities": {"0": 1.0, "1": 0.0}, "committed": 0, "gold": 0},
        {"type": "noul", "question": "n", "probabilities": {"false": 1.0, "true": 0.0}, "committed": False, "gold": 0},
        {
            "type": "noul",
            "question": "n",
            "probabilities": {"false": 0.0, "true": 1.0},
            "committed": True,
            "gold": True,
        },
    ]
    summary = summarise(from_rows(rows))
    assert (summary.accuracy, summary.macro_f1, summary.ece, summary.brier, summary.nll) == (1, 1, 0, 0, 0)
    assert (summary.mae, summary.spearman) == (0.0, 1.0)


def test_macro_f1_pools_questions_by_size() -> None:
    right = {"type": "choice", "question": "q", "probabilities": {"a": 1.0, "b": 0.0}, "committed": "a", "gold": "a"}
    wrong = {
        "type": "noul",
        "question": "n",
        "probabilities": {"false": 0.0, "true": 1.0},
        "committed": True,
        "gold": 0,
    }
    assert pooled_macro_f1(from_rows([right] * 3 + [wrong])) == pytest.approx((3 * 0.5 + 0) / 4)


def test_macro_f1_of_nothing_and_of_strangers() -> None:
    assert macro_f1(np.array([], int), np.array([], int), 3) is None
    with pytest.raises(ValueError, match="labels"):
        macro_f1(np.array([3]), np.array([0]), 3)


def test_foundation_counts_an_empty_selection_as_zero() -> None:
    row = selective_table(np.array([0.4]), np.array([True]), [0.5], when_empty=0.0)[0]
    assert (row.accuracy, row.risk, row.coverage) == (0.0, None, 0.0)


def test_numeric_mixed_case_and_accented_keys_keep_their_place() -> None:
    keys = {"10": 0.1, "9": 0.2, "00": 0.3, "Refund_not_showing_up": 0.0, "ñandú?": 0.4}
    scored = from_rows([{"type": "choice", "probabilities": keys, "committed": "ñandú?", "gold": ["00", "ñandú?"]}])
    assert scored.labels == (tuple(keys),)
    assert (scored.committed[0], scored.gold[0], bool(scored.correct[0])) == (4, 4, True)
    assert brier_per_item(scored.probabilities, scored.accepted, scored.offsets)[0] == pytest.approx(0.09 + 0.01 + 0.04)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"type": "rank", "options": ["a"], "gold": "a"}, "row 1: type 'rank'"),
        ({"type": "choice", "gold": "a"}, "row 1: neither"),
        ({"type": "choice", "options": ["a", "b"], "gold": None}, "row 1: gold"),
        ({"type": "choice", "options": ["a", "b"], "gold": "c"}, "row 1: gold"),
        ({"type": "choice", "probabilities": {"a": 1.0}, "committed": "c", "gold": "a"}, "row 1: committed"),
        ({"type": "choice", "options": ["a", "b"], "committed": "a", "gold": "a"}, "row 1: committed"),
    ],
)
def test_a_row_that_cannot_be_scored_is_named(row: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        from_rows([row])


def test_level_credit() -> None:
    offsets = np.arange(0, 20, 4)
    accepted = np.zeros(16, bool)
    accepted[[0, 4, 8, 12]] = True  # level 0 is right everywhere
    committed = np.array([0, 1, 2, -1])
    right = correct(committed, accepted, offsets)
    credit = level_credit(np.full(4, SCORE), committed, right, accepted, offsets)
    assert credit.tolist() == [1.0, 0.5, 0.0, 0.0]
    assert exact_credit(right).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_majority_tie_goes_to_the_first_gold() -> None:
    """Levels 2, 0, 2, 0, 1: a tie of 2 and 0; the first in the file is 2, off by one from the 1."""
    offsets = np.arange(0, 18, 3)
    accepted = np.zeros(15, bool)
    accepted[offsets[:-1] + np.array([2, 0, 2, 0, 1])] = True
    best = majority(SCORE, accepted, np.tile(np.arange(3), 5), offsets)
    assert best is not None
    assert (best.label, best.hits, best.credit, best.n) == (2, 2, 2.5, 5)
    assert majority(NOUL, np.zeros(0, bool), np.zeros(0, int), np.zeros(1, int)) is None


def test_slices_and_worst_group() -> None:
    rows = slice_accuracy(np.array([True, False, False, True]), Codes(np.array([0, 1, -1, 0]), ("en", "es", "fr")))
    assert [(r.name, r.n, r.hits) for r in rows] == [("en", 2, 2), ("es", 1, 0)]
    worst = worst_group(rows)
    assert worst is not None
    assert worst.name == "es"
    assert worst_group([]) is None


def test_rows_carry_slices_and_groups() -> None:
    base = {"type": "choice", "probabilities": {"a": 1.0, "b": 0.0}, "committed": "a", "gold": "a"}
    scored = from_rows([base, base | {"slices": {"language": "es"}, "group": "g"}, base | {"group": "g"}])
    assert scored.slices["language"].codes.tolist() == [-1, 0, -1]
    assert scored.group.tolist() == [0, 1, 1]
    part = scored.select(np.array([False, True, True]))
    assert (len(part), part.offsets.tolist(), part.slices["language"].codes.tolist()) == (2, [0, 2, 4], [0, -1])


def test_a_column_of_the_wrong_length_is_refused() -> None:
    scored = from_rows([{"type": "noul", "options": ["false", "true"], "gold": True}])
    with pytest.raises(ValueError, match="column correct"):
        type(scored)(**{f: getattr(scored, f) for f in scored.__dataclass_fields__} | {"correct": np.zeros(2, bool)})


def test_unknown_latency_and_price() -> None:
    assert latency(np.array([np.nan])) == {"p50": None, "p95": None, "p99": None}
    assert cost(np.array([0.0, np.nan])).usd == 0.0  # a price of 0 is a price
    with pytest.raises(ValueError, match="known method"):
        percentile(np.array([1.0]), 0.5, "median")  # type: ignore[arg-type]


def test_spearman_needs_two_columns_of_one_length() -> None:
    assert spearman([1.0], [2.0]) is None
    with pytest.raises(ValueError, match="one length"):
        spearman([1, 2], [1, 2, 3])
