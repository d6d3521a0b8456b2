"""The simulation against the real tools: the same commands in both, the same answers and end states."""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arena.envs.tools.sandbox import Backend, Files, Limits, SeedFile, text_files
from arena.envs.tools.sim import TOOLS, SimSandbox
from arena.envs.tools.snapshot import database_bytes
from arena.errors import UsageError

pytestmark = pytest.mark.engine

FIXTURE: Files = {
    **text_files(
        {
            "a.txt": "pear\napple\nfig\napple\n",
            "b.csv": "id,name,qty\n1,bolt,30\n2,nut,5\n10,screw,200\n",
            "conf/app.conf": "# app\nport = 10\nhost=local\n\n[db]\nport = 100\n",
            "conf/empty": "",
            "logs/app.log": "INFO start\nERROR disk full\nWARN slow\nERROR net down\ninfo end\n",
            "logs/old/x.log": "ERROR old\n",
            "no newline": "last line open",
            "wide.txt": "a b  c\tdd\n  lead\n\n\nx,y;z\n",
        }
    ),
    "bin/run": SeedFile(data=b"#!/bin/sh\n", mode=0o755),
    "data.json": SeedFile(data=b'{"k": [1, 2]}\n', mode=0o600),
    "link": SeedFile(kind="symlink", target="a.txt"),
    "nowhere": SeedFile(kind="symlink", target="gone/away"),
    "dirlink": SeedFile(kind="symlink", target="conf"),
    "locked": SeedFile(data=b"no\n", mode=0o000),
    "sealed": SeedFile(kind="dir", mode=0o500),
    "sealed/in": SeedFile(data=b"in\n", mode=0o444),
    "blind": SeedFile(kind="dir", mode=0o000),
    "shop.db": SeedFile(
        data=database_bytes(
            "create table item(id integer primary key, name text, price real);"
            "insert into item values (1,'bolt',0.5),(2,'nut',null),(3,'gear, big',12);"
        )
    ),
}

COMMANDS = (Path(__file__).parent / "commands.txt").read_text().splitlines()

UNORDERED = ("find", "grep -r")
"""Their order is that of the file system, which kernels define differently."""


def answer(text: str, out: bytes) -> list[bytes] | bytes:
    return sorted(out.split(b"\n")) if text.startswith(UNORDERED) else out


@pytest.mark.parametrize("tool", sorted({shlex.split(line)[0] for line in COMMANDS}))
def test_the_simulation_answers_as_the_tools_do(bwrap_backend: Backend, tool: str) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for text in (line for line in COMMANDS if shlex.split(line)[0] == tool):
            argv = shlex.split(text)
            real.reset(FIXTURE)
            sim.reset(FIXTURE)
            was, said = real.exec(argv), sim.exec(argv)
            assert (said.rc, said.err_text) == (was.rc, was.err_text), text
            assert answer(text, said.out) == answer(text, was.out), text
            if tool != "sqlite3":
                changes = real.snapshot().changes(sim.snapshot())
                assert changes == (), text


@pytest.mark.parametrize("argv", [["tr", "a-z", "A-Z"], ["tr", "-d", "\n"], ["tr", "-s", "p"], ["tr", "-cd", "ap\n"]])
@pytest.mark.parametrize("data", [b"pear\napple\n", b"", b"\xff\tx\n"])
def test_filters_of_standard_input(bwrap_backend: Backend, argv: list[str], data: bytes) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for words in (
            argv,
            ["tee", "-a", "a.txt"],
            ["cat", "-", "b.csv", "-"],
            ["sort"],
            ["head", "-n", "1", "-"],
            ["wc"],
            ["grep", "a"],
        ):
            was, said = real.exec(words, stdin=data), sim.exec(words, stdin=data)
            assert (said.rc, said.out, said.err) == (was.rc, was.out, was.err), words
        assert real.snapshot().changes(sim.snapshot()) == ()


GOOD = {name: hashlib.sha256(FIXTURE[name].data).hexdigest() for name in ("a.txt", "no newline", "conf/empty")}
HASHES = st.sampled_from([*GOOD.values(), GOOD["a.txt"].upper(), GOOD["a.txt"][:-1], "# note", "", "0" * 64])
LISTED = st.sampled_from(["a.txt", "./a.txt", "no newline", "conf/empty", "absent", "conf", "locked", "link", "", "-"])
LINES = st.one_of(
    st.builds("{} {}{}".format, HASHES, st.sampled_from([" ", "*", "", "  "]), LISTED),
    st.sampled_from(["", "nonsense", "a.txt", "\0", f"{GOOD['a.txt']}  a.txt\r", f"\\\\{GOOD['a.txt']}  a.txt"]),
)
LISTS = st.lists(LINES, max_size=5).flatmap(
    lambda rows: st.sampled_from(["\n".join(rows), "".join(f"{r}\n" for r in rows)])
)


@settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    listing=LISTS,
    more=st.sampled_from([["sums"], ["sums", "sums"], ["nothing", "sums"], ["sums", "absent"], ["-"], []]),
)
@example(listing="", more=["sums"])
@example(listing="\n", more=["sums"])
@example(listing="", more=[])
def test_any_list_of_checksums_is_judged_alike(bwrap_backend: Backend, listing: str, more: list[str]) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for box in (real, sim):
            box.seed({**FIXTURE, "sums": SeedFile(data=listing.encode()), "nothing": SeedFile(data=b"")})
        argv = ["sha256sum", "-c", *more]
        was, said = real.exec(argv, stdin=listing.encode()), sim.exec(argv, stdin=listing.encode())
        assert (said.rc, said.out_text, said.err_text) == (was.rc, was.out_text, was.err_text)


NAMES = st.sampled_from(
    [
        "a.txt",
        "b.csv",
        "conf",
        "conf/app.conf",
        "new",
        "new/deep",
        "link",
        "sealed",
        "sealed/in",
        "logs",
        "/etc/new",
        ".",
        "x y",
    ]
)
# Folders that lose their search permission altogether (chmod 0) are outside what the simulation promises: which of
# several texts a tool prints then depends on the order of its system calls.
STEPS = st.one_of(
    st.tuples(st.sampled_from([("cp",), ("cp", "-r"), ("mv",), ("ln", "-s"), ("ln",), ("cp", "-a")]), NAMES, NAMES),
    st.tuples(
        st.sampled_from(
            [("rm",), ("rm", "-r"), ("rm", "-rf"), ("mkdir",), ("mkdir", "-p"), ("rmdir",), ("touch",), ("cat",)]
            + [("chmod", mode) for mode in ("700", "u-w", "-R u+rwX".replace(" ", "\0"), "a+x", "500")]
            + [("ls", "-l"), ("sed", "-i", "s/a/b/"), ("test", "-w"), ("wc",), ("head", "-n", "1")]
        ),
        NAMES,
    ),
)


def words(step: tuple[tuple[str, ...], ...]) -> list[str]:
    head, *names = step
    return [word for part in head for word in part.split("\0")] + [str(name) for name in names]


@settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS.map(words), min_size=1, max_size=8))
def test_any_sequence_of_commands_ends_in_the_same_state(bwrap_backend: Backend, steps: list[list[str]]) -> None:
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        real.seed(FIXTURE)
        sim.seed(FIXTURE)
        for argv in steps:
            try:
                said = sim.exec(argv)
            except UsageError:
                return
            was = real.exec(argv)
            was_said = re.sub(r"(temp file '.*).{6}'", r"\1XXXXXX'", was.err_text)
            assert (said.rc, said.out_text, said.err_text) == (was.rc, was.out_text, was_said), argv
        assert real.snapshot().changes(sim.snapshot()) == ()


def test_disk_and_files_run_out(bwrap_backend: Backend) -> None:
    big = {"big": SeedFile(data=b"x" * (9 * 2**20))}
    with bwrap_backend.sandbox() as real, SimSandbox(Limits()) as sim:
        for box in (real, sim):
            box.seed(big)
            result = box.exec(["cp", "big", "second"])
            assert result.rc == 1
            assert "No space left on device" in result.err_text
        names = [f"f{number}" for number in range(4200)]
        for box in (real, sim):
            box.reset({})
            result = box.exec(["touch", *names])
            assert result.rc == 1
            assert "No space left on device" in result.err_text


@pytest.mark.parametrize(
    "argv",
    [["ls", "-i"], ["grep", "-A", "1", "x", "a"], ["sed", "y/a/b/", "a"], ["find", ".", "-delete"], ["stat", "a"]],
)
def test_what_the_simulation_lacks_is_an_error_not_an_answer(argv: list[str]) -> None:
    with SimSandbox(Limits()) as sim, pytest.raises(UsageError, match="lacks"):
        sim.exec(argv)


def test_every_simulated_tool_is_compared() -> None:
    compared = {shlex.split(line)[0] for line in COMMANDS} | {"tr", "tee", "sleep"}
    assert set(TOOLS) <= compared
