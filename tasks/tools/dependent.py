"""Tier T2: which tool is right depends on what an earlier one printed, and one tool fails on the way.

Every task has two questions that only the fixture answers, each with its acts; one reading tool fails at first,
either by itself (try again) or because the file may not be read yet (change its mode, then try again).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence

from arena.tasks.tools.draft import GOODS, PEOPLE, SERVICES, WORDS, Draft, Family, merged, others

BUSY = "the disk is busy, try again\n"


def _hurdle(draft: Draft, number: int, name: str, text: str, path: str, argv: Sequence[str]) -> tuple[str, ...]:
    """A reading tool that fails at first, and the walk that gets past that. The file must be in the fixture."""
    if number % 2:
        return (draft.read(name, text, *argv, flaky=BUSY), name)
    draft.files[path]["mode"] = "000"
    unlock = draft.write("unlock", f"Let the owner read {path}", "chmod", "400", path)
    draft.read(name, text, *argv)
    draft.may_change.append(path)
    return (name, unlock, name)


def _without_failure(walk: tuple[str, ...]) -> tuple[str, ...]:
    """The same walk by someone who unlocks at once; a scripted failure cannot be avoided."""
    return walk[1:] if len(walk) > 2 else walk


def _ask_two(
    draft: Draft, hurdle: tuple[str, ...], reader: str, first: Mapping[str, bool], second: Mapping[str, bool]
) -> Draft:
    """Two independent chains: (fail, read, act) and (read, act). ``first``, ``second``: act -> whether it is right."""
    right = [next(name for name, good in acts.items() if good) for acts in (first, second)]
    chains = (*hurdle, right[0]), (reader, right[1])
    draft.solved_by(*merged(*chains))
    if _without_failure(hurdle) != hurdle:
        draft.solved_by(*merged((*_without_failure(hurdle), right[0]), (reader, right[1])))
    draft.must_use(hurdle[-1], reader)
    draft.first(hurdle[-1], *first)
    draft.first(reader, *second)
    wrong = [[name for name, good in acts.items() if not good] for acts in (first, second)]
    draft.not_by(chains[0], chains[1], right)
    draft.not_by(
        *((*hurdle, name, *chains[1]) for name in wrong[0]), *((*chains[0], reader, name) for name in wrong[1])
    )
    return draft


def _notes(draft: Draft, path: str, right: str, choices: Sequence[str], prefix: str) -> dict[str, bool]:
    """Tools that write one of the choices into a file."""
    draft.holds(path, f"{right}\n")
    return {
        draft.note(f"{prefix}_{choice}", f"Write {choice} into {path}", path, f"{choice}\n"): choice == right
        for choice in choices
    }


def logs2(rng: random.Random, number: int) -> Draft:
    services = sorted(rng.sample(SERVICES, 3))
    worst, counts = rng.choice(services), dict(zip(services, rng.sample(range(1, 6), 3), strict=True))
    counts[worst] = 7
    owner, people = {}, rng.sample(PEOPLE, 4)
    draft = Draft(
        "One service wrote more FATAL lines than the others: move its log into quarantine/. "
        "Write the name of the person on call, who stands in rota.txt under today, into notify.txt."
    )
    for name in services:
        lines = ["FATAL out of memory\n"] * counts[name] + ["INFO ok\n"] * rng.randint(3, 9)
        rng.shuffle(lines)
        owner[name] = "".join(lines)
        draft.text(f"logs/{name}.log", owner[name])
    draft.text("quarantine/README", "Logs under inspection.\n")
    draft.text("rota.txt", f"yesterday: {people[0]}\ntoday: {people[1]}\ntomorrow: {people[2]}\n")
    hurdle = _hurdle(draft, number, "read_rota", "Print rota.txt", "rota.txt", ("cat", "rota.txt"))
    paths = [f"logs/{name}.log" for name in services]
    count = draft.read("count_fatal", "Count the FATAL lines of each log", "grep", "-c", "FATAL", *paths)
    moves = {
        draft.write(
            f"move_{name}", f"Move logs/{name}.log into quarantine/", "mv", f"logs/{name}.log", "quarantine/"
        ): name == worst
        for name in services
    }
    first = _notes(draft, "notify.txt", people[1], people, "notify")
    draft.gone(f"logs/{worst}.log")
    draft.holds(f"quarantine/{worst}.log", owner[worst])
    return _ask_two(draft, hurdle, count, first, moves)


def tables2(rng: random.Random, number: int) -> Draft:
    goods, ids = rng.sample(GOODS, 4), rng.sample(range(10, 99), 4)
    limit = rng.randint(3, 9)
    low = rng.randrange(4)
    counts = [limit - 2 if place == low else limit + rng.randint(1, 40) for place in range(4)]
    draft = Draft(
        "Exactly one article of data/stock.csv has fewer pieces than the minimum in data/minimum.txt: "
        "set its last column to order. Then put the owner of the warehouse, named in data/site.json, into contact.txt."
    )
    people = rng.sample(PEOPLE, 3)
    rows = [f"{key},{name},{have}" for key, name, have in zip(ids, goods, counts, strict=True)]
    draft.text("data/stock.csv", "\n".join(rows) + "\n")
    draft.text("data/minimum.txt", f"minimum {limit}\n")
    draft.text("data/site.json", f'{{"owner": "{people[0]}", "deputy": "{people[1]}", "auditor": "{people[2]}"}}\n')
    hurdle = _hurdle(
        draft,
        number,
        "show_stock",
        "Print both files of the stock",
        "data/minimum.txt",
        ("cat", "data/minimum.txt", "data/stock.csv"),
    )
    site = draft.read("show_site", "Print data/site.json", "cat", "data/site.json")
    orders = {
        draft.write(
            f"order_{key}",
            f"Mark article {key} as order",
            "sed",
            "-i",
            f"s/^\\({key},.*\\),.*$/\\1,order/",
            "data/stock.csv",
        ): place == low
        for place, key in enumerate(ids)
    }
    rows[low] = f"{ids[low]},{goods[low]},order"
    draft.holds("data/stock.csv", "\n".join(rows) + "\n")
    return _ask_two(draft, hurdle, site, orders, _notes(draft, "contact.txt", people[0], people, "contact"))


def sqlite2(rng: random.Random, number: int) -> Draft:
    people, database = rng.sample(PEOPLE, 4), "data/orders.db"
    numbers = rng.sample(range(100, 999), 4)
    late, who = rng.randrange(4), rng.randrange(4)
    states = ["late" if place == late else rng.choice(("open", "sent")) for place in range(4)]
    draft = Draft(
        f"Cancel the one order in {database} that is late. The number of the order of {people[who]} belongs into "
        "number.txt; it stands in customers.txt."
    )
    values = ", ".join(f"({key}, '{state}')" for key, state in zip(numbers, states, strict=True))
    draft.sql(
        database, f"CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT); INSERT INTO orders VALUES {values};"
    )
    shuffled = rng.sample(numbers, 4)
    draft.text("customers.txt", "".join(f"{name} {key}\n" for name, key in zip(people, shuffled, strict=True)))
    hurdle = _hurdle(
        draft,
        number,
        "find_customer",
        f"Find {people[who]} in customers.txt",
        "customers.txt",
        ("grep", people[who], "customers.txt"),
    )
    listed = draft.read(
        "list_orders",
        "List id and state of all orders",
        "sqlite3",
        database,
        "SELECT id, state FROM orders ORDER BY id",
    )
    cancels = {
        draft.write(
            f"cancel_{key}",
            f"Set order {key} to cancelled",
            "sqlite3",
            database,
            f"UPDATE orders SET state = 'cancelled' WHERE id = {key}",
        ): place == late
        for place, key in enumerate(numbers)
    }
    states[late] = "cancelled"
    rows = sorted([key, state] for key, state in zip(numbers, states, strict=True))
    draft.rows(database, "SELECT id, state FROM orders ORDER BY id", rows)
    choices = [str(key) for key in shuffled]
    return _ask_two(draft, hurdle, listed, _notes(draft, "number.txt", choices[who], choices, "number"), cancels)


def search2(rng: random.Random, number: int) -> Draft:
    words = rng.sample(WORDS, 4)
    files = [f"src/{word}.txt" for word in words]
    where = rng.randrange(4)
    values = rng.sample(range(10, 99), 3)
    draft = Draft(
        "Exactly one file under src/ defines retry_limit: write its name, without folder and ending, into where.txt. "
        "Write the port of the staging system, which stands in hosts.txt, into port.txt."
    )
    for place, path in enumerate(files):
        uses = f"define retry_limit {rng.randint(2, 9)}\n" if place == where else "call retry_limit\n"
        draft.text(path, f"module {words[place]}\n{uses}end\n")
    draft.text("hosts.txt", f"production {values[0]}\nstaging {values[1]}\ntesting {values[2]}\n")
    hurdle = _hurdle(draft, number, "read_hosts", "Print hosts.txt", "hosts.txt", ("cat", "hosts.txt"))
    find = draft.read(
        "find_definition", "Name the files with define retry_limit", "grep", "-l", "^define retry_limit", *files
    )
    ports = _notes(draft, "port.txt", str(values[1]), [str(value) for value in values], "port")
    return _ask_two(draft, hurdle, find, ports, _notes(draft, "where.txt", words[where], words, "where"))


def cleanup2(rng: random.Random, number: int) -> Draft:
    names = sorted(rng.sample(SERVICES, 4))
    keys = [f"keys/{name}.pem" for name in names]
    loose = rng.randrange(4)
    folders = rng.sample(WORDS, 3)
    free = rng.randrange(3)
    draft = Draft(
        "One of the keys can be read by everybody: give it mode 600. Of the folders under scratch/ delete the one "
        "that scratch/owners.txt calls free; the others are in use."
    )
    for place, path in enumerate(keys):
        draft.text(path, f"key of {names[place]}\n", "644" if place == loose else rng.choice(("400", "440")))
    for word in folders:
        draft.text(f"scratch/{word}/part-1", f"{word} 1\n")
        draft.text(f"scratch/{word}/part-2", f"{word} 2\n")
    states = [f"{word} {'free' if place == free else rng.choice(PEOPLE)}\n" for place, word in enumerate(folders)]
    draft.text("scratch/owners.txt", "".join(states))
    hurdle = _hurdle(
        draft, number, "read_owners", "Print scratch/owners.txt", "scratch/owners.txt", ("cat", "scratch/owners.txt")
    )
    look = draft.read("list_modes", "Print the mode of every key", "stat", "-c", "%a %n", *keys)
    close = {
        draft.write(f"close_{name}", f"Set keys/{name}.pem to mode 600", "chmod", "600", path): place == loose
        for place, (name, path) in enumerate(zip(names, keys, strict=True))
    }
    removes = {
        draft.destroy(
            f"remove_{word}", f"Delete scratch/{word} with its content", "rm", "-rf", f"scratch/{word}"
        ): place == free
        for place, word in enumerate(folders)
    }
    draft.mode(keys[loose], "600")
    for part in ("", "/part-1", "/part-2"):
        draft.gone(f"scratch/{folders[free]}{part}")
    return _ask_two(draft, hurdle, look, removes, close)


def backup2(rng: random.Random, number: int) -> Draft:
    days = ("mon", "tue", "wed")
    good = rng.randrange(3)
    texts = [f"accounts {rng.randint(1000, 9999)} {day}\n" for day in days]
    draft = Draft(
        "data/accounts.txt was damaged. Restore it from the only backup that sums.txt confirms. "
        "Then write the site that backup/site.txt names as primary into site.txt."
    )
    sums = ""
    for place, (day, text) in enumerate(zip(days, texts, strict=True)):
        draft.text(f"backup/{day}.txt", text)
        digest = hashlib.sha256((text if place == good else text + "x").encode()).hexdigest()
        sums += f"{digest}  backup/{day}.txt\n"
    draft.text("sums.txt", sums)
    draft.text("data/accounts.txt", "acc\n")
    sites = rng.sample(WORDS, 3)
    draft.text("backup/site.txt", f"mirror: {sites[1]}\nprimary: {sites[0]}\nretired: {sites[2]}\n")
    hurdle = _hurdle(draft, number, "read_site", "Print backup/site.txt", "backup/site.txt", ("cat", "backup/site.txt"))
    check = draft.read("check_sums", "Check the backups against sums.txt", "sha256sum", "-c", "sums.txt", rc=1)
    restores = {
        draft.write(
            f"restore_{day}",
            f"Copy backup/{day}.txt to data/accounts.txt",
            "cp",
            f"backup/{day}.txt",
            "data/accounts.txt",
        ): place == good
        for place, day in enumerate(days)
    }
    draft.holds("data/accounts.txt", texts[good])
    return _ask_two(draft, hurdle, check, _notes(draft, "site.txt", sites[0], sites, "site"), restores)


def config2(rng: random.Random, number: int) -> Draft:
    service = rng.choice(SERVICES)
    path = f"conf/{service}.conf"
    port = rng.randint(20, 60) * 10
    levels = ["debug", "info", "warning", "error"]
    level = rng.choice(levels[1:])
    draft = Draft(
        f"Set the port in {path} to the one that ports.txt reserves for {service}, and its log level to the one that "
        "policy.txt demands for production."
    )
    wrong = [port, *others(rng, port, 2, 200, 999)]
    listed = dict(zip((service, *rng.sample([s for s in SERVICES if s != service], 2)), wrong, strict=True))
    draft.text("ports.txt", "".join(f"{name} {value}\n" for name, value in sorted(listed.items())))
    draft.text("policy.txt", f"testing: debug\nproduction: {level}\n")
    lines = [f"name = {service}", "port = 1", "level = trace"]
    draft.text(path, "\n".join(lines) + "\n")
    hurdle = _hurdle(draft, number, "read_ports", "Print ports.txt", "ports.txt", ("cat", "ports.txt"))
    policy = draft.read("read_policy", "Print policy.txt", "cat", "policy.txt")

    def put(key: str, value: object) -> str:
        return draft.write(
            f"{key}_{value}", f"Set {key} to {value}", "sed", "-i", f"s/^{key} = .*/{key} = {value}/", path
        )

    ports = {put("port", value): value == port for value in wrong}
    chosen = {put("level", value): value == level for value in levels}
    draft.holds(path, f"name = {service}\nport = {port}\nlevel = {level}\n")
    return _ask_two(draft, hurdle, policy, ports, chosen)


T2: dict[str, Family] = {
    "logs": logs2,
    "tables": tables2,
    "sqlite": sqlite2,
    "search": search2,
    "cleanup": cleanup2,
    "backup": backup2,
    "config": config2,
}
