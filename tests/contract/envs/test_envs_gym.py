"""The Gymnasium environment: its checker has nothing to say, and it plays what the session plays."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import arena.envs
from arena.envs.gym import DecisionEnv, Unicode, shipped_episode
from arena.envs.web import open_environment
from arena.errors import UsageError
from arena.types import MAX_OPTIONS

NAME = "arena/web-replay-v1"


def test_check_env_has_nothing_to_say() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = gymnasium.make(NAME)
        check_env(env.unwrapped)
        env.close()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_check_env_has_nothing_to_say_of_the_browser_either() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = gymnasium.make(NAME, backend="browser", mode="free")
        check_env(env.unwrapped, skip_render_check=True)
        env.close()
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("first", ["import arena.envs, gymnasium", "import gymnasium, arena.envs", "import gymnasium"])
def test_registered_whichever_import_comes_first(first: str) -> None:
    name = NAME if "arena" in first else f"arena.envs:{NAME}"
    code = f"{first}\nenv = gymnasium.make({name!r}); env.reset(); env.close(); print('made')"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "made\n", done.stderr


def test_importing_the_environments_imports_neither_gymnasium_nor_a_driver() -> None:
    code = "import sys, arena.envs; print({'gymnasium', 'playwright', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def _gold() -> list[set[str]]:
    recorded = open_environment(mode="teacher", backend="graph").recorded(shipped_episode())
    return [set(map(str, turn.golds["action"].accepted)) for turn in recorded if turn.golds["action"]]


def test_the_gold_walk_returns_one() -> None:
    env = gymnasium.make(NAME)
    _, info = env.reset(seed=5)
    total, over = 0.0, False
    for gold in _gold():
        assert not over
        index = next(n for n, key in enumerate(info["keys"]) if key in gold)
        _, reward, terminated, truncated, info = env.step(np.int64(index))
        total += float(reward)
        over = terminated or truncated
    assert over
    assert total == pytest.approx(1.0)
    assert info["claimed"] in ("done", "blocked")
    assert info["end_state"]["final"]
    env.close()


def test_an_index_without_an_option_is_wrong_and_ends_nothing() -> None:
    env = DecisionEnv()
    observation, info = env.reset()
    assert observation["action_mask"].sum() == len(info["keys"]) == len(observation["options"])
    assert observation in env.observation_space
    _, reward, terminated, truncated, _ = env.step(np.int64(MAX_OPTIONS - 1))
    assert (reward, terminated, truncated) == (0.0, False, False)
    env.close()
    env.close()
    with pytest.raises(UsageError, match="closed"):
        env.reset()


def test_stepping_after_the_end_says_so() -> None:
    env = DecisionEnv()
    env.reset()
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(np.int64(0))
        over = terminated or truncated
    with pytest.raises(UsageError, match="reset"):
        env.step(np.int64(0))
    env.close()


def test_text_of_any_script_is_in_the_space() -> None:
    space = Unicode(5, seed=1)
    assert "价格€" in space
    assert "too long" not in space
    assert 3 not in space
    assert all(space.sample() in space for _ in range(50))
    assert space == Unicode(5)
    assert "web/replay-v1" in arena.envs.ENVS
