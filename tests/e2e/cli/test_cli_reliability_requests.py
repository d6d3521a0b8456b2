"""What a reliability run asks of a server: every request once, the repeats anew, the forms of an item together."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
from counting_server import serving
from run_tools import Arena

from arena.log.reader import RunReader

ASKED = ("--domain", "intent", "--tier", "T3", "--limit", "4", "--reliability", "--per-domain", "3", "--probes")


@pytest.mark.parametrize("more", [("--concurrency", "1"), ("--concurrency", "8"), ("--concurrency", "8", "--fresh")])
def test_an_identical_request_is_sent_once_and_a_repeat_always(arena: Arena, more: tuple[str, ...]) -> None:
    """The canonical order is the base form, what S compares with, and what probes compare with: one request."""
    with serving() as server:
        server.delay_s = 0.005
        said = arena("eval", "--model", "systemone", "--base-url", server.url, *ASKED, *more, "--out", "run")
        assert said.code == 0, said.err
        rows = list(RunReader(Path("run")).rows())
        repeated = {row["request_sha256"] for row in rows if row["variant"]["kind"] == "repeat"}
        assert len(repeated) == 3
        owed = Counter({row["request_sha256"]: 4 if row["request_sha256"] in repeated else 1 for row in rows})
        assert {sha: n for sha, n in server.calls.items() if sha in owed} == dict(owed)
        assert len(owed) < len({row["ask"] for row in rows}) - 3 * 3


def test_the_forms_of_an_item_follow_one_another(arena: Arena) -> None:
    """A server that keeps the state it read last reads each of them once."""
    with serving() as server:
        said = arena("eval", "--model", "systemone", "--base-url", server.url, *ASKED, "--concurrency", "1")
        assert said.code == 0, said.err
    (folder,) = Path("runs").iterdir()
    varied = [row for row in RunReader(folder).rows() if row["variant"]["kind"] in ("reorder", "repeat")]
    assert [unit for unit, _ in groupby(row["unit"] for row in varied)] == list(
        dict.fromkeys(r["unit"] for r in varied)
    )


def test_a_dry_run_shows_what_reliability_costs(arena: Arena) -> None:
    """240 items; 50 of them in 11 more orders, 3 repeats and 3 forms with the right option gone or a null offered."""
    cases = {}
    for more in ((), ("--reliability",), ("--reliability", "--orders", "4", "--per-domain", "10")):
        said = arena("eval", "--model", "uniform", "--domain", "intent", *more, "--dry-run", "--json")
        cases[more] = said.json["estimate"]["cases"]
    assert list(cases.values()) == [240, 240 + 50 * (11 + 3 + 3), 240 + 10 * (3 + 3 + 3)]
