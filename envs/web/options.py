"""The option table of a page: elements times the operations that are legal on them, plus six controls.

One table, two views. *Flat*: one choice over all options. *Operation and target*: a choice of the operation,
then of its target; ``factor`` and ``combine`` go from one to the other, p(option) = p(op) p(target | op).
Typing never invents text: the values are a closed list that comes with the episode.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from arena.envs.web.observe import Element, Observation
from arena.types import MAX_OPTIONS, Frozen

CONTROLS = {
    "scroll_down": "Scroll down",
    "scroll_up": "Scroll up",
    "back": "Go back to the previous page",
    "wait": "Wait for the page to change",
    "done": "Stop: the goal is reached",
    "blocked": "Stop: the goal cannot be reached",
}
ENDINGS = ("done", "blocked")
TEXT_ROLES = frozenset({"textbox", "searchbox", "spinbutton", "date", "slider", "combobox"})
UNTYPED = frozenset({"button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden"})
_FORMS = {
    "number": r"-?\d+(\.\d+)?",
    "range": r"-?\d+(\.\d+)?",
    "date": r"\d{4}-\d\d-\d\d",
    "time": r"\d\d:\d\d(:\d\d)?",
    "month": r"\d{4}-\d\d",
    "week": r"\d{4}-W\d\d",
    "datetime-local": r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?",
    "color": r"#[0-9a-fA-F]{6}",
}


class Option(Frozen):
    """One thing to do. ``id``: its key in the question. ``target``: element id, None for a control.

    ``arg``: the text to type, or the label to select. ``slot``: which value or entry that is.
    ``text``: the description shown. ``box``: of the element, for drawing.
    """

    id: str
    op: str
    text: str
    target: str | None = None
    index: int | None = None
    role: str = ""
    name: str = ""
    arg: str | None = None
    slot: int | None = None
    box: Annotated[tuple[int, int, int, int] | None, Field(strict=False)] = None


class Table(Frozen):
    """Options in the order shown; ``dropped`` counts what the cap left out."""

    options: Annotated[tuple[Option, ...], Field(strict=False)]
    dropped: int = 0

    def get(self, key: str) -> Option | None:
        """The option with this id."""
        return next((option for option in self.options if option.id == key), None)


def _phrase(element: Element, scope: str | None) -> str:
    name = f'"{element.name}"' if element.name else "without a name"
    words = f"{element.role} {name}"
    if scope:
        words += f' in "{scope}"'
    marks = [
        key if value is True else f"not {key}" if value is False else f"{key} {value}"
        for key, value in sorted(element.state.items())
        if key in ("checked", "expanded", "selected", "pressed", "current")
    ]
    if element.value is not None:
        marks.append(f'now "{element.value[:80]}"' if element.value else "now empty")
    return words + (f" ({', '.join(marks)})" if marks else "")


def _telling_scopes(elements: Sequence[Element]) -> dict[int, str]:
    """For elements that share role and name: the nearest group label that tells them apart, if any does."""
    twins: dict[tuple[str, str], list[Element]] = {}
    for element in elements:
        twins.setdefault((element.role, element.name), []).append(element)
    chosen: dict[int, str] = {}
    for group in twins.values():
        if len(group) == 1:
            continue
        shared = Counter(scope for element in group for scope in set(element.scopes))
        for element in group:
            telling = [scope for scope in element.scopes if shared[scope] < len(group)]
            if element.scopes:
                chosen[element.index] = (telling or list(element.scopes))[0]
    return chosen


def _typed(element: Element) -> bool:
    if element.state.get("disabled") or element.state.get("readonly") or element.tag == "select":
        return False
    if element.tag == "input":
        return element.type not in UNTYPED
    return element.tag == "textarea" or (element.role in TEXT_ROLES and element.value is not None)


def _of_element(element: Element, scope: str | None, values: Sequence[str]) -> list[Option]:
    if element.state.get("disabled"):
        return []
    phrase = _phrase(element, scope)

    def option(key: str, op: str, text: str, arg: str | None = None, slot: int | None = None) -> Option:
        return Option(
            id=key,
            op=op,
            text=text,
            target=element.id,
            index=element.index,
            role=element.role,
            name=element.name,
            arg=arg,
            slot=slot,
            box=element.box,
        )

    if element.options is not None:
        return [
            option(f"select:{element.id}:o{slot}", "select", f'Select "{entry.label}" in {phrase}', entry.label, slot)
            for slot, entry in enumerate(element.options)
            if not entry.selected and not entry.disabled
        ]
    if _typed(element):
        form = _FORMS.get(element.type)
        return [
            option(f"type:{element.id}:v{slot}", "type", f'Type "{value}" into {phrase}', value, slot)
            for slot, value in enumerate(values)
            if value != element.value and (form is None or re.fullmatch(form, value))
        ]
    if element.role in ("file", "slider") or element.state.get("readonly"):
        return []
    return [option(f"click:{element.id}", "click", f"Click {phrase}")]


def build_table(observation: Observation, values: Sequence[str], limit: int = MAX_OPTIONS) -> Table:
    """The table of a page. ``values``: what may be typed. ``limit``: options in all, controls included.

    In view comes first, then form controls, buttons, links; then document order. Controls come last.
    """
    scopes = _telling_scopes(observation.elements)
    ordered = sorted(observation.elements, key=lambda element: (not element.inview, element.rank, element.index))
    options = [option for element in ordered for option in _of_element(element, scopes.get(element.index), values)]
    room = limit - len(CONTROLS)
    controls = [Option(id=key, op=key, text=text) for key, text in CONTROLS.items()]
    return Table(options=(*options[:room], *controls), dropped=max(0, len(options) - room))


def factor(options: Sequence[Option]) -> dict[str, dict[str, str]]:
    """The operation-and-target view: ``operation`` -> {op: description}, and ``<op>_target`` -> {id: text}.

    An operation with a single target has no target question.
    """
    by_op: dict[str, dict[str, str]] = {}
    for option in options:
        by_op.setdefault(option.op, {})[option.id] = option.text
    heads = {"operation": {op: CONTROLS.get(op, f"{op.capitalize()} something") for op in by_op}}
    for op, targets in by_op.items():
        if len(targets) > 1:
            heads[f"{op}_target"] = targets
    return heads


def combine(
    options: Sequence[Option], operation: Mapping[str, float], targets: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """p(option) = p(op) p(target | op) for every option; sums to 1 when its parts do."""
    joint = {}
    for option in options:
        head = targets.get(f"{option.op}_target")
        joint[option.id] = operation[option.op] * (1.0 if head is None else head[option.id])
    return joint
