"""Images and backends on a machine where something is missing, full or damaged: said plainly, with the next step."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from arena.envs.tools import backends, image
from arena.envs.tools.backends import build_image, collect_garbage, doctor_report, open_backend
from arena.errors import MissingNeed, UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store of images, and no engine."""
    monkeypatch.setenv("ARENA_SANDBOX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/sock")
    return tmp_path / "home"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes first in the search for programs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_store_that_cannot_be_written(home: Path) -> None:
    home.touch()
    with pytest.raises(MissingNeed, match="cannot be written") as found:
        image.build_tree("x", lambda tree: None)
    assert str(home) in found.value.message
    assert "ARENA_SANDBOX_HOME" in (found.value.hint or "")


def test_a_disk_that_is_full_leaves_nothing_behind(home: Path) -> None:
    def fill(tree: Path) -> None:
        (tree / "half").touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(tree / "half"))

    with pytest.raises(MissingNeed, match="No space left"):
        image.build_tree("x", fill)
    assert list(home.iterdir()) == []


def test_a_damaged_manifest_names_the_command_that_mends_it(home: Path) -> None:
    home.mkdir()
    (home / "busybox-sqlite.json").write_text("{")
    with pytest.raises(MissingNeed, match="is damaged") as found:
        image.load_image("busybox-sqlite")
    assert found.value.hint == "arena sandbox build busybox-sqlite"
    rows = {row.name: row for row in doctor_report("busybox-sqlite")}
    assert "is damaged" in rows["image busybox-sqlite"].detail


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "a..b", "Upper", "-x", "a b", "x" * 10 + "\n"])
def test_a_name_that_no_engine_takes_is_refused_before_anything_runs(home: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no name for an image"):
        build_image(name, dockerfile=Path("Dockerfile"))
    assert not home.exists()


def test_a_host_without_the_lister_of_libraries(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = image.shutil.which
    monkeypatch.setattr(image.shutil, "which", lambda name, path=None: None if name == "ldd" else find(name, path=path))
    with pytest.raises(MissingNeed, match="ldd is not installed"):
        image.build_tree("x", lambda tree: image._add_program(tree, "sh"))


def test_a_bubblewrap_that_does_not_run(home: Path, program: Path) -> None:
    (program / "bwrap").write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    (program / "bwrap").chmod(0o755)
    image.build_tree("x", image._skeleton)
    with pytest.raises(MissingNeed, match="no namespaces here"):
        open_backend("bwrap", image="x")
    with pytest.raises(MissingNeed, match=r"no Docker engine answers.*no namespaces here"):
        open_backend("auto", image="x")
    assert {row.name: row.ok for row in doctor_report("x")}["sandbox bwrap"] is False


def test_collecting_garbage_says_that_no_engine_was_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends.gc, "collect_groups", list)
    said: list[str] = []
    assert collect_garbage(said.append) == []
    assert said == ["no Docker engine answers, so only what bubblewrap left was looked for"]
