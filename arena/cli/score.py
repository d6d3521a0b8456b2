"""``arena score``: figures of a log under named rules. Never calls a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arena.leaderboard.profiles.rules import Profile
    from arena.log.reader import RunReader
    from arena.run.verify_log import Checked

EXAMPLES = """\b
Examples:
  arena score runs/RUN
  arena score runs/RUN --profile esen --json
  arena score runs/A runs/B --profile s1-v1 --csv
  arena score decisions.jsonl.gz --profile foundation
  arena score runs/RUN --gold v2
  arena score runs/RUN --gold golds-v5.jsonl
  arena score runs/A runs/B --gold-report golds-v4.jsonl golds-v5.jsonl
  arena score runs/RUN --annotations second.jsonl
  arena score runs/RUN --verify

Profiles: arena-v1 (default: capability C, reliability and protocol metrics), s1-v1, esen, foundation; every result
names its rules. One run gives one JSON object, several give an array.

Gold file, one object a line: item, question_name, gold, and suite where names repeat; {"gold_version": "v5"} names it.

Annotation file: item, question_name, annotator, kind (human or model), label.

--verify reads the log alone, without engine, browser or model, and ends at the first line that does not hold; a
finished run's summary and plan are held to the log as well.

Exit codes: 0 scored, 1 a damaged log or one that --verify refuses, 2 usage (no such run, unknown profile, gold
versions mixed, a refused input), 3 nothing to score, 4 a file of golds or annotations is missing."""


def command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs, or decision logs (.jsonl, .jsonl.gz).")],
    profile: Annotated[str, typer.Option("--profile", "-p", help="arena-v1, s1-v1, esen or foundation.")] = "arena-v1",
    gold: Annotated[str | None, typer.Option(help="Gold version of the registry, or a gold file.")] = None,
    gold_report: Annotated[
        tuple[str, str] | None, typer.Option(metavar="OLD NEW", help="What a new gold version changed.")
    ] = None,
    annotations: Annotated[Path | None, typer.Option(help="Second annotations: agreement and kappa.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="A noul says yes at this p or more (the profile's: 0.5).")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First check every line: decisions gated again, episodes judged again.")
    ] = False,
    root: Annotated[Path, typer.Option("--runs", help="Folder that holds runs.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout: one line a suite, one for the total.")] = False,
) -> None:
    """Score runs under a profile; from the logs alone."""
    from arena.errors import UsageError
    from arena.leaderboard.golds import Regolded, find_golds
    from arena.leaderboard.profiles.rules import profile as find_profile

    rules = find_profile(profile, threshold)
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other")
    if verify and (gold_report is not None or annotations is not None or as_csv):
        raise UsageError("--verify goes with scores, as text or as --json")
    readers = [open_run(name, root) for name in runs]
    checked = _checked(readers) if verify else None
    if gold_report is not None:
        _gold_report(readers, gold_report, rules, as_json)
        return
    if gold is not None:
        golds = find_golds(gold)
        readers = [Regolded(reader, golds) for reader in readers]
    if annotations is not None:
        _annotations(readers, annotations, as_json)
        return
    _scores(readers, rules, checked, as_json, as_csv)


command.__doc__ = f"{command.__doc__}\n\n{EXAMPLES}"


def _checked(readers: Sequence[RunReader]) -> list[Checked]:
    """Every log checked; a terminal shows which one is being read."""
    from rich.console import Console
    from rich.text import Text

    from arena.run.verify_log import verify_log

    with Console(stderr=True).status("") as shown:
        found = []
        for reader in readers:
            shown.update(Text(f"checking every line of {reader.folder}"))
            found.append(verify_log(reader))
    return found


def open_run(name: str, root: Path) -> RunReader:
    """A run by path, by its name under ``root``, or a bare decision log."""
    from arena.leaderboard.logs import open_log
    from arena.log.reader import run_folder

    path = Path(name)
    bare = path if path.exists() or not (root / name).exists() else root / name
    return open_log(run_folder(name, root) or bare)


def _scores(
    readers: Sequence[RunReader], rules: Profile, checked: Sequence[Checked] | None, as_json: bool, as_csv: bool
) -> None:
    from arena.identity import dump
    from arena.leaderboard.profiles.selection import score_all

    results = score_all(readers, rules)
    if checked is not None:
        results = [{**result, "log_checked": asdict(each)} for result, each in zip(results, checked, strict=True)]
    if as_json:
        typer.echo(dump(results[0] if len(results) == 1 else results))
    elif as_csv:
        from arena.cli.score_text import csv_text

        typer.echo(csv_text(results), nl=False)
    else:
        from arena.cli.score_text import print_result

        for result in results:
            print_result(result)


def _gold_report(readers: Sequence[RunReader], versions: tuple[str, str], rules: Profile, as_json: bool) -> None:
    from arena.identity import dump
    from arena.leaderboard.gold_report import gold_report
    from arena.leaderboard.golds import find_golds

    found = gold_report(readers, find_golds(versions[0]), find_golds(versions[1]), rules)
    if as_json:
        typer.echo(dump(found))
        return
    from arena.cli.score_text import print_gold_report

    print_gold_report(found)


def _annotations(readers: Sequence[RunReader], path: Path, as_json: bool) -> None:
    from arena.identity import dump
    from arena.leaderboard.gold_report import agreement

    rows: list[dict[str, Any]] = agreement(readers, path)
    if as_json:
        typer.echo(dump(rows))
        return
    from arena.cli.score_text import print_agreement

    print_agreement(rows)
