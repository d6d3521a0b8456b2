"""Tiers T1 and T2: one message, one wish.

T1 names every cue in the words of the question. T2 paraphrases, surrounds with politeness and past dates, and
offers near neighbours; its time limit has to be counted from a date.
"""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from arena.tasks.intent import phrases
from arena.tasks.intent.draw import (
    WEEKDAYS,
    Plan,
    diagonal,
    grid,
    indirect,
    long_date,
    options,
    plain,
    short_date,
    some_day,
)
from arena.types import JSON, Choice, Noul, Score

LEVEL_TEXTS = (
    "No time limit is named",
    "More than 14 days are left",
    "4 to 14 days are left",
    "2 or 3 days are left",
    "It is needed today or tomorrow",
)
DAYS = {4: (0, 1), 3: (2, 3), 2: (4, 14), 1: (15, 60)}
"""Level -> fewest and most days left."""

GRIDS = ((2, 4), (4, 2), (3, 3), (3, 4), (4, 3), (4, 4))
"""Actions x objects of the T2 option sets: 8 to 16 options."""

Written = tuple[JSON, dict[str, Choice | Score | Noul], dict[str, str | int | bool], str]
"""(state, questions, gold by question, template family)."""


def write_t1(plan: Plan) -> Written:
    """One plain cue per question, 4 to 6 options that share neither action nor object."""
    rng, split = plan.rng(), plan.split
    request = rng.choice(phrases.PLAIN_REQUESTS[split])
    said = plain(rng, split, plan.wish)
    person = phrases.PLAIN_PERSON if plan.yes else phrases.PLAIN_NO_PERSON
    state = " ".join([request.format(vp=said.vp), _plain_limit(rng, plan), rng.choice(person[split])])
    keys = diagonal(rng, plan.wish, rng.randint(4, 6))
    questions: dict[str, Choice | Score | Noul] = {
        "intent": Choice(instructions="What does the customer want?", criteria=options(rng, keys, plan)),
        "urgency": Score(instructions="How much time does the customer give?", criteria=LEVEL_TEXTS),
        "human": Noul(instructions="Does the customer ask to talk to a person?"),
    }
    family = f"t1-{split}-{phrases.PLAIN_REQUESTS[split].index(request)}-{said.family}"
    return state, questions, _golds(plan), family


def _plain_limit(rng: Random, plan: Plan) -> str:
    if plan.level == 0:
        return rng.choice(phrases.PLAIN_NO_LIMIT[plan.split])
    if plan.level == 4:
        return rng.choice(phrases.PLAIN_TODAY[plan.split])
    return rng.choice(phrases.PLAIN_DAYS[plan.split]).format(n=rng.randint(*DAYS[plan.level]))


def write_t2(plan: Plan) -> Written:
    """A polite paraphrase without the options' words; 8 to 16 options, near neighbours among them."""
    rng, split = plan.rng(), plan.split
    today = some_day(rng, split)
    said = indirect(rng, split, plan.wish)
    middle = [
        _limit(rng, plan, today),
        rng.choice((phrases.HUMAN if plan.yes else phrases.NO_HUMAN)[split]),
        rng.choice(phrases.PAST[split]).format(past=short_date(today - timedelta(days=rng.randint(20, 58)), split)),
    ]
    middle.insert(rng.randint(0, 3), rng.choice(phrases.REQUESTS[split]).format(vp=said.vp))
    message = [rng.choice(phrases.OPENERS[split]), *middle, rng.choice(phrases.CLOSERS[split])]
    state = {"today": long_date(today), "message": " ".join(message)}
    keys = grid(rng, [plan.wish], *rng.choice(GRIDS))
    questions: dict[str, Choice | Score | Noul] = {
        "intent": Choice(instructions="What does the customer want?", criteria=options(rng, keys, plan)),
        "urgency": Score(
            instructions="How much time is left, in days from `today` to the day that the customer names as the limit?",
            criteria=LEVEL_TEXTS,
        ),
        "human": Noul(instructions="Does the customer ask to talk to a person?"),
    }
    return state, questions, _golds(plan), f"t2-{split}-{said.family}"


def _limit(rng: Random, plan: Plan, today: date) -> str:
    split = plan.split
    if plan.level == 0:
        return rng.choice(phrases.NO_LIMIT[split])
    low, high = DAYS[plan.level]
    ways = ["day"]
    ways += ["relative"] * any(low <= days <= high for days in phrases.LIMIT_RELATIVE[split])
    ways += ["weekday"] * (plan.level > 1)
    way = rng.choice(ways)
    if way == "relative":
        return rng.choice([text for days, text in phrases.LIMIT_RELATIVE[split].items() if low <= days <= high])
    left = rng.randint(max(low, 1), min(high, 6) if way == "weekday" else high)
    day = today + timedelta(days=left)
    if way == "weekday":
        return rng.choice(phrases.LIMIT_WEEKDAY[split]).format(weekday=WEEKDAYS[day.weekday()])
    return rng.choice(phrases.LIMIT_DAY[split]).format(day=short_date(day, split))


def _golds(plan: Plan) -> dict[str, str | int | bool]:
    return {"intent": plan.wish.key, "urgency": plan.level, "human": plan.yes}
