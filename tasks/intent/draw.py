"""Draws that the three tiers share: wishes in words, option sets, balanced plans, dates.

Every item has its own generator, seeded by its place alone, so that no item moves another. Labels, levels and
the slot of the right option are balanced over a cell by construction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import TypeVar

from arena.identity import rng_for
from arena.tasks.intent import vocabulary as words

T = TypeVar("T")

VERSION = "1.0.0"
LEVELS = 5
YEAR = {"train": 2023, "dev": 2024, "test": 2025}
"""Split -> year of its dates."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Wish:
    """An intent: what is to be done (``action``) to what (``thing``)."""

    action: str
    thing: str

    @property
    def key(self) -> str:
        """The option key."""
        return f"{self.action}_{self.thing}"


WISHES = tuple(Wish(action, thing) for action in words.ACTIONS for thing in words.OBJECTS)


@dataclass(frozen=True)
class Plan:
    """What is decided about an item before it is written: its gold and where the gold stands among the options.

    ``slot``: 0..1, the place of the right option relative to the number of options. ``turn``: runs over templates.
    """

    tier: str
    split: str
    index: int
    wish: Wish
    level: int
    yes: bool
    slot: float
    turn: int

    def rng(self) -> Random:
        """The item's own generator."""
        return rng_for("intent", VERSION, self.tier, self.split, self.index)


def plans(tier: str, split: str, count: int) -> list[Plan]:
    """``count`` plans: each wish, level and yes/no equally often (as far as they go), slots evenly spread."""
    rng = rng_for("intent", VERSION, tier, split, "plan")
    wishes = _balanced(rng, WISHES, count)
    levels = _balanced(rng, range(LEVELS), count)
    yes = _balanced(rng, (True, False), count)
    slots = [(place + rng.random()) / count for place in rng.sample(range(count), count)]
    turns = rng.sample(range(count), count)
    return [
        Plan(tier, split, index, *row) for index, row in enumerate(zip(wishes, levels, yes, slots, turns, strict=True))
    ]


def _balanced(rng: Random, values: Sequence[T], count: int) -> list[T]:
    rounds = [rng.sample(values, len(values)) for _ in range(-(-count // len(values)))]
    drawn = [value for one in rounds for value in one][:count]
    return rng.sample(drawn, count)


@dataclass(frozen=True)
class Words:
    """A wish in words: ``vp`` the whole ("strike my box off your list"), ``x`` its object, ``family`` its template."""

    vp: str
    x: str
    family: str


def plain(rng: Random, split: str, wish: Wish) -> Words:
    """In the words of the option."""
    x = words.PLAIN_OBJECTS[wish.thing].format(f=rng.choice(words.FILLERS[wish.thing][split]))
    return Words(words.PLAIN_ACTIONS[wish.action].format(x=x), x, wish.action)


def indirect(rng: Random, split: str, wish: Wish, x: str | None = None) -> Words:
    """In other words than the option's; about ``x`` when the object was named already."""
    if x is None:
        frame = rng.choice(words.INDIRECT_OBJECTS[wish.thing][split])
        x = frame.format(f=rng.choice(words.FILLERS[wish.thing][split]))
    number = rng.randrange(len(words.INDIRECT_ACTIONS[wish.action][split]))
    return Words(words.INDIRECT_ACTIONS[wish.action][split][number].format(x=x), x, f"{wish.action}{number}")


def diagonal(rng: Random, wish: Wish, count: int) -> list[str]:
    """``count`` option keys far apart: no two share an action or an object. The wish is among them."""
    actions = rng.sample([a for a in words.ACTIONS if a != wish.action], count - 1)
    things = rng.sample([o for o in words.OBJECTS if o != wish.thing], count - 1)
    return [wish.key, *(Wish(a, o).key for a, o in zip(actions, things, strict=True))]


def grid(rng: Random, wishes: Sequence[Wish], actions: int, things: int) -> list[str]:
    """All keys of ``actions`` x ``things`` that hold the ``wishes``. In a full grid no key has more neighbours."""
    rows = _with(rng, list(words.ACTIONS), [wish.action for wish in wishes], actions)
    columns = _with(rng, list(words.OBJECTS), [wish.thing for wish in wishes], things)
    return [Wish(a, o).key for a in rows for o in columns]


def _with(rng: Random, pool: list[str], needed: list[str], count: int) -> list[str]:
    held = list(dict.fromkeys(needed))
    return held + rng.sample([each for each in pool if each not in held], max(0, count - len(held)))


def options(rng: Random, keys: list[str], plan: Plan) -> dict[str, str]:
    """Option key -> description, shuffled, the right one at the planned slot."""
    others = [key for key in keys if key != plan.wish.key]
    rng.shuffle(others)
    others.insert(int(plan.slot * len(keys)), plan.wish.key)
    return {key: describe(key) for key in others}


def describe(key: str) -> str:
    """The description of an option."""
    action, _, thing = key.partition("_")
    return words.ACTIONS[action].format(x=words.OBJECTS[thing])


def some_day(rng: Random, split: str) -> date:
    """A day in the split's year, with room before and after."""
    return date(YEAR[split], 3, 1) + timedelta(days=rng.randrange(200))


def long_date(day: date) -> str:
    """``Tuesday 4 March 2025``."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def short_date(day: date, split: str) -> str:
    """A date without its year, written as the split writes dates."""
    month = MONTHS[day.month - 1]
    if split == "test":
        return f"{month} {day.day}"
    if split == "dev":
        return f"{day.day} {month}"
    suffix = "th" if 10 < day.day % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return f"the {day.day}{suffix} of {month}"


_MIRROR = {
    "I am": "you are",
    "from you": "from us",
    "I": "you",
    "me": "you",
    "my": "your",
    "we": "you",
    "us": "you",
    "our": "your",
    "you": "we",
    "your": "our",
}


def mirrored(text: str) -> str:
    """The customer's words in the mouth of the assistant: "my seat" becomes "your seat"."""
    spots = "|".join(_MIRROR)
    return re.sub(rf"\b({spots})\b", lambda spot: _MIRROR[spot[0]], text)
