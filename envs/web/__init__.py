"""The web domain: recorded pages in a real browser, one typed choice per step (``web/replay-v1``).

``open_environment`` is the factory that the registry names. Importing this package starts nothing and
imports no browser driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.envs.web.environment import WebEnvironment
    from arena.envs.web.session import Mode


def open_environment(
    *, mode: Mode = "teacher+free", backend: str = "browser", screenshots: bool = True, headed: bool = False
) -> WebEnvironment:
    """The environment ``web/replay-v1``.

    ``mode``: ``teacher``, ``free``, ``recover`` or ``teacher+free``. ``backend``: ``browser``, or ``graph`` (baked
    states, no browser, teacher mode only). ``screenshots``: a PNG with every turn.

    Raises:
        UsageError: an unknown mode or backend, or a mode that the backend cannot play.
        MissingNeed: no browser.
    """
    from arena.envs.web.environment import WebEnvironment

    return WebEnvironment(mode=mode, backend=backend, screenshots=screenshots, headed=headed)
