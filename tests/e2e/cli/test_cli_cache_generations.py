"""A model that was exchanged behind its address gets none of the other's answers; what a log lost is found."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from counting_server import serving
from run_tools import Arena

from arena.identity import load
from arena.log.reader import RunReader


def test_another_model_behind_the_same_address_is_asked_itself(arena: Arena) -> None:
    with serving() as server:
        run = ("eval", "-m", "systemone", "--base-url", server.url, "-d", "intent", "-t", "T1", "--json")
        first = arena(*run, "--out", "first").json
        same = arena(*run, "--out", "same").json
        before = server.total
        server.weights = "trained further"
        other = arena(*run, "--out", "other").json
        asked = server.total - before
    assert (first["counts"]["cached"], same["counts"]["cached"]) == (0, first["counts"]["decisions"])
    assert (other["counts"]["cached"], asked) == (0, 80 + 1)
    raw = [
        {(row["unit"], row["question_name"]): row["response"] for row in RunReader(Path(name)).rows()}
        for name in ("first", "same", "other")
    ]
    assert raw[0] == raw[1] != raw[2]


def test_a_finished_run_is_shown_as_its_log_gives_it(arena: Arena) -> None:
    run = ("eval", "-m", "uniform", "-d", "intent", "-t", "T1", "--out", "run", "--json")
    told = arena(*run).json
    path = Path("run/summary.json")
    changed = load(path.read_bytes())
    changed["cells"][0]["accuracy"] = 0.99
    path.write_text(json.dumps(changed))
    again = arena(*run)
    assert again.json == told
    assert "nothing was asked" in again.err
    said = arena("score", "run", "--verify")
    assert said.code == 1
    assert "is not what the log gives: cells[0].accuracy is 0.99" in said.err


def test_a_line_that_was_taken_out_is_missed(arena: Arena) -> None:
    """Also by someone who writes a new summary to it."""
    run = ("eval", "-m", "uniform", "-d", "intent", "-t", "T1", "--out", "run", "--json")
    assert arena(*run).code == 0
    path = Path("run/decisions.jsonl.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:41] + lines[42:])))
    said = arena("score", "run", "--verify")
    assert said.code == 1
    assert "is not what the log gives" in said.err
    Path("run/summary.json").write_text(json.dumps(arena(*run).json | {"run": "run"}))
    said = arena("score", "run", "--verify")
    assert said.code == 1
    assert "intent/T1 lacks 1 of 240: " in said.err
