"""Every call to a browser has a limit, and what goes wrong in one is a failure of the environment, not a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from arena.errors import Failure

T = TypeVar("T")

CALL = 30.0
"""Seconds a browser call may take. A page that needs longer hangs."""

FACTOR = 1.0
"""All limits times this: less in tests of pages that hang, more on a very slow machine."""


def _swallow(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


async def limited(call: Coroutine[Any, Any, T], doing: str, seconds: float = CALL) -> T:
    """Await a browser call for at most ``seconds``. Its own errors pass through unchanged.

    Raises:
        Failure: ``env``; the call did not end in time.
    """
    seconds *= FACTOR
    task: asyncio.Future[T] = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except BaseException:
        task.add_done_callback(_swallow)
        task.cancel()
        raise
    if not done:
        task.add_done_callback(_swallow)
        task.cancel()
        raise Failure("env", f"{doing}: the browser did not answer within {seconds:g} s")
    return task.result()
