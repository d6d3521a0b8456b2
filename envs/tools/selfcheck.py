"""The start-up self-check: what a box really enforces, read from inside it, as a frozen record.

``facts`` runs one script as a command of the model would run; ``problems`` compares what it saw with what
was asked for. Engines accept settings and drop them silently (podman's Docker API ignores tmpfs options,
rootless engines ignore limits), so nothing is believed that was not read back. The record goes into every
result; a box with problems is not handed out.
"""

from __future__ import annotations

from collections.abc import Mapping

from arena.envs.tools.sandbox import AGENT_UID, Isolation, Kind, Limits, Sandbox, SandboxFailure
from arena.types import Frozen

UNLIMITED = ("max", "unlimited", "absent", "")
V1_NO_LIMIT = 2**62
"""Hierarchy v1 writes "no memory limit" as a number near 2^63."""

PROBE = r"""
say() { echo "$1=$2"; }
say uid "$(id -u)"; say gid "$(id -g)"
while read -r key value; do case $key in
  CapInh:|CapPrm:|CapEff:|CapBnd:|CapAmb:|NoNewPrivs:|Seccomp:) say "${key%:}" "$value";;
esac; done < /proc/self/status
for folder in / /bin /etc /usr /dev /dev/shm /sys /proc/sys/kernel /sys/fs/cgroup /var /run /home; do
  [ -d "$folder" ] && (: > "$folder/.arena-probe") 2>/dev/null && say writable "$folder"
done
(echo x > /task/.arena-probe && rm /task/.arena-probe) 2>/dev/null && say task writable
(: > /tmp/.arena-probe && rm /tmp/.arena-probe) 2>/dev/null && say scratch writable
while read -r name rest; do case $name in *:*) say interface "${name%%:*}";; esac; done < /proc/net/dev
say routes "$(($(wc -l < /proc/net/route) - 1))"
if nc -w 2 192.0.2.1 9 </dev/null >/dev/null 2>&1; then say network reachable; else say network unreachable; fi
unshare -r true 2>/dev/null && say namespaces allowed
for file in /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max; do
  [ -r $file ] && say pids "$(cat $file)"; done
for file in /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max; do
  [ -r $file ] && say memory "$(cat $file)"; done
say rlimit_nproc "$(ulimit -u 2>/dev/null || ulimit -p)"; say rlimit_as_kib "$(ulimit -v)"
say nofile "$(ulimit -n)"; say core "$(ulimit -c)"
set -- $(stat -f -c '%S %b %c' /task); say disk "$(($1 * $2))"; say inodes "$3"
"""


class SelfCheck(Frozen):
    """What a fresh box of a backend enforces.

    ``image``: sha256 of the image's tar, empty for ``simulated``. ``facts``: key -> value as read from inside
    (``pids`` and ``memory`` may come from the host's control group where the box cannot see it).
    ``problems``: what differs from what was asked for; empty, or the backend refuses.
    ``weaker``: limits that this kind of isolation cannot give here, as sentences.
    """

    kind: Kind
    isolation: Isolation
    engine: str
    image: str
    facts: dict[str, str]
    problems: tuple[str, ...]
    weaker: tuple[str, ...] = ()


def parse(output: str) -> dict[str, str]:
    """Read ``key=value`` lines; a key that comes several times collects its values with commas."""
    facts: dict[str, str] = {}
    for line in output.splitlines():
        key, found, value = line.partition("=")
        if found:
            facts[key] = f"{facts[key]},{value}" if key in facts else value
    return facts


def facts(box: Sandbox) -> dict[str, str]:
    """Run the probe in a started box.

    Raises:
        SandboxFailure: the probe did not run.
    """
    result = box.exec(["sh", "-c", PROBE], timeout_s=30)
    if result.rc != 0 or result.flags:
        raise SandboxFailure("start", f"self-check ended with rc {result.rc} {result.flags}: {result.err_text[:500]}")
    return parse(result.out_text)


def _limit(facts: Mapping[str, str], key: str, wanted: int) -> list[str]:
    found = facts.get(key, "absent")
    if found in UNLIMITED or (found.isdigit() and int(found) >= V1_NO_LIMIT):
        return [f"{key} limit is {found or 'empty'}, asked for {wanted}: it is not enforced"]
    if not found.isdigit() or int(found) > wanted:
        return [f"{key} limit is {found}, asked for {wanted}"]
    return []


def problems(facts: Mapping[str, str], limits: Limits, isolation: Isolation) -> tuple[str, ...]:
    """What a probe saw that must not be, as sentences; empty when all is as asked for."""
    expected = {
        "uid": str(AGENT_UID),
        "gid": str(AGENT_UID),
        **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0" * 16),
        "NoNewPrivs": "1",
        "Seccomp": "2",
        "task": "writable",
        "scratch": "writable",
        "interface": "lo",
        "routes": "0",
        "network": "unreachable",
        "core": "0",
    }
    found = [
        f"{key} is {facts.get(key, 'absent')}, expected {value}"
        for key, value in expected.items()
        if facts.get(key) != value
    ]
    if "writable" in facts:
        found.append(f"writable outside the work folder: {facts['writable']}")
    if "namespaces" in facts:
        found.append("a command may make user namespaces")
    numbers = {"nofile": limits.nofile, "disk": limits.disk}
    if isolation == "namespaces+rlimits":
        numbers |= {"rlimit_nproc": limits.pids, "rlimit_as_kib": limits.memory // 1024}
    else:
        numbers |= {"pids": limits.pids, "memory": limits.memory, "inodes": limits.inodes}
    for key, wanted in numbers.items():
        found += _limit(facts, key, wanted)
    return tuple(found)


RLIMITS_WEAKER = (
    "memory is limited per process, not per box",
    "the number of files is not limited",
    "processor time is not limited",
    "kills for memory are not reported",
)


def self_check(box: Sandbox, engine: str, image: str, outside: Mapping[str, str] | None = None) -> SelfCheck:
    """Check a started box. ``outside``: facts that only the host can read, e.g. the control group's limits."""
    seen = {**facts(box), **(outside or {})}
    return SelfCheck(
        kind=box.kind,
        isolation=box.isolation,
        engine=engine,
        image=image,
        facts=seen,
        problems=problems(seen, box.limits, box.isolation),
        weaker=RLIMITS_WEAKER if box.isolation == "namespaces+rlimits" else (),
    )
