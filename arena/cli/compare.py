"""``arena compare``: two runs on the same decisions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

SHOWN = 20

EXAMPLES = """\b
Examples:
  arena compare runs/A runs/B
  arena compare runs/A runs/B --profile esen --json
  arena compare runs/A runs/B --margin 0.02
  arena compare runs/A runs/B --family adv1/department --family adv2/department
  arena compare runs/A runs/B --family family.txt --level 0.975

A is the candidate, B the reference: differences are A minus B, with paired intervals. Options are aligned by key, so
two option orders of one question are one pair. A pair counts as a flip only when both answers are valid.

Holm's correction runs over the declared family (cells suite/question, or suites; a file has one a line); a declared
cell without data enters with p = 1.

Exit codes: 0 compared, 2 usage (no such run, golds differ), 3 no decision in both, 4 the file of golds or of the
family is missing."""


def command(
    a: Annotated[str, typer.Argument(metavar="A", help="Candidate: a run or a decision log.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Reference: a run or a decision log.")],
    profile: Annotated[str, typer.Option("--profile", "-p", help="arena-v1, s1-v1, esen or foundation.")] = "arena-v1",
    gold: Annotated[str | None, typer.Option(help="Gold version of the registry, or a gold file.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Cell of the declared family, or a file of them.")] = None,
    margin: Annotated[float | None, typer.Option(help="Non-inferiority margin on accuracy, e.g. 0.02.")] = None,
    level: Annotated[float, typer.Option(min=0.5, max=0.9999, help="Level of the intervals.")] = 0.95,
    root: Annotated[Path, typer.Option("--runs", help="Folder that holds runs.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Compare two runs: paired differences, exact McNemar, slices, the items that changed."""
    from arena.cli.score import open_run
    from arena.identity import dump
    from arena.leaderboard.compare import Asked, compare
    from arena.leaderboard.golds import Regolded, find_golds
    from arena.leaderboard.profiles.rules import profile as find_profile

    readers = [open_run(name, root) for name in (a, b)]
    if gold is not None:
        golds = find_golds(gold)
        readers = [Regolded(reader, golds) for reader in readers]
    found = compare(readers[0], readers[1], find_profile(profile), Asked(_cells(family), margin, level))
    if family:
        for cell in found["family"]["cells"]:
            if not cell["pairs"]:
                typer.echo(f"note: cell {cell['cell']!r} has no pair in these runs, it enters with p = 1", err=True)
    if as_json:
        typer.echo(dump(found))
    else:
        _print(found)


command.__doc__ = f"{command.__doc__}\n\n{EXAMPLES}"


def _cells(given: list[str] | None) -> tuple[str, ...]:
    """Family cells: names, or files with one name a line.

    Raises:
        MissingNeed: a text file that is not there; taken for a cell, it would only weaken the others.
    """
    from arena.errors import MissingNeed

    cells: list[str] = []
    for text in given or ():
        path = Path(text)
        if path.suffix == ".txt" and not path.is_file():
            raise MissingNeed(f"--family {text}: no such file", hint="a file holds one cell a line: suite/question")
        lines = path.read_text("utf-8").split("\n") if path.is_file() else [text]
        cells += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return tuple(dict.fromkeys(cells))


def _print(found: Mapping[str, Any]) -> None:
    from rich.text import Text

    from arena.cli.render import console, table

    out = console()
    out.print(Text(f"A {found['a']['model']} ({found['a']['run']})", "bold"))
    out.print(Text(f"B {found['b']['model']} ({found['b']['run']})", "bold"))
    left = f"only in A {found['only_a']}, only in B {found['only_b']}, asked differently {found['other_question']}"
    out.print(
        Text(f"{found['pairs']} pairs under {found['profile']}; {left}; failed and left out {found['failed_left_out']}")
    )
    percent = round(100 * found["level"], 2)
    rows = [
        [name, "", _figure(row["a"]), _figure(row["b"]), _signed(row["difference"]), _bounds(row["ci"])]
        for name, row in found["differences"].items()
    ]
    out.print(table(("figure", "", "A", "B", "A - B", f"{percent:g}% CI"), rows))
    test = found["mcnemar"]
    out.print(Text(f"McNemar: only A right {test['only_a']}, only B right {test['only_b']}, exact p {test['p']:.4g}"))
    out.print(Text(_told_drift("all pairs", found)))
    if found["reordered"]["asked"]:
        out.print(Text(_told_drift("other option order", found["reordered"])))
    cells = [
        [
            cell["cell"],
            "",
            str(cell["pairs"]),
            str(cell["only_a"]),
            str(cell["only_b"]),
            "" if cell["p"] is None else f"{cell['p']:.4g}",
            f"{cell['holm_p']:.4g}",
        ]
        for cell in found["family"]["cells"]
    ]
    kind = "declared" if found["family"]["declared"] else "every suite and question"
    out.print(table(("cell", "", "pairs", "only A", "only B", "p", f"Holm p ({kind})"), cells))
    _print_end(found)


def _print_end(found: Mapping[str, Any]) -> None:
    from rich.text import Text

    from arena.cli.render import console

    out, verdict = console(), found["verdict"]
    told = "tie: the interval of the accuracy difference holds 0" if verdict["tie"] else "not a tie"
    extra = ""
    if (worse := verdict.get("non_inferiority")) is not None:
        extra = f"; non-inferiority within {worse['margin']:g}: {worse['verdict']}"
    out.print(Text(f"{told}; superiority of A: {verdict['superiority']}{extra}"))
    items = found["changed"]
    out.print(Text(f"{len(items)} decisions changed"))
    for item in items[:SHOWN]:
        gold = ", ".join(item["gold"])
        out.print(
            Text(f"  {item['item']}  {item['question']}: {item['a']} | {item['b']}  gold {gold}  {item['effect']}")
        )
    if len(items) > SHOWN:
        out.print(f"  ... and {len(items) - SHOWN} more (--json lists all)")


def _told_drift(name: str, row: Mapping[str, Any]) -> str:
    drift = "" if row["mean_tv"] is None else f", mean TV {row['mean_tv']:.4f}, max {row['max_tv']:.4f}"
    return f"{name}: {row['flips']} flips of {row['comparable']} comparable ({row['asked']} asked){drift}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.4f}"


def _bounds(bounds: list[float] | None) -> str:
    return "" if bounds is None else f"[{bounds[0]:+.4f}, {bounds[1]:+.4f}]"
