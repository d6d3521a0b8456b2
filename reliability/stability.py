"""S, order stability, and the figures beside it (protocol 5; the definition is arena's own).

Data: a matrix ``committed`` (I, M): item i under its order j committed to option ``committed[i, j]``,
numbered by the item's canonical option list (not by slot); column 0 is the canonical order. An item with
fewer orders is padded with NOT_ASKED. An INVALID answer agrees with nothing, not even with another one.
The noise floor is ``order_stability`` on identical repeats of the canonical order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.reliability.metrics.columns import INVALID, Bools, Floats, Ints
from arena.reliability.metrics.sums import mean
from arena.reliability.metrics.total_variation import total_variation

NOT_ASKED = -2


def agreement(committed: Ints) -> Floats:
    """A_i = sum_k n_ik (n_ik - 1) / (m_i (m_i - 1)), shape (I,), range 0..1.

    n_ik: orders of item i that committed to option k; m_i: orders asked, invalid answers included. nan
    where m_i < 2.

    >>> agreement(np.array([[0] * 9 + [1] * 2 + [2]])).round(6)
    array([0.560606])
    """
    asked = (committed != NOT_ASKED).sum(axis=1)
    agreeing = np.zeros(len(committed))
    for column in range(committed.shape[1]):
        same = (committed == committed[:, [column]]) & (committed[:, [column]] >= 0)
        same[:, column] = False
        agreeing += same.sum(axis=1)
    pairs = asked * (asked - 1)
    values: Floats = np.full(len(committed), np.nan)
    np.divide(agreeing, pairs, out=values, where=pairs > 0)
    return values


def item_stability(committed: Ints, options: Ints) -> Floats:
    """s_i = (A_i - 1/K_i) / (1 - 1/K_i), shape (I,), range -1/(K-1)..1; ``options`` (I,) = K_i >= 2.

    >>> item_stability(np.array([[0] * 9 + [1] * 2 + [2]]), np.array([4])).round(6)
    array([0.414141])
    """
    if np.any(options < 2):
        raise ValueError("order stability needs at least 2 options")
    chance = 1.0 / options
    return (agreement(committed) - chance) / (1.0 - chance)


def order_stability(committed: Ints, options: Ints) -> float | None:
    """S = clip(mean of s_i, 0, 1) over items asked at least twice; None when there is none."""
    values = item_stability(committed, options)
    value = mean(values[~np.isnan(values)])
    return None if value is None else min(1.0, max(0.0, value))


@dataclass(frozen=True, slots=True)
class Flips:
    """``flips`` among ``comparable`` pairs (canonical order, other order), both answers valid.

    ``asked`` pairs in all: the rest is not comparable, which is not "no flip". ``rate`` = flips /
    comparable, None when nothing is comparable.
    """

    flips: int
    comparable: int
    asked: int
    rate: float | None


def flips_from_canonical(committed: Ints) -> Flips:
    """Flip rate of every other order against the canonical one (column 0).

    >>> flips_from_canonical(np.array([[0, 0, 1, -1], [2, 2, -2, -2]]))
    Flips(flips=1, comparable=3, asked=4, rate=0.3333333333333333)
    """
    base, others = committed[:, [0]], committed[:, 1:]
    comparable = (base >= 0) & (others >= 0)
    flips, count = int((comparable & (base != others)).sum()), int(comparable.sum())
    asked = int(((base != NOT_ASKED) & (others != NOT_ASKED)).sum())
    return Flips(flips, count, asked, flips / count if count else None)


@dataclass(frozen=True, slots=True)
class Drift:
    """Total variation over ``comparable`` pairs: ``mean`` and ``largest``, 0..1, None when there is none."""

    mean: float | None
    largest: float | None
    comparable: int


def drift_from_canonical(probabilities: Floats, committed: Ints) -> Drift:
    """Total-variation drift of every other order against the canonical one.

    ``probabilities`` (I, M, Kmax) aligned by canonical option number, 0 beyond an item's options.
    """
    comparable = (committed[:, [0]] >= 0) & (committed[:, 1:] >= 0)
    gaps = total_variation(probabilities[:, [0], :], probabilities[:, 1:, :])[comparable]
    return Drift(mean(gaps), float(gaps.max()) if len(gaps) else None, len(gaps))


def share_stable(committed: Ints) -> float | None:
    """Share of items, asked at least twice, that commit to one option under every order; all answers valid.

    >>> share_stable(np.array([[1, 1, 1], [1, 1, -1], [0, 0, -2]]))
    0.6666666666666666
    """
    usable = (committed != NOT_ASKED).sum(axis=1) >= 2
    stable = agreement(committed[usable]) == 1.0
    return float(stable.sum()) / len(stable) if len(stable) else None


@dataclass(frozen=True, slots=True)
class AccuracySpread:
    """Accuracy of the worst order, the mean over orders, and the best one, 0..1; ``orders`` counted."""

    low: float
    mean: float
    high: float
    orders: int


def accuracy_over_orders(correct: Bools, committed: Ints) -> AccuracySpread | None:
    """Accuracy of each order column, over the same items in every column. None without items.

    ``correct`` (I, M), False where invalid. An item with fewer orders repeats them in turn, so that no
    column loses items and the columns can be compared.

    >>> accuracy_over_orders(np.array([[True, False], [True, False]]), np.array([[0, 1], [3, -2]]))
    AccuracySpread(low=0.5, mean=0.75, high=1.0, orders=2)
    """
    columns = []
    for right, row in zip(correct, committed, strict=True):
        answers = right[row != NOT_ASKED]
        if len(answers):
            columns.append(np.resize(answers, committed.shape[1]))
    if not columns:
        return None
    per_order = np.mean(columns, axis=0)
    low, middle, high = float(per_order.min()), float(per_order.mean()), float(per_order.max())
    return AccuracySpread(low, middle, high, len(per_order))


@dataclass(frozen=True, slots=True)
class SlotAccuracy:
    """``hits`` of ``n`` answers where the right option stood in ``slot`` (0 = first shown)."""

    slot: int
    n: int
    hits: int
    accuracy: float


def accuracy_by_slot(correct: Bools, right_slot: Ints) -> tuple[SlotAccuracy, ...]:
    """Accuracy by the slot in which the right option was shown; both (I, M) or flat.

    ``right_slot``: -1 where there is none to name (not asked, or several right options).

    >>> accuracy_by_slot(np.array([True, False, True]), np.array([0, 0, 1]))[0]
    SlotAccuracy(slot=0, n=2, hits=1, accuracy=0.5)
    """
    known = right_slot >= 0
    n = np.bincount(right_slot[known])
    hits = np.bincount(right_slot[known], correct[known])
    return tuple(
        SlotAccuracy(i, int(a), int(h), float(h / a)) for i, (a, h) in enumerate(zip(n, hits, strict=True)) if a
    )


@dataclass(frozen=True, slots=True)
class SlotChoice:
    """Position bias: ``counts`` (Kmax,) of chosen slots; chi-square against uniform, its ``dof`` and ``p``.

    ``p`` treats answers as independent; the orders of one item are not, so read it as a screen.
    """

    counts: NDArray[np.int64]
    statistic: float
    dof: int
    p: float


def chosen_slot_chi_square(chosen_slot: Ints, options: Ints) -> SlotChoice | None:
    """Chi-square of the chosen slot against uniform, summed over strata of equal K; None without answers.

    ``chosen_slot`` (I, M): slot shown (0 = first) of the committed option, negative where invalid or not
    asked; ``options`` (I,) = K_i. Orders are position-balanced, so content alone gives uniform slots.

    >>> chosen_slot_chi_square(np.array([[0, 0, 0, 0], [0, 1, 0, 1]]), np.array([2, 2])).statistic
    2.0
    """
    from scipy.special import chdtrc

    valid = chosen_slot >= 0
    if not valid.any():
        return None
    sizes = np.broadcast_to(options[:, None], chosen_slot.shape)[valid]
    slots = chosen_slot[valid]
    if np.any(slots >= sizes):
        raise ValueError("a chosen slot lies beyond its item's options")
    statistic, dof = 0.0, 0
    for size in np.unique(sizes):
        observed = np.bincount(slots[sizes == size], minlength=size)
        expected = observed.sum() / size
        statistic += float(((observed - expected) ** 2).sum() / expected)
        dof += int(size) - 1
    counts = np.bincount(slots, minlength=int(sizes.max())).astype(np.int64)
    return SlotChoice(counts, statistic, dof, float(chdtrc(dof, statistic)))


__all__ = [
    "INVALID",
    "NOT_ASKED",
    "AccuracySpread",
    "Drift",
    "Flips",
    "SlotAccuracy",
    "SlotChoice",
    "accuracy_by_slot",
    "accuracy_over_orders",
    "agreement",
    "chosen_slot_chi_square",
    "drift_from_canonical",
    "flips_from_canonical",
    "item_stability",
    "order_stability",
    "share_stable",
]
