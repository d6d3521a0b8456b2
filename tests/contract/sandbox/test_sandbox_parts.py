"""The parts of the sandbox that need no engine: streams, filters, counters, labels, checks on made-up data."""

from __future__ import annotations

import os
import platform
import re
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_engines import missing

from arena.envs.tools import cgroups, docker_exec, gc, owner, seccomp
from arena.envs.tools.sandbox import Limits, text_files
from arena.envs.tools.selfcheck import parse, problems
from arena.envs.tools.sim import SimSandbox
from arena.envs.tools.streams import Capture
from arena.errors import MissingNeed

# --- streams ---------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(parts=st.lists(st.tuples(st.binary(max_size=30), st.booleans()), max_size=20), keep=st.integers(0, 60))
def test_a_capture_keeps_heads_and_counts_all(parts: list[tuple[bytes, bool]], keep: int) -> None:
    capture = Capture(keep, 100)
    for data, error in parts:
        capture.feed(data, error=error)
    out = b"".join(data for data, error in parts if not error)
    err = b"".join(data for data, error in parts if error)
    assert (bytes(capture.out), bytes(capture.err)) == (out[:keep], err[:keep])
    assert capture.total == len(out) + len(err)
    assert capture.dropped == (len(out) > keep or len(err) > keep)
    assert capture.flooded == (capture.total > 100)


@settings(deadline=None)
@given(
    parts=st.lists(st.tuples(st.binary(max_size=30), st.sampled_from([1, 2])), max_size=10),
    sizes=st.lists(st.integers(1, 25), min_size=1),
)
def test_the_engines_frames_may_come_in_any_split(parts: list[tuple[bytes, int]], sizes: list[int]) -> None:
    wire = b"".join(bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for data, number in parts)
    capture = Capture(1000, 1000)
    frames = docker_exec.Frames(capture)
    index = 0
    while wire:
        size = sizes[index % len(sizes)]
        index += 1
        frames.feed(wire[:size])
        wire = wire[size:]
    assert bytes(capture.out) == b"".join(data for data, number in parts if number == 1)
    assert bytes(capture.err) == b"".join(data for data, number in parts if number == 2)


def test_output_that_came_with_the_response_header_is_not_lost() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b"HTTP/1.1 101 UPGRADED\r\n\r\n" + b"early output")
    reader = ours.makefile("rb")
    assert [reader.readline(), reader.readline()] == [b"HTTP/1.1 101 UPGRADED\r\n", b"\r\n"]

    class Raw:
        """The shape in which the SDK hands out a connection."""

        _sock = ours

        class _response:
            class raw:
                class _fp:
                    fp = reader

            @staticmethod
            def close() -> None:
                """Nothing more to close."""

        @staticmethod
        def close() -> None:
            """Nothing more to close."""

    stream = docker_exec.Stream(Raw())
    assert stream.read() == b"early output"
    assert stream.read() is None
    theirs.close()
    assert stream.read() == b""
    stream.close()
    reader.close()


# --- the system-call filter ------------------------------------------------------------------------------


HEADERS = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}
"""Where Debian's linux-libc-dev keeps the numbers; aarch64 has the generic ones, which come with every machine's."""


@pytest.mark.engine
@pytest.mark.parametrize("machine", HEADERS)
def test_call_numbers_are_the_kernels(machine: str) -> None:
    header = Path("/usr/include", HEADERS[machine])
    if machine == "x86_64" and platform.machine() != machine:
        pytest.skip("another machine's headers: its own tests hold its numbers against them")
    if not header.exists():
        missing("kernel headers are not installed (apt-get install linux-libc-dev)")
    known = {n: int(v) for n, v in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())}
    for name, number in seccomp.DENIED[machine].items():
        assert known[name] == number, name
    assert (known["clone"], known["clone3"]) == (seccomp.CLONE[machine], seccomp.CLONE3)


def run_filter(program: bytes, arch: int, number: int, first: int = 0) -> int:
    """The verdict of a filter on one call: a small machine for the five instructions it is made of."""
    import struct

    code = [struct.unpack_from("=HBBI", program, place) for place in range(0, len(program), 8)]
    data = {0: number, 4: arch, 16: first}
    value = at = 0
    while True:
        what, yes, no, operand = code[at]
        at += 1
        if what == 0x20:
            value = data[operand]
        elif what == 0x06:
            return int(operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[what]
            at += yes if holds else no


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_it_lists_and_nothing_else(machine: str) -> None:
    program = seccomp.program(machine)
    arch = seccomp.AUDIT_ARCH[machine]
    allow, refuse, absent = 0x7FFF0000, 0x00050001, 0x00050026
    listed = set(seccomp.DENIED[machine].values())
    for number in range(460):
        expected = refuse if number in listed else absent if number == seccomp.CLONE3 else allow
        assert run_filter(program, arch, number) == expected, number
    assert run_filter(program, arch, seccomp.CLONE[machine], 0x11) == allow
    for flag in (0x20000, 0x02000000, 0x10000000, 0x40000000):
        assert run_filter(program, arch, seccomp.CLONE[machine], flag | 0x11) == refuse
    assert run_filter(program, 0x40000003, 1) == 0x80000000
    assert run_filter(program, arch, 0x40000000 + 1) == refuse


def test_an_unknown_machine_gets_no_box() -> None:
    with pytest.raises(MissingNeed, match="riscv64"):
        seccomp.program("riscv64")


# --- control groups on files that look like the kernel's -------------------------------------------------


@pytest.fixture
def hierarchy_v2(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    return tmp_path


def test_hierarchy_v2(hierarchy_v2: Path) -> None:
    assert cgroups.version(hierarchy_v2) == 2
    group = cgroups.create(Limits(cpus=0.5), hierarchy_v2)
    (folder,) = group.folders
    assert (hierarchy_v2 / "cgroup.subtree_control").read_text() == "+pids +memory +cpu"
    assert (folder / "cpu.max").read_text() == "50000 100000"
    assert group.limits_read_back() == ("64", str(128 * 2**20))
    assert group.joins == [str(folder / "cgroup.procs")]
    assert group.oom_kills == 0
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 11\noom 2\noom_kill 2\noom_group_kill 0\n")
    assert group.oom_kills == 2
    assert folder.name.startswith(f"arena-{os.getpid()}-")


def test_a_hierarchy_without_the_controllers_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu io\n")
    assert cgroups.version(tmp_path) is None
    with pytest.raises(PermissionError):
        cgroups.create(Limits(), tmp_path)


def test_counters_of_a_container_on_either_hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "c" * 64
    monkeypatch.setattr(owner, "PROC", tmp_path / "proc")
    (tmp_path / "proc/7").mkdir(parents=True)
    v2 = tmp_path / "v2" / "system.slice" / f"docker-{name}.scope"
    v2.mkdir(parents=True)
    (v2 / "cgroup.procs").write_text("7\n9\n")
    (v2 / "memory.events").write_text("oom_kill 3\n")
    (tmp_path / "proc/7/cgroup").write_text(f"0::/system.slice/docker-{name}.scope\n")
    found = cgroups.of_container(7, name, tmp_path / "v2")
    assert found is not None
    assert (found.oom_kills, found.processes()) == (3, [7, 9])
    for controller in ("pids", "memory"):
        (tmp_path / "v1" / controller / "docker" / name).mkdir(parents=True)
        (tmp_path / "v1" / controller / "docker" / name / "cgroup.procs").write_text("7\n")
    (tmp_path / "v1/memory/docker" / name / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    (tmp_path / "proc/7/cgroup").write_text(f"5:memory:/docker/{name}\n4:pids:/docker/{name}\n0::/\n")
    found = cgroups.of_container(7, name, tmp_path / "v1")
    assert found is not None
    assert (found.oom_kills, found.processes()) == (1, [7])
    assert cgroups.of_container(7, "another", tmp_path / "v1") is None
    assert cgroups.of_container(8, name, tmp_path / "v1") is None


# --- owners and labels -----------------------------------------------------------------------------------


def test_owners() -> None:
    assert owner.alive(owner.tag())
    assert not owner.alive(f"{os.getpid()}-1")
    assert not owner.alive("4194303-77")
    assert owner.alive("garbage")
    assert os.getpid() in owner.children(os.getppid())


def test_only_what_is_ours_and_dead_is_abandoned() -> None:
    mine = gc.labels("box")
    now = time.time()
    dead = {**mine, gc.LABEL_OWNER: "4194303-77"}
    assert gc.abandoned(mine, now) == ""
    assert gc.abandoned({}, now + 10**9) == ""
    assert gc.abandoned({"other": "label"}, now) == ""
    assert "dead" in gc.abandoned(dead, now)
    assert gc.abandoned({**dead, gc.LABEL_HOST: "another"}, now) == ""
    assert "deadline" in gc.abandoned({**dead, gc.LABEL_HOST: "another"}, now + gc.MAX_AGE_S + 10)
    assert gc.abandoned({**dead, gc.LABEL_HOST: "another", gc.LABEL_DEADLINE: "soon"}, now + 10**9) == ""


# --- the self-check --------------------------------------------------------------------------------------

GOOD = """
uid=1000
gid=1000
CapInh=0000000000000000
CapPrm=0000000000000000
CapEff=0000000000000000
CapBnd=0000000000000000
CapAmb=0000000000000000
NoNewPrivs=1
Seccomp=2
task=writable
scratch=writable
interface=lo
routes=0
network=unreachable
pids=64
memory=134217728
rlimit_nproc=64
rlimit_as_kib=131072
nofile=256
core=0
disk=16777216
inodes=4096
"""


@pytest.mark.parametrize("isolation", ["container", "namespaces+cgroup", "namespaces+rlimits"])
def test_a_box_as_asked_for_has_no_problems(isolation: str) -> None:
    assert problems(parse(GOOD), Limits(), isolation) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"pids": "max"}, "pids limit is max, asked for 64: it is not enforced"),
        ({"pids": None}, "pids limit is absent"),
        ({"memory": "9223372036854771712"}, "memory limit is 9223372036854771712"),
        ({"memory": "268435456"}, "memory limit is 268435456, asked for 134217728"),
        ({"inodes": "0"}, ""),
        ({"inodes": "500000"}, "inodes limit"),
        ({"disk": "8000000000"}, "disk limit"),
        ({"task": None}, "task is absent, expected writable"),
        ({"uid": "0"}, "uid is 0, expected 1000"),
        ({"CapEff": "00000000a80425fb"}, "CapEff"),
        ({"NoNewPrivs": "0"}, "NoNewPrivs"),
        ({"Seccomp": "0"}, "Seccomp is 0"),
        ({"interface": "lo,eth0"}, "interface is lo,eth0"),
        ({"routes": "2"}, "routes"),
        ({"network": "reachable"}, "network is reachable"),
        ({"writable": "/etc,/usr"}, "writable outside the work folder: /etc,/usr"),
        ({"namespaces": "allowed"}, "user namespaces"),
        ({"core": "unlimited"}, "core"),
    ],
)
def test_an_engine_that_drops_a_setting_is_found_out(change: dict[str, str | None], complaint: str) -> None:
    facts = {key: value for key, value in {**parse(GOOD), **change}.items() if value is not None}
    found = problems(facts, Limits(), "container")
    if complaint:
        assert any(complaint in sentence for sentence in found), found
    else:
        assert found == ()


def test_facts_that_come_twice_are_collected() -> None:
    assert parse("interface=lo\nnoise\ninterface=eth0\nempty=\n") == {"interface": "lo,eth0", "empty": ""}


# --- speed -----------------------------------------------------------------------------------------------


def test_the_simulation_is_fast() -> None:
    files = text_files({f"d{i}/f{i}": "line\n" * 20 for i in range(20)})
    commands = [["cat", "d1/f1"], ["grep", "-r", "x", "d2"], ["cp", "d3/f3", "copy"], ["ls", "-l"], ["wc", "d4/f4"]]
    with SimSandbox(Limits()) as box:
        box.seed(files)
        rates = []
        for _ in range(5):
            began = time.process_time()
            for number in range(500):
                box.exec(commands[number % len(commands)])
            rates.append(500 / (time.process_time() - began))
    assert max(rates) >= 5000, f"{rates} steps per second of processor time"
