"""Sentence frames of tiers T1 and T2: requests, politeness, time limits, wishes for a human.

Train, dev and test share no frame. ``{vp}`` is a wish from the vocabulary, ``{n}`` a count of days, ``{weekday}``,
``{day}`` and ``{past}`` are dates.
"""

from __future__ import annotations

from arena.tasks.intent.vocabulary import Wordings

PLAIN_REQUESTS: Wordings = {
    "train": ("Please {vp}.", "I want you to {vp}.", "My wish: {vp}."),
    "dev": ("Can you {vp}?", "You should {vp}."),
    "test": ("I would like you to {vp}.", "Kindly {vp}.", "I ask you to {vp}."),
}

PLAIN_TODAY: Wordings = {
    "train": ("It is needed today.", "It is needed tomorrow."),
    "dev": ("I need it today.", "I need it tomorrow."),
    "test": ("It must be done today.", "It must be done tomorrow."),
}
PLAIN_DAYS: Wordings = {
    "train": ("I have {n} days left.", "There are {n} days left."),
    "dev": ("You get {n} days for it.", "It is needed within {n} days."),
    "test": ("Only {n} days are left.", "You have {n} days for this."),
}
PLAIN_NO_LIMIT: Wordings = {
    "train": ("No time limit applies.", "I set no time limit."),
    "dev": ("There is no time limit.",),
    "test": ("I name no time limit.", "This has no time limit."),
}

PLAIN_PERSON: Wordings = {
    "train": ("I want to talk to a person.", "Let me talk to a person."),
    "dev": ("I ask to talk to a person.",),
    "test": ("I would like to talk to a person about it.", "Please get a person to talk to me."),
}
PLAIN_NO_PERSON: Wordings = {
    "train": ("An automatic reply is enough.", "I only expect an automatic mail."),
    "dev": ("An automatic message is all I need.",),
    "test": ("An automatic answer will do.", "I am happy with an automatic note."),
}

OPENERS: Wordings = {
    "train": (
        "Hello, I hope this finds you well.",
        "Good morning, and thanks for reading.",
        "Dear team, long time no see.",
        "Hi there, sorry to trouble you.",
    ),
    "dev": ("Good evening, what a week it has been.", "Dear all, I trust everyone is fine."),
    "test": (
        "Greetings from a rainy coast.",
        "Good afternoon, I shall be brief.",
        "Dear ladies and gentlemen, you do fine work.",
    ),
}
REQUESTS: Wordings = {
    "train": (
        "I wonder if you could {vp}.",
        "It would be lovely of you to {vp}.",
        "Would you mind if I asked you to {vp}?",
        "What I am after is for you to {vp}.",
    ),
    "dev": ("Might I trouble you to {vp}?", "It would help me no end if you were to {vp}."),
    "test": (
        "Would you be so good as to {vp}?",
        "I should be glad to see you {vp}.",
        "My hope is that you will {vp}.",
    ),
}
CLOSERS: Wordings = {
    "train": ("Many thanks in advance.", "Warm regards.", "Have a fine day."),
    "dev": ("Bless you all.", "Best wishes to everyone."),
    "test": ("I remain much obliged.", "Cheers and all the best.", "With kind greetings."),
}

LIMIT_WEEKDAY: Wordings = {
    "train": (
        "It has to be ready before I leave on {weekday}.",
        "My guests arrive on {weekday} and it must be ready.",
    ),
    "dev": ("By {weekday} it should be out of the way.",),
    "test": (
        "I set off on {weekday} and want it behind me.",
        "On {weekday} my family gathers and all must be in place.",
    ),
}
LIMIT_DAY: Wordings = {
    "train": ("My landlord wants it settled by {day}.", "It counts only if it happens by {day}."),
    "dev": ("Please see to it no later than {day}.",),
    "test": ("The bank gives me until {day}.", "My deadline for this is {day}."),
}
LIMIT_RELATIVE: dict[str, dict[int, str]] = {
    "train": {
        0: "I need an end to this by tonight.",
        1: "Tomorrow is the last moment for it.",
        2: "The day after tomorrow is my last chance.",
        7: "A week from today is the limit.",
        21: "I can wait three weeks and not longer.",
    },
    "dev": {
        0: "It cannot wait past this evening.",
        3: "Three nights from now is the limit.",
        14: "Within a fortnight is fine.",
        35: "Five weeks from now I go abroad and it has to be over.",
    },
    "test": {
        0: "Before midnight would save me.",
        1: "It cannot go beyond tomorrow.",
        2: "In 48 hours the door shuts on me.",
        10: "Ten days is what I can spare.",
        28: "Four weeks is what I can spare.",
    },
}
"""split -> days left -> sentence."""
NO_LIMIT: Wordings = {
    "train": ("Take all the time you like.", "It makes no odds to me when this happens."),
    "dev": ("Whenever it suits you.",),
    "test": ("I am in no rush at all.", "Any pace is fine by me."),
}
PAST: Wordings = {
    "train": ("I first wrote to you on {past}.", "It was on {past} that I signed up."),
    "dev": ("My account dates from {past}.",),
    "test": ("The whole thing was set up on {past}.", "I have been with you since {past}."),
}

HUMAN: Wordings = {
    "train": (
        "Could one of your staff ring me?",
        "I would like somebody at the desk to take this up with me.",
        "Have an adviser phone me.",
    ),
    "dev": ("May I speak with a member of your team?", "I would sooner discuss it with a real human being."),
    "test": (
        "I would feel better if a colleague of yours gave me a bell.",
        "Have someone from the front office get in touch by voice.",
        "Could a live agent come on the line?",
    ),
}
NO_HUMAN: Wordings = {
    "train": (
        "Your staff were kind on the phone last time but a mail will do.",
        "There is no need for anybody to ring me.",
        "The chatbot can settle this.",
    ),
    "dev": (
        "I would sooner not speak with your team again.",
        "Leave your advisers out of it as the web page is enough.",
    ),
    "test": (
        "The colleague I had on the line last week was nice yet a text is plenty this time.",
        "Nobody has to get in touch by voice as your system can do it.",
        "Spare your agents the trouble and just send a message back.",
    ),
}
