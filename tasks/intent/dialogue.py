"""Tier T3: a conversation, an account and a policy that has to be applied.

The gold follows from the script (which wish is left), from the dates and rules drawn (urgency), and from
rules, account and the other two golds (self-service). Facts are drawn until they give the planned gold.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from arena.tasks.intent import phrases, scripts
from arena.tasks.intent import vocabulary as words
from arena.tasks.intent.draw import (
    WISHES,
    Plan,
    Wish,
    grid,
    indirect,
    long_date,
    mirrored,
    options,
    short_date,
    some_day,
)
from arena.tasks.intent.scripts import A, C
from arena.tasks.intent.single import Written
from arena.types import Choice, Noul, Score

SCRIPTS = ("object", "replaced", "negated", "quoted", "conditional", "pair", "withdrawn", "picked", "misread")
GRIDS = ((4, 5), (5, 5), (5, 6), (6, 6), (6, 7), (7, 7), (7, 8))
"""Actions x objects of the option sets: 20 to 56 options."""

LEVEL_TEXTS = ("Level 0 (lowest)", "Level 1", "Level 2", "Level 3", "Level 4 (highest)")


@dataclass(frozen=True)
class Rules:
    """The policy's numbers. ``exception``: which of the three exceptions it has, with its number."""

    last: bool
    free_days: int
    steps: tuple[int, int, int]
    kinds: tuple[str, ...]
    limit: int
    exception: str
    number: int


@dataclass(frozen=True)
class Facts:
    """The account and what is said about time. ``left``: days to the day named last, None when none was named."""

    verified: bool
    amount: int
    contacts: int
    since: int
    starts_in: int
    left: int | None
    first_left: int | None
    health: bool
    stand_in: bool


def urgency(rules: Rules, facts: Facts) -> int:
    """Level 0..4 under the rules."""
    if facts.left is None:
        return 0
    level = 4 - sum(facts.left > step for step in rules.steps)
    return max(1, min(4, level + facts.health - facts.stand_in))


def self_service(rules: Rules, facts: Facts, action: str, level: int) -> bool:
    """Whether self-service may close the case."""
    limit = rules.limit
    if rules.exception == "member" and facts.since <= rules.number:
        limit *= 2
    if rules.exception == "urgent" and level == 4:
        return False
    if rules.exception == "contacts" and facts.contacts >= rules.number:
        return False
    return facts.verified and facts.amount <= limit and action in rules.kinds


def draw_rules(rng: Random) -> Rules:
    """Some policy."""
    exception = rng.choice(("urgent", "contacts", "member"))
    number = {"urgent": 4, "contacts": rng.randint(2, 5), "member": rng.randint(2008, 2018)}[exception]
    return Rules(
        last=rng.random() < 0.5,
        free_days=rng.randint(3, 12),
        steps=(rng.randint(2, 4), rng.randint(5, 8), rng.randint(12, 25)),
        kinds=tuple(rng.sample(list(scripts.KINDS), rng.randint(3, 5))),
        limit=rng.randrange(60, 240, 20),
        exception=exception,
        number=number,
    )


def draw_facts(rng: Random, rules: Rules) -> Facts:
    """Some account, mostly close to the rules' limits."""
    left = None if rng.random() < 0.2 else rng.randint(0, rules.steps[2] + 12)
    mood = rng.random()
    return Facts(
        verified=rng.random() < 0.75,
        amount=max(5, int(rules.limit * rng.choice((0.5, 0.8, 1.0, 1.3, 1.7, 2.2))) + rng.randint(-9, 0)),
        contacts=rng.randint(0, 6),
        since=rng.randint(2003, 2021),
        starts_in=max(0, rules.free_days + rng.randint(-4, 5)),
        left=left,
        first_left=None if left is None or rng.random() < 0.4 else left + rng.choice((-7, -3, 4, 9, 15)),
        health=mood < 0.3,
        stand_in=mood > 0.7,
    )


def write_t3(plan: Plan) -> Written:
    """A conversation with distractor wishes; 20 to 56 options."""
    rng, split = plan.rng(), plan.split
    script = SCRIPTS[plan.turn % len(SCRIPTS)]
    while True:
        rules = draw_rules(rng)
        facts = draw_facts(rng, rules)
        if urgency(rules, facts) != plan.level or self_service(rules, facts, plan.wish.action, plan.level) != plan.yes:
            continue
        if facts.first_left is None or facts.first_left > 0:
            break
    wishes, turns, family = _conversation(rng, plan, script, rules, facts)
    today = some_day(rng, split)
    _speak_of_time(rng, split, today, facts, turns)
    state = {
        "today": long_date(today),
        "policy": _policy(rng, split, rules),
        "account": {
            "verified": facts.verified,
            "amount_eur": facts.amount,
            "earlier_contacts": facts.contacts,
            "member_since": facts.since,
            "starts_on": long_date(today + timedelta(days=facts.starts_in)),
        },
        "conversation": [{"from": speaker, "text": text} for speaker, text in turns],
    }
    keys = grid(rng, wishes, *rng.choice(GRIDS))
    questions: dict[str, Choice | Score | Noul] = {
        "intent": Choice(
            instructions="Under which intent is this case filed, by the policy in the state?",
            criteria=options(rng, keys, plan),
        ),
        "urgency": Score(instructions="Which urgency level does the policy give this case?", criteria=LEVEL_TEXTS),
        "self_service": Noul(instructions="May self-service close this case under the policy?"),
    }
    golds: dict[str, str | int | bool] = {
        "intent": plan.wish.key,
        "urgency": plan.level,
        "self_service": plan.yes,
    }
    return state, questions, golds, family


def _conversation(
    rng: Random, plan: Plan, script: str, rules: Rules, facts: Facts
) -> tuple[list[Wish], list[tuple[str, str]], str]:
    """The wishes named (the right one among them), the turns, and the template family."""
    gold, split = plan.wish, plan.split
    right = _place(rng, script, rules, facts)
    wishes = _wishes(rng, script, gold, right)
    said = [indirect(rng, split, wish) for wish in wishes]
    if script == "conditional":  # two wishes about one thing
        said[1 - right] = indirect(rng, split, wishes[1 - right], said[right].x)
    family, turns = _template(rng, split, script, right)
    fill = {
        "req": rng.choice(phrases.REQUESTS[split]).format(vp=said[0].vp),
        "req2": rng.choice(phrases.REQUESTS[split]).format(vp=said[1].vp),
        "ack": rng.choice(scripts.ACKS[split]),
        "about": rng.choice(scripts.ABOUT[split]).format(x1=said[0].x),
        "opener": rng.choice(phrases.OPENERS[split]),
        "nth": ("second", "first")[right] if script == "withdrawn" else "",
    }
    fill |= {f"x{n}": each.x for n, each in enumerate(said, 1)}
    voices = {
        C: fill | {f"vp{n}": each.vp for n, each in enumerate(said, 1)},
        A: fill | {f"vp{n}": mirrored(each.vp) for n, each in enumerate(said, 1)},
    }
    return wishes, [(speaker, text.format(**voices[speaker])) for speaker, text in turns], family


def _place(rng: Random, script: str, rules: Rules, facts: Facts) -> int:
    """Which of the wishes named is the right one."""
    if script == "conditional":
        return 0 if facts.starts_in >= rules.free_days else 1
    if script == "pair":
        return int(rules.last)
    if script in ("withdrawn", "picked"):
        return rng.randrange(2)
    return 2 if script == "negated" else 1


def _wishes(rng: Random, script: str, gold: Wish, right: int) -> list[Wish]:
    """Two or three different wishes, ``gold`` at ``right``. Distractors often share its action or its object."""
    if script == "object":
        return [rng.choice([w for w in WISHES if w.action == gold.action and w != gold]), gold]
    near = [w for w in WISHES if w != gold and (w.action == gold.action or w.thing == gold.thing)]
    if script == "conditional":
        near = [w for w in near if w.thing == gold.thing]
    others = rng.sample(near, 1)
    if script == "negated":
        others.append(rng.choice([w for w in WISHES if w not in (gold, *others)]))
    others.insert(right, gold)
    return others


def _template(rng: Random, split: str, script: str, right: int) -> tuple[str, list[tuple[str, str]]]:
    if script == "picked":
        number = rng.randrange(len(scripts.PICKED[split]))
        question, *replies = scripts.PICKED[split][number]
        return f"t3-{split}-picked{number}", [(C, "{about}"), (A, question), (C, replies[right])]
    known = {
        "object": scripts.OBJECT_CORRECTED,
        "replaced": scripts.WISH_REPLACED,
        "negated": scripts.NEGATED,
        "quoted": scripts.QUOTED,
        "conditional": scripts.CONDITIONAL,
        "pair": scripts.PAIR,
        "withdrawn": scripts.WITHDRAWN,
        "misread": scripts.MISREAD,
    }[script][split]
    number = rng.randrange(len(known))
    return f"t3-{split}-{script}{number}", list(known[number])


def _speak_of_time(rng: Random, split: str, today: date, facts: Facts, turns: list[tuple[str, str]]) -> None:
    """Append what is said about days, health, stand-ins and nothing at all to the customer's turns, in place."""
    mine = [number for number, (speaker, _) in enumerate(turns) if speaker == C]

    def say(number: int, text: str) -> None:
        speaker, before = turns[number]
        gap = "\n" if before.split("\n")[-1].startswith(">") else " "  # not into a quoted line
        turns[number] = (speaker, f"{before}{gap}{text}")

    def day(left: int) -> str:
        return short_date(today + timedelta(days=left), split)

    if facts.left is not None:
        say(mine[0], rng.choice(scripts.DAY_GIVEN[split]).format(day=day(facts.first_left or facts.left)))
    extra = [rng.choice(scripts.ASIDES[split]).format(n=rng.randint(20, 400))]
    extra += [rng.choice(scripts.HEALTH[split])] * facts.health + [rng.choice(scripts.STAND_IN[split])] * facts.stand_in
    rng.shuffle(extra)
    for text in extra:
        say(rng.choice(mine), text)
    if facts.first_left is not None and facts.left is not None:
        if len(mine) == 1:
            turns += [(A, rng.choice(scripts.ACKS[split])), (C, "")]
            mine.append(len(turns) - 1)
        say(mine[-1], rng.choice(scripts.DAY_CORRECTED[split]).format(day=day(facts.left)))
        turns[mine[-1]] = (C, turns[mine[-1]][1].strip())


def _policy(rng: Random, split: str, rules: Rules) -> list[str]:
    a, b, c = rules.steps
    kinds = [scripts.KINDS[each] for each in words.ACTIONS if each in rules.kinds]
    exception = rng.choice(scripts.EXCEPTIONS[rules.exception][split]).format(n=rules.number)
    rows = [
        rng.choice(scripts.FILING[split]).format(which="last" if rules.last else "first"),
        rng.choice(scripts.FREE[split]).format(n=rules.free_days),
        rng.choice(scripts.URGENCY[split]).format(a=a, b=b, c=c),
        rng.choice(scripts.SELF_SERVICE[split]).format(
            kinds=", ".join(kinds[:-1]) + " or " + kinds[-1], n=rules.limit, exception=exception
        ),
    ]
    rng.shuffle(rows)
    return rows
