"""A walk: an episode as its author writes it (TOML), and how its steps name options of a live page.

A step says what a person would say: the operation, the role and the name of the element, where more than one
has both a ``scope`` (label of a row, fieldset, dialog or section around it) or ``nth`` (from 0, in document order).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from arena.envs.web.observe import Element, Observation
from arena.envs.web.options import CONTROLS, ENDINGS, Option, Table
from arena.envs.web.probes import check_conditions
from arena.envs.web.recipe import Frame
from arena.errors import UsageError
from arena.types import JSON, Frozen

OPERATIONS = ("click", "type", "select", *CONTROLS)
TIERS = ("T1", "T2", "T3", "T4")


class WalkStep(Frozen):
    """One step of a walk. ``value``: the text to type or the label to select."""

    op: str
    role: str | None = None
    name: str | None = None
    nth: int | None = None
    scope: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        parts = [self.op, self.role, f'"{self.name}"' if self.name else None]
        parts += [f'in "{self.scope}"' if self.scope else None, f"nth={self.nth}" if self.nth is not None else None]
        parts += [f'value "{self.value}"' if self.value is not None else None]
        return " ".join(part for part in parts if part)


class Walk(Frozen):
    """An episode as written. ``site``: folder name of an app's site; ``start``: path on it (or a full url)."""

    id: str
    site: str
    start: str = "/index.html"
    seed: int
    tier: str
    split: str
    goal: str
    group: str | None = None
    params: dict[str, JSON] = Field(default_factory=dict)
    values: Annotated[tuple[str, ...], Field(strict=False)] = ()
    step: Annotated[tuple[WalkStep, ...], Field(strict=False, min_length=1)]
    verify: dict[str, JSON]
    licence: str = "Apache-2.0"
    frame: Frame = Frame()
    volatile: Annotated[tuple[str, ...], Field(strict=False)] = ()


def read_walk(path: Path) -> Walk:
    """Read and check a walk.

    Raises:
        UsageError: names the file and the first fault.
    """
    try:
        walk = Walk.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    return check_walk(walk, str(path))


def check_walk(walk: Walk, where: str) -> Walk:
    """The walk with its conditions in full and its end explicit.

    Raises:
        UsageError: an unknown operation or tier, a value that cannot be typed, a step after the end.
    """
    if walk.tier not in TIERS:
        raise UsageError(f"{where}: tier {walk.tier!r}; known: {', '.join(TIERS)}")
    steps = walk.step if walk.step[-1].op in ENDINGS else (*walk.step, WalkStep(op="done"))
    for number, step in enumerate(steps, 1):
        if step.op not in OPERATIONS:
            raise UsageError(f"{where}: step {number} has the operation {step.op!r}; known: {', '.join(OPERATIONS)}")
        if step.op in ENDINGS and number < len(steps):
            raise UsageError(f"{where}: step {number} ends the walk, but {len(steps) - number} steps follow")
        if step.op == "type" and step.value not in walk.values:
            raise UsageError(f"{where}: step {number} types {step.value!r}, which is not among values")
        if step.op == "select" and step.value is None:
            raise UsageError(f"{where}: step {number} selects, but names no value")
    verify = check_conditions({"claim": steps[-1].op, **walk.verify}, where)
    if verify["claim"] != steps[-1].op:
        raise UsageError(f"{where}: verify.claim is {verify['claim']!r}, the walk ends with {steps[-1].op!r}")
    return walk.model_copy(update={"step": steps, "verify": verify})


def _matches(step: WalkStep, element: Element) -> bool:
    if step.role is not None and step.role != element.role:
        return False
    if step.name is not None and step.name.casefold() != element.name.casefold():
        return False
    if step.scope is None:
        return True
    wanted = step.scope.casefold()
    return any(wanted in scope.casefold() for scope in element.scopes)


def resolve(step: WalkStep, observation: Observation, table: Table) -> Option | str:
    """The option of the table that a step names, or why there is none."""
    if step.op in CONTROLS:
        return table.get(step.op) or f"the page offers no {step.op}"
    found = [element for element in observation.elements if _matches(step, element)]
    at = step.nth or 0
    if at >= len(found):
        covered = [row for row in observation.covered if step.role in (None, row["role"]) and step.name == row["name"]]
        if covered:
            return f"no element for: {step}; it is covered by {covered[0]['by']}"
        near = sorted({f'{e.role} "{e.name}"' for e in observation.elements if e.role == step.role})[:12]
        return f"no element for: {step} ({len(found)} match); the page has {', '.join(near) or 'none of that role'}"
    element = found[at]
    for option in table.options:
        if option.target == element.id and option.op == step.op and (step.op == "click" or option.arg == step.value):
            return option
    offered = [option.id for option in table.options if option.target == element.id]
    return f"no option for: {step}; its element {element.id} offers {offered or 'nothing'} ({table.dropped} dropped)"
