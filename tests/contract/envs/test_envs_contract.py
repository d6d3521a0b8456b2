"""The shipped contract check: our environment keeps it, and each breach of it is found."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from arena.envs.check import check_session
from arena.envs.gym import shipped_episode
from arena.envs.web import open_environment
from arena.items import Gold
from arena.session import Ended, Environment, Judged, Session, Turn
from arena.verifiers import VERIFIERS


def _check(environment: Environment) -> list[str]:
    async def run() -> list[str]:
        try:
            return await check_session(environment, shipped_episode(), verifier=VERIFIERS.get("web"))
        finally:
            await environment.aclose()

    return asyncio.run(run())


def test_the_graph_keeps_the_contract() -> None:
    assert _check(open_environment(mode="teacher", backend="graph")) == []


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_the_browser_keeps_the_contract() -> None:
    assert _check(open_environment(screenshots=False)) == []


Change = Callable[[Turn, int], Turn]
COUNT = itertools.count()


class Broken:
    """Our environment with its turns, its end or its recording changed."""

    def __init__(
        self, change: Change | None = None, *, end: Mapping[str, Any] | None = None, recorded: bool = True
    ) -> None:
        self.inner = open_environment(mode="teacher", backend="graph")
        self.change, self.end, self.keep = change or (lambda turn, _: turn), end or {}, recorded

    async def open(self, path: str, *, ask_prefix: str) -> Session:
        return _Session(await self.inner.open(path, ask_prefix=ask_prefix), self)

    def recorded(self, path: str) -> list[Turn]:
        turns = self.inner.recorded(path)
        return turns if self.keep else turns[:-1]

    async def aclose(self) -> None:
        await self.inner.aclose()

    def identity(self) -> dict[str, Any]:
        return {}


class _Session:
    def __init__(self, inner: Session, owner: Broken) -> None:
        self.inner, self.owner = inner, owner

    async def start(self) -> Turn:
        return self.owner.change(await self.inner.start(), next(COUNT))

    async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
        turn = await self.inner.advance(judged)
        return None if turn is None else self.owner.change(turn, next(COUNT))

    async def finish(self) -> Ended:
        return replace(await self.inner.finish(), **self.owner.end)

    async def aclose(self) -> None:
        await self.inner.aclose()


def _other_gold(turn: Turn, _: int) -> Turn:
    return replace(turn, golds={"action": Gold(accepted=("nowhere",))})


@pytest.mark.parametrize(
    "broken, fault",
    [
        (lambda: Broken(lambda turn, n: replace(turn, page_hash=str(n))), "page hash differs"),
        (lambda: Broken(lambda turn, n: replace(turn, ask=replace(turn.ask, state={"n": n}))), "state differs"),
        (lambda: Broken(lambda turn, _: replace(turn, ask=replace(turn.ask, id="same"))), "ask ids repeat"),
        (lambda: Broken(_other_gold), "not among the options"),
        (lambda: Broken(lambda turn, _: replace(turn, golds={"other": Gold(accepted=("a",))})), "which is not asked"),
        (lambda: Broken(end={"truncated": True}), "the gold walk is cut"),
        (lambda: Broken(end={"claimed": None}), "the verifier calls the gold walk failure"),
        (lambda: Broken(recorded=False), "what is recorded is not what is asked"),
    ],
)
def test_each_breach_is_found(broken: Callable[[], Broken], fault: str) -> None:
    assert any(fault in found for found in _check(broken()))
