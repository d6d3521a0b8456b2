"""The conditions of an episode as data, checked for shape before a browser sees them.

``verify`` = {``claim``: done | blocked, ``final``: [...], ``key_nodes``: [...], ``forbidden``: [...]}; a condition
has a ``kind``: ``url``, ``dom``, ``state``, ``net`` or ``answer``. What the page answers is recorded as it is;
``arena.verifiers.web`` judges that record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from arena.errors import UsageError
from arena.types import JSON

FIELDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "url": (frozenset(), frozenset({"path", "contains", "equals"})),
    "dom": (frozenset({"css"}), frozenset({"text", "texts", "value", "count", "visible"})),
    "state": (frozenset({"expr"}), frozenset({"equals"})),
    "net": (frozenset({"method"}), frozenset({"path", "count"})),
    "answer": (frozenset({"equals"}), frozenset()),
}
GROUPS = ("final", "key_nodes", "forbidden")
TRAIL = ("key_nodes", "forbidden")
"""The groups that are probed at every state."""

Probe = Callable[[Sequence[JSON]], Awaitable[list[JSON]]]


def check_conditions(verify: Mapping[str, JSON], where: str) -> dict[str, JSON]:
    """The conditions in full form (every group present).

    Raises:
        UsageError: an unknown group, kind or field, or no final condition; names ``where``.
    """
    unknown = set(verify) - {*GROUPS, "claim"}
    if unknown:
        raise UsageError(f"{where}: verify has the unknown groups {sorted(unknown)}; known: {', '.join(GROUPS)}")
    full: dict[str, JSON] = {group: [dict(condition) for condition in verify.get(group, ())] for group in GROUPS}
    if not full["final"]:
        raise UsageError(f"{where}: verify.final is empty; an episode needs at least one final condition")
    for group in GROUPS:
        for condition in full[group]:
            kind = condition.get("kind")
            if kind not in FIELDS:
                raise UsageError(f"{where}: verify.{group} has the kind {kind!r}; known: {', '.join(FIELDS)}")
            needed, allowed = FIELDS[kind]
            fields = set(condition) - {"kind"}
            if not needed <= fields or fields - needed - allowed or not fields:
                expected = f"needs {sorted(needed)}, may have {sorted(allowed)}"
                raise UsageError(f"{where}: a {kind} condition has {sorted(fields)}; it {expected}")
    return {"claim": verify.get("claim", "done"), **full}


async def trail_entry(probe: Probe, conditions: Mapping[str, JSON]) -> dict[str, list[JSON]]:
    """The raw facts at one state, group by group, asked of the page in one go."""
    facts = iter(await probe([condition for group in TRAIL for condition in conditions[group]]))
    return {group: [next(facts) for _ in conditions[group]] for group in TRAIL}
