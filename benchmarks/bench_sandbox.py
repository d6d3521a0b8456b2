"""Sandbox figures on this machine: start, step, reset, snapshot, steps per second. Prints the load beside them.

    python benchmarks/bench_sandbox.py [--sandbox KIND] [--json]
    python benchmarks/bench_sandbox.py --episodes N [--sandbox KIND] [--json]

Runs each backend that works here: sim, bwrap, and docker when an engine answers (``DOCKER_HOST``;
``.ci/dockerd start`` starts a private one). Targets are those of a quiet machine with two cores; a figure
below target under load is printed as it is, with the ratio. ``--episodes``: instead, that many task episodes in a
row per backend; exit code 1 when one broke or something was left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict

from arena.envs.tools.backends import build_image, open_backend
from arena.envs.tools.sandbox import Backend, Files, Kind, Sandbox, text_files
from arena.errors import MissingNeed

IMAGE = "busybox-sqlite"
FIXTURE: Files = text_files({f"logs/app{i}.log": "INFO ok\nERROR disk\n" * 20 for i in range(10)})
STEP = ["grep", "-c", "ERROR", "logs/app1.log"]
TARGETS = {
    ("docker", "start p50 ms"): 250.0,
    ("docker", "start p95 ms"): 700.0,
    ("docker", "step p50 ms"): 80.0,
    ("docker", "steps/s, 1 worker"): 12.0,
    ("docker", "steps/s, 4 workers"): 20.0,
    ("docker", "reset p50 ms"): 100.0,
    ("docker", "snapshot p50 ms"): 150.0,
    ("bwrap", "one-shot p50 ms"): 40.0,
    ("bwrap", "steps/s, 1 worker"): 150.0,
    ("sim", "steps per CPU s"): 5000.0,
}
SIZES = {"docker": (12, 40), "bwrap": (20, 400), "sim": (20, 5000)}
"""Backend -> boxes started, steps made."""


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that ``action`` takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1e3


def start_and_close(backend: Backend) -> float:
    """Milliseconds until a box runs; closing it is not counted."""
    box = backend.sandbox()
    try:
        return timed(box.start)
    finally:
        box.close()


def one_shot(backend: Backend) -> None:
    """A box for a single command."""
    with backend.sandbox() as box:
        box.exec(STEP)


def steps_per_second(
    backend: Backend, workers: int, steps: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Steps of all workers over time by ``clock`` (default: wall time), boxes already running."""
    boxes = [backend.sandbox() for _ in range(workers)]
    try:
        for box in boxes:
            box.start()
            box.seed(FIXTURE)

        def work(box: Sandbox) -> None:
            for _ in range(steps // workers):
                assert box.exec(STEP).out == b"20\n"

        threads = [threading.Thread(target=work, args=(box,)) for box in boxes]
        began = clock()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return steps // workers * workers / (clock() - began)
    finally:
        for box in boxes:
            box.close()


def measure(backend: Backend) -> dict[str, float]:
    """All figures of one backend."""
    boxes, steps = SIZES[backend.kind]
    starts = sorted(start_and_close(backend) for _ in range(boxes))
    figures = {
        "start p50 ms": statistics.median(starts),
        "start p95 ms": starts[min(len(starts) - 1, int(len(starts) * 0.95))],
        "one-shot p50 ms": statistics.median(timed(lambda: one_shot(backend)) for _ in range(boxes)),
    }
    with backend.sandbox() as box:
        box.seed(FIXTURE)
        figures["step p50 ms"] = statistics.median(timed(lambda: box.exec(STEP)) for _ in range(30))
        figures["reset p50 ms"] = statistics.median(timed(lambda: box.reset(FIXTURE)) for _ in range(10))
        figures["snapshot p50 ms"] = statistics.median(timed(box.snapshot) for _ in range(10))
    if backend.kind == "sim":
        # All its work is in this process, so processor time gives a figure that no neighbour disturbs.
        figures["steps per CPU s"] = steps_per_second(backend, 1, steps, time.process_time)
    for workers in (1, 4):
        figures[f"steps/s, {workers} worker{'s' * (workers > 1)}"] = steps_per_second(backend, workers, steps)
    return figures


def row(kind: str, name: str, value: float) -> str:
    """One printed line, with the target and how the figure compares (above 1 is better)."""
    target = TARGETS.get((kind, name))
    if target is None:
        return f"{kind:7} {name:22} {value:10.1f}"
    ratio = value / target if name.startswith("steps") else target / value
    return f"{kind:7} {name:22} {value:10.1f}   target {target:7.0f}   ratio {ratio:5.2f}"


def in_a_row(kind: Kind, count: int) -> tuple[dict[str, object], bool]:
    """Figures of ``count`` task episodes, and whether all that must be 0 is."""
    from sandbox_episodes import play

    tally = play(kind, count)
    rates = {"episodes/s": round(tally.episodes / tally.seconds, 2), "steps/s": round(tally.steps / tally.seconds, 2)}
    return asdict(tally) | rates, not tally.bad


def main() -> int:
    """Run and print; 4 when a backend that was asked for cannot run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--sandbox", choices=("sim", "bwrap", "docker"), action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    build_image(IMAGE)
    report: dict[str, object] = {"cores": os.cpu_count(), "load before": os.getloadavg()[0]}
    clean = True
    for kind in options.sandbox or ("sim", "bwrap", "docker"):
        figures: dict[str, object]
        try:
            if options.episodes:
                figures, good = in_a_row(kind, options.episodes)
                clean = clean and good
            else:
                with open_backend(kind, image=IMAGE) as backend:
                    figures = {**measure(backend)}
        except MissingNeed as error:
            print(f"{kind}: not measured: {error}", file=sys.stderr)
            if options.sandbox:
                return error.code
            continue
        report[kind] = figures
        if not options.json:
            print("\n".join(row(kind, name, float(str(value))) for name, value in figures.items()))
    report["load after"] = os.getloadavg()[0]
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        print(f"cores {os.cpu_count()}, load before {report['load before']:.1f}, after {report['load after']:.1f}")
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
