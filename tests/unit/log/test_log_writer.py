"""The log's writer: whole lines, one writer, nothing lost by a crash at any byte."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from run_tools import decision, episode, write_run

from arena.errors import LogCorrupt, MissingNeed, UsageError
from arena.identity import sha256
from arena.log.blobs import Blobs
from arena.log.reader import RunReader
from arena.log.writer import STATE_INLINE, RunWriter, cut_torn_line, pack


def ids(folder: Path) -> list[str]:
    return [row["id"] for row in RunReader(folder).rows()]


def test_a_line_torn_at_any_byte_costs_that_record_alone(tmp_path: Path) -> None:
    plain = write_run(tmp_path / "run") / "decisions.jsonl"
    whole = plain.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in range(len(whole) + 1):
        plain.write_bytes(whole[:cut])
        complete = sum(end <= cut for end in ends)
        assert len(ids(tmp_path / "run")) == complete, cut
        lost = cut_torn_line(plain)
        assert lost == cut - ([0, *ends][complete])
        assert plain.read_bytes() == whole[: cut - lost]


def test_a_torn_line_longer_than_one_read_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"{}\n" + b"x" * 200_000)
    assert cut_torn_line(path) == 200_000
    assert path.read_bytes() == b"{}\n"
    path.write_bytes(b"x" * 200_000)
    cut_torn_line(path)
    assert path.read_bytes() == b""


def test_reopening_cuts_the_torn_line_and_appends_after_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 2)
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(b'{"id":"half')
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(7)])
    assert ids(folder) == [decision(n).id for n in (0, 1, 7)]


def test_finishing_packs_without_timestamps_and_summarises_last(tmp_path: Path) -> None:
    one, two = (write_run(tmp_path / name, finish=True) for name in ("one", "two"))
    assert sorted(path.name for path in one.iterdir()) == [
        ".lock",
        "config.json",
        "decisions.jsonl.gz",
        "episodes.jsonl.gz",
        "summary.json",
    ]
    assert (one / "decisions.jsonl.gz").read_bytes() == (two / "decisions.jsonl.gz").read_bytes()
    assert RunReader(one).finished
    assert RunReader(one).summary == {"done": True}


def unfinished(folder: Path) -> Path:
    write_run(folder, finish=True)
    (folder / "summary.json").unlink()
    return folder


def test_packed_but_not_summarised_resumes(tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "run")
    with RunWriter(folder, {}) as writer:
        assert not (folder / "decisions.jsonl.gz").exists()
        writer.decisions([decision(9)])
        writer.finish({})
    assert ids(folder) == [decision(n).id for n in (0, 1, 2, 9)]


def test_one_log_packed_and_one_not(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    pack(folder / "decisions.jsonl")
    with RunWriter(folder, {}) as writer:
        writer.episode(episode("e"))
        writer.finish({})
    assert len(ids(folder)) == 3
    assert [row["id"] for row in RunReader(folder).episode_rows()] == ["e"]


def test_packed_and_plain_both_there(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    plain = (folder / "decisions.jsonl").read_bytes()
    pack(folder / "decisions.jsonl")
    (folder / "decisions.jsonl").write_bytes(plain)
    assert len(ids(folder)) == 3
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(9)])
    assert ids(folder) == [decision(n).id for n in (0, 1, 2, 9)]


def test_a_half_packed_log_is_thrown_away(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    (folder / "decisions.jsonl.gz.tmp").write_bytes(gzip.compress(b"{}")[:9])
    with RunWriter(folder, {}):
        assert not (folder / "decisions.jsonl.gz.tmp").exists()
    assert len(ids(folder)) == 3


def test_a_finished_run_opened_again_is_unfinished(tmp_path: Path) -> None:
    """Else a crash after the reopening would leave an old summary beside a new log."""
    folder = write_run(tmp_path / "run", finish=True)
    with RunWriter(folder, {}):
        assert not RunReader(folder).finished
    assert not RunReader(folder).finished


def test_resuming_a_run_whose_packed_log_is_damaged_says_so_and_keeps_it(tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "run")
    packed = folder / "decisions.jsonl.gz"
    packed.write_bytes(packed.read_bytes()[:-12])
    before = packed.read_bytes()
    with pytest.raises(LogCorrupt, match="damaged after line"):
        RunWriter(folder, {})
    assert packed.read_bytes() == before
    assert not (folder / "decisions.jsonl").exists()


def test_a_second_process_cannot_write_to_the_same_run(tmp_path: Path) -> None:
    hold = (
        "import sys; from pathlib import Path; from arena.log.writer import RunWriter\n"
        "with RunWriter(Path(sys.argv[1]), {}): print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(UsageError, match="being written by another arena process"):
            RunWriter(tmp_path / "run", {})
        other.communicate()
    with RunWriter(tmp_path / "run", {}):
        pass


@pytest.mark.parametrize("place", ["a file where the folder should be", "a file among its parents"])
def test_an_unwritable_folder_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "run").write_text("in the way")
    folder = tmp_path / "run" if place.startswith("a file where") else tmp_path / "run" / "deeper"
    with pytest.raises(MissingNeed, match="cannot be written") as caught:
        RunWriter(folder, {})
    assert str(folder) in caught.value.message
    assert "--out" in str(caught.value.hint)


class FillingDisk:
    """A raw log that takes ``room`` bytes, stopping short, and then says that the disk is full."""

    def __init__(self, raw: Any, room: int) -> None:
        self.raw, self.room = raw, room

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self.raw.write(data[: self.room])
        self.room -= taken
        return int(taken)

    def close(self) -> None:
        self.raw.close()


def test_a_disk_that_fills_up_in_the_middle_of_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(0)])
        writer._decisions = FillingDisk(writer._decisions, 100)  # type: ignore[assignment]
        with pytest.raises(MissingNeed, match="disk is full") as caught:
            writer.decisions([decision(1), decision(2)])
        assert "kept" in str(caught.value.hint)
        writer._decisions.room = 10**6  # type: ignore[attr-defined]
        with pytest.raises(MissingNeed, match="unfinished line"):
            writer.decisions([decision(3)])
    assert ids(folder) == [decision(0).id]
    with RunWriter(folder, {}) as writer:
        writer.decisions([decision(1)])
    assert ids(folder) == [decision(0).id, decision(1).id]


def test_writes_that_stop_short_are_completed(tmp_path: Path) -> None:
    class Slow(FillingDisk):
        def write(self, data: bytes) -> int:
            return int(self.raw.write(data[:7]))

    folder = tmp_path / "run"
    with RunWriter(folder, {}) as writer:
        writer._decisions = Slow(writer._decisions, 0)  # type: ignore[assignment]
        writer.decisions([decision(0), decision(1)])
    assert len(ids(folder)) == 2


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_while_packing_keeps_the_plain_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    folder = write_run(tmp_path / "run")

    def fail(_: int) -> None:
        raise OSError(error, os.strerror(error))

    with RunWriter(folder, {}) as writer:
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(MissingNeed, match="disk is full" if error == errno.ENOSPC else "cannot be written"):
            writer.finish({})
        monkeypatch.undo()
    assert len(ids(folder)) == 3
    assert not RunReader(folder).finished


@pytest.mark.parametrize("size", [STATE_INLINE, STATE_INLINE + 1])
def test_large_states_go_to_a_blob_and_read_back(tmp_path: Path, size: int) -> None:
    state = "x" * (size - 2)
    folder = tmp_path / "run"
    with RunWriter(folder, {}) as writer:
        inline, blob = writer.store_state(state)
        writer.decisions([decision(0, state=inline, state_blob=blob)])
    assert (blob is None) == (size == STATE_INLINE)
    reader = RunReader(folder)
    assert [reader.state(row) for row in reader.rows()] == [state]


def test_a_blob_is_stored_once_and_checked_when_read(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(b"page")
    assert name == sha256(b"page")
    written = blobs.path(name).stat().st_mtime_ns
    assert blobs.put(b"page") == name
    assert blobs.path(name).stat().st_mtime_ns == written
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name]
    blobs.path(name).write_bytes(b"pagf")
    with pytest.raises(LogCorrupt, match="does not hold what its name says"):
        blobs.get(name)
    with pytest.raises(LogCorrupt, match="missing"):
        blobs.get("0" * 64)


def test_the_header_of_a_run_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for content in ({"first": 1}, {"second": 2}):
        with RunWriter(folder, content):
            pass
    assert orjson.loads((folder / "config.json").read_bytes()) == {"first": 1}
