"""``arena list runs`` over a run with a log of a million lines: headers alone are read.

    python benchmarks/bench_list_runs.py [--lines N] [--check]

Prints one JSON object: wall and processor seconds of the whole command (best of five) beside that log, and beside a
pipe in its place that nobody feeds (a command that opened it would never end). Target: under 1 s of processor time;
wall time is the machine's as well. With ``--check`` the exit code is 1 when the target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

SECONDS, REPEATS = 1.0, 5


def make_run(folder: Path, lines: int) -> Path:
    """A finished run with a header, a summary and ``lines`` decisions; its log."""
    folder.mkdir(parents=True)
    config = {
        "run": folder.name,
        "resolved": {"protocol": "1.0.0", "model": "bench"},
        "limited": False,
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "summary.json").write_text(json.dumps({"counts": {"decisions": lines}, "capability": None}), "utf-8")
    line = json.dumps({"schema_version": 1, "id": "x" * 24, "state": "y" * 600}) + "\n"
    log = folder / "decisions.jsonl"
    with log.open("w", encoding="utf-8") as handle:
        for start in range(0, lines, 1000):
            handle.write(line * min(1000, lines - start))
    return log


def listing(root: Path) -> dict[str, float]:
    """Best wall and processor seconds of the real command."""
    command = [str(Path(sys.executable).with_name("arena")), "list", "runs", str(root), "--json"]
    wall, processor = [], []
    for _ in range(REPEATS):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append(perf_counter() - begun)
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert json.loads(done.stdout)[0]["model"] == "bench"
    return {"wall_s": round(min(wall), 3), "processor_s": round(min(processor), 3)}


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = make_run(Path(folder) / "big", chosen.lines)
        found = {"lines": chosen.lines, "mib": round(log.stat().st_size / 2**20), "beside_log": listing(Path(folder))}
        log.unlink()
        os.mkfifo(log)
        found["beside_pipe"] = listing(Path(folder))
    found["load"] = round(os.getloadavg()[0], 1)
    kept = found["beside_log"]["processor_s"] < SECONDS
    print(json.dumps(found | {"target_s": SECONDS, "kept": kept}))
    return 1 if chosen.check and not kept else 0


if __name__ == "__main__":
    sys.exit(main())
