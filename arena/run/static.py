"""A static item as a session of one step."""

from __future__ import annotations

from collections.abc import Mapping

from arena.items import Gold, Item
from arena.session import Ask, Ended, Judged, Turn


class StaticSession:
    """Asks one item once. ``golds``: question name -> gold; a question without one is asked and not judged."""

    def __init__(self, item: Item, golds: Mapping[str, Gold], ask_id: str) -> None:
        self._turn = Turn(
            ask=Ask(id=ask_id, state=item.state, questions=item.questions, suite=item.suite),
            golds={name: golds.get(name) for name in item.questions},
        )

    async def start(self) -> Turn:
        """The only turn."""
        return self._turn

    async def advance(self, judged: Mapping[str, Judged]) -> None:
        """A static item ends after one step."""
        return None

    async def finish(self) -> Ended:
        """Nothing to verify beyond the answers."""
        return Ended()

    async def aclose(self) -> None:
        """Nothing to release."""
