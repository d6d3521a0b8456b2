"""Task episodes in a row leave nothing behind; and what counts the leftovers does find some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sandbox_engines import ROOT
from sandbox_traces import within

from arena.envs.tools.backends import BwrapBackend
from arena.envs.tools.engine import DockerBackend

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("sandbox")]

BENCHMARKS = ROOT / "benchmarks"
MUST_BE_ZERO = (
    "infra_errors",
    "oracles_failed",
    "leaked_containers",
    "leaked_control_groups",
    "leaked_processes",
    "host_files_changed",
)


def play(kind: str, count: int) -> dict[str, Any]:
    script = [sys.executable, str(BENCHMARKS / "bench_sandbox.py")]
    done = subprocess.run(
        [*script, "--episodes", str(count), "--sandbox", kind, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)[kind]
    assert found["episodes"] == count
    assert {name: found[name] for name in MUST_BE_ZERO} == dict.fromkeys(MUST_BE_ZERO, 0)
    assert found["successes"] >= count // 2
    return found


@pytest.mark.usefixtures("bwrap_backend")
def test_episodes_in_bubblewrap_leave_nothing() -> None:
    play("bwrap", 20)


@pytest.mark.usefixtures("docker_backend")
def test_episodes_in_docker_leave_nothing() -> None:
    assert play("docker", 20)["containers_made"] >= 10


def test_leftovers_are_found(
    docker_backend: DockerBackend, bwrap_backend: BwrapBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from sandbox_episodes import Leftovers

    left = Leftovers(docker=True)
    try:
        before = (left.containers(), left.groups(), left.processes())
        with docker_backend.sandbox() as box:
            assert left.containers() == before[0] + 1
            assert within(5, lambda: box.container in left.made)
            assert left.processes() > before[2]
        with bwrap_backend.sandbox():
            assert left.groups() > before[1]
            assert left.processes() > before[2]
        assert within(5, lambda: (left.containers(), left.groups(), left.processes()) == before)
    finally:
        left.close()


def test_a_changed_host_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from sandbox_episodes import Tally, Watched

    (tmp_path / "kept").write_text("kept")
    (tmp_path / "gone").symlink_to("kept")
    watched = Watched([tmp_path])
    bait = Path(watched.bait.name)
    assert os.access(bait / "passwd", os.W_OK)
    (bait / "passwd").write_text("changed")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").mkdir()
    assert watched.changed() == sorted(map(str, (bait / "passwd", tmp_path / "gone", tmp_path / "new")))
    assert not bait.exists()
    assert Tally(episodes=1, host_files_changed=3).bad == {"host_files_changed": 3}
