"""The benchmark of the scorer runs, on a size that takes no time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_small_run() -> None:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "bench_metrics.py"),
        "--decisions",
        "2000",
        "--resamples",
        "10",
    ]
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=True, timeout=120)
    report = json.loads(done.stdout)
    assert (report["decisions"], report["models"], report["resamples"]) == (2000, 2, 10)
    estimate, low, high = report["accuracy_difference"]
    assert low <= high
    assert abs(estimate - (report["accuracy"][0] - report["accuracy"][1])) < 1e-12
