"""The pool: reuse of boxes, and episodes in a row that leave nothing behind."""

from __future__ import annotations

import os

import pytest
from sandbox_traces import containers_of, processes_of, within

from arena.envs.tools import gc, owner
from arena.envs.tools.backends import (
    BwrapBackend,
)
from arena.envs.tools.engine import DockerBackend
from arena.envs.tools.image import verify
from arena.envs.tools.pool import ResetWarning, SandboxPool
from arena.envs.tools.sandbox import Backend, text_files

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("sandbox")]


FIXTURE = text_files({"a": "1", "b/c": "2"})


def test_a_pool_reuses_clean_boxes(real_backend: Backend) -> None:
    with SandboxPool(real_backend, size=1) as pool:
        seen = set()
        for _ in range(4):
            with pool.box(FIXTURE) as box:
                seen.add(id(box))
                assert box.exec(["ls"]).out == b"a\nb\n"
                box.exec(["rm", "a"])
        assert len(seen) == 1
        assert (pool.created, pool.reused, pool.discarded) == (1, 3, 0)
    assert pool.discarded == 1


def test_a_pool_without_size_gives_fresh_boxes(bwrap_backend: Backend) -> None:
    pool = SandboxPool(bwrap_backend)
    for _ in range(2):
        with pool.box(FIXTURE) as box:
            assert box.exec(["cat", "a"]).out == b"1"
    assert (pool.created, pool.reused, pool.discarded) == (2, 0, 2)


def test_a_pool_replaces_a_box_that_did_not_come_back(real_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with SandboxPool(real_backend, size=1) as pool:
        with pool.box(FIXTURE) as first:
            pass
        real = first.reset
        monkeypatch.setattr(first, "reset", lambda files: (real(files), first.exec(["touch", "dirt"])))
        lease = pool.box(FIXTURE)
        with pytest.warns(ResetWarning, match=r"dirt \(added\)"):
            second = lease.__enter__()
        assert second is not first
        assert second.exec(["ls"]).out == b"a\nb\n"
        lease.__exit__(None, None, None)
        assert not first.health().alive


def test_a_pool_retires_boxes(bwrap_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.envs.tools.pool.MAX_USES", 5)
    with SandboxPool(bwrap_backend, size=1) as pool:
        with pool.box(FIXTURE) as box:
            assert box.exec(["sleep", "9"], timeout_s=0.1).flags == ("timeout",)
        assert pool.discarded == 1
        with pytest.raises(KeyError), pool.box(FIXTURE):
            raise KeyError
        assert pool.discarded == 2
        for _ in range(5 + 1):
            with pool.box(FIXTURE):
                pass
        assert (pool.created, pool.discarded) == (4, 3)


def test_many_episodes_leave_nothing(bwrap_backend: BwrapBackend, docker_backend: DockerBackend) -> None:
    mine = f"{gc.LABEL_OWNER}={owner.tag()}"
    before = set(containers_of(docker_backend, mine))
    with SandboxPool(bwrap_backend) as fresh, SandboxPool(docker_backend, size=2) as pooled:
        for pool, episodes in ((fresh, 60), (pooled, 10)):
            ends = set()
            for _ in range(episodes):
                with pool.box(FIXTURE) as box:
                    box.exec(["cp", "a", "d"])
                    box.exec(["grep", "-r", "2", "."])
                    ends.add(box.snapshot().sha256)
            assert len(ends) == 1
    assert within(5, lambda: set(containers_of(docker_backend, mine)) <= before)
    assert within(2, lambda: not processes_of(os.getpid()))
    verify.cache_clear()
    verify(bwrap_backend.image)
