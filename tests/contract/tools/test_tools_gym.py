"""A tools task as a Gymnasium environment: the checker has nothing to say, and truncation is no termination."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import arena.envs  # noqa: F401  (registers)
from arena.envs.tools.task import read_task
from arena.run.freeze_tools import FOLDER

NAME = "arena/tools-sandbox-v1"
EPISODE = FOLDER / "flaky-t4-01.json"


def test_check_env_has_nothing_to_say() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = gymnasium.make(NAME, episode=str(EPISODE), sandbox="sim")
        check_env(env.unwrapped)
        env.close()
    assert [str(warning.message) for warning in caught] == []


def test_the_oracle_returns_one_and_too_many_steps_only_truncate() -> None:
    task, _ = read_task(EPISODE)
    env = gymnasium.make(NAME, episode=str(EPISODE), sandbox="sim")
    _, info = env.reset()
    total = 0.0
    for key in task.oracles[0]:
        _, reward, terminated, truncated, last = env.step(np.int64(info["keys"].index(key)))
        total += float(reward)
    assert (terminated, truncated, last["claimed"]) == (True, False, "done")
    assert abs(total - 1.0) < 1e-9
    env.reset()
    for number in range(task.max_steps):
        _, _, terminated, truncated, last = env.step(np.int64(info["keys"].index("show_installed")))
        assert not terminated
        assert truncated is (number + 1 == task.max_steps)
    assert last["claimed"] is None
    env.close()
