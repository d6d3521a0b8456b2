"""Judge a web episode's recorded end state: code only, no browser, no model.

``end_state`` holds what the page answered: ``final`` (one record per final condition), ``trail`` (per step the
records of key nodes and forbidden conditions), ``url`` and ``requests``. All final conditions must hold and
the model must have claimed the right end; key nodes give partial credit; a forbidden condition that ever
held makes the episode a failure, whatever its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from arena.session import EndVerdict
from arena.types import JSON


def _url(condition: Mapping[str, JSON], seen: Mapping[str, JSON]) -> bool:
    url = str(seen["url"])
    parts = urlsplit(url)
    if "path" in condition and condition["path"] not in (parts.path, f"{parts.path}?{parts.query}"):
        return False
    if "contains" in condition and str(condition["contains"]) not in url:
        return False
    return "equals" not in condition or condition["equals"] == url


def _dom(condition: Mapping[str, JSON], seen: Mapping[str, JSON]) -> bool:
    texts, values = list(seen["texts"]), list(seen["values"])
    if "count" in condition and seen["count"] != condition["count"]:
        return False
    if "visible" in condition and (seen["visible"] > 0) is not condition["visible"]:
        return False
    if "text" in condition and not any(str(condition["text"]) in text for text in texts):
        return False
    if "texts" in condition and texts != list(condition["texts"]):
        return False
    if "value" in condition and condition["value"] not in values:
        return False
    asked = {"count", "visible", "text", "texts", "value"} & set(condition)
    return bool(asked) or seen["visible"] > 0


def _same(found: JSON, expected: JSON) -> bool:
    return type(found) is type(expected) and bool(found == expected)


def _state(condition: Mapping[str, JSON], seen: Mapping[str, JSON]) -> bool:
    value = seen["value"]
    return _same(value, condition["equals"]) if "equals" in condition else bool(value)


def _net(condition: Mapping[str, JSON], end_state: Mapping[str, JSON]) -> bool:
    hits = [
        request
        for request in end_state.get("requests", ())
        if request["method"] == condition["method"]
        and ("path" not in condition or urlsplit(request["url"]).path == condition["path"])
    ]
    return len(hits) == condition["count"] if "count" in condition else bool(hits)


_SEEN = {"url": _url, "dom": _dom, "state": _state}


def holds(
    condition: Mapping[str, JSON], seen: Mapping[str, JSON], end_state: Mapping[str, JSON], claimed: str | None
) -> bool:
    """Whether a condition holds. ``seen``: what the page answered to it; an error there is a no."""
    kind = condition["kind"]
    if kind == "net":
        return _net(condition, end_state)
    if kind == "answer":
        return bool(claimed == condition["equals"])
    return "error" not in seen and _SEEN[kind](condition, seen)


def _ever(
    conditions: Sequence[Mapping[str, JSON]], group: str, end_state: Mapping[str, JSON], claimed: str | None
) -> list[bool]:
    reached = [False] * len(conditions)
    for entry in end_state["trail"]:
        for index, (condition, seen) in enumerate(zip(conditions, entry[group], strict=True)):
            reached[index] = reached[index] or holds(condition, seen, end_state, claimed)
    return reached


def verify(conditions: JSON, end_state: JSON, claimed: str | None) -> EndVerdict:
    """The verdict on a recorded end state. Pure: the same record, the same verdict.

    ``conditions``: the episode's conditions (``claim``, ``final``, ``key_nodes``, ``forbidden``). ``end_state`` None
    means that no run of the model's own reached an end: not evaluated.
    """
    if end_state is None or conditions is None:
        return EndVerdict("not_evaluated", reasons=("no end state was recorded",))
    flags, reasons = [], []
    final = [
        holds(condition, seen, end_state, claimed)
        for condition, seen in zip(conditions["final"], end_state["final"], strict=True)
    ]
    for ok, condition, seen in zip(final, conditions["final"], end_state["final"], strict=True):
        if not ok:
            what = condition.get("expr") or condition.get("css") or {k: v for k, v in condition.items() if k != "kind"}
            reasons.append(f"{condition['kind']} condition does not hold: {what}; found {seen}")
    nodes = _ever(conditions["key_nodes"], "key_nodes", end_state, claimed)
    forbidden = _ever(conditions["forbidden"], "forbidden", end_state, claimed)
    if any(forbidden):
        flags.append("forbidden")
        reasons += [f"forbidden: {c}" for c, hit in zip(conditions["forbidden"], forbidden, strict=True) if hit]
    if claimed != conditions["claim"]:
        reasons.append(f"claimed {claimed or 'nothing'}, the right end is {conditions['claim']}")
        if all(final):
            flags.append("not_claimed" if claimed is None else "wrong_claim")
    elif not all(final):
        flags.append("claimed_unverified")
    success = all(final) and not any(forbidden) and claimed == conditions["claim"]
    share = sum(nodes) / len(nodes) if nodes else None
    return EndVerdict("success" if success else "failure", share, tuple(flags), tuple(reasons))
