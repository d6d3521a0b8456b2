"""Conversations of tier T3: how a wish is named, dropped, corrected, quoted, tied to a condition; and the policies.

A script is a list of turns ``(speaker, text)``. ``{vp1}``, ``{vp2}``, ``{vp3}`` are wishes, ``{x1}``, ``{x2}`` the
objects of the first two, ``{req}`` and ``{req2}`` whole requests made of them. The wish that is left is named last
in about half of the scripts. Train, dev and test share no wording.
"""

from __future__ import annotations

from arena.tasks.intent.vocabulary import Wordings

Script = tuple[tuple[str, str], ...]
Scripts = dict[str, tuple[Script, ...]]
"""split -> scripts."""

C, A = "customer", "assistant"


def _said(*texts: str) -> Script:
    """Customer alone, or customer, assistant's acknowledgement, customer."""
    if len(texts) == 1:
        return ((C, texts[0]),)
    return ((C, texts[0]), (A, "{ack}"), (C, texts[1]))


def _asked(question: str, reply: str) -> Script:
    return ((C, "{about}"), (A, question), (C, reply))


def _heard(question: str, reply: str) -> Script:
    """The customer has named the second wish before the assistant asks about the first."""
    return ((C, "{req2}"), (A, question), (C, reply))


OBJECT_CORRECTED: Scripts = {
    "train": (
        _said("{req}", "Sorry, I mixed things up. I meant {x2}, not {x1}."),
        _said("{req}", "Hold on, wrong one. It should be {x2}, not {x1}."),
    ),
    "dev": (_said("{req}", "Oh, my mistake. I was thinking of {x2}, not {x1}."),),
    "test": (
        _said("{req}", "Apologies, my mind was elsewhere. Where I wrote {x1}, read {x2}."),
        _said("{req}", "I named the wrong one just now. The right one is {x2}, not {x1}."),
        _said("{req}", "That came out wrong. Same wish, but for {x2}."),
    ),
}
"""The action of the first wish with the object of the second is left."""

WISH_REPLACED: Scripts = {
    "train": (
        _said("{req}", "Wait, scratch that. Do not {vp1}. Instead, {vp2}."),
        _said("{req}", "I changed my mind. Please don't {vp1}, but {vp2}."),
        _said("{req2}", "Or rather, {vp1}. No, forget that, my first wish stands."),
    ),
    "dev": (
        _said("{req}", "Hm, on second thoughts, do not {vp1}. Rather, {vp2}."),
        _said("{req2}", "Then again, {vp1}. No, strike that, it stays as it was."),
    ),
    "test": (
        _said("{req}", "Let me take that back. You should not {vp1}. Better, {vp2}."),
        _said("{req}", "I slept on it. Never mind what I asked. Now, {vp2}."),
        _said("{req}", "Stop, leave my first wish undone. In its stead, {vp2}."),
        _said("{req2}", "I toyed with the thought that you {vp1}. But I drop that idea, all stays as I said at first."),
        _said("{req2}", "Maybe {vp1} instead. Hm, no, I take that back and hold to what I said before."),
    ),
}
"""The second wish is left."""

NEGATED: Scripts = {
    "train": (
        _said("To be clear, I am not asking you to {vp1}. Nor should you {vp2}. I only want you to {vp3}."),
        _said("You need not {vp1}. It is not my wish that you {vp2} either. What counts is that you {vp3}."),
        _said("Just one thing: {vp3}. I am not asking you to {vp1}. Nor should you {vp2}."),
    ),
    "dev": (
        _said("Please do not {vp1}. You must not {vp2} either. All I need is for you to {vp3}."),
        _said("The only thing to do is to {vp3}. You must not {vp1}. Please do not {vp2} either."),
    ),
    "test": (
        _said("Your people thought they should {vp1}. Nothing of the kind. Nor is it right to {vp2}. Just {vp3}."),
        _said("By no means {vp1}. I have not asked you to {vp2} either. My one wish is that you {vp3}."),
        _said("It would be wrong to {vp1}. Equally, there is no call to {vp2}. I simply ask you to {vp3}."),
        _said("My sole wish is that you {vp3}. It would be wrong to {vp1}. Nor is it right to {vp2}."),
        _said("Simply {vp3}. By no means {vp1}. I have not asked you to {vp2} either."),
    ),
}
"""The third wish is left."""

QUOTED: Scripts = {
    "train": (
        _said("> {req}\nThat mail of mine has been dealt with. Today I write so that you {vp2}."),
        _said("> {req}\nThe above is done, thanks. New matter: {vp2}."),
        _said("Today I want you to {vp2}. My last mail is closed and I only attach it.\n> {req}"),
    ),
    "dev": (
        _said("> {req}\nThe lines above are closed. This time, {vp2}."),
        _said("This time, {vp2}. Below is what is closed already.\n> {req}"),
    ),
    "test": (
        _said('My mail of last month said "{req}" That is history. Now I have another wish: {vp2}.'),
        _said("> {opener}\n> {req}\nYou took care of that long ago. What I come with now is different: {vp2}."),
        _said('You still keep my old note "{req}" on file. Ignore it. What matters now: {vp2}.'),
        _said('What I come with now: {vp2}. The note "{req}" is an old one and has been seen to.'),
        _said("Please {vp2}. Underneath stands what you did for me long ago.\n> {opener}\n> {req}"),
    ),
}
"""The second wish is left."""

CONDITIONAL: Scripts = {
    "train": (
        _said("If changes are still free of charge, {vp1}. If they are not, {vp2}."),
        _said("As long as the free period lasts, {vp1}. Once it is over, {vp2}."),
    ),
    "dev": (_said("Provided the free period is not over, {vp1}. Otherwise, {vp2}."),),
    "test": (
        _said("Should the free period have run out, {vp2}. If it has not, {vp1}."),
        _said("Only where a change is still free, {vp1}. In any other case, {vp2}."),
        _said("Unless there is a charge by now, {vp1}. If there is one, {vp2}."),
    ),
}
"""The first wish is left while changes are free under the policy, else the second."""

PAIR: Scripts = {
    "train": (
        _said("Two things. First, {vp1}. Second, {vp2}."),
        _said("{req}", "While we are at it, also {vp2}."),
    ),
    "dev": (_said("To start with, {vp1}. Apart from that, {vp2}."),),
    "test": (
        _said("I come with a pair of wishes. One, {vp1}. Two, {vp2}."),
        _said("For a start, {vp1}. And furthermore, {vp2}."),
        _said("{req}", "Then there is a further wish: {vp2}."),
    ),
}
"""Both are open: the policy says which one counts."""

WITHDRAWN: Scripts = {
    "train": (
        _said("Two things. First, {vp1}. Second, {vp2}.", "Forget the {nth} one, my brother has seen to it."),
        _said("First of all, {vp1}. Secondly, {vp2}.", "You can skip the {nth} point after all."),
    ),
    "dev": (_said("To start with, {vp1}. Apart from that, {vp2}.", "Drop the {nth} item, it has solved itself."),),
    "test": (
        _said("I come with a pair of wishes. One, {vp1}. Two, {vp2}.", "The {nth} of them has become needless."),
        _said("For a start, {vp1}. And furthermore, {vp2}.", "No need any more for the {nth} thing."),
        _said("Wish one: {vp1}. Wish two: {vp2}.", "I withdraw the {nth} wish."),
    ),
}
"""The wish that is not the ``{nth}`` is left."""

PICKED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "train": (
        ("Shall I {vp1}, or would you rather I {vp2}?", "The first of these, please.", "The second of these, please."),
        ("Am I to {vp1}, or am I to {vp2}?", "The former.", "The latter."),
    ),
    "dev": (("Do I {vp1}, or else {vp2}?", "Your first guess is right.", "Your second guess is right."),),
    "test": (
        ("Would you have me {vp1}, or is it better to {vp2}?", "What you said first.", "What you said last."),
        ("Option one: I {vp1}. Option two: I {vp2}.", "Number one it is.", "Number two it is."),
        ("May I {vp1}, or ought I to {vp2}?", "Not the second, so the other.", "Not the first, so the other."),
    ),
}
"""split -> (assistant's question, reply for the first wish, reply for the second)."""

MISREAD: Scripts = {
    "train": (
        _asked("So you want me to {vp1}?", "No, not at all. You should {vp2}."),
        _asked("I take it that I am to {vp1}?", "That is wrong. I want you to {vp2}."),
        _heard("So you want me to {vp1}?", "No, keep to what I wrote."),
    ),
    "dev": (
        _asked("Did I get it right that I should {vp1}?", "You did not. Please {vp2}."),
        _heard("Did I get it right that I should {vp1}?", "You did not. Look at my words again."),
    ),
    "test": (
        _asked("I gather that I ought to {vp1}?", "You gather wrongly. The idea is that you {vp2}."),
        _asked("Am I correct in thinking that I should {vp1}?", "Far from it. Simply {vp2}."),
        _asked("Fine, then I shall {vp1}.", "No, you shall do nothing of the sort. Go and {vp2}."),
        _heard("I gather that I ought to {vp1}?", "You gather wrongly. Stay with my own words."),
        _heard("Fine, then I shall {vp1}.", "No, you shall do nothing of the sort. It stays as I put it."),
    ),
}
"""The second wish is left."""

ABOUT: Wordings = {
    "train": ("It is about {x1}.", "I write about {x1}."),
    "dev": ("My question concerns {x1}.",),
    "test": ("This is to do with {x1}.", "I am here because of {x1}."),
}
ACKS: Wordings = {
    "train": ("Thank you, I am opening a case.", "Noted, one moment."),
    "dev": ("All right, I have put that down.",),
    "test": ("Understood, I am filling in the form.", "Very well, I am on it."),
}

DAY_GIVEN: Wordings = {
    "train": ("I need this by {day}.", "It has to be through by {day}."),
    "dev": ("It must be over by {day}.",),
    "test": ("Please be finished by {day}.", "My own deadline is {day}."),
}
DAY_CORRECTED: Wordings = {
    "train": ("And the day I gave was off: it is {day}.", "By the way, make that {day}."),
    "dev": ("I also got the day wrong, so take {day}.",),
    "test": ("As for my deadline, it has changed to {day}.", "And not that day but {day} is when I need it."),
}
HEALTH: Wordings = {
    "train": ("The medicine of my mother depends on it.", "My health is at stake here."),
    "dev": ("My doctor says my health hangs on it.",),
    "test": ("The well-being of my sick child rests on this.", "For my recovery from surgery it is vital."),
}
STAND_IN: Wordings = {
    "train": ("For now I can make do with a spare one.", "I have a makeshift for the meantime."),
    "dev": ("A friend has lent me a replacement for now.",),
    "test": ("A stopgap keeps me going for the moment.", "My neighbour helps me out in the meantime."),
}
ASIDES: Wordings = {
    "train": ("My boss is cross about it.", "I have nothing to fall back on.", "By my own sums it is about {n} euros."),
    "dev": ("I am losing patience.", "I thought it was near {n} euros."),
    "test": ("My wife keeps asking me about it.", "It is all rather tiresome.", "I reckon some {n} euros are in it."),
}
"""Change nothing."""

FILING: Wordings = {
    "train": (
        "Filing: a case is filed under the wish that is open at the end; if two are open, under the {which} named one.",
        "Filing: only a wish that still stands counts. Of two that stand, the one named {which} counts.",
    ),
    "dev": ("Filing: what is still asked for at the close decides; with two such wishes the {which} mentioned one.",),
    "test": (
        "Filing: a case carries the one wish still open when the talk ends. Of two open ones it carries the {which}.",
        "Filing: go by the live wish; should two be live, go by whichever came {which}.",
    ),
}
FREE: Wordings = {
    "train": (
        "Fees: changes are free of charge until {n} days before the start, that day included.",
        "Fees: the free period ends {n} days before the start; that day is still free.",
    ),
    "dev": ("Fees: with {n} or more days to go before the start a change is free.",),
    "test": (
        "Fees: no charge applies as long as at least {n} days remain before the start.",
        "Fees: the free period lasts up to and including {n} days before the start.",
    ),
}
URGENCY: Wordings = {
    "train": (
        "Urgency: 0 if the customer gives no day. Else count the days from today to the day given last: up to {a} is "
        "level 4, up to {b} is 3, up to {c} is 2, more is 1. One level up, to 4 at most, where health is at stake. One "
        "level down, to 1 at the lowest, where the customer has a makeshift. Level 0 stays 0.",
        "Urgency: without a day, level 0 and nothing else applies. With one, by days left until the day named last: "
        "no more than {a}, level 4; no more than {b}, level 3; no more than {c}, level 2; otherwise level 1. Health "
        "in danger lifts it by one (limit 4). A temporary solution of the customer lowers it by one (limit 1).",
    ),
    "dev": (
        "Urgency: take the day that the customer named last. At most {a} days off, level 4; at most {b}, level 3; at "
        "most {c}, level 2; further off, level 1; no day, always level 0. Danger to health adds a level, never past 4. "
        "A replacement at hand removes a level, never below 1.",
    ),
    "test": (
        "Urgency: level 4 with at most {a} days left until the day that the customer named last, level 3 with at most "
        "{b}, level 2 with at most {c}, level 1 with more; always level 0 if no day was named. If the health of "
        "anybody depends on the case it rises by one level, never above 4. If the customer can manage for the time "
        "being it falls by one level, never below 1.",
        "Urgency: no day named means level 0 and is final. For a day (the newest counts), the distance from today "
        "gives the level: not more than {a} days 4, not more than {b} days 3, not more than {c} days 2, beyond that 1. "
        "Raise it one step for a matter of health (ceiling 4). Cut it one step when an interim help exists (floor 1).",
    ),
}
SELF_SERVICE: Wordings = {
    "train": (
        "Self-service may close a case when the wish is {kinds}, the amount on the account is at most {n} euros and "
        "the account is verified. {exception}",
        "Self-service: open to verified accounts only, for amounts on record up to {n} euros, for these wishes: "
        "{kinds}. {exception}",
    ),
    "dev": (
        "Self-service takes a case if three things hold: verified account; recorded amount no higher than {n} euros; "
        "wish among {kinds}. {exception}",
    ),
    "test": (
        "Self-service settles a case only where the account is verified, the amount on it is not above {n} euros and "
        "the wish is one of: {kinds}. {exception}",
        "Self-service is allowed for {kinds}, provided that the account is verified and shows no more than {n} "
        "euros. {exception}",
    ),
}
EXCEPTIONS: dict[str, Wordings] = {
    "urgent": {
        "train": ("Level 4 always goes to an agent.",),
        "dev": ("A case of urgency 4 is for an agent in any event.",),
        "test": ("Whatever has level 4 is kept for an agent.",),
    },
    "contacts": {
        "train": ("After {n} or more earlier contacts an agent takes over.",),
        "dev": ("With {n} earlier contacts or more it is for an agent.",),
        "test": ("Anybody with {n} or more earlier contacts is sent to an agent.",),
    },
    "member": {
        "train": ("For members since {n} or before, the limit is doubled.",),
        "dev": ("Members since {n} or longer have double the limit.",),
        "test": ("Twice the limit holds for members since {n} or earlier.",),
    },
}
KINDS: dict[str, str] = {
    "cancel": "a cancellation",
    "move": "a new date",
    "status": "a status question",
    "price": "a price question",
    "transfer": "a change of person",
    "receipt": "a receipt",
    "fault": "a fault report",
    "add": "an addition",
}
"""Action -> how policies name it."""
