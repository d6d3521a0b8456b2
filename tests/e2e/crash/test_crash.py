"""A run that is killed loses nothing: what was finished is kept and never asked again, the summary is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting_server import Server, serving

from arena.log.reader import RunReader, iter_rows

HERE = Path(__file__).parent
CRASHING = str(HERE / "crashing.py")
ARENA = ["-c", "from arena.cli.main import main; main()"]


@pytest.fixture(scope="module")
def listening() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture
def server(listening: Server) -> Server:
    listening.calls.clear()
    listening.delay_s = 0.0
    return listening


class Bench:
    """Commands against one server, in processes of their own."""

    def __init__(self, root: Path, server: Server) -> None:
        self.root, self.server = root, server

    def start(self, run: str, *more: str, crash: tuple[str, int] | None = None) -> subprocess.Popen[str]:
        begin = [CRASHING, crash[0], str(crash[1])] if crash else ARENA
        command = ["eval", "--model", "systemone", "--base-url", self.server.url, "--domain", "intent", *more]
        return subprocess.Popen(
            [sys.executable, *begin, *command, "--out", str(self.root / run), "--json"],
            env=os.environ | {"ARENA_CACHE": str(self.root / f"{run}-cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, run: str, *more: str) -> dict[str, Any]:
        """Run to the end; the summary."""
        process = self.start(run, *more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.count("\n") == 1
        summary = RunReader(self.root / run).summary
        assert summary is not None
        return summary | {"run": ""}

    def killed(self, run: str, *more: str, crash: tuple[str, int]) -> None:
        process = self.start(run, *more, crash=crash)
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL

    def wait_for(self, run: str, lines: int) -> None:
        """Until the running log has that many lines."""
        log = self.root / run / "decisions.jsonl"
        ends = time.monotonic() + 60
        while not log.exists() or log.read_bytes().count(b"\n") < lines:
            assert time.monotonic() < ends, "the run did not come that far"
            time.sleep(0.02)


@pytest.fixture
def bench(tmp_path: Path, server: Server) -> Bench:
    return Bench(tmp_path, server)


TIER = ("--tier", "T1", "--concurrency", "1")
"""80 items, 240 decisions, one request at a time, so that not one call may be made twice."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, listening: Server) -> tuple[Path, dict[str, Any]]:
    """An undisturbed run of ``TIER``: its folder and summary."""
    root = tmp_path_factory.mktemp("undisturbed")
    return root / "run", Bench(root, listening).finish("run", *TIER)


def recorded(folder: Path) -> list[dict[str, Any]]:
    """What a killed run left in its plain log."""
    path = folder / "decisions.jsonl"
    return list(iter_rows(path)) if path.exists() else []


def figures(folder: Path) -> dict[str, Any]:
    """Decision id -> everything about it that must not depend on interruptions."""
    times = {"started_at", "latency_ms", "attempts", "run"}
    return {row["id"]: {k: v for k, v in row.items() if k not in times} for row in RunReader(folder).rows()}


def test_kill_9_in_the_middle_of_720_decisions(bench: Bench, server: Server, tmp_path: Path) -> None:
    undisturbed = bench.finish("undisturbed")
    assert undisturbed["counts"]["decisions"] == 720
    server.calls.clear()
    server.delay_s = 0.02
    process = bench.start("killed")
    bench.wait_for("killed", 300)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = recorded(tmp_path / "killed")
    assert 300 <= len(before) < 720
    server.delay_s = 0.0
    resumed = bench.finish("killed")
    assert resumed == undisturbed
    finished = {row["request_sha256"] for row in before}
    assert {server.calls[request] for request in finished} == {1}
    # 240 requests, the canary, and at most the eight that were in flight when the process died.
    assert 241 <= server.total <= 241 + 8
    assert list(RunReader(tmp_path / "killed").rows())[: len(before)] == before
    assert figures(tmp_path / "killed") == figures(tmp_path / "undisturbed")


@pytest.mark.parametrize(
    ("point", "count"), [("mid-line", 40), ("cached", 40), ("gzip", 0), ("renamed", 0), ("packed", 0), ("header", 0)]
)
def test_crash_points(
    undisturbed: tuple[Path, dict[str, Any]], bench: Bench, server: Server, tmp_path: Path, point: str, count: int
) -> None:
    bench.killed("crashed", *TIER, crash=(point, count))
    before = recorded(tmp_path / "crashed")
    if count:
        assert len({row["ask"] for row in before}) in (count - 1, count)
    assert bench.finish("crashed", *TIER) == undisturbed[1]
    assert set(server.calls.values()) == {1}
    assert server.total == 81
    assert figures(tmp_path / "crashed") == figures(undisturbed[0])
    assert not list((tmp_path / "crashed").glob("*.tmp"))


def test_crashes_in_a_row(undisturbed: tuple[Path, dict[str, Any]], bench: Bench, server: Server) -> None:
    for crash in (("mid-line", 20), ("cached", 20), ("gzip", 0)):
        bench.killed("crashed", *TIER, crash=crash)
    assert bench.finish("crashed", *TIER) == undisturbed[1]
    assert set(server.calls.values()) == {1}


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_ends_with_130_and_resumes(
    bench: Bench, server: Server, tmp_path: Path, kind: signal.Signals
) -> None:
    server.delay_s = 0.03
    process = bench.start("run", "--tier", "T1")
    bench.wait_for("run", 30)
    process.send_signal(kind)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command resumes" in err
    assert "Traceback" not in err
    before = recorded(tmp_path / "run")
    assert 30 <= len(before) < 240
    assert (tmp_path / "run" / "decisions.jsonl").read_bytes().endswith(b"\n")
    server.delay_s = 0.0
    summary = bench.finish("run", "--tier", "T1")
    assert summary["counts"]["decisions"] == 240
    assert {server.calls[row["request_sha256"]] for row in before} == {1}


def test_an_instant_model_can_be_interrupted(tmp_path: Path) -> None:
    """It never waits for anything, so nothing but the runner gives a signal its turn."""
    command = ["eval", "--model", "uniform", "--domain", "intent", "--repeats", "1000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([sys.executable, *ARENA, *command], stderr=subprocess.PIPE, text=True)
    log = tmp_path / "run" / "decisions.jsonl"
    while not log.exists() or log.stat().st_size < 100_000:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert len(recorded(tmp_path / "run")) > 20
