"""A scene is what one decision is made on; from it comes the ask, byte for byte the same for every backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from arena.envs.web.episode import GoldStep, Manifest
from arena.envs.web.observe import Observation
from arena.envs.web.options import Option, build_table
from arena.items import Gold
from arena.session import Ask, Turn
from arena.types import JSON, Choice

QUESTION = "action"
TEXT_LIMIT = 6000
INSTRUCTIONS = "Which action comes next to reach the goal?"

Phase = Literal["teacher", "free"]


def scene_of(t: int, observation: Observation, values: Sequence[str], history: Sequence[str]) -> GoldStep:
    """A scene of a live page: its table of options, and no gold yet."""
    return GoldStep(
        t=t,
        sem_hash=observation.sem_hash,
        url=observation.url,
        title=observation.title,
        text=observation.text,
        viewport=observation.viewport,
        table=build_table(observation, values),
        gold=(),
        action="",
        history=tuple(history),
    )


def visible_path(url: str) -> str:
    """The part of a url that a model sees: path, query and fragment."""
    _, _, rest = url.partition("://")
    return "/" + rest.partition("/")[2]


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text as shown: its first ``limit`` characters, and how many more there are."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {len(text) - limit} more characters are on the page]"


def ask_state(manifest: Manifest, scene: GoldStep) -> JSON:
    """What the model sees of the page."""
    return {
        "goal": scene.goal or manifest.goal,
        "url": visible_path(scene.url),
        "title": scene.title,
        "text": cut(scene.text),
        "history": list(scene.history),
    }


def question_of(scene: GoldStep) -> Choice:
    """The typed choice over the scene's options, in the order shown."""
    instructions = scene.instructions or INSTRUCTIONS
    if scene.table.dropped:
        instructions += f" ({scene.table.dropped} more possible actions are not listed.)"
    return Choice(instructions=instructions, criteria={option.id: option.text for option in scene.table.options})


def turn_of(
    manifest: Manifest,
    scene: GoldStep,
    *,
    ask_id: str,
    phase: Phase,
    note: str | None = None,
    artifacts: Mapping[str, bytes] | None = None,
    observe_ms: float = 0.0,
) -> Turn:
    """The turn of a scene. ``note``: what the last action ran into, for the replay view."""
    view = {
        "url": visible_path(scene.url),
        "title": scene.title,
        "viewport": list(scene.viewport),
        "boxes": {option.id: list(option.box) for option in scene.table.options if option.box is not None},
        "note": note,
        "recorded": scene.recorded,
    }
    return Turn(
        ask=Ask(ask_id, ask_state(manifest, scene), {QUESTION: question_of(scene)}),
        golds={QUESTION: Gold(accepted=scene.gold) if scene.gold else None},
        step=scene.t,
        phase=phase,
        page_hash=scene.sem_hash,
        artifacts=artifacts or {},
        view=view,
        observe_ms=observe_ms,
    )


def deed(option: Option) -> str:
    """An action as it stands in the history: what was done, without the state the element was in then."""
    if option.target is None:
        return option.text
    thing = f'{option.role} "{option.name}"' if option.name else option.role
    if option.op == "type":
        return f'Type "{option.arg}" into {thing}'
    if option.op == "select":
        return f'Select "{option.arg}" in {thing}'
    return f"{option.op.capitalize()} {thing}"
