"""Episode files: what is written is read, and what was touched is refused by name."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from web_makers import corridor, manifest

from arena.envs.web.episode import Recording, read_locked, read_recording, write_recording
from arena.envs.web.router import Taped
from arena.errors import ArenaError, ChangedData, MissingNeed, UsageError
from arena.identity import sha256


def _taped() -> Recording:
    base = corridor()
    body = b"<p>hello</p>"
    entry = Taped(
        n=0, epoch="", method="GET", url="http://x.test/", body_sha="", status=200, headers={}, body=sha256(body)
    )
    return Recording(
        manifest(id="taped"),
        base.steps,
        graph=({"step": 0, "option": "click:e1", "to": "hash-1"},),
        conditions=base.conditions,
        end_state={"final": [{"value": True}]},
        final={"sem_hash": "hash-2"},
        tape=(entry,),
        blobs={entry.body: body},
    )


def test_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.web.zip"
    recording = _taped()
    write_recording(recording, path)
    back = read_recording(path)
    for name in ("manifest", "steps", "graph", "conditions", "end_state", "final", "tape"):
        assert getattr(back, name) == getattr(recording, name), name
    assert dict(back.blobs) == dict(recording.blobs)
    assert (back.folder, back.sha256) == (tmp_path, sha256(path.read_bytes()))
    again = tmp_path / "b.web.zip"
    write_recording(recording, again)
    assert again.read_bytes() == path.read_bytes(), "no times, no order but by name"
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == sorted(archive.namelist())


def _tamper(path: Path, change: dict[str, bytes | None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, data in change.items():
        if data is None:
            members.pop(name)
        else:
            members[name] = data
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_a_changed_member_is_refused_with_both_hashes(tmp_path: Path) -> None:
    path = tmp_path / "a.web.zip"
    write_recording(_taped(), path)
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name != "SHA256SUMS"]
        before = {name: archive.read(name) for name in names}
    assert len(names) >= 6
    for name in names:
        write_recording(_taped(), path)
        _tamper(path, {name: before[name] + b" "})
        with pytest.raises(ChangedData) as caught:
            read_recording(path)
        assert (caught.value.expected, caught.value.found) == (sha256(before[name]), sha256(before[name] + b" "))
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"steps.jsonl": None}, "differ in"),
        ({"extra.txt": b"x"}, "differ in"),
        ({"SHA256SUMS": None}, "not an episode file"),
    ],
)
def test_members_must_be_those_that_are_summed(tmp_path: Path, change: dict[str, bytes | None], message: str) -> None:
    path = tmp_path / "a.web.zip"
    write_recording(_taped(), path)
    _tamper(path, change)
    with pytest.raises(UsageError, match=message):
        read_recording(path)


def test_other_files_are_no_episodes(tmp_path: Path) -> None:
    with pytest.raises(MissingNeed):
        read_recording(tmp_path / "none.web.zip")
    (tmp_path / "text.web.zip").write_text("hello")
    with pytest.raises(UsageError, match="not a readable episode file"):
        read_recording(tmp_path / "text.web.zip")
    path = tmp_path / "torn.web.zip"
    write_recording(_taped(), path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ArenaError):
        read_recording(path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.web.zip"
    write_recording(Recording(manifest(format=2), corridor().steps), path)
    with pytest.raises(UsageError, match="episode format 2, this arena reads 1"):
        read_recording(path)


def test_locked_files(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_bytes(b"one")
    assert read_locked(tmp_path, {"a.js": sha256(b"one")}) == {"a.js": b"one"}
    with pytest.raises(ChangedData) as caught:
        read_locked(tmp_path, {"a.js": sha256(b"two")})
    assert (caught.value.expected, caught.value.found) == (sha256(b"two"), sha256(b"one"))
    with pytest.raises(MissingNeed, match="is gone"):
        read_locked(tmp_path, {"b.js": sha256(b"two")})
