"""Inputs that a profile refuses: an item that carries its own gold measures nothing. [S3]"""

from __future__ import annotations

from arena.errors import UsageError
from arena.leaderboard.profiles.rules import Profile
from arena.log.reader import Row, RunReader
from arena.types import JSON


def found_key(value: JSON, keys: frozenset[str]) -> str | None:
    """The first of ``keys`` that occurs as an object key anywhere in ``value``, None when none does.

    >>> found_key({"text": "x", "meta": [{"gold": 1}]}, frozenset({"gold"}))
    'gold'
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys:
                return str(key)
            if (found := found_key(inner, keys)) is not None:
                return found
    elif isinstance(value, list):
        for inner in value:
            if (found := found_key(inner, keys)) is not None:
                return found
    return None


def check_input(row: Row, reader: RunReader, rules: Profile) -> None:
    """Refuse a row whose input (state and question) holds a key the profile guards against.

    Raises:
        UsageError: names the item, the key and where it stands.
    """
    if not rules.guarded_keys:
        return
    keys = frozenset(rules.guarded_keys)
    key, where = found_key({row["question_name"]: row["question"]}, keys), "question"
    if key is None:
        key, where = found_key(reader.state(row), keys), "state"
    if key is not None:
        raise UsageError(
            f"profile {rules.name} refuses item {row['unit']}: its {where} holds the key {key!r}",
            hint=f"no input may carry {', '.join(rules.guarded_keys)}; mend the item, or score with another profile",
        )
