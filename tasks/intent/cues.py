"""The solver's own lexicon: which words in a clause point to which action, object, speech act or time.

Written against the texts, not taken from the generator's lists; one pattern stands for many wordings.
"""

from __future__ import annotations

import re


def _table(rows: dict[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in rows.items()}


ACTION = _table(
    {
        "cancel": r"\bcancel\b|\bstrike .+ off|\bforget about|\bcall .+ off for|\bdrop .+ completely|\bscrap\b"
        r"|not go ahead|\bput an end|\bwipe .+ out of",
        "move": r"to another date|\bpush .+ back|\bbring .+ forward|later slot|\bshift .+ week|\bswap the day"
        r"|\bput .+ off until|a different day|\bsqueeze .+ sooner",
        "status": r"\bthe status\b|how far along|still going ahead|runs to plan|the latest on|been confirmed|become of"
        r"|up to speed|how things stand",
        "price": r"\bthe price\b|be charged|how much .+ comes|\bsum (i|you) have to pay|how much money|total bill"
        r"|pocket|figure (i|you) owe|\bthe fees\b",
        "transfer": r"another person|the name of my sister|the name of your sister|take over|\bhand .+ on to|the holder"
        r"|\bsign .+ over|in (my|your) stead|as the owner|\bpass .+ along",
        "receipt": r"\breceipt\b|\bproof\b|paperwork|tax slip|paid bill|invoice|a document|bookkeeper|in writing",
        "fault": r"\bfault\b|went wrong|trouble (i|you) have|as promised|complaint|is broken|defect|\bflaw\b"
        r"|to scratch",
        "add": r"add something|one more on top|bit bigger|an extra|another one with|cover one more|enlarge|supplement"
        r"|out with one more",
    }
)

THING = _table(
    {
        "parcel": r"parcel|\bbox of\b|ordered from|shipment|carton|courier|package|doorstep|delivery",
        "subscription": r"subscription|monthly|every month|membership|yearly deal|contract|month after month|agreement"
        r"|all-year",
        "room": r"room booking|double bed|\bstay at\b|hotel|lodging|\binn\b|overnight|suite|bed and breakfast",
        "visit": r"technician|engineer|fitter|home call|mechanic|handyman|repairer|house call|seen to at home",
        "course": r"\bcourse\b|evening class|lessons|workshop|training|seminar|tuition|teaching|tutorials",
        "ticket": r"event ticket|seat at|admission|entry for|stalls|turnstile|in the stands|entrance|front row",
        "rental": r"rental|on loan|hiring|\bhired\b|lent to|bring back|borrowing|return to|on lease",
        "table": r"table reservation|dinner|lunch|\bmeal\b|supper|brunch|dine in|feast",
    }
)

REFUSED = re.compile(
    r"^(and |please )?(do not|don't|nor\b|by no means|you (need|must|should) not|i am not asking|it is not my wish"
    r"|i have not asked|it would be wrong|there is no call|your people thought)"
)
"""A clause whose wish is not wanted."""

CONDITION = re.compile(r"^(only where|if|as long as|once|provided|should the|unless|otherwise|in any other case)\b")
FREE_NAMED = re.compile(r"\bfree\b|\bcharge\b")
FREE_ENDED = re.compile(r"run out|(?<!not )\bover\b")

SWAPPED = re.compile(r"\bmeant\b|it should be|thinking of|^read\b|right one is|^but for\b")
"""A clause that puts another object into the wish named last."""

TAKEN_BACK = re.compile(r"^forget the|skip the|^drop the|needless|no need any more|withdraw|undone")
ALL_TAKEN_BACK = re.compile(r"never mind what i asked")
LAST_TAKEN_BACK = re.compile(r"(scratch|forget|strike|drop) that\b|take that back")
ORDINAL = re.compile(r"\b(first|second)\b")

PICKS = (
    re.compile(r"former|first of these|first guess|said first|number one|not the second"),
    re.compile(r"latter|second of these|second guess|said last|number two|not the first"),
)

NO_PERSON = re.compile(
    r"automatic|a mail will do|no need for anybody|chatbot|sooner not speak|leave your advisers|a text is plenty"
    r"|nobody has to|spare your agents"
)
PERSON = re.compile(
    r"to a person|get a person|ring me|at the desk|adviser|speak with|human being|a bell|by voice|live agent"
)

HEALTH = re.compile(r"medicine|health|well-being|surgery")
STAND_IN = re.compile(r"spare one|makeshift|replacement|stopgap|helps me out")

KINDS = {
    "cancel": "cancellation",
    "move": "new date",
    "status": "status question",
    "price": "price question",
    "transfer": "change of person",
    "receipt": "receipt",
    "fault": "fault report",
    "add": "addition",
}
"""How a policy names an action."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}

FIXED_DAYS = (
    (re.compile(r"\btonight\b|this evening|midnight"), 0),
    (re.compile(r"day after tomorrow"), 2),
    (re.compile(r"\btomorrow\b"), 1),
    (re.compile(r"fortnight"), 14),
    (re.compile(r"a week from today"), 7),
)
"""Words for a number of days, the more exact one first."""
