"""Any arena session as a Gymnasium environment: observe a state and its options, act by option index.

``gymnasium.make("arena/web-replay-v1", episode=PATH)``. The default follows the baked walk without a browser
(``backend="graph"``, ``mode="teacher"``); ``backend="browser", mode="free"`` acts on the live page. The reward of a
step is 1 / (gold steps) for a right decision, so a flawless episode returns 1. What a verifier needs stands
in the last ``info``. ``arena/tools-sandbox-v1`` plays a task in boxes (``sandbox="docker"``, ``bwrap``, ``sim`` or
``auto``).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from arena.envs import ENVS
from arena.errors import MissingNeed, UsageError
from arena.gate import gate
from arena.identity import dump
from arena.session import Environment, Judged, Session, Turn
from arena.types import MAX_OPTIONS

T = TypeVar("T")
Observation = dict[str, Any]


class Unicode(spaces.Space[str]):
    """Any text up to ``max_length`` characters. (Gymnasium's own ``Text`` holds a closed set of characters.)"""

    SAMPLE = "abc äöü 价格 цена €"

    def __init__(self, max_length: int, seed: int | None = None) -> None:
        super().__init__(shape=None, dtype=str, seed=seed)
        self.max_length = max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text. There is nothing to mask."""
        size = int(self.np_random.integers(0, min(20, self.max_length) + 1))
        return "".join(self.np_random.choice(list(self.SAMPLE), size=size).tolist())

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text that is short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed shape."""
        return False

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash(("Unicode", self.max_length))


class LoopThread:
    """An event loop in a thread of its own, so that synchronous callers can drive sessions."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="arena-gym", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to completion; errors pass through."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Stop and free the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


SHIPPED = {"web/replay-v1": ("web", "*.web.zip"), "tools/sandbox-v1": ("tools", "*.json")}
"""Environment -> where its shipped episodes lie."""


def shipped_episode(env: str = "web/replay-v1") -> str:
    """Path of the first episode of an environment that comes with the package.

    Raises:
        MissingNeed: the package holds none.
    """
    name, pattern = SHIPPED.get(env, ("", ""))
    if not name:
        raise MissingNeed(f"no episode of {env} comes with the package", hint="pass episode=PATH")
    folder = Path(__file__).resolve().parent.parent / "tasks" / "data" / name / "episodes"
    found = sorted(folder.glob(pattern))
    if not found:
        raise MissingNeed(f"{folder} holds no episode", hint="reinstall the package, or pass episode=PATH")
    return str(found[0])


class DecisionEnv(gymnasium.Env[Observation, np.int64]):
    """One episode of an arena environment. ``episode``: its file; ``env``: registry id; the rest: see the factory.

    Observation: ``state`` (what the model sees, JSON text), ``question`` (instructions), ``options`` (their
    descriptions, in the order shown), ``action_mask`` (255 flags, 1 where an option is). Action: index of an
    option; an index without an option is an invalid decision. ``info``: ``keys`` of the options, ``page_hash``,
    ``step``, ``phase``; at the end ``claimed``, ``flags``, ``end_state`` and ``verify``.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (as in the base class)

    def __init__(
        self,
        episode: str | None = None,
        env: str = "web/replay-v1",
        mode: str = "teacher",
        backend: str = "graph",
        render_mode: str | None = None,
        question: str = "action",
        sandbox: str = "auto",
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageError(f"render_mode {render_mode!r}; known: ansi")
        self.render_mode = render_mode
        self.episode = str(Path(episode).resolve()) if episode else shipped_episode(env)
        self.question = question
        self.action_space = spaces.Discrete(MAX_OPTIONS)
        self.observation_space = spaces.Dict(
            {
                "state": Unicode(1_000_000),
                "question": Unicode(10_000),
                "options": spaces.Sequence(Unicode(10_000)),
                "action_mask": spaces.MultiBinary(MAX_OPTIONS),
            }
        )
        self._loop: LoopThread | None = LoopThread()
        boxed = env.startswith("tools/")
        options = {"sandbox": sandbox} if boxed else {"mode": mode, "backend": backend, "screenshots": False}
        self._environment: Environment = ENVS.get(env)(**options)
        self._session: Session | None = None
        self._turn: Turn | None = None
        self._gold_steps = 1

    @property
    def _thread(self) -> LoopThread:
        if self._loop is None:
            raise UsageError("the environment is closed")
        return self._loop

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the episode. ``options={"episode": PATH}`` changes to another; the seed changes nothing: what an
        episode is made of is fixed in its file."""
        super().reset(seed=seed)
        if options and "episode" in options:
            self.episode = str(Path(options["episode"]).resolve())
        self._turn = self._thread.run(self._begin())
        return self._observation(), self._info()

    async def _begin(self) -> Turn:
        if self._session is not None:
            await self._session.aclose()
        self._gold_steps = len(self._environment.recorded(self.episode))
        self._session = await self._environment.open(self.episode, ask_prefix="gym")
        return await self._session.start()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Decide. Ends terminated when the episode came to an end, truncated when it was cut."""
        turn, session = self._turn, self._session
        if turn is None or session is None:
            raise UsageError("the episode is over", hint="call reset() first")
        question = turn.ask.questions[self.question]
        keys = list(question.labels())
        index = int(action)
        answer = None
        if 0 <= index < len(keys):
            sure = {key: float(key == keys[index]) for key in keys}
            answer = {"type": "choice", "choice": keys[index], "probabilities": sure}
        gated = gate(question, answer)
        gold = turn.golds.get(self.question)
        right = None if gold is None else gated.valid and gold.accepts(gated.committed)
        reward = 1.0 / self._gold_steps if right else 0.0
        following = self._thread.run(session.advance({self.question: Judged(gated, right)}))
        if following is not None:
            self._turn = following
            return self._observation(), reward, False, False, self._info()
        observation, info = self._observation(), self._info()
        ended = self._thread.run(session.finish())
        self._turn = None
        info |= {
            "claimed": ended.claimed,
            "flags": ended.flags,
            "end_state": ended.end_state,
            "verify": ended.verify,
        }
        return observation, reward, not ended.truncated, ended.truncated, info

    def _observation(self) -> Observation:
        assert self._turn is not None
        question = self._turn.ask.questions[self.question].wire()
        texts = tuple(str(text or key) for key, text in question["criteria"].items())
        mask: NDArray[np.int8] = np.zeros(MAX_OPTIONS, dtype=np.int8)
        mask[: len(texts)] = 1
        state = dump(self._turn.ask.state).decode()
        return {"state": state, "question": str(question["instructions"]), "options": texts, "action_mask": mask}

    def _info(self) -> dict[str, Any]:
        assert self._turn is not None
        turn = self._turn
        keys = list(turn.ask.questions[self.question].labels())
        return {"keys": keys, "page_hash": turn.page_hash, "step": turn.step, "phase": turn.phase}

    def render(self) -> str | None:
        """The state and its options as text (``render_mode="ansi"``)."""
        if self.render_mode is None or self._turn is None:
            return None
        seen = self._observation()
        listed = [f"{number:3d}  {text}" for number, text in enumerate(seen["options"])]
        return "\n".join([seen["state"], seen["question"], *listed])

    def close(self) -> None:
        """Close the session, the browser and the thread. Safe to call twice."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None

        async def leave() -> None:
            if self._session is not None:
                await self._session.aclose()
            await self._environment.aclose()

        loop.run(leave())
        loop.close()
        self._session = self._turn = None
