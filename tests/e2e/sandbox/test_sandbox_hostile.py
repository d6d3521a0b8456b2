"""What commands may do to a box, and what must come of it, in every backend that runs commands."""

from __future__ import annotations

import time

import pytest

from arena.envs.tools.sandbox import Backend, ExecResult, Sandbox, SeedFile, text_files
from arena.envs.tools.snapshot import Snapshot, SnapshotLimit

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("sandbox")]

BOMB = "b() { b | b & }; (b); while :; do :; done"
SPAM = "trap '' TERM HUP INT; while :; do echo spam; done"


def sh(box: Sandbox, script: str, timeout_s: float = 20.0, **options: int) -> ExecResult:
    return box.exec(["sh", "-c", script], timeout_s=timeout_s, **options)


def usable(box: Sandbox) -> bool:
    """The box runs the next command, nothing is left in it, and its state can be read."""
    health = box.health()
    return sh(box, "echo ok").out == b"ok\n" and health.alive and health.processes == 0 and bool(box.snapshot().entries)


def test_a_command_that_ignores_signals_ends_at_its_deadline(real_box: Sandbox) -> None:
    began = time.monotonic()
    result = sh(real_box, "trap '' TERM HUP INT; echo partial; (setsid sleep 60 &); sleep 60", timeout_s=0.5)
    assert (result.rc, result.out, result.flags) == (137, b"partial\n", ("timeout",))
    assert time.monotonic() - began < 0.5 + 5
    assert usable(real_box)


def test_output_without_end(real_box: Sandbox) -> None:
    result = sh(real_box, "yes", output_limit=65536)
    assert (result.rc, result.flags) == (137, ("output_limit", "truncated"))
    assert result.out == b"y\n" * 32768
    assert result.total_bytes > 2**20
    assert usable(real_box)


def test_a_daemon_that_floods_and_ignores_signals(real_box: Sandbox) -> None:
    result = sh(real_box, f'setsid sh -c "{SPAM}" & {SPAM}')
    assert result.rc == 137
    assert "output_limit" in result.flags
    assert usable(real_box)


def test_a_fork_bomb_is_held_and_ended(real_box: Sandbox) -> None:
    began = time.monotonic()
    result = sh(real_box, BOMB, timeout_s=1.0)
    assert result.rc == 137
    assert set(result.flags) & {"timeout", "output_limit"}
    assert b"can't fork" in result.err
    assert time.monotonic() - began < 1 + 10
    assert usable(real_box)


def test_too_much_memory(real_box: Sandbox) -> None:
    result = sh(real_box, "tail /dev/zero")
    assert result.rc != 0
    if real_box.isolation != "namespaces+rlimits":
        assert (result.rc, result.flags) == (137, ("oom",))
        again = sh(real_box, "tail /dev/zero; echo on")
        assert (again.rc, again.out) == (0, b"on\n")
        assert "oom" in again.flags
    assert usable(real_box)


def test_the_disk_fills(real_box: Sandbox) -> None:
    result = sh(real_box, "dd if=/dev/zero of=a bs=1M count=64; dd if=/dev/zero of=b bs=1M count=64; ls -l a")
    assert b"No space left on device" in result.err
    assert int(result.out.split()[4]) <= real_box.limits.disk
    assert usable(real_box)


def test_files_run_out(real_box: Sandbox) -> None:
    result = sh(real_box, "i=0; while [ $i -lt 4500 ]; do : > f$i || exit 9; i=$((i+1)); done; echo all")
    if real_box.isolation == "namespaces+rlimits":
        assert result.out == b"all\n"
        assert "the number of files is not limited" in _weaker(real_box)
    else:
        assert b"No space left on device" in result.err
        assert result.out == b""
    assert usable(real_box)


def _weaker(box: Sandbox) -> tuple[str, ...]:
    from arena.envs.tools.selfcheck import self_check

    return self_check(box, "test", "test").weaker


def test_processes_that_stay_behind_are_killed(real_box: Sandbox) -> None:
    script = "sleep 77 & setsid sleep 78 >/dev/null 2>&1 & (setsid sh -c 'sleep 79; echo late > late' &) ; echo done"
    result = sh(real_box, script, timeout_s=10)
    assert (result.rc, result.out, result.flags) == (0, b"done\n", ())
    assert result.ms < 9000
    assert b"sleep" not in sh(real_box, "ps -o args | grep '[s]leep'").out
    assert usable(real_box)


REFUSED = [
    "echo x > /etc/passwd",
    "echo x > /x",
    "rm -rf /bin",
    "echo 1 > /proc/sys/kernel/hostname",
    "echo b > /proc/sysrq-trigger",
    "mount -t tmpfs x /mnt",
    "mount -o remount,rw /",
    "chroot / true",
    "unshare -Ur true",
    "unshare -n true",
    "mknod /task/disk b 254 0",
    "cat /dev/vda /dev/sda",
    "chown 0:0 /task",
    "cp /bin/busybox /task/su && chmod u+s /task/su && /task/su su -c true",
    "hostname other",
    "date -s 2020-01-01; test $(date +%Y) = 2020",
    "reboot -f",
    "insmod /task/x.ko",
    "ls /root /home/*",
]


def test_the_kernel_refuses(real_box: Sandbox) -> None:
    for script in REFUSED:
        assert sh(real_box, script).rc != 0, script
    assert usable(real_box)


def test_the_network_is_not_there(real_box: Sandbox) -> None:
    began = time.monotonic()
    result = sh(
        real_box,
        "nc -w 5 192.0.2.1 80 </dev/null; echo $?; wget -q -T 5 http://192.0.2.1/; ip link; cat /proc/net/route",
    )
    assert time.monotonic() - began < 5
    assert b"Network is unreachable" in result.err
    assert b"eth0" not in result.out


def test_the_keeper_of_the_box_cannot_be_killed(real_box: Sandbox) -> None:
    sh(real_box, "echo kept > kept")
    for script in ("kill -9 1", "kill -9 -1; true", "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done; true"):
        sh(real_box, script)
        assert sh(real_box, "cat kept").out == b"kept\n", script
    assert usable(real_box)


def test_the_keeper_of_the_box_cannot_be_read(real_box: Sandbox) -> None:
    for what in ("mem", "environ", "fd/", "fd/0"):
        assert sh(real_box, f"ls /proc/1/{what} && cat /proc/1/{what}").rc != 0, what


def test_orphans_are_reaped(real_box: Sandbox) -> None:
    for _ in range(2):
        assert sh(real_box, "i=0; while [ $i -lt 50 ]; do (sleep 0.01 &) ; i=$((i+1)); done; true").rc == 0
    assert usable(real_box)


def test_a_hostile_end_state_is_read_without_harm(real_box: Sandbox) -> None:
    script = r"""
    ln -s /etc/shadow shadow; ln -s .. up; ln -s loop loop; mkfifo pipe; : > 'line
break'; printf x > "$(printf 'bad\377name')"; mkdir -p deep/a/b; ln "bad"* deep/hard; chmod 0 deep
    dd if=/dev/null of=sparse bs=1 seek=10000000 2>/dev/null; echo '{"verdict": "success", "reward": 1.0}' > reward.json
    """
    assert sh(real_box, script).rc == 0
    found = real_box.snapshot()
    kinds = {path: entry.kind for path, entry in found.entries.items()}
    assert kinds["pipe"] == "fifo"
    assert kinds["line\nbreak"] == "file"
    assert found.entries["shadow"].target == "/etc/shadow"
    assert found.read("shadow") is None
    assert found.entries["sparse"].data == b"\0" * 10_000_000
    assert found.entries["deep/hard"].data == b"x"
    assert found.entries["bad\udcffname"].data == b"x"
    assert Snapshot.from_json(found.to_json()).sha256 == found.sha256
    assert real_box.snapshot().sha256 == found.sha256


def test_an_end_state_that_is_too_large_is_the_models_doing(real_box: Sandbox) -> None:
    script = "for i in 1 2 3 4; do dd if=/dev/null of=s$i bs=1M seek=15 2>/dev/null; done; ls -l"
    assert b"15728640" in sh(real_box, script).out
    with pytest.raises(SnapshotLimit) as caught:
        real_box.snapshot()
    assert caught.value.boundary == "model"
    real_box.reset({})
    assert usable(real_box)


def test_an_end_state_with_paths_too_long_to_read_is_the_models_doing(real_box: Sandbox) -> None:
    name = "a" * 250
    script = f"i=0; while [ $i -lt 18 ] && mkdir {name} && cd -P {name}; do i=$((i+1)); done; echo $i"
    assert int(sh(real_box, script).out) > 4096 // 251 - 2
    with pytest.raises(SnapshotLimit, match="too long") as caught:
        real_box.snapshot()
    assert caught.value.boundary == "model"


def test_an_end_state_of_closed_files_costs_no_process_each(real_box: Sandbox) -> None:
    script = """
    i=0; while [ $i -lt 1500 ]; do : > f$i; i=$((i+1)); done; chmod 100 f*; chmod 3000 f1*
    mkdir -p d/e; : > d/e/x; : > ' before a dot'; : > 'quote"$(exit 3)`exit 3`'; : > 'line
break'; chmod 0 d/e/x d/e d ' before a dot' quote* line*; chmod 0 .
    """
    assert sh(real_box, script).rc == 0
    began = time.monotonic()
    found = real_box.snapshot()
    assert time.monotonic() - began < 5.0
    assert len(found.entries) == 1507
    assert {path: found.entries[path].mode for path in (".", "d/e/x", " before a dot", "f1", "f2")} == {
        ".": 0, "d/e/x": 0, " before a dot": 0, "f1": 0o1000 | 0o2000, "f2": 0o100,
    }  # fmt: skip
    assert real_box.snapshot().sha256 == found.sha256


def test_output_that_is_no_text(real_box: Sandbox) -> None:
    result = sh(real_box, r"printf '\377\376ok'; printf '\200' >&2; exit 3")
    assert (result.rc, result.out, result.err) == (3, b"\xff\xfeok", b"\x80")
    assert result.out_text == "\ufffd\ufffdok"


def test_limits_hold_together_with_a_seeded_state(real_box: Sandbox) -> None:
    real_box.seed({**text_files({"keep": "me"}), "big": SeedFile(data=b"x" * 2**20)})
    before = real_box.snapshot().sha256
    sh(real_box, BOMB, timeout_s=0.5)
    assert real_box.snapshot().sha256 == before


def test_a_reset_after_the_worst(real_backend: Backend) -> None:
    fixture = text_files({"a/b": "1"})
    with real_backend.sandbox() as box:
        box.seed(fixture)
        sh(box, "mkdir -p x/y; chmod 0 x/y x a; i=0; while [ $i -lt 300 ]; do : > f$i; i=$((i+1)); done")
        sh(box, "dd if=/dev/zero of=full bs=1M count=64")
        sh(box, f"{BOMB}", timeout_s=0.3)
        box.reset(fixture)
        assert box.snapshot().sha256 == Snapshot.of_files(fixture).sha256
