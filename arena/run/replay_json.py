"""A replay as JSON: what the model saw and answered, what its actions did, and the verdict judged again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from arena.log.reader import Row, RunReader
from arena.run.harmless import harmless_json
from arena.run.replay import Moment, Recorded, judge_again

_TOLD = ("ending", "claimed", "truncated", "flags", "key_nodes", "error")


def replay_json(reader: RunReader, found: Recorded, chosen: Sequence[Moment]) -> str:
    """One object in printable ASCII.

    Keys: ``run``, ``unit``, ``trial``, ``repeat``, ``forms`` (every trial and repeat on record), ``moments``
    (``state``, ``decisions``, ``step``, ``deed``: what the action did), ``episode`` (None for a static item).
    """
    return harmless_json(
        {
            "run": reader.folder.name,
            "unit": found.unit,
            "trial": found.trial,
            "repeat": found.repeat,
            "forms": [{"trial": trial, "repeat": repeat} for trial, repeat in found.forms],
            "moments": [_moment(moment) for moment in chosen],
            "episode": None if found.episode is None else _episode(found.episode),
        }
    )


def _moment(moment: Moment) -> dict[str, Any]:
    did = moment.deed
    return {
        "state": moment.state,
        "decisions": list(moment.rows),
        "step": moment.step,
        "deed": None if did is None else asdict(did),
    }


def _episode(row: Row) -> dict[str, Any]:
    """How it ended, as recorded; under ``judged`` as its end state says now."""
    judged = judge_again(row)
    return {
        **{name: row[name] for name in _TOLD},
        "judged": {
            "verdict": None if judged.verdict is None else asdict(judged.verdict),
            "fault": judged.fault,
            "agrees": judged.fault is None,
        },
    }
