"""The index holds what the log holds: plain or packed, growing, torn, retried, damaged; and it is only derived."""

from __future__ import annotations

import gzip
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_runs import KEYS, decision, line, write_run

from arena.log.reader import RunReader
from arena.reliability.collect import collect, matrices
from arena.reliability.stability import flips_from_canonical
from arena.view import blocks
from arena.view.filters import Filter
from arena.view.index import RunIndex, index_path
from arena.view.store import Store

WAIT_S = 60.0


def indexed(folder: Path) -> RunIndex:
    """The index of a run, up to date."""
    index = RunIndex(folder)
    index.refresh(WAIT_S)
    return index


def units(index: RunIndex) -> list[str]:
    with Store(index) as store:
        return [row["unit"] for row in store.page(Filter(), 1, 10_000)]


@pytest.mark.parametrize("packed", [True, False])
def test_every_line_is_found_again(tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3000)  # lines across many blocks, some longer than a block
    rows = [decision(f"u{n}", state="x" * (5000 if n % 7 == 0 else 10)) for n in range(60)]
    index = indexed(write_run(tmp_path / "run", rows, packed=packed))
    assert index.error is None
    with Store(index) as store:
        page = store.page(Filter(), 1, 100)
        assert store.lines("decisions", page) == rows
        assert store.lines("decisions", page[::-1]) == rows[::-1]
        assert store.state().complete


def test_a_real_run_is_indexed_as_the_reader_reads_it(run: Path) -> None:
    index = indexed(run)
    assert index.error is None
    expected = list(RunReader(run).rows())
    with Store(index) as store:
        page = store.page(Filter(), 1, len(expected) + 1)
        assert store.lines("decisions", page) == expected
        assert store.total(Filter(verdict="invalid")) == sum(not row["valid"] for row in expected)
        assert store.total(Filter(verdict="right")) == sum(row["correct"] is True for row in expected)


def test_a_growing_log_is_read_on_and_a_torn_line_waits(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision("u0")], packed=False)
    index = indexed(folder)
    assert units(index) == ["u0"]
    whole = line(decision("u1"))
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(whole[:40])
    index.refresh(WAIT_S)
    assert units(index) == ["u0"]
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(whole[40:])
    index.refresh(WAIT_S)
    assert units(index) == ["u0", "u1"]


def test_a_run_that_ends_moves_to_its_packed_log(tmp_path: Path) -> None:
    rows = [decision("u0"), decision("u1")]
    folder = write_run(tmp_path / "run", rows, packed=False)
    index = indexed(folder)
    with Store(index) as store:
        page = store.page(Filter(), 1)
        write_run(folder, rows, packed=True)
        (folder / "decisions.jsonl").unlink()
        with pytest.raises(FileNotFoundError):
            store.lines("decisions", page)
    index.refresh(WAIT_S)
    with Store(index) as store:
        assert store.lines("decisions", store.page(Filter(), 1)) == rows


def test_other_bytes_are_read_anew(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision("old")], packed=False)
    index = indexed(folder)
    write_run(folder, [decision("new"), decision("newer")], packed=False)
    index.refresh(WAIT_S)
    assert units(index) == ["new", "newer"]


def test_a_log_whose_time_changed_is_read_anew(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision("old")])
    index = indexed(folder)
    log = folder / "decisions.jsonl.gz"
    stamp = log.stat().st_mtime_ns
    log.write_bytes(gzip.compress(line(decision("new"))))
    os.utime(log, ns=(stamp + 1_000_000, stamp + 1_000_000))
    index.refresh(WAIT_S)
    assert units(index) == ["new"]


def test_a_retry_takes_the_place_of_what_failed(tmp_path: Path) -> None:
    failed = decision("u0", committed=None, outcome="timeout")
    again = decision("u0", retry=1)
    folder = write_run(tmp_path / "run", [failed, decision("u1"), again])
    index = indexed(folder)
    assert index.error is None
    assert [row["unit"] for row in RunReader(folder).rows()] == units(index) == ["u1", "u0"]
    with Store(index) as store:
        assert store.total(Filter(verdict="invalid")) == 0


@pytest.mark.parametrize(
    "bad, told",
    [
        (b"{not json\n", "decisions.jsonl:3"),
        (b'{"schema_version": 99}\n', "schema"),
        (b'{"schema_version": 1, "id": "x"}\n', "not a record"),
        (line(decision("u0")), "occurs twice"),
    ],
)
def test_a_damaged_log_says_where_and_shows_what_stands_before(
    tmp_path: Path, bad: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = line(decision("u0")), line(decision("u1"))
    monkeypatch.setattr(blocks, "BLOCK", len(first) + len(second))
    folder = write_run(tmp_path / "run", [], packed=False)
    (folder / "decisions.jsonl").write_bytes(first + second + bad)
    index = indexed(folder)
    assert index.error is not None
    assert told in index.error
    assert units(index) == ["u0", "u1"]


def test_a_packed_log_cut_short_is_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision("u0")])
    log = folder / "decisions.jsonl.gz"
    log.write_bytes(log.read_bytes()[:-12])
    assert "damaged" in str(indexed(folder).error)


def test_an_index_of_another_make_is_thrown_away(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision("u0")])
    index_path(folder).write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    assert units(indexed(folder)) == ["u0"]
    with sqlite3.connect(index_path(folder)) as db:
        db.execute("UPDATE meta SET version = 0")
    db.close()
    assert units(indexed(folder)) == ["u0"]


def test_a_run_that_cannot_be_written_is_indexed_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "run", [decision("u0")])
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    index = indexed(folder)
    assert index.path.is_relative_to(tmp_path / "cache")
    assert units(index) == ["u0"]
    assert not (folder / ".view.sqlite").exists()


def test_two_viewers_build_one_index_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [decision(f"u{n}") for n in range(500)])
    first, second = RunIndex(folder), RunIndex(folder)
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and len(units_of(first)) + len(units_of(second)) < 1000:
        time.sleep(0.01)  # each may find the other at work, and reads on what is there
    for index in (first, second):
        assert index.error is None
        assert len(units(index)) == 500


def units_of(index: RunIndex) -> list[str]:
    """What a viewer shows at once, complete or not."""
    index.refresh(0)
    return units(index)


answers = st.sampled_from([*KEYS, None])


@settings(deadline=None, max_examples=40)
@given(base=answers, orders=st.lists(answers, min_size=1, max_size=6), split=st.integers(0, 7))
def test_flips_are_those_of_the_reliability_code(
    tmp_path_factory: pytest.TempPathFactory, base: str | None, orders: list[str | None], split: int
) -> None:
    rows: list[dict[str, Any]] = [decision("u", committed=base)]
    for number, committed in enumerate(orders, 1):
        order = KEYS[number % 4 :] + KEYS[: number % 4]
        variant = {"kind": "reorder", "index": number, "question": "pick", "order": order}
        rows.append(decision("u", committed=committed, variant=variant))
    folder = write_run(tmp_path_factory.mktemp("flips") / "run", rows[:split], packed=False)
    index = indexed(folder)  # the canonical order and its variants may come in different batches
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(b"".join(map(line, rows[split:])))
    index.refresh(WAIT_S)
    expected = flips_from_canonical(matrices(collect(rows, rows), [u.orders for u in collect(rows, rows)]).committed)
    with Store(index) as store:
        every = store.page(Filter(), 1)
    flips = sum(row["flipped"] or 0 for row in every if row["kind"] == "reorder")
    assert flips == expected.flips
    canonical = next(row for row in every if row["kind"] == "base")
    assert bool(canonical["flipped"]) == (expected.flips > 0)
    assert np.sum([row["flipped"] is not None for row in every if row["kind"] == "reorder"]) == expected.comparable
