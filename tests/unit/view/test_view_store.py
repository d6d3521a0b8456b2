"""Filters, pages, neighbours: what the store answers is what the log says, whatever the order asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_runs import decision, write_run

from arena.errors import UsageError
from arena.view.filters import FORMS, SORTS, VERDICTS, Filter
from arena.view.index import RunIndex
from arena.view.store import Store


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> RunIndex:
    rows = []
    for n in range(120):
        committed = (None, "a", "b", "c")[n % 4]
        confidence = None if committed is None else (n % 5) / 5
        rows.append(
            decision(f"Unit-{n}", committed=committed, confidence=confidence, tier=f"T{n % 3}", latency_ms=float(n % 7))
        )
    made = RunIndex(write_run(tmp_path_factory.mktemp("store") / "run", rows))
    made.refresh(60)
    return made


filters = st.builds(
    Filter,
    verdict=st.sampled_from(["", *VERDICTS]),
    below=st.sampled_from(["", "0.5", "0.2"]),
    slot=st.sampled_from(["", "1", "2", "9"]),
    tier=st.sampled_from(["", "T1", "T9"]),
    q=st.sampled_from(["", "unit-1", "UNIT-11", "%", "_", "'"]),
    form=st.sampled_from(["", *FORMS]),
    sort=st.sampled_from(list(SORTS)),
)


@settings(deadline=None, max_examples=60)
@given(chosen=filters)
def test_pages_cover_the_selection_once_and_neighbours_follow_them(index: RunIndex, chosen: Filter) -> None:
    with Store(index) as store:
        whole = store.page(chosen, 1, 1000)
        assert len(whole) == store.total(chosen)
        paged = [row["id"] for number in range(1, 14) for row in store.page(chosen, number, 10)]
        assert paged == [row["id"] for row in whole]
        for place, row in enumerate(whole[:5], 1):
            spot = store.spot(chosen, row)
            assert spot is not None
            assert (spot.position, spot.total) == (place, len(whole))
            assert spot.before == (whole[place - 2]["id"] if place > 1 else None)
            assert spot.after == (whole[place]["id"] if place < len(whole) else None)


@given(chosen=filters)
def test_a_filter_survives_its_url(chosen: Filter) -> None:
    from urllib.parse import parse_qsl

    assert Filter.parse(dict(parse_qsl(chosen.query().lstrip("?")))) == chosen


def test_what_a_filter_lets_through_is_what_it_names(index: RunIndex) -> None:
    with Store(index) as store:
        for row in store.page(Filter(verdict="wrong", below="0.5", tier="T1"), 1, 1000):
            assert row["valid"] == 1
            assert row["correct"] == 0
            assert row["confidence"] < 0.5
            assert row["tier"] == "T1"
        assert {row["slot"] for row in store.page(Filter(slot="2"), 1, 1000)} == {2}
        assert [row["unit"] for row in store.page(Filter(q="unit-11"), 1)] == [
            "Unit-11",
            *(f"Unit-11{n}" for n in range(10)),
        ]
        assert store.total(Filter(q="%")) == 0


def test_a_decision_outside_the_filter_has_no_place(index: RunIndex) -> None:
    with Store(index) as store:
        row = store.page(Filter(verdict="invalid"), 1)[0]
        assert store.spot(Filter(verdict="right"), row) is None


@pytest.mark.parametrize(
    "query",
    [
        {"verdict": "maybe"},
        {"sort": "1; DROP TABLE decisions"},
        {"slot": "-1"},
        {"below": "x"},
        {"flipped": "yes"},
        {"form": "x"},
    ],
)
def test_a_value_that_no_filter_takes_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Filter.parse(query)
