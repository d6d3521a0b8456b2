"""A further trial of an episode: the same session, with the options of every question in another order.

A deterministic model that is shown the same bytes again answers the same again, so a trial that changed nothing would
measure nothing. The order is drawn from the episode and the trial alone; options keep their keys, and so does the gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from arena.identity import PROTOCOL_SEED, rng_for
from arena.session import Ended, Judged, Session, Turn
from arena.types import Choice


@dataclass(frozen=True, slots=True)
class TrialSession:
    """``session`` under the option order of trial ``number`` (from 1) of the episode ``unit``."""

    session: Session
    unit: str
    number: int

    async def start(self) -> Turn:
        """The first turn."""
        return self._reordered(await self.session.start())

    async def advance(self, judged: Mapping[str, Judged]) -> Turn | None:
        """Act on the decisions; the next turn, or None at the end."""
        turn = await self.session.advance(judged)
        return None if turn is None else self._reordered(turn)

    async def finish(self) -> Ended:
        """The end state of the session."""
        return await self.session.finish()

    async def aclose(self) -> None:
        """Release what the session holds."""
        await self.session.aclose()

    def _reordered(self, turn: Turn) -> Turn:
        questions = {
            name: self._shuffled(name, question) if isinstance(question, Choice) else question
            for name, question in turn.ask.questions.items()
        }
        return replace(turn, ask=replace(turn.ask, questions=questions))

    def _shuffled(self, name: str, question: Choice) -> Choice:
        """The same draw at every step: while the options stay, so does their order."""
        keys = list(question.criteria)
        shuffled = list(keys)
        rng = rng_for(PROTOCOL_SEED, "trial", self.unit, name, self.number)
        while shuffled == keys:  # at least two options, so another order exists
            rng.shuffle(shuffled)
        return question.model_copy(update={"criteria": {key: question.criteria[key] for key in shuffled}})
