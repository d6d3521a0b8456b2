"""What one look at a page yields: elements in document order, the text, and the page's hash.

``sem_hash`` covers url, title, role, name, value and state of every element, and the text: what holds on any
machine. Boxes, what is in view, and the order shown depend on fonts and are left out of it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from arena.identity import digest
from arena.types import Frozen

HASH_LENGTH = 32
FORM_ROLES = frozenset(
    {"textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "spinbutton", "slider"}
    | {"date", "file"}
)

_Tuple = Field(strict=False)


class SelectOption(Frozen):
    """One entry of a select element."""

    label: str
    selected: bool
    disabled: bool


class Element(Frozen):
    """Something to act on. ``index``: place in document order, from 0; ``id`` is ``e<index + 1>``.

    ``scopes``: labels of the groups around it, nearest first. ``box``: x, y, width, height in CSS pixels of
    the viewport. ``frame``: 0 is the page itself. ``href`` is for the environment and never shown.
    """

    index: int
    role: str
    name: str
    tag: str
    type: str
    value: str | None
    state: dict[str, bool | str]
    scopes: Annotated[tuple[str, ...], _Tuple]
    box: Annotated[tuple[int, int, int, int], _Tuple]
    inview: bool
    frame: int
    options: Annotated[tuple[SelectOption, ...] | None, _Tuple]
    href: str | None

    @property
    def id(self) -> str:
        """Name of the element within this state."""
        return f"e{self.index + 1}"

    @property
    def rank(self) -> int:
        """0 form control, 1 button and the like, 2 link."""
        return 0 if self.role in FORM_ROLES else 2 if self.role == "link" else 1


class Observation(Frozen):
    """One look at a page. ``covered``: elements left out, with what lies over them. ``refused``: what the page
    uses and no replay can serve. ``popups``: windows it tried to open since the document began."""

    url: str
    title: str
    text: str
    elements: Annotated[tuple[Element, ...], _Tuple]
    covered: Annotated[tuple[dict[str, str], ...], _Tuple]
    refused: Annotated[tuple[str, ...], _Tuple]
    popups: int
    scroll: Annotated[tuple[int, int], _Tuple]
    viewport: Annotated[tuple[int, int], _Tuple]
    sem_hash: str


def semantics(url: str, title: str, elements: tuple[Element, ...], text: str) -> dict[str, Any]:
    """The part of a page that ``sem_hash`` covers, as JSON: diff two of these to see why hashes differ."""
    table = [
        [element.role, element.name, element.value, dict(sorted(element.state.items())), element.frame]
        + [[option.label, option.selected, option.disabled] for option in element.options or ()]
        for element in elements
    ]
    return {"url": url, "title": title, "elements": table, "text": text}


def read_observation(raw: dict[str, Any]) -> Observation:
    """The answer of ``__arena__.observe()`` as an ``Observation``."""
    elements = tuple(Element.model_validate({"index": index, **row}) for index, row in enumerate(raw["elements"]))
    known = semantics(raw["url"], raw["title"], elements, raw["text"])
    return Observation(
        url=raw["url"],
        title=raw["title"],
        text=raw["text"],
        elements=elements,
        covered=tuple(raw["covered"]),
        refused=tuple(sorted(raw["refused"])),
        popups=raw["popups"],
        scroll=tuple(raw["scroll"]),
        viewport=tuple(raw["viewport"]),
        sem_hash=digest(known, HASH_LENGTH),
    )
