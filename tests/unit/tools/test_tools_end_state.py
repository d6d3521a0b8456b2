"""Databases that commands left, asked for the verifier: hostile ones cost little and answer nothing."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from arena.envs.tools.endstate import KEPT_BYTES, SQL_ROWS, _rows
from arena.envs.tools.snapshot import database_bytes

SELECT = "SELECT a FROM t"
COUNTING = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c{limit}) SELECT {value} AS a FROM c"


def test_the_rows_of_a_table() -> None:
    assert _rows(database_bytes("CREATE TABLE t (a); INSERT INTO t VALUES (1), ('1'), (NULL), (1.5)"), SELECT) == [
        [1],
        ["1"],
        [None],
        [1.5],
    ]


def test_what_json_has_no_type_for_is_not_taken_for_text_or_null() -> None:
    data = database_bytes("CREATE TABLE t (a); INSERT INTO t VALUES (x'3130'), (1e999), (-1e999)")
    assert _rows(data, SELECT) == [[{"blob": "3130"}], [{"real": "inf"}], [{"real": "-inf"}]]


@pytest.mark.parametrize(
    "script, told",
    [
        (f"CREATE VIEW t AS {COUNTING.format(limit='', value='x')}", f"more than {SQL_ROWS} rows"),
        (f"CREATE VIEW t AS {COUNTING.format(limit='', value='zeroblob(2000000000)')}", "too big"),
        (f"CREATE VIEW t AS {COUNTING.format(limit='', value=f'zeroblob({KEPT_BYTES - 9})')}", f"{KEPT_BYTES} bytes"),
        (f"CREATE VIEW t AS SELECT count(*) AS a FROM ({COUNTING.format(limit='', value='x')})", "interrupted"),
        ("CREATE VIEW t AS SELECT load_extension('x') AS a", "unsafe use"),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'ff' AS TEXT))", "UTF-8"),
        ("CREATE TABLE other (a)", "no such table"),
    ],
)
def test_a_database_made_to_cost_or_to_cheat_has_no_answer(script: str, told: str) -> None:
    assert told in _rows(database_bytes(script), SELECT)["error"]


@pytest.mark.parametrize("data", [None, b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000, b"text"])
def test_a_file_that_is_no_database_has_no_answer(data: bytes | None) -> None:
    assert list(_rows(data, SELECT)) == ["error"]


def test_a_damaged_database_has_rows_or_no_answer() -> None:
    base = database_bytes("CREATE TABLE t (a); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1), ('abc')")
    rng = random.Random(1)
    for _ in range(500):
        data = bytearray(base)
        for _ in range(rng.randint(1, 30)):
            data[rng.randrange(200 if rng.random() < 0.5 else len(data))] = rng.randrange(256)
        assert isinstance(_rows(bytes(data), SELECT), list | dict)


def test_a_database_in_wal_mode_is_read_as_it_lies_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    one = sqlite3.connect(path)
    one.execute("PRAGMA journal_mode = WAL")
    one.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (10)")
    one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    one.execute("INSERT INTO t VALUES (11)")
    one.commit()
    assert path.with_name("d.db-wal").stat().st_size > 0
    assert _rows(path.read_bytes(), SELECT) == [[10]]
    one.close()
    assert _rows(path.read_bytes(), SELECT) == [[10], [11]]
