"""Archives, end states and images: what goes into a box and comes out of it, hostile or not."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.envs.tools.image import Image, build_tree, build_tree_image, load_image, pack
from arena.envs.tools.sandbox import Files, SeedFile, text_files
from arena.envs.tools.snapshot import Snapshot, SnapshotLimit, database, database_bytes
from arena.envs.tools.tarball import BLOCK, TarError, TarTooLarge, read_tar, write_tar
from arena.errors import MissingNeed

# --- archives --------------------------------------------------------------------------------------------

NAMES = st.lists(
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
        lambda name: name not in (".", "..")
    ),
    min_size=1,
    max_size=5,
).map("/".join)


def ustar(members: dict[str, bytes], kind: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as tar:
        for path, data in members.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@settings(deadline=None)
@given(members=st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5))
def test_the_reader_agrees_with_the_standard_one(members: dict[str, bytes]) -> None:
    found = {member.path: member.data for member in read_tar(ustar(members))}
    assert found == members


@settings(deadline=None)
@given(
    members=st.dictionaries(NAMES, st.binary(max_size=600), min_size=1, max_size=3),
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=20),
    cut=st.none() | st.integers(0, 10**6),
)
def test_a_damaged_archive_is_an_error_or_an_archive(
    members: dict[str, bytes], edits: list[tuple[int, int]], cut: int | None
) -> None:
    archive = bytearray(ustar(members))
    for place, value in edits:
        archive[place % len(archive)] = value
    try:
        Snapshot.of_tar(bytes(archive[: None if cut is None else cut % len(archive)]))
    except TarError:
        return


@settings(deadline=None)
@given(data=st.binary(max_size=4000))
def test_noise_is_no_archive(data: bytes) -> None:
    if any(data[:BLOCK]) or len(data) < BLOCK:
        with pytest.raises(TarError):
            read_tar(data)


def _forged(path: str = "x", flag: bytes = b"0", size: bytes = b"00000000000\0", target: str = "") -> bytes:
    block = bytearray(BLOCK)
    block[:100] = path.encode().ljust(100, b"\0")
    block[100:108] = b"0000644\0"
    block[124:136] = size
    block[148:156] = b" " * 8
    block[156:157] = flag
    block[157:257] = target.encode().ljust(100, b"\0")
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


END = b"\0" * 2 * BLOCK


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (_forged("../out") + END, "leaves the work folder"),
        (_forged("a/../../out") + END, "leaves the work folder"),
        (_forged("/etc/passwd") + END, "absolute"),
        (_forged("x") + _forged("./x") + END, "comes twice"),
        (_forged(flag=b"S") + END, "none that a box writes"),
        (_forged(flag=b"x") + END, "none that a box writes"),
        (_forged(size=b"77777777777\0") + END, "claims"),
        (_forged(size=b"\x80" + b"\xff" * 11) + END, "octal"),
        (_forged(size=b"-0000000001\0") + END, "octal"),
        (_forged(flag=b"1", target="later") + END, "nothing earlier"),
        (_forged("x"), "end mark"),
        (_forged("x")[:-1] + b"x" + END, "checksum"),
        (b"", "end mark"),
    ],
)
def test_hostile_archives_are_refused(archive: bytes, reason: str) -> None:
    with pytest.raises(TarError, match=reason):
        Snapshot.of_tar(archive)


def test_archives_have_caps() -> None:
    many = ustar({f"f{number}": b"" for number in range(20)})
    with pytest.raises(TarTooLarge):
        read_tar(many, max_members=10)
    with pytest.raises(TarTooLarge):
        read_tar(many, max_bytes=1000)
    with pytest.raises(SnapshotLimit) as caught:
        Snapshot.of_tar(b"\0" * (33 * 2**20))
    assert caught.value.boundary == "model"


def test_a_socket_which_no_tar_holds_is_part_of_the_state() -> None:
    state = Snapshot.of_tar(ustar({"f": b"1"}), {"door": 0o755})
    assert [(path, entry.kind) for path, entry in state.entries.items()] == [("door", "socket"), ("f", "file")]
    assert state.sha256 != Snapshot.of_tar(ustar({"f": b"1"})).sha256


def test_a_fixture_packs_the_same_twice() -> None:
    files: Files = {**text_files({"b": "2", "a/c": "1"}), "a": SeedFile(kind="dir", mode=0o500)}
    assert write_tar(files) == write_tar(dict(reversed(files.items())))


@settings(deadline=None)
@given(files=st.dictionaries(NAMES, st.binary(max_size=50), max_size=4))
def test_states_travel_as_json_and_differ_where_they_differ(files: dict[str, bytes]) -> None:
    names = {path: SeedFile(data=data) for path, data in files.items()}
    if any(path.startswith(f"{other}/") for path in names for other in names):
        return
    state = Snapshot.of_files(names)
    assert Snapshot.from_json(state.to_json()).sha256 == state.sha256
    more = Snapshot.of_files({**names, "zz-new": SeedFile(), **{path: SeedFile(data=b"!" * 60) for path in names}})
    assert {change.path for change in state.changes(more)} == {"zz-new", *state.entries} - {
        path for path, entry in state.entries.items() if entry.kind == "dir"
    }


def test_what_makes_states_differ() -> None:
    base = Snapshot.of_files(text_files({"a": "1"}))
    for other, what in (
        ({"a": SeedFile(data=b"2")}, "content"),
        ({"a": SeedFile(data=b"1", mode=0o600)}, "mode"),
        ({"a": SeedFile(kind="dir")}, "kind"),
        ({}, "removed"),
    ):
        changed = Snapshot.of_files(other)
        assert [(c.path, c.what) for c in base.changes(changed)] == [("a", what)]
        assert changed.sha256 != base.sha256
    assert Snapshot.of_files({"a": SeedFile(data=b"1", mtime=5)}).sha256 == base.sha256


def test_a_database_that_is_none() -> None:
    import sqlite3

    with pytest.raises(sqlite3.DatabaseError):
        database(b"not a database at all" * 100)
    assert database_bytes("create table t(x)") == database_bytes("create table t(x)")


# --- images ----------------------------------------------------------------------------------------------


def fill(tree: Path) -> None:
    (tree / "bin").mkdir()
    (tree / "bin" / "tool").write_text("#!/bin/sh\n")
    (tree / "bin" / "tool").chmod(0o4755)
    (tree / "etc").mkdir()
    (tree / "etc" / "a").write_text("a")
    (tree / "bin" / "link").symlink_to("tool")


def test_an_image_is_its_bytes(sandbox_home: Path) -> None:
    one, two = build_tree("made", fill), build_tree("made", fill)
    assert one == two == load_image("made")
    assert one.sha256 == hashlib.sha256(pack(one.root)).hexdigest()
    assert hashlib.sha256(one.tar.read_bytes()).hexdigest() == one.sha256
    assert one.tools == ("link", "tool")
    with tarfile.open(one.tar) as tar:
        assert {(m.uid, m.gid, m.mtime) for m in tar} == {(0, 0, 1_704_067_200)}
        assert tar.getmember("bin/tool").mode == 0o755
    assert [path.name for path in sandbox_home.iterdir() if path.name.startswith(".")] == []


@pytest.mark.engine
def test_images_of_the_host_build_the_same_twice(image: Image) -> None:
    assert build_tree_image(image.name) == image
    image.require(["cat", "sqlite3"])
    with pytest.raises(MissingNeed, match="git, python3"):
        image.require(["git", "cat", "python3"])


def test_a_missing_image_names_the_command(sandbox_home: Path) -> None:
    with pytest.raises(MissingNeed) as caught:
        load_image("absent")
    assert caught.value.hint == "arena sandbox build absent"
