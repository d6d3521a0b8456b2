"""A system-call filter for bubblewrap, as a raw BPF program; Docker brings its own.

A denylist of calls that no tool of a task needs and that have opened kernels before: mounts, namespaces,
tracing, keys, modules, BPF, io_uring. They fail with EPERM; ``clone3`` fails with ENOSYS, so that C
libraries fall back to ``clone``, whose flags can be read. Another architecture than the table's is killed.
"""

from __future__ import annotations

import errno
import platform
import struct

from arena.errors import MissingNeed

_LOAD, _JUMP_EQ, _JUMP_SET, _JUMP_GE, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARG0 = 0, 4, 16
_X32 = 0x40000000
NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435

SHARED = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
}
_OWN_NUMBERS: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "kcmp": (312, 272),
    "vhangup": (153, 58),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
"""Call -> its number on x86_64 and on aarch64."""
DENIED: dict[str, dict[str, int]] = {
    machine: {name: numbers[column] for name, numbers in _OWN_NUMBERS.items()} | SHARED
    for column, machine in enumerate(("x86_64", "aarch64"))
}


def program(machine: str | None = None) -> bytes:
    """The filter for ``machine`` (default: this one) as the kernel's array of ``struct sock_filter``.

    Raises:
        MissingNeed: no table for this architecture.
    """
    machine = machine or platform.machine()
    if machine not in DENIED:
        raise MissingNeed(
            f"no system-call filter for {machine} (known: {', '.join(DENIED)}), and no box runs without one",
            hint="use --sandbox docker",
        )
    refuse = _ERRNO | errno.EPERM
    code = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQ, 1, 0, AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
        (_JUMP_GE, 0, 1, _X32),
        (_RETURN, 0, 0, refuse),
        (_JUMP_EQ, 0, 1, CLONE3),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]
    for number in sorted(DENIED[machine].values()):
        code += [(_JUMP_EQ, 0, 1, number), (_RETURN, 0, 0, refuse)]
    code += [
        (_JUMP_EQ, 0, 3, CLONE[machine]),
        (_LOAD, 0, 0, _ARG0),
        (_JUMP_SET, 0, 1, NEW_NAMESPACES),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in code)
