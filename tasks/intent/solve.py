"""The second solver of the intent domain: reads a state and its questions, as a model would, and answers by rules.

It parses clauses, keeps track of which wishes are open, does the calendar, and applies the policy that stands in
the state. It knows nothing of how the text was made; golds are frozen only where it agrees with the generator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta

from arena.tasks.intent import cues
from arena.types import JSON, Choice, Noul, Score


class Unsolved(Exception):
    """The text does not give one answer."""


@dataclass(frozen=True)
class Found:
    """A wish as read: either part may be missing from a clause."""

    action: str | None
    thing: str | None


def solve(state: JSON, questions: Mapping[str, Choice | Score | Noul]) -> dict[str, str | int | bool]:
    """Question name -> committed decision.

    Raises:
        Unsolved: the text gives none, or more than one.
    """
    if isinstance(state, str):
        state = {"message": state}
    turns = [(turn["from"], turn["text"]) for turn in state.get("conversation", ())]
    turns = turns or [("customer", state["message"])]
    rules = {row.split(":")[0].split()[0].lower(): row.lower() for row in state.get("policy", ())}
    wish = _filed(_open_wishes(turns, rules, state), rules)
    answers: dict[str, str | int | bool] = {}
    for name, question in questions.items():
        if isinstance(question, Choice):
            answers[name] = _option(wish, question)
        elif isinstance(question, Score):
            answers[name] = _level(turns, rules, state, question)
        elif rules:
            answers[name] = _self_service(
                wish, _policy_level(turns, rules, state), rules["self-service"], state["account"]
            )
        else:
            answers[name] = _wants_person(turns)
    return answers


def _clauses(text: str) -> list[str]:
    text = re.sub(r'"[^"]*"', "", text)
    kept = "\n".join(line for line in text.split("\n") if not line.startswith(">"))
    return [part.strip() for part in re.split(r"[.?!:;\n]|, ", kept.lower()) if part.strip()]


def _one(table: Mapping[str, re.Pattern[str]], clause: str) -> str | None:
    hits = [name for name, pattern in table.items() if pattern.search(clause)]
    if len(hits) > 1:
        raise Unsolved(f"{clause!r} reads as {hits}")
    return hits[0] if hits else None


def _read(clause: str) -> Found:
    return Found(_one(cues.ACTION, clause), _one(cues.THING, clause))


def _open_wishes(turns: list[tuple[str, str]], rules: Mapping[str, str], state: JSON) -> list[Found]:
    wishes: list[Found] = []
    offered: list[Found] = []
    for speaker, text in turns:
        if speaker != "customer":
            offered = [found for found in map(_read, _clauses(text)) if found.action]
            continue
        holds: bool | None = None
        for clause in _clauses(text):
            if cues.CONDITION.search(clause):
                holds = _condition(clause, holds, rules, state)
                continue
            found = _read(clause)
            if found.action is None:
                _rearrange(clause, found, wishes, offered)
            elif found.thing is None:
                raise Unsolved(f"{clause!r}: {found.action} what?")
            elif cues.REFUSED.search(clause):
                wishes[:] = [wish for wish in wishes if wish != found]
            elif holds is not False:
                wishes.append(found)
    return wishes


def _rearrange(clause: str, found: Found, wishes: list[Found], offered: list[Found]) -> None:
    """A clause without a wish of its own may pick, correct or withdraw one."""
    picked = [number for number, pattern in enumerate(cues.PICKS) if pattern.search(clause)]
    ordinal = cues.ORDINAL.search(clause)
    if found.thing is not None:
        if wishes and cues.SWAPPED.search(clause):
            wishes[-1] = replace(wishes[-1], thing=found.thing)
    elif wishes and cues.LAST_TAKEN_BACK.search(clause):
        wishes.pop()
    elif cues.ALL_TAKEN_BACK.search(clause):
        wishes.clear()
    elif cues.TAKEN_BACK.search(clause) and ordinal:
        del wishes[("first", "second").index(ordinal[1])]
    elif len(offered) == 2 and len(picked) == 1:
        wishes.append(offered[picked[0]])


def _condition(clause: str, before: bool | None, rules: Mapping[str, str], state: JSON) -> bool:
    """Whether a condition holds. One that does not name the free period is the opposite of the one before."""
    if not cues.FREE_NAMED.search(clause):
        if before is None:
            raise Unsolved(f"{clause!r}: no condition before it")
        return not before
    needed = int(_search(r"(\d+)", rules["fees"])[1])
    free = (_iso(state["account"]["starts_on"]) - _iso(state["today"])).days >= needed
    return free != bool(cues.FREE_ENDED.search(clause))


def _filed(wishes: list[Found], rules: Mapping[str, str]) -> Found:
    if len(wishes) == 1:
        return wishes[0]
    if len(wishes) == 2 and rules:
        return wishes[0] if _search(r"\b(first|last)\b", rules["filing"])[1] == "first" else wishes[1]
    raise Unsolved(f"open wishes: {wishes}")


def _option(wish: Found, question: Choice) -> str:
    """The option whose key names the action and the object, checked against its description."""
    key = f"{wish.action}_{wish.thing}"
    described = _read(str(question.criteria.get(key)).lower())
    if described != wish:
        raise Unsolved(f"{wish} is not the option {key}: {question.criteria.get(key)}")
    return key


def _customer(turns: list[tuple[str, str]]) -> str:
    return ". ".join(clause for speaker, text in turns if speaker == "customer" for clause in _clauses(text))


def _wants_person(turns: list[tuple[str, str]]) -> bool:
    text = _customer(turns)
    if cues.NO_PERSON.search(text):
        return False
    if cues.PERSON.search(text):
        return True
    raise Unsolved("nothing is said about a person")


def _level(turns: list[tuple[str, str]], rules: Mapping[str, str], state: JSON, question: Score) -> int:
    if rules:
        return _policy_level(turns, rules, state)
    left = _days_left(_customer(turns), _iso(state["today"]) if "today" in state else None)
    fits = [level for level, text in enumerate(question.criteria) if _fits(text, left)]
    if len(fits) != 1:
        raise Unsolved(f"{left} days fit the levels {fits}")
    return fits[0]


def _fits(level: str, left: int | None) -> bool:
    """Whether a number of days is what a level's description says."""
    if "No time limit" in level or left is None:
        return "No time limit" in level and left is None
    if "today or tomorrow" in level:
        return left in (0, 1)
    if more := re.search(r"More than (\d+)", level):
        return left > int(more[1])
    low, high = _search(r"(\d+) (?:to|or) (\d+)", level).groups()
    return int(low) <= left <= int(high)


def _days_left(text: str, today: date | None) -> int | None:
    if today is None:  # plain messages have no calendar
        if re.search(r"\btoday\b|\btomorrow\b", text):
            return 1
        plain = re.search(r"(\d+) days", text)
        return int(plain[1]) if plain else None
    coming = [day for day in _dates(text, today.year) if day >= today]
    if coming:
        return (coming[-1] - today).days
    for name in re.findall("|".join(cues.WEEKDAYS), text):
        return ((cues.WEEKDAYS.index(name) - today.weekday() - 1) % 7) + 1
    for pattern, days in cues.FIXED_DAYS:
        if pattern.search(text):
            return days
    span = re.search(rf"\b({'|'.join(cues.NUMBERS)}|\d+) (hours|days|nights|weeks)\b", text)
    if span is None:
        return None
    count = cues.NUMBERS.get(span[1]) or int(span[1])
    return {"hours": count // 24, "weeks": count * 7}.get(span[2], count)


def _dates(text: str, year: int) -> list[date]:
    """Days named in a text, in order: ``the 9th of March``, ``9 March``, ``March 9``."""
    months = "|".join(cues.MONTHS)
    found = []
    for hit in re.finditer(rf"(\d+)(?:st|nd|rd|th)?(?: of)? ({months})\b|\b({months}) (\d+)", text):
        day, month = (hit[1], hit[2]) if hit[1] else (hit[4], hit[3])
        found.append(date(year, cues.MONTHS.index(month) + 1, int(day)))
    return found


def _iso(long: str) -> date:
    """``Tuesday 4 March 2025``; the weekday must be that day's."""
    weekday, day, month, year = long.lower().split()
    found = date(int(year), cues.MONTHS.index(month) + 1, int(day))
    if cues.WEEKDAYS[found.weekday()] != weekday:
        raise Unsolved(f"{long} is not a {weekday}")
    return found


def _policy_level(turns: list[tuple[str, str]], rules: Mapping[str, str], state: JSON) -> int:
    text = _customer(turns)
    today = _iso(state["today"])
    days = _dates(text, today.year)
    if not days:
        return 0
    steps = [int(n) for n in re.findall(r"(?:at most|up to|more than) (\d+)", rules["urgency"])]
    if len(steps) != 3 or steps != sorted(steps):
        raise Unsolved(f"three rising steps expected: {rules['urgency']}")
    level = 4 - sum(days[-1] > today + timedelta(days=step) for step in steps)
    level += bool(cues.HEALTH.search(text)) - bool(cues.STAND_IN.search(text))
    return min(4, max(1, level))


def _self_service(wish: Found, level: int, rule: str, account: Mapping[str, JSON]) -> bool:
    kinds = [action for action, name in cues.KINDS.items() if name in rule]
    limit = int(_search(r"(\d+) euros", rule)[1])
    if contacts := re.search(r"(\d+) (?:or more )?earlier contacts", rule):
        if account["earlier_contacts"] >= int(contacts[1]):
            return False
    elif since := re.search(r"since (\d{4})", rule):
        limit *= 2 if account["member_since"] <= int(since[1]) else 1
    elif level == int(_search(r"(?:level|urgency) (\d)", rule)[1]):
        return False
    return bool(account["verified"]) and account["amount_eur"] <= limit and wish.action in kinds


def _search(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise Unsolved(f"{pattern!r} is not in {text!r}")
    return found
