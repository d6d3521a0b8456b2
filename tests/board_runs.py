"""Runs to publish, made by the real command on a small suite of its own.

Two static domains, locked by the real tool. Option keys, descriptions and states hold what a hostile page would hold.
``careful`` and ``hasty`` are scripted: the first reads the state and knows a null, the second often takes what stands
first and sometimes answers badly.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli.main import app
from arena.registry import Registry
from arena.tasks import registry
from arena.tasks.lock import lock

HOSTILE_KEY = "</script><script>window.ran=1</script>"
HOSTILE_TEXT = "<img src=x onerror=alert(1)>"
HOSTILE_STATE = "</pre></script><script>window.ran=2;alert(2)</script>\u2028\x85 <svg onload=alert(3)>"

KEYS = ("red", "Blue?", "10", "9", HOSTILE_KEY)
COUNT = 16
"""Test items of a cell."""

TOML = """\
name = "{name}"
title = "Signs and <b>grades</b>"
kind = "static"
suite = "{name}"
version = "1.0.0"
licence = "Apache-2.0"
data = "{name}"
splits = ["train", "test"]
gold_versions = {golds}
[[tiers]]
name = "T1"
rule = "the sign stands alone"
[[tiers]]
name = "T2"
rule = "the sign stands in a sentence"
"""

QUESTIONS = {
    "sign": {
        "type": "choice",
        "instructions": f"Which sign? {HOSTILE_TEXT}",
        "criteria": {key: HOSTILE_TEXT if key == "red" else f"the sign {key}" for key in KEYS},
    },
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "grade": {"type": "score", "instructions": "How bad is it?", "criteria": ["fine", "poor", "broken"]},
}

BASELINES = ("uniform", "constant", "always-none", "random")


def write_suite(folder: Path, names: tuple[str, ...] = ("alpha", "beta"), golds: tuple[str, ...] = ("v1",)) -> None:
    """The suite folder, locked."""
    for name in names:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.toml").write_text(TOML.format(name=name, golds=json.dumps(list(golds))), "utf-8")
        for tier in ("T1", "T2"):
            for split in ("train", "test"):
                _write_cell(folder / name, f"{tier}.{split}.jsonl", f"{name}-{tier}-{split}".lower(), golds)
        lock(folder, name)


def _write_cell(folder: Path, file: str, prefix: str, versions: tuple[str, ...]) -> None:
    items, golds = [], []
    for number in range(COUNT):
        key, level = KEYS[number % len(KEYS)], number % 3
        state = {"text": f"[{prefix} {number}] sign={number % len(KEYS)} grade={level} {HOSTILE_STATE}"}
        items.append(
            {"id": f"{prefix}-{number}", "state": state, "questions": QUESTIONS, "group": f"{prefix}-{number // 2}"}
        )
        accepted = {"sign": [key], "urgent": [number % 2 == 0], "grade": [level]}
        golds.append({"id": f"{prefix}-{number}", "golds": {name: {"accepted": one} for name, one in accepted.items()}})
    _write_rows(folder / file, items)
    for version in versions:
        _write_rows(folder / "gold" / version / file, golds)


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8", newline="\n")


@contextmanager
def registered(folder: Path) -> Iterator[None]:
    """Let ``folder`` be all that the registry of domains knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}.FOLDER", folder, raising=False)
        patch.setattr(
            registry, "SUITES", Registry("suite folder", "arena.suites.test", {"arena": f"{__name__}:FOLDER"})
        )
        yield


def script(path: Path, hasty: bool) -> Path:
    """The script of ``careful`` or ``hasty``."""
    rules: list[dict[str, Any]] = []
    if hasty:
        rules.append({"question": "grade", "share": 0.15, "fault": "sum"})
        rules.append({"question": "grade", "share": 0.3, "fault": "nan"})
        rules.append({"question": "sign", "share": 0.5, "pick": "first", "p": 0.97})
    for number, key in enumerate(KEYS):
        rules.append({"question": "sign", "state": f"sign={number}", "pick": key, "p": 0.8})
    rules.append({"question": "sign", "pick": "none_of_the_above", "p": 0.7})
    rules += [{"question": "grade", "state": f"grade={level}", "pick": str(level), "p": 0.75} for level in range(3)]
    path.write_text(json.dumps({"rule": rules}), "utf-8")
    return path


def arena(*arguments: str | Path) -> Any:
    """The ``arena`` command in this process; the result has ``exit_code``, ``stdout`` and ``exception``."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def evaluate(runs: Path, *arguments: str | Path) -> Path:
    """One evaluation; the folder of its run below ``runs``."""
    done = arena("eval", *arguments, "--runs", runs, "--json")
    assert done.exit_code in (0, 1), (done.output, done.exception)
    found = json.loads(done.stdout.splitlines()[-1])
    return runs / Path(found["run"]).name


def make_runs(folder: Path) -> dict[str, Path]:
    """Suite and runs below ``folder``; name -> run folder."""
    write_suite(folder / "suite")
    runs = folder / "runs"
    both = ("--domain", "alpha", "--domain", "beta")
    with registered(folder / "suite"):
        made = {name: evaluate(runs, "--model", name, *both, "--reliability") for name in BASELINES}
        for name in ("careful", "hasty"):
            told = script(folder / f"{name}.json", name == "hasty")
            made[name] = evaluate(runs, "--model", "fake", "--script", told, *both, "--reliability")
    return made


def copied(run: Path, folder: Path) -> Path:
    """A copy of a run that a test may change."""
    target = folder / run.name
    shutil.copytree(run, target)
    return target
