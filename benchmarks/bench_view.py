"""How long ``arena view`` takes to open a large run, measured over HTTP against the real command.

A run of ``slot-biased`` on the intent domain (canonical forms, 12 orders, repeats, nulls) is made with the real
command and copied under new unit names until it holds ``--decisions`` lines; the result is packed as a finished run.

    python benchmarks/bench_view.py [--decisions N] [--check]

Prints one JSON object: seconds to the first page of a run never seen before (and how many rows it then had), seconds
until all of it was read, and seconds per page once it is, in a new process. Target: every page within 2 s, also the
first one of a run never seen before; with ``--check`` the exit code is 1 when it is missed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson

from arena.log.reader import RunReader

SECONDS = 2.0
ARENA = [sys.executable, "-c", "from arena.cli.main import main; main()"]
PAGES = {
    "first page": "",
    "last page": "?page=999999",
    "wrong": "?verdict=wrong",
    "flipped, surest first": "?flipped=1&sort=sure",
    "unit text": "?q=t3-test-041",
}


def make_run(root: Path, decisions: int) -> Path:
    """A finished run of ``decisions`` lines under ``root``."""
    seed_root = root / "seed"
    command = [*ARENA, "eval", "--model", "slot-biased", "--domain", "intent", "--reliability"]
    subprocess.run([*command, "--runs", str(seed_root)], check=True, capture_output=True)
    seed = next(seed_root.iterdir())
    rows = list(RunReader(seed).rows())
    folder = root / "runs" / "large"
    folder.mkdir(parents=True)
    for name in ("config.json", "summary.json"):
        (folder / name).write_bytes((seed / name).read_bytes())
    with gzip.open(folder / "decisions.jsonl.gz", "wb", compresslevel=6) as out:
        for number in range(decisions):
            copy, at = divmod(number, len(rows))
            out.write(orjson.dumps(_renamed(rows[at], copy)) + b"\n")
    with gzip.open(folder / "episodes.jsonl.gz", "wb"):
        pass
    return folder


def _renamed(row: dict[str, Any], copy: int) -> dict[str, Any]:
    mark = f"{copy:04x}"
    return {**row, "id": mark + row["id"][4:], "ask": mark + row["ask"][4:], "unit": f"{row['unit']}-{copy}"}


@contextmanager
def viewer(root: Path) -> Iterator[str]:
    """The URL of a running ``arena view``."""
    command = [*ARENA, "view", str(root), "--port", "0", "--no-open", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield str(json.loads(process.stdout.readline())["url"]).rstrip("/")
    finally:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def timed(client: httpx.Client, url: str) -> tuple[float, str]:
    """Seconds and body of one GET."""
    begun = time.perf_counter()
    body = client.get(url).raise_for_status().text
    return round(time.perf_counter() - begun, 3), body


def measure(folder: Path) -> dict[str, Any]:
    """Open ``folder`` for the first time, then again in a new process."""
    root, name, found = folder.parent, folder.name, {}
    base = f"/run/{name}"
    with viewer(root) as url, httpx.Client(base_url=url, timeout=60) as client:
        client.get("/")
        begun = time.perf_counter()
        found["fresh_first_page_s"], _ = timed(client, f"{base}/decisions")
        found["rows_then"] = client.get(f"{base}/status").json()["decisions"]
        while client.get(f"{base}/status").json()["reading"]:
            time.sleep(0.1)
        found["read_whole_s"] = round(time.perf_counter() - begun, 2)
        found["rows"] = client.get(f"{base}/status").json()["decisions"]
    begun = time.perf_counter()
    with viewer(root) as url, httpx.Client(base_url=url, timeout=60) as client:
        client.get("/")
        found["start_s"] = round(time.perf_counter() - begun, 2)
        found["overview_s"], _ = timed(client, base)
        pages = {told: timed(client, f"{base}/decisions{query}") for told, query in PAGES.items()}
        found["pages_s"] = {told: seconds for told, (seconds, _) in pages.items()}
        body = pages["flipped, surest first"][1]
        link = body.split('class="open" href="', 1)[1].split('"', 1)[0].replace("&amp;", "&")
        found["decision_with_all_orders_s"], _ = timed(client, link)
    found["rows_per_s"] = round(found["rows"] / found["read_whole_s"])
    found["log_mb"] = round((folder / "decisions.jsonl.gz").stat().st_size / 1e6, 1)
    found["index_mb"] = round((folder / ".view.sqlite").stat().st_size / 1e6, 1)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--check", action="store_true", help="exit code 1 when a target is missed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(make_run(Path(scratch), given.decisions))
    print(json.dumps(found, indent=2))
    singles = ("fresh_first_page_s", "overview_s", "decision_with_all_orders_s")
    slowest = max(*(found[name] for name in singles), *found["pages_s"].values())
    return 1 if given.check and slowest > SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
