"""Tier T0: name the tool for one stated need; each of the four tools meets another need of the same fixture."""

from __future__ import annotations

import random
from collections.abc import Sequence

from arena.tasks.tools.draft import GOODS, PEOPLE, PROCEDURE, SERVICES, Draft, Family, log_lines


def _one_of(draft: Draft, names: Sequence[str], right: int) -> Draft:
    """Exactly one of the tools is the right one; every other is a decoy."""
    draft.solved_by([names[right]])
    draft.not_by(*([name] for index, name in enumerate(names) if index != right))
    draft.not_by([names[right]], end="give_up")
    return draft


def logs0(rng: random.Random, number: int) -> Draft:
    service, log = rng.choice(SERVICES), log_lines(rng)
    path, other = f"logs/{service}.log", f"logs/{service}.old.log"
    needs = (
        f"Keep a second copy of {path} as {other}; the log itself stays where it is.",
        f"The log {path} must be called {other} from now on.",
        f"Remove {path}; nobody needs it any more.",
        f"Make {path} empty, but keep the file: the service has it open.",
    )
    right = number % 4
    draft = Draft(needs[right])
    draft.text(path, log)
    draft.text("logs/README", f"Logs of {service}.\n")
    names = (
        draft.write("copy", f"Copy {path} to {other}", "cp", path, other),
        draft.write("rename", f"Rename {path} to {other}", "mv", path, other),
        draft.destroy("delete", f"Delete {path}", "rm", path),
        draft.destroy("truncate", f"Delete every line of {path}", "sed", "-i", "d", path),
    )
    if right in (0, 1):
        draft.holds(other, log)
    if right in (1, 2):
        draft.gone(path)
    if right == 3:
        draft.holds(path, "")
    return _one_of(draft, names, right)


def tables0(rng: random.Random, number: int) -> Draft:
    goods = rng.sample(GOODS, 5)
    ids = rng.sample(range(10, 99), 5)
    rows = [f"{key},{name},{rng.randint(1, 90)}" for key, name in zip(ids, goods, strict=True)]
    path, gone = "data/stock.csv", rng.randrange(5)
    needs = (
        f"Take the article {goods[gone]} out of {path}.",
        f"{path} must use semicolons between its columns instead of commas.",
        f"The lines of {path} must be in the order of their first column, smallest number first.",
        f"The first line of {path} is a leftover and must go.",
    )
    right = number % 4
    draft = Draft(needs[right])
    lines = ["99,leftover,0" if right == 3 else rows[0], *rows[1:]]
    if right == 3:
        lines = ["99,leftover,0", *rows]
    elif sorted(lines) == lines:
        lines.reverse()
    draft.text(path, "\n".join(lines) + "\n")
    names = (
        draft.write(
            "drop_row", f"Delete the line that begins with {ids[gone]},", "sed", "-i", f"/^{ids[gone]},/d", path
        ),
        draft.write("semicolons", f"Turn every comma of {path} into a semicolon", "sed", "-i", "s/,/;/g", path),
        draft.write("sort", f"Sort {path} by number", "sort", "-n", "-o", path, path),
        draft.write("drop_first", f"Delete line 1 of {path}", "sed", "-i", "1d", path),
    )
    kept = {
        0: [line for line in lines if not line.startswith(f"{ids[gone]},")],
        1: [line.replace(",", ";") for line in lines],
        2: sorted(lines, key=lambda line: int(line.split(",")[0])),
        3: lines[1:],
    }[right]
    draft.holds(path, "\n".join(kept) + "\n")
    return _one_of(draft, names, right)


def sqlite0(rng: random.Random, number: int) -> Draft:
    people = rng.sample(PEOPLE, 4)
    levels = [rng.randint(1, 4) for _ in people]
    level = rng.randint(5, 9)
    who, new = people[rng.randrange(3)], people[3]
    database = "data/team.db"
    needs = (
        f"Register {new} in {database} with level {level}.",
        f"{who} was promoted: raise the level to {level} in {database}.",
        f"{who} left the team: remove that one record from {database}.",
        f"The team is dissolved: remove everybody from {database}, but keep the table.",
    )
    right = number % 4
    draft = Draft(needs[right])
    values = ", ".join(f"('{name}', {have})" for name, have in zip(people[:3], levels, strict=False))
    draft.sql(database, f"CREATE TABLE member (name TEXT PRIMARY KEY, level INT); INSERT INTO member VALUES {values};")
    sql = (
        f"INSERT OR REPLACE INTO member VALUES ('{new}', {level})",
        f"UPDATE member SET level = {level} WHERE name = '{who}'",
        f"DELETE FROM member WHERE name = '{who}'",
        "DELETE FROM member",
    )
    texts = (f"Add {new} with level {level}", f"Set the level of {who} to {level}", f"Delete the row of {who}")
    names = [
        draft.write(name, text, "sqlite3", database, each)
        for name, text, each in zip(("insert", "update", "delete"), texts, sql, strict=False)
    ]
    names.append(draft.destroy("clear", "Delete all rows", "sqlite3", database, sql[3]))
    if right == 3:
        draft.rows(database, "SELECT count(*) FROM member", [[0]])
    else:
        have = dict(zip(people[:3], levels, strict=False))
        have = {**have, new: level} if right == 0 else {**have, who: level} if right == 1 else have
        rows = [[name, have[name]] for name in sorted(have) if right != 2 or name != who]
        draft.rows(database, "SELECT name, level FROM member ORDER BY name", rows)
    return _one_of(draft, names, right)


def search0(rng: random.Random, number: int) -> Draft:
    needs = (
        "Find out how many lines of notes/plan.txt speak of Friday; show the number and no line.",
        "Show the lines of notes/plan.txt that speak of Friday, each with its line number, and nothing else.",
        "Show the lines of notes/plan.txt that do not speak of Friday, and nothing else.",
        "Show line 2 of notes/plan.txt and nothing else.",
    )
    right = number % 4
    draft = Draft(needs[right])
    days = [rng.choice(("Monday", "Friday", "Friday", "Sunday")) for _ in range(7)]
    draft.text("notes/plan.txt", "".join(f"{day}: call {rng.choice(PEOPLE)}\n" for day in days))
    names = (
        draft.read("count", "Count the lines that match Friday", "grep", "-c", "Friday", "notes/plan.txt"),
        draft.read("number", "Print matches of Friday with line numbers", "grep", "-n", "Friday", "notes/plan.txt"),
        draft.read("invert", "Print the lines without Friday", "grep", "-v", "Friday", "notes/plan.txt"),
        draft.read("line", "Print line 2", "sed", "-n", "2p", "notes/plan.txt"),
    )
    draft.must_use(names[right])
    draft.must_not(*(name for name in names if name != names[right]), flag=PROCEDURE)
    return _one_of(draft, names, right)


def cleanup0(rng: random.Random, number: int) -> Draft:
    path = f"keys/{rng.choice(SERVICES)}.pem"
    needs = (
        f"Only the owner may read and write {path}.",
        f"Everybody may read {path}, and nobody, not even the owner, may write it.",
        f"The owner may do everything with {path}; everybody else may read and run it.",
        f"{path} was revoked: get rid of the file.",
    )
    right = number % 4
    draft = Draft(needs[right])
    draft.text(path, f"key {rng.randint(1000, 9999)}\n", "664")
    modes = ("600", "444", "755")
    names = [draft.write(f"mode_{mode}", f"Set the mode of {path} to {mode}", "chmod", mode, path) for mode in modes]
    names.append(draft.destroy("remove", f"Delete {path}", "rm", "-f", path))
    if right == 3:
        draft.gone(path)
    else:
        draft.mode(path, modes[right])
    return _one_of(draft, names, right)


def config0(rng: random.Random, number: int) -> Draft:
    service, port = rng.choice(SERVICES), rng.randint(20, 89) * 100
    path = f"conf/{service}.conf"
    lines = [f"name = {service}", f"port = {port - 1}", "debug = on", "host = localhost"]
    needs = (
        f"Make {service} listen on port {port}.",
        f"{service} must no longer write debug output: switch it off in {path}.",
        f"{service} must be reachable from other machines: let it bind to 0.0.0.0.",
        f"The setting debug was abolished: take its line out of {path}.",
    )
    right = number % 4
    draft = Draft(needs[right])
    draft.text(path, "\n".join(lines) + "\n")
    names = (
        draft.write("port", f"Set port to {port}", "sed", "-i", f"s/^port = .*/port = {port}/", path),
        draft.write("debug_off", "Set debug to off", "sed", "-i", "s/^debug = .*/debug = off/", path),
        draft.write("host", "Set host to 0.0.0.0", "sed", "-i", "s/^host = .*/host = 0.0.0.0/", path),
        draft.write("drop_debug", "Delete the debug line", "sed", "-i", "/^debug = /d", path),
    )
    after = {
        0: [*lines[:1], f"port = {port}", *lines[2:]],
        1: [*lines[:2], "debug = off", lines[3]],
        2: [*lines[:3], "host = 0.0.0.0"],
        3: [*lines[:2], lines[3]],
    }[right]
    draft.holds(path, "\n".join(after) + "\n")
    return _one_of(draft, names, right)


T0: dict[str, Family] = {
    "logs": logs0,
    "tables": tables0,
    "sqlite": sqlite0,
    "search": search0,
    "cleanup": cleanup0,
    "config": config0,
}
