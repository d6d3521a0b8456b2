"""Write the intent domain's items and golds: ``python -m arena.tasks.intent.generate [--out FOLDER]``.

Deterministic: the same version gives the same bytes on every machine. Freeze the result with
``python -m arena.tasks.lock intent``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from arena.identity import dump
from arena.tasks.definition import DATA
from arena.tasks.intent.dialogue import write_t3
from arena.tasks.intent.draw import plans
from arena.tasks.intent.single import write_t1, write_t2

TIERS = {"T1": write_t1, "T2": write_t2, "T3": write_t3}
COUNTS = {"train": 120, "dev": 60, "test": 80}
GOLD_VERSION = "v1"


def render() -> dict[str, bytes]:
    """Path relative to the domain's folder -> content, for items and golds of every tier and split."""
    files: dict[str, bytes] = {}
    for tier, write in TIERS.items():
        for split, count in COUNTS.items():
            items: list[dict[str, object]] = []
            golds: list[dict[str, object]] = []
            seen: set[bytes] = set()
            for plan in plans(tier, split, count):
                state, questions, gold, family = write(plan)
                assert dump(state) not in seen, f"{tier} {split} {plan.index}: the same state twice"
                seen.add(dump(state))
                name = f"intent-{tier}-{split}-{plan.index:03d}".lower()
                wire = {key: question.wire() for key, question in questions.items()}
                items.append({"id": name, "state": state, "questions": wire, "group": family})
                golds.append({"id": name, "golds": {key: {"accepted": [value]} for key, value in gold.items()}})
            files[f"{tier}.{split}.jsonl"] = _lines(items)
            files[f"gold/{GOLD_VERSION}/{tier}.{split}.jsonl"] = _lines(golds)
    return files


def _lines(rows: list[dict[str, object]]) -> bytes:
    return b"".join(dump(row) + b"\n" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m arena.tasks.intent.generate", description="Write the intent data.")
    parser.add_argument("--out", type=Path, default=DATA / "intent", help="folder to write to")
    folder: Path = parser.parse_args(arguments).out
    for relative, content in render().items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"wrote {path}: {len(content)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
