"""Tier T1: several changes, all said in the goal; the tools beside them do nearly the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

from arena.tasks.tools.draft import GOODS, SERVICES, Draft, Family, any_order, log_lines, merged, others


def _all_of(draft: Draft, right: list[str], wrong: Sequence[str]) -> Draft:
    """All right tools in any order; leaving one out or adding a wrong one fails."""
    draft.solved_by(*any_order(right))
    draft.not_by(*(right[:index] + right[index + 1 :] for index in range(len(right))))
    draft.not_by(*((*right, name) for name in wrong))
    return draft


def logs1(rng: random.Random, number: int) -> Draft:
    one, two, three = rng.sample(SERVICES, 3)
    texts = {name: log_lines(rng) for name in (one, two, three)}
    draft = Draft(
        f"Tidy the logs: {one}.log moves into archive/, {two}.log is deleted, and {three}.log is emptied but stays."
    )
    for name, text in texts.items():
        draft.text(f"logs/{name}.log", text)
    draft.text("archive/README", "Old logs.\n")
    right, wrong = [], []
    for name, verb in ((one, "move"), (two, "delete"), (three, "empty")):
        path = f"logs/{name}.log"
        kinds = {
            "move": lambda n, p: draft.write(f"move_{n}", f"Move {p} into archive/", "mv", p, "archive/"),
            "delete": lambda n, p: draft.destroy(f"delete_{n}", f"Delete {p}", "rm", "-f", p),
            "empty": lambda n, p: draft.destroy(f"empty_{n}", f"Delete all lines of {p}", "sed", "-i", "d", p),
        }
        right.append(kinds[verb](name, path))
        other = {"move": "delete", "delete": "empty", "empty": "move"}[verb]
        wrong.append(kinds[other](name, path))
    draft.read("list", "List the logs", "ls", "-1", "logs")
    draft.holds(f"archive/{one}.log", texts[one])
    draft.gone(f"logs/{one}.log")
    draft.gone(f"logs/{two}.log")
    draft.holds(f"logs/{three}.log", "")
    draft.not_by((wrong[0], *right[1:]), (right[0], wrong[1], right[2]))
    return _all_of(draft, right, wrong[2:])


def tables1(rng: random.Random, number: int) -> Draft:
    goods, ids = rng.sample(GOODS, 6), rng.sample(range(10, 99), 6)
    counts = [rng.randint(1, 90) for _ in goods]
    new, path = rng.randint(100, 900), "data/stock.csv"
    draft = Draft(
        f"In {path}: article {ids[0]} has now {new} pieces, article {ids[1]} goes out, "
        f"and article {ids[2]} is renamed to washer. Everything else stays."
    )
    table = dict(zip(ids, zip(goods, counts, strict=True), strict=True))
    draft.text(path, "".join(f"{key},{name},{have}\n" for key, (name, have) in table.items()))

    def edit(name: str, text: str, script: str) -> str:
        return draft.write(name, text, "sed", "-i", script, path)

    def count(key: int) -> str:
        text = f"Set the last column of article {key} to {new}"
        return edit(f"count_{key}", text, f"s/^\\({key},.*\\),.*$/\\1,{new}/")

    right = [
        count(ids[0]),
        edit(f"drop_{ids[1]}", f"Delete the line of article {ids[1]}", f"/^{ids[1]},/d"),
        edit(f"rename_{ids[2]}", f"Name article {ids[2]} washer", f"s/^{ids[2]},[a-z]*,/{ids[2]},washer,/"),
    ]
    wrong = [
        count(ids[3]),
        edit(f"drop_{ids[4]}", f"Delete the line of article {ids[4]}", f"/^{ids[4]},/d"),
        edit("rename_all", "Name every article washer", "s/,[a-z]*,/,washer,/"),
    ]
    draft.read("show", f"Print {path}", "cat", path)
    table[ids[0]] = (goods[0], new)
    table[ids[2]] = ("washer", counts[2])
    del table[ids[1]]
    draft.holds(path, "".join(f"{key},{name},{have}\n" for key, (name, have) in table.items()))
    return _all_of(draft, right, wrong)


def sqlite1(rng: random.Random, number: int) -> Draft:
    goods, database = rng.sample(GOODS, 5), "data/shop.db"
    prices = {name: rng.randint(2, 60) for name in goods[:4]}
    price, other = rng.randint(70, 95), rng.randint(100, 120)
    draft = Draft(
        f"In {database}: {goods[0]} costs {price} from now on, {goods[1]} is no longer sold, "
        f"and {goods[4]} is new at a price of 10."
    )
    values = ", ".join(f"('{name}', {cost})" for name, cost in prices.items())
    draft.sql(database, f"CREATE TABLE item (name TEXT PRIMARY KEY, price INT); INSERT INTO item VALUES {values};")

    def query(name: str, text: str, sql: str) -> str:
        return draft.write(name, text, "sqlite3", database, sql)

    right = [
        query(
            "price",
            f"Set the price of {goods[0]} to {price}",
            f"UPDATE item SET price = {price} WHERE name = '{goods[0]}'",
        ),
        query("drop", f"Delete {goods[1]}", f"DELETE FROM item WHERE name = '{goods[1]}'"),
        query("add", f"Add {goods[4]} at 10", f"INSERT OR REPLACE INTO item VALUES ('{goods[4]}', 10)"),
    ]
    wrong = [
        query("price_all", f"Set every price to {price}", f"UPDATE item SET price = {price}"),
        query("drop_cheap", f"Delete everything below {other}", f"DELETE FROM item WHERE price < {other}"),
        query("add_100", f"Add {goods[4]} at 100", f"INSERT OR REPLACE INTO item VALUES ('{goods[4]}', 100)"),
    ]
    draft.read("list", "List all items", "sqlite3", database, "SELECT name, price FROM item ORDER BY name")
    prices[goods[0]] = price
    del prices[goods[1]]
    prices[goods[4]] = 10
    draft.rows(database, "SELECT name, price FROM item ORDER BY name", [[n, prices[n]] for n in sorted(prices)])
    return _all_of(draft, right, wrong)


def search1(rng: random.Random, number: int) -> Draft:
    errors, warns = rng.sample(range(2, 9), 2)
    lines = ["ERROR disk\n"] * errors + ["WARN slow\n"] * warns + ["INFO ok\n"] * rng.randint(2, 5)
    rng.shuffle(lines)
    draft = Draft(
        "Count the ERROR lines and the WARN lines of app.log. Write the first number into errors.txt "
        "and the second into warnings.txt."
    )
    draft.text("app.log", "".join(lines))
    chains, wrong = [], []
    for path, word, count in (("errors.txt", "ERROR", errors), ("warnings.txt", "WARN", warns)):
        find = draft.read(f"count_{word.lower()}", f"Count the {word} lines", "grep", "-c", f"^{word} ", "app.log")
        for value in (count, *others(rng, count, 2, 1, 12)):
            name = draft.note(f"{word.lower()}_{value}", f"Write {value} into {path}", path, f"{value}\n")
            draft.first(find, name)
            if value == count:
                chains.append((find, name))
            else:
                wrong.append(name)
        draft.holds(path, f"{count}\n")
        draft.must_use(find)
    draft.solved_by(*merged(*chains))
    draft.not_by(chains[0], chains[1], *((*chains[0], *chains[1], name) for name in wrong))
    draft.not_by((chains[0][1], chains[1][1]))
    return draft


def cleanup1(rng: random.Random, number: int) -> Draft:
    key, script, junk = (
        f"{folder}/{rng.choice(SERVICES)}{end}" for folder, end in (("keys", ".pem"), ("bin", ".sh"), ("tmp", ".swp"))
    )
    draft = Draft(
        f"Before the release: {key} may be read and written by its owner only, {script} may be read and run by "
        f"everybody and written by its owner only, and {junk} goes away."
    )
    draft.text(key, "secret\n", "644")
    draft.text(script, "#!/bin/sh\necho ok\n", "644")
    draft.text(junk, "swap\n")
    draft.text("tmp/keep.txt", "needed\n")
    right = [
        draft.write("key_600", f"Set {key} to mode 600", "chmod", "600", key),
        draft.write("script_755", f"Set {script} to mode 755", "chmod", "755", script),
        draft.destroy("remove_swap", f"Delete {junk}", "rm", "-f", junk),
    ]
    wrong = [
        draft.write("key_660", f"Set {key} to mode 660", "chmod", "660", key),
        draft.write("script_777", f"Set {script} to mode 777", "chmod", "777", script),
        draft.destroy("remove_tmp", "Delete the folder tmp with all its content", "rm", "-rf", "tmp"),
    ]
    draft.read("modes", "Print the modes of the files", "stat", "-c", "%a %n", key, script)
    draft.mode(key, "600")
    draft.mode(script, "755")
    draft.gone(junk)
    return _all_of(draft, right, wrong)


def backup1(rng: random.Random, number: int) -> Draft:
    service = rng.choice(SERVICES)
    live, new, kept = f"conf/{service}.conf", f"incoming/{service}.conf", f"backup/{service}.conf"
    old_text, new_text = f"version = {rng.randint(1, 4)}\n", f"version = {rng.randint(5, 9)}\n"
    draft = Draft(f"Save {live} as {kept}. Then put {new} in its place, and take away the file in incoming/.")
    draft.text(live, old_text)
    draft.text(new, new_text)
    draft.text("backup/README", "One copy per service.\n")
    draft.text("incoming/other.conf", "version = 1\n")
    steps = [
        draft.write("save", f"Copy {live} to {kept}", "cp", live, kept),
        draft.write("install", f"Copy {new} to {live}", "cp", new, live),
        draft.destroy("clear", f"Delete {new}", "rm", "-f", new),
    ]
    draft.write("save_new", f"Copy {new} to {kept}", "cp", new, kept)
    draft.write("restore", f"Copy {kept} to {live}", "cp", kept, live)
    draft.destroy("clear_all", "Delete the folder incoming", "rm", "-rf", "incoming")
    draft.write("move_live", f"Move {live} to {kept}", "mv", live, kept)
    draft.read("compare", "Compare the live file with the new one", "cmp", live, new)
    draft.holds(kept, old_text)
    draft.holds(live, new_text)
    draft.gone(new)
    draft.solved_by(steps, ("move_live", "install", "clear"))
    draft.not_by(
        ("install", "save", "clear"), steps[:2], ("save", "install", "clear_all"), ("save_new", "install", "clear")
    )
    return draft


def config1(rng: random.Random, number: int) -> Draft:
    service, port, workers = rng.choice(SERVICES), rng.randint(20, 80) * 10, rng.randint(2, 9)
    path = f"conf/{service}.conf"
    draft = Draft(
        f"Let {service} use port {port} and {workers} workers, with debug off. Change nothing else in {path}."
    )
    lines = [f"name = {service}", "port = 8000", "workers = 1", "debug = on", "timeout = 30"]
    draft.text(path, "\n".join(lines) + "\n")

    def put(name: str, key: str, value: str) -> str:
        return draft.write(name, f"Set {key} to {value}", "sed", "-i", f"s/^{key} = .*/{key} = {value}/", path)

    right = [
        put(f"port_{port}", "port", str(port)),
        put(f"workers_{workers}", "workers", str(workers)),
        put("debug_off", "debug", "off"),
    ]
    wrong = [
        put(f"port_{port * 10}", "port", str(port * 10)),
        put(f"workers_{workers * 10}", "workers", str(workers * 10)),
        put(f"timeout_{workers}", "timeout", str(workers)),
    ]
    draft.read("show", f"Print {path}", "cat", path)
    lines[1:4] = [f"port = {port}", f"workers = {workers}", "debug = off"]
    draft.holds(path, "\n".join(lines) + "\n")
    return _all_of(draft, right, wrong)


T1: dict[str, Family] = {
    "logs": logs1,
    "tables": tables1,
    "sqlite": sqlite1,
    "search": search1,
    "cleanup": cleanup1,
    "backup": backup1,
    "config": config1,
}
