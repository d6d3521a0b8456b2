"""The log's reader: newline bytes alone split, damage is named, every value comes back as it was."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_tools import ANSWER, decision, episode, write_run

from arena.errors import LogCorrupt, UsageError
from arena.identity import dump, load
from arena.log import reader as reading
from arena.log.reader import RunReader, find_runs, iter_lines, iter_rows
from arena.log.writer import RunWriter, pack
from arena.records import Decision


def round_trip(folder: Path, record: Decision) -> Decision:
    with RunWriter(folder, {}) as writer:
        writer.decisions([record])
        writer.finish({})
    (found,) = RunReader(folder).decisions()
    return found


ODD_STATES = [
    "a line\u0085and\u2028another\u2029one",
    "\r\n\n\r\x00\x1f\x7f",
    {"lone surrogate": "\ud800", "pair": "\U0001f600"},
    {"beyond 64 bits": 2**64, "below": -(2**63) - 1, "long": 10**60, "last signed": 2**63},
    {"10": 1, "9": 2, "00": 3, "": 4},
    [None, True, False, -0.0, 1e-320, 5e-324, 1.7976931348623157e308, 0.1 + 0.2],
    "0" * 40,
    {"digits in text": "12345678901234567890123", "number": 0.12345678901234567890123},
]


@pytest.mark.parametrize("state", ODD_STATES, ids=repr)
def test_odd_values_come_back_as_they_were(tmp_path: Path, state: Any) -> None:
    found = round_trip(tmp_path / "run", decision(state=state, response={"type": "choice", "echo": state}))
    assert dump(found.state) == dump(state)
    assert found.response["echo"] == state


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SURROGATES = st.characters(categories=["Cs"])


@given(JSONS | st.text(SURROGATES | st.characters()))
def test_dump_and_load_are_inverse(value: Any) -> None:
    assert load(dump(value)) == value
    assert dump(load(dump(value))) == dump(value)
    assert b"\n" not in dump(value)


def test_not_a_number_is_read_where_it_stands() -> None:
    found = load(b'{"p": NaN, "q": [Infinity, -Infinity, 1]}')
    assert math.isnan(found["p"])
    assert found["q"] == [math.inf, -math.inf, 1]


@pytest.mark.parametrize("bad", [b"", b"{", b"\xff", b'{"n": 12345678901234567890123', b"[1]2"])
def test_what_is_no_json_is_a_value_error(bad: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the promise is the class, not the words
        load(bad)


def test_lines_end_at_newline_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes("a\u0085b\u2028c\rd\n\ntorn".encode())
    assert list(iter_lines(path)) == [(1, "a\u0085b\u2028c\rd".encode()), (2, b"")]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{broken\n", "not JSON"),
        (b"[1]\n", "expected an object, found list"),
        (b'{"schema_version":99}\n', "schema 99, this arena reads 1"),
        (b'{"no":"schema"}\n', "schema None"),
        (b"\n", "not JSON"),
    ],
)
def test_a_bad_line_names_file_and_line(tmp_path: Path, line: bytes, what: str) -> None:
    folder = write_run(tmp_path / "run", 2)
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(line)
    with pytest.raises(LogCorrupt, match=what) as caught:
        list(RunReader(folder).rows())
    assert f"{folder / 'decisions.jsonl'}:3" in caught.value.message
    assert caught.value.hint


def test_a_torn_line_is_not_damage_but_a_bad_line_before_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"schema_version":1}\n{"schema_version":1')
    assert len(list(iter_rows(path))) == 1
    path.write_bytes(b'{"schema_version":1\n{"schema_version":1}\n')
    with pytest.raises(LogCorrupt, match=r":1: not JSON"):
        list(iter_rows(path))


@pytest.mark.parametrize("damage", ["cut", "flipped", "tail"])
def test_a_damaged_gzip_log_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    folder = write_run(tmp_path / "run", 300, finish=True)
    packed = folder / "decisions.jsonl.gz"
    data = bytearray(packed.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data += b"garbage"
    packed.write_bytes(data)
    with pytest.raises(LogCorrupt) as caught:
        list(RunReader(folder).rows())
    assert str(packed) in caught.value.message
    assert any(char.isdigit() for char in caught.value.message.removeprefix(str(packed)))


def test_an_id_twice_is_refused_and_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3)
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(1)])
    with pytest.raises(LogCorrupt, match=rf":4: id {decision(1).id} occurs twice"):
        list(RunReader(folder).rows())


def test_ids_of_one_hash_are_not_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_64_BITS", 0)
    assert len(list(RunReader(write_run(tmp_path / "run", 3)).rows())) == 3


def test_the_highest_retry_replaces_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with RunWriter(folder, {}) as writer:
        for number, retry in ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (3, 1)):
            writer.decisions([decision(number, retry=retry)])
        writer.episode(episode("e", ending="error"))
        writer.episode(episode("e", retry=1))
    found = [(row["id"], row["retry"]) for row in RunReader(folder).rows()]
    assert found == [(decision(n).id, retry) for n, retry in ((1, 0), (2, 0), (0, 2), (3, 1))]
    assert [row["ending"] for row in RunReader(folder).episode_rows()] == ["success"]


@pytest.mark.parametrize("retries", [(1, 1), (2, 1), (1, 0)])
def test_a_retry_out_of_order_is_refused(tmp_path: Path, retries: tuple[int, int]) -> None:
    folder = tmp_path / "run"
    with RunWriter(folder, {}) as writer:
        for retry in retries:
            writer.decisions([decision(0, retry=retry)])
    with pytest.raises(LogCorrupt, match="occurs twice"):
        list(RunReader(folder).rows())


def test_a_reader_sees_lines_that_were_added_after_it_read(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 1)
    found = RunReader(folder)
    assert len(list(found.rows())) == 1
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(0, retry=1), decision(5)])
    assert [(row["id"], row["retry"]) for row in found.rows()] == [(decision(0).id, 1), (decision(5).id, 0)]


def test_the_packed_form_wins_over_the_plain_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3)
    pack(folder / "decisions.jsonl")
    (folder / "decisions.jsonl").write_bytes(b"{left over from before\n")
    assert len(list(RunReader(folder).rows())) == 3


def test_records_come_back_equal(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    record = decision(
        attempts=[{"n": 1, "status": 200, "seconds": 0.1}],
        usage={"input_tokens": 7},
        response={**ANSWER, "confidence": 1},
    )
    with RunWriter(folder, {}) as writer:
        writer.decisions([record])
        writer.episode(episode("e", flags=("off_tape",), end_state={"x": 2**70}))
    assert list(RunReader(folder).decisions()) == [record]
    assert list(RunReader(folder).episodes()) == [episode("e", flags=("off_tape",), end_state={"x": 2**70})]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no config\.json"):
        RunReader(tmp_path)
    (tmp_path / "config.json").write_text("{half")
    with pytest.raises(LogCorrupt, match=r"config\.json is not JSON"):
        RunReader(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(LogCorrupt, match="expected an object"):
        RunReader(tmp_path)


def test_listing_runs_reads_headers_only(tmp_path: Path) -> None:
    write_run(tmp_path / "one", finish=True)
    write_run(tmp_path / "two")
    (tmp_path / "no-run").mkdir()
    for log in tmp_path.glob("*/*.jsonl*"):
        log.write_bytes(b"not a log at all\n")
    assert [(h.folder.name, h.summary) for h in find_runs(tmp_path)] == [("one", {"done": True}), ("two", None)]
    assert list(find_runs(tmp_path / "nowhere")) == []


def test_gzip_of_several_members_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b'{"schema_version":1,"id":1}\n') + gzip.compress(b'{"schema_version":1,"id":2}\n'))
    assert [row["id"] for row in iter_rows(path)] == [1, 2]
