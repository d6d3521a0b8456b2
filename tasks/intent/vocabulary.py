"""Words of the intent domain: eight actions times eight objects, each in plain and in indirect wording.

Train, dev and test never share an indirect wording or a slot filler. Indirect wordings avoid the words of the
option keys and descriptions. ``{x}`` is the object, ``{f}`` a filler. No wording holds a comma or a full stop.
"""

from __future__ import annotations

SPLITS = ("train", "dev", "test")

Wordings = dict[str, tuple[str, ...]]
"""split -> wordings."""

ACTIONS: dict[str, str] = {
    "cancel": "Cancel {x}",
    "move": "Move {x} to another date",
    "status": "Ask for the status of {x}",
    "price": "Ask for the price of {x}",
    "transfer": "Transfer {x} to another person",
    "receipt": "Ask for a receipt for {x}",
    "fault": "Report a fault with {x}",
    "add": "Add something to {x}",
}
"""Action -> option description."""

PLAIN_ACTIONS: dict[str, str] = {
    "cancel": "cancel {x}",
    "move": "move {x} to another date",
    "status": "tell me the status of {x}",
    "price": "tell me the price of {x}",
    "transfer": "transfer {x} to another person",
    "receipt": "send me a receipt for {x}",
    "fault": "record a fault with {x}",
    "add": "add something to {x}",
}
"""Action -> what the customer asks for, in the words of the option."""

INDIRECT_ACTIONS: dict[str, Wordings] = {
    "cancel": {
        "train": ("strike {x} off your list", "forget about {x} altogether", "call {x} off for good"),
        "dev": ("drop {x} completely", "scrap {x}"),
        "test": ("see to it that {x} does not go ahead", "put an end to {x}", "wipe {x} out of your plans"),
    },
    "move": {
        "train": ("push {x} back by a week", "bring {x} forward by a few days", "find a later slot for {x}"),
        "dev": ("shift {x} to the week after", "swap the day of {x}"),
        "test": (
            "put {x} off until after the holidays",
            "let me have {x} on a different day",
            "squeeze {x} in sooner than agreed",
        ),
    },
    "status": {
        "train": (
            "tell me how far along {x} is",
            "let me know if {x} is still going ahead",
            "check if all runs to plan with {x}",
        ),
        "dev": ("give me the latest on {x}", "say whether {x} has been confirmed"),
        "test": (
            "tell me what has become of {x}",
            "bring me up to speed on {x}",
            "let me know how things stand with {x}",
        ),
    },
    "price": {
        "train": (
            "tell me what I will be charged for {x}",
            "say how much {x} comes to in all",
            "explain the sum I have to pay for {x}",
        ),
        "dev": ("work out how much money {x} takes", "let me know the total bill for {x}"),
        "test": (
            "tell me how deep I must dig into my pocket for {x}",
            "name the figure I owe for {x}",
            "spell out the fees that go with {x}",
        ),
    },
    "transfer": {
        "train": (
            "put {x} under the name of my sister",
            "let my neighbour take over {x}",
            "hand {x} on to a friend of mine",
        ),
        "dev": ("make my cousin the holder of {x}", "sign {x} over to my flatmate"),
        "test": (
            "let my father have {x} in my stead",
            "enter my workmate as the owner of {x}",
            "pass {x} along to my aunt",
        ),
    },
    "receipt": {
        "train": (
            "send me proof that I paid for {x}",
            "mail me the paperwork on the payment for {x}",
            "let me have a tax slip for {x}",
        ),
        "dev": ("give me a paid bill on paper for {x}", "issue an invoice copy for {x}"),
        "test": (
            "send over a document that shows the payment for {x}",
            "supply a record that my bookkeeper can file for {x}",
            "put in writing that I have settled {x} in full",
        ),
    },
    "fault": {
        "train": (
            "look into what went wrong with {x}",
            "sort out the trouble I have with {x}",
            "note that {x} is not as promised",
        ),
        "dev": ("take down my complaint about {x}", "hear what is broken about {x}"),
        "test": (
            "put right the defect in {x}",
            "deal with the flaw I found in {x}",
            "make a note that {x} is not up to scratch",
        ),
    },
    "add": {
        "train": ("put one more on top of {x}", "make {x} a bit bigger", "include an extra with {x}"),
        "dev": ("throw in another one with {x}", "stretch {x} to cover one more"),
        "test": ("enlarge {x} by one", "supplement {x} with a further piece", "round {x} out with one more"),
    },
}
"""Action -> the same wish in other words."""

OBJECTS: dict[str, str] = {
    "parcel": "a parcel",
    "subscription": "a subscription",
    "room": "a room booking",
    "visit": "a technician visit",
    "course": "a course",
    "ticket": "an event ticket",
    "rental": "an equipment rental",
    "table": "a table reservation",
}
"""Object -> its name in option descriptions."""

PLAIN_OBJECTS: dict[str, str] = {
    "parcel": "my parcel with the {f}",
    "subscription": "my subscription to {f}",
    "room": "my room booking in {f}",
    "visit": "the technician visit for the {f}",
    "course": "my course in {f}",
    "ticket": "my event ticket for the {f}",
    "rental": "my equipment rental of the {f}",
    "table": "my table reservation at {f}",
}
"""Object -> its name in plain messages."""

INDIRECT_OBJECTS: dict[str, Wordings] = {
    "parcel": {
        "train": (
            "the box of {f} that your driver is bringing",
            "the {f} I ordered from your shop",
            "the shipment of {f}",
        ),
        "dev": ("the carton of {f} you are posting to me", "the {f} your courier has loaded"),
        "test": (
            "the package of {f} you have sent out",
            "the {f} that are to land on my doorstep",
            "the delivery of {f}",
        ),
    },
    "subscription": {
        "train": ("the monthly plan for {f}", "the {f} I get from you every month", "my membership for {f}"),
        "dev": ("the yearly deal for {f}", "the running contract for {f}"),
        "test": (
            "the {f} I receive from you month after month",
            "my long-term agreement about {f}",
            "the all-year pass for {f}",
        ),
    },
    "room": {
        "train": ("the double bed in {f}", "our stay at your house in {f}", "the hotel nights in {f}"),
        "dev": ("the lodging in {f}", "our weekend at the inn in {f}"),
        "test": (
            "the overnight stop in {f}",
            "the suite we are to sleep in near {f}",
            "the bed and breakfast in {f}",
        ),
    },
    "visit": {
        "train": (
            "the engineer's trip to mend my {f}",
            "the fitter's stop at my house for the {f}",
            "the home call about my {f}",
        ),
        "dev": ("the mechanic's stop here for the {f}", "the handyman's trip to my flat for the {f}"),
        "test": (
            "the repairer's round to us for the {f}",
            "the appointment to have my {f} seen to at home",
            "the house call by your plumber for the {f}",
        ),
    },
    "course": {
        "train": ("the evening class in {f}", "the lessons in {f}", "my spot in the {f} workshop"),
        "dev": ("the training in {f}", "the seminar on {f}"),
        "test": ("the tuition in {f}", "the teaching block on {f}", "the {f} tutorials"),
    },
    "ticket": {
        "train": ("my seat at the {f}", "the admission to the {f}", "my entry for the {f}"),
        "dev": ("the stalls seat for the {f}", "the turnstile code for the {f}"),
        "test": ("my spot in the stands at the {f}", "the entrance card to the {f}", "the front row chair at the {f}"),
    },
    "rental": {
        "train": (
            "the {f} I have on loan from you",
            "the {f} I am hiring for the garden job",
            "the hired {f}",
        ),
        "dev": ("the {f} lent to me by your depot", "the {f} I must bring back to your yard"),
        "test": (
            "the {f} I am borrowing against a deposit",
            "the {f} I am to return to your shed",
            "the {f} on lease from your store",
        ),
    },
    "table": {
        "train": ("our dinner for six at {f}", "the lunch for four at {f}", "the meal we planned at {f}"),
        "dev": ("our supper at {f}", "the brunch set for us at {f}"),
        "test": ("the window corner we are to dine in at {f}", "our feast for eight at {f}", "the evening meal at {f}"),
    },
}
"""Object -> the same thing in other words."""

FILLERS: dict[str, Wordings] = {
    "parcel": {
        "train": ("garden chairs", "desk lamps", "wool socks", "picture frames", "wine glasses"),
        "dev": ("roof tiles", "paint brushes"),
        "test": ("coffee cups", "bath towels", "bread tins", "book ends"),
    },
    "subscription": {
        "train": ("film streaming", "fresh juice", "phone data", "gym access", "online news"),
        "dev": ("cloud storage", "puzzle magazines"),
        "test": ("audio books", "dog food", "cooking videos", "weather maps"),
    },
    "room": {
        "train": ("Bergen", "Porto", "Ghent", "Lucca", "Graz"),
        "dev": ("Tartu", "Bath"),
        "test": ("Oulu", "Nantes", "Salerno", "Trier"),
    },
    "visit": {
        "train": ("boiler", "dishwasher", "oven", "front door lock", "washing machine"),
        "dev": ("heat pump", "doorbell"),
        "test": ("radiator", "fridge", "tumble dryer", "water meter"),
    },
    "course": {
        "train": ("pottery", "Spanish", "first aid", "bookkeeping", "sewing"),
        "dev": ("welding", "chess"),
        "test": ("calligraphy", "Italian", "beekeeping", "photography"),
    },
    "ticket": {
        "train": ("opera", "ice hockey final", "flower show", "jazz night", "puppet theatre"),
        "dev": ("cup match", "circus"),
        "test": ("symphony concert", "ballet", "car show", "boxing gala"),
    },
    "rental": {
        "train": ("cement mixer", "party tent", "trailer", "pressure washer", "carpet cleaner"),
        "dev": ("chainsaw", "scaffold"),
        "test": ("wood chipper", "floor sander", "cargo bike", "tile cutter"),
    },
    "table": {
        "train": ("the Old Mill", "the Blue Lantern", "the Harbour Kitchen", "the Fig Tree", "the Copper Pot"),
        "dev": ("the Sundial", "the Salt House"),
        "test": ("the Green Gate", "the Stone Bridge", "the Quiet Fox", "the Orchard"),
    },
}
"""Object -> what fills ``{f}``."""
