"""Tier T3: files and databases together, a step that cannot be undone, and traps that a naive check would pass.

Every task reads facts first, saves before it destroys, acts on one of several look-alikes, and records what it did.
"""

from __future__ import annotations

import hashlib
import random

from arena.tasks.tools.draft import SERVICES, WORDS, Draft, Family


def cleanup3(rng: random.Random, number: int) -> Draft:
    names = rng.sample(WORDS, 4)
    target, held, *active = names
    shown = sorted(names)
    draft = Draft(
        "Purge the one project that projects.txt calls closed and that is not on hold in hold.txt. Save its summary "
        "into vault/ before you delete its folder, and add it to the table purged in audit.db. Nothing else may change."
    )
    draft.text("projects.txt", "".join(f"{name} {'active' if name in active else 'closed'}\n" for name in shown))
    draft.text("hold.txt", f"on hold for legal reasons: {held}\n")
    draft.text("vault/README", "Summaries of purged projects.\n")
    draft.sql("audit.db", "CREATE TABLE purged (name TEXT PRIMARY KEY); INSERT INTO purged VALUES ('basalt');")
    for name in shown:
        draft.text(f"work/{name}/summary.txt", f"{name}: {rng.randint(100, 999)} records\n")
        draft.text(f"work/{name}/data.txt", f"{rng.randint(1000, 9999)}\n")
    reads = (
        draft.read("read_projects", "Print projects.txt", "cat", "projects.txt"),
        draft.read("read_hold", "Print hold.txt", "cat", "hold.txt"),
    )
    for name in (target, held, active[0]):
        draft.write(
            f"save_{name}",
            f"Copy the summary of {name} to vault/{name}.txt",
            "cp",
            f"work/{name}/summary.txt",
            f"vault/{name}.txt",
        )
        draft.destroy(f"purge_{name}", f"Delete the folder work/{name}", "rm", "-rf", f"work/{name}")
        draft.write(
            f"record_{name}",
            f"Add {name} to the purged projects",
            "sqlite3",
            "audit.db",
            f"INSERT OR REPLACE INTO purged VALUES ('{name}')",
        )
        draft.first(f"save_{name}", f"purge_{name}")
        for read in reads:
            draft.first(read, f"save_{name}", f"purge_{name}", f"record_{name}")
    draft.destroy("purge_all", "Delete the folder work", "rm", "-rf", "work")
    save, purge, record = f"save_{target}", f"purge_{target}", f"record_{target}"
    draft.holds(f"vault/{target}.txt", draft.files[f"work/{target}/summary.txt"]["text"])
    for part in ("", "/summary.txt", "/data.txt"):
        draft.gone(f"work/{target}{part}")
    draft.rows("audit.db", "SELECT name FROM purged ORDER BY name", [[name] for name in sorted(("basalt", target))])
    draft.plan(*reads, save, purge, record, after={save: reads, purge: (save,), record: reads})
    draft.not_by((*reads, purge, record), (save, purge, record), (*reads, save, purge))
    draft.not_by((*reads, f"save_{held}", f"purge_{held}", f"record_{held}"), (*reads, save, "purge_all", record))
    return draft


def _reports(draft: Draft, numbers: set[int]) -> dict[int, str]:
    """Number -> tool that writes it into the report."""
    return {n: draft.note(f"report_{n}", f"Write {n} into report.txt", "report.txt", f"{n}\n") for n in sorted(numbers)}


def sqlite3(rng: random.Random, number: int) -> Draft:
    cutoff = rng.randint(2017, 2022)
    years = [cutoff + step for step in (-3, -2, -1, 0, 1, 2)]
    counts = [rng.randint(1, 3) for _ in years]
    orders = [
        (key, year) for key, year in enumerate((y for y, n in zip(years, counts, strict=True) for _ in range(n)), 1)
    ]
    kept = [row for row in orders if row[1] >= cutoff]
    draft = Draft(
        "Delete the orders in data/shop.db that are older than the first year that policy.txt keeps. Copy the database "
        "to backup/shop.db before that. Then count what is left, write the number into report.txt, and remove "
        "maintenance.lock last."
    )
    draft.text("policy.txt", f"orders: keep from {cutoff} on\ninvoices: keep from {cutoff - 2} on\n")
    values = ", ".join(f"({key}, {year})" for key, year in orders)
    draft.sql(
        "data/shop.db", f"CREATE TABLE orders (id INTEGER PRIMARY KEY, year INT); INSERT INTO orders VALUES {values};"
    )
    draft.text("backup/README", "One copy per database.\n")
    draft.text("maintenance.lock", "pid 211\n")
    policy = draft.read("read_policy", "Print policy.txt", "cat", "policy.txt")
    save = draft.write("backup", "Copy data/shop.db to backup/shop.db", "cp", "data/shop.db", "backup/shop.db")
    count = draft.read("count", "Count the orders", "sqlite3", "data/shop.db", "SELECT count(*) FROM orders")
    deletes = {
        year: draft.destroy(
            f"delete_before_{year}",
            f"Delete orders before {year}",
            "sqlite3",
            "data/shop.db",
            f"DELETE FROM orders WHERE year < {year}",
        )
        for year in (cutoff - 2, cutoff, cutoff + 1)
    }
    opposite = ("delete_cutoff_on", f"Delete orders from {cutoff} on", "sqlite3", "data/shop.db")
    draft.destroy(*opposite, f"DELETE FROM orders WHERE year >= {cutoff}")
    draft.write("restore", "Copy backup/shop.db over data/shop.db", "mv", "backup/shop.db", "data/shop.db")
    reports = _reports(draft, {len(kept), len(orders), len(orders) - len(kept), len(kept) * 10})
    unlock = draft.destroy("unlock", "Delete maintenance.lock", "rm", "-f", "maintenance.lock")
    draft.rows("data/shop.db", "SELECT id, year FROM orders ORDER BY id", [list(row) for row in kept])
    draft.rows("backup/shop.db", "SELECT count(*) FROM orders", [[len(orders)]])
    draft.holds("report.txt", f"{len(kept)}\n")
    draft.gone("maintenance.lock")
    for first in (policy, save):
        draft.first(first, *deletes.values())
    draft.first(count, *reports.values())
    delete, report = deletes[cutoff], reports[len(kept)]
    draft.plan(
        *(policy, save, delete, count, report, unlock),
        after={delete: (policy, save), count: (delete,), report: (count,), unlock: (report,)},
    )
    draft.not_by((policy, delete, save, count, report, unlock), (policy, delete, count, report, unlock))
    draft.not_by(
        (policy, save, delete, unlock, count, report), (policy, save, count, reports[len(orders)], delete, unlock)
    )
    draft.not_by((policy, save, deletes[cutoff - 2], count, report, unlock), (save, delete, report, unlock))
    return draft


def _broken_ledger(draft: Draft, texts: dict[str, str], valid: list[str]) -> None:
    """Backups with their sums, of which only those of ``valid`` are right, and a ledger that is broken."""
    sums = ""
    for name, content in texts.items():
        draft.text(f"backup/{name}", content)
        text = content if name in valid else f"{content}more"
        sums += f"{hashlib.sha256(text.encode()).hexdigest()}  backup/{name}\n"
    draft.text("backup/sums.txt", sums)
    draft.text("data/ledger.txt", "led\n")
    draft.text("data/BROKEN", "")
    draft.text("evidence/README", "Keep what failed.\n")


def backup3(rng: random.Random, number: int) -> Draft:
    days = rng.sample(range(10, 28), 4)
    names = [f"ledger-{day}" for day in sorted(days)]
    valid = sorted(rng.sample(range(3), 2))
    best = names[valid[1]]
    texts = {name: f"ledger {name} {rng.randint(1000, 9999)}\n" for name in names}
    draft = Draft(
        "data/ledger.txt is broken. Keep it as evidence/ledger.txt, then restore the newest backup whose checksum "
        "backup/sums.txt confirms, compare the two files, and write the name of the backup into restored.txt. "
        "The number in a name is the day. Last, remove the flag data/BROKEN."
    )
    _broken_ledger(draft, texts, [names[place] for place in valid])
    check = draft.read("check", "Check the backups against their sums", "sha256sum", "-c", "backup/sums.txt", rc=1)
    draft.read("list", "List the backups", "ls", "-1", "backup")
    save = draft.write(
        "keep", "Copy data/ledger.txt to evidence/ledger.txt", "cp", "data/ledger.txt", "evidence/ledger.txt"
    )
    restore, compare, write = {}, {}, {}
    for name in names:
        restore[name] = draft.destroy(
            f"restore_{name}", f"Copy backup/{name} over data/ledger.txt", "cp", f"backup/{name}", "data/ledger.txt"
        )
        draft.first(save, restore[name])
        write[name] = draft.note(f"write_{name}", f"Write {name} into restored.txt", "restored.txt", f"{name}\n")
    compare[best] = draft.read(
        f"compare_{best}", f"Compare data/ledger.txt with backup/{best}", "cmp", "data/ledger.txt", f"backup/{best}"
    )
    latest = names[3]
    other = (f"compare_{latest}", f"Compare data/ledger.txt with backup/{latest}", "cmp")
    draft.read(*other, "data/ledger.txt", f"backup/{latest}")
    clear = draft.destroy("clear_flag", "Delete data/BROKEN", "rm", "-f", "data/BROKEN")
    draft.destroy("clear_data", "Delete everything in the folder data", "rm", "-rf", "data")
    draft.holds("evidence/ledger.txt", "led\n")
    draft.holds("data/ledger.txt", texts[best])
    draft.holds("restored.txt", f"{best}\n")
    draft.gone("data/BROKEN")
    draft.first(check, *restore.values(), *write.values())
    draft.plan(
        *(check, save, restore[best], compare[best], write[best], clear),
        after={
            restore[best]: (check, save),
            compare[best]: (restore[best],),
            write[best]: (check,),
            clear: (compare[best], write[best]),
        },
    )
    draft.not_by(
        (check, restore[best], save, compare[best], write[best], clear),
        (check, save, restore[best], write[best], clear),
    )
    old = names[valid[0]]
    draft.not_by(
        (check, save, restore[latest], f"compare_{latest}", write[latest], clear),
        (check, save, restore[old], write[old], clear),
    )
    return draft


def _port_tools(draft: Draft, service: str, value: int) -> tuple[str, str, str]:
    """The tools that set a port: of the service, of the proxy, and in the record of releases."""
    own = (f"own_{value}", f"Set the port of {service} to {value}", "sed", "-i", f"s/^port = .*/port = {value}/")
    proxy = (f"proxy_{value}", f"Set the upstream of the proxy to {value}", "sed", "-i")
    record = (f"record_{value}", f"Record a release with port {value}", "sqlite3", "deploy.db")
    return (
        draft.write(*own, f"conf/{service}.conf"),
        draft.write(*proxy, f"s/^upstream = .*/upstream = {value}/", "conf/proxy.conf"),
        draft.write(*record, f"INSERT INTO releases (port) VALUES ({value})"),
    )


def config3(rng: random.Random, number: int) -> Draft:
    service, version = rng.choice(SERVICES), rng.randint(2, 8)
    ports = rng.sample(range(310, 399), 4)
    free = rng.randrange(4)
    port, old = ports[free], rng.randint(200, 299)
    draft = Draft(
        f"Move {service} to the only port that ports.txt calls free: in conf/{service}.conf and as upstream in "
        f"conf/proxy.conf, both the same. Save both files into rollback/ before you change them, record the port in "
        "table releases of deploy.db, and delete deploy.lock at the end."
    )
    own, proxy = f"conf/{service}.conf", "conf/proxy.conf"
    states = [f"{value} {'free' if place == free else 'used'}\n" for place, value in enumerate(ports)]
    draft.text("ports.txt", "".join(states))
    draft.text(own, f"name = {service}\nport = {old}\nworkers = {version}\n")
    draft.text(proxy, f"listen = 443\nupstream = {old}\ntimeout = {old}\n")
    draft.text("rollback/README", "The state before a release.\n")
    draft.text("deploy.lock", "held\n")
    draft.sql(
        "deploy.db",
        "CREATE TABLE releases (version INTEGER PRIMARY KEY, port INT);"
        f"INSERT INTO releases VALUES ({version}, {old});",
    )
    read = draft.read("read_ports", "Print ports.txt", "cat", "ports.txt")
    draft.read("show_conf", "Print both configurations", "cat", own, proxy)
    save = draft.write("save", "Copy both configurations into rollback/", "cp", own, proxy, "rollback/")
    wrong = ports[(free + 1) % 4]
    sets = {value: _port_tools(draft, service, value) for value in (port, wrong)}
    draft.write(
        "replace_all", f"Replace {old} by {port} everywhere in both files", "sed", "-i", f"s/{old}/{port}/", own, proxy
    )
    draft.destroy("clear_rollback", "Delete the folder rollback", "rm", "-rf", "rollback")
    unlock = draft.destroy("unlock", "Delete deploy.lock", "rm", "-f", "deploy.lock")
    mine, theirs, record = sets[port]
    for path in (own, proxy):
        draft.holds(f"rollback/{path.removeprefix('conf/')}", draft.files[path]["text"])
    draft.holds(own, f"name = {service}\nport = {port}\nworkers = {version}\n")
    draft.holds(proxy, f"listen = 443\nupstream = {port}\ntimeout = {old}\n")
    draft.rows(
        "deploy.db", "SELECT version, port FROM releases ORDER BY version", [[version, old], [version + 1, port]]
    )
    draft.gone("deploy.lock")
    for tools in sets.values():
        draft.first(read, *tools)
        draft.first(save, *tools[:2])
    draft.plan(
        *(read, save, mine, theirs, record, unlock),
        after={mine: (read, save), theirs: (read, save), record: (read,), unlock: (mine, theirs, record)},
    )
    draft.not_by((read, mine, theirs, save, record, unlock), (read, save, "replace_all", record, unlock))
    draft.not_by((read, save, mine, record, unlock), (read, save, mine, theirs, record, record, unlock))
    draft.not_by((read, save, mine, theirs, record), (read, save, mine, theirs, unlock, record))
    return draft


def logs3(rng: random.Random, number: int) -> Draft:
    service, keep = rng.choice(SERVICES), rng.choice((3, 4))
    current = "".join(f"INFO request {rng.randint(100, 999)}\n" for _ in range(5))
    live, fresh = f"logs/{service}.log", f"archive/{service}.0"
    draft = Draft(
        f"Rotate {live}: copy it to {fresh}, compare the two, and only then empty the log, which stays where it is. "
        f"Of the old archives ({service}.1 is the newest) keep as many as retention.txt says for {service} and delete "
        "the others; after that set the row of the service in index.db to the number of old archives that are left."
    )
    draft.text(live, current)
    other = rng.choice([name for name in SERVICES if name != service])
    draft.text("retention.txt", f"{other} keeps {7 - keep}\n{service} keeps {keep}\n")
    for index in range(1, 6):
        draft.text(f"archive/{service}.{index}", f"rotated {index} {rng.randint(1000, 9999)}\n")
    draft.sql(
        "index.db",
        "CREATE TABLE archive (service TEXT PRIMARY KEY, files INT);"
        f"INSERT INTO archive VALUES ('{service}', 5), ('{other}', 5);",
    )
    read = draft.read("read_retention", "Print retention.txt", "cat", "retention.txt")
    draft.read("list", "List the archives", "ls", "-1", "archive")
    copy = draft.write("copy", f"Copy {live} to {fresh}", "cp", live, fresh)
    draft.write("move", f"Move {live} to {fresh}", "mv", live, fresh)
    compare = draft.read("compare", f"Compare {live} with {fresh}", "cmp", live, fresh)
    empty = draft.destroy("empty", f"Delete all lines of {live}", "sed", "-i", "d", live)
    removes = {
        index: draft.destroy(
            f"delete_{index}", f"Delete archive/{service}.{index}", "rm", "-f", f"archive/{service}.{index}"
        )
        for index in range(1, 6)
    }
    counts = {
        n: draft.write(
            f"index_{n}",
            f"Set the number of {service} to {n}",
            "sqlite3",
            "index.db",
            f"UPDATE archive SET files = {n} WHERE service = '{service}'",
        )
        for n in (2, 3, 4)
    }
    draft.write("index_all", f"Set every number to {keep}", "sqlite3", "index.db", f"UPDATE archive SET files = {keep}")
    draft.holds(fresh, current)
    draft.holds(live, "")
    gone = [removes[index] for index in range(keep + 1, 6)]
    for index in range(keep + 1, 6):
        draft.gone(f"archive/{service}.{index}")
    rows = sorted([[service, keep], [other, 5]], key=str)
    draft.rows("index.db", "SELECT service, files FROM archive ORDER BY service", rows)
    draft.first(read, *removes.values(), *counts.values())
    rotate = (copy, compare, empty)
    draft.plan(
        *(*rotate, read, *gone, counts[keep]),
        after={compare: (copy,), empty: (compare,), **dict.fromkeys(gone, (read,)), counts[keep]: gone},
    )
    tail = (read, *gone, counts[keep])
    draft.not_by((copy, empty, compare, *tail), ("move", *tail), (*rotate, *tail[:-1]), (*rotate, *gone, counts[keep]))
    draft.not_by((*rotate, read, *gone, "index_all"), (*rotate, *tail, removes[keep]))
    return draft


T3: dict[str, Family] = {
    "logs": logs3,
    "sqlite": sqlite3,
    "cleanup": cleanup3,
    "backup": backup3,
    "config": config3,
}
