"""``arena eval``: run a model over domains and print the results table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from arena.run.config import Operation, RunConfig
    from arena.run.evaluate import Result

SELECT, MODEL, HOW, OUT = "What to evaluate", "The model", "How to run", "Where results go"

EXAMPLES = """\b
Examples:
  arena eval --model sparrow-nano --domain web
  arena eval --model sparrow-nano --domain intent --tier hardest --json
  arena eval --model glide --domain web --dry-run
  arena eval --model systemone --base-url http://localhost:8000 --domain intent
  arena eval --config my-run.toml

The same command again resumes an interrupted run, and prints a finished one.
Exit codes: 0 complete, 1 errors or invalid answers above the threshold, 2 usage,
3 nothing selected, 4 something needed is missing, 130 interrupted (resumable)."""


def command(
    model: Annotated[str, typer.Option("--model", "-m", help="Model name; see: arena list models.", rich_help_panel=MODEL)] = "sparrow-nano",
    domain: Annotated[
        list[str] | None, typer.Option("--domain", "-d", help="Domain; repeat for several, or 'all'.", rich_help_panel=SELECT)
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option("--tier", "-t", help="Tier; repeat, or 'hardest', 'all' (default).", rich_help_panel=SELECT)
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the suites.", rich_help_panel=SELECT)] = "test",
    item: Annotated[list[str] | None, typer.Option(help="Only this item or episode; marks the run as limited.", rich_help_panel=SELECT)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="First N of each tier; marks the run as limited.", rich_help_panel=SELECT)] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Ask everything N times.", rich_help_panel=SELECT)] = 1,
    base_url: Annotated[str | None, typer.Option(help="Server of a wire model.", rich_help_panel=MODEL)] = None,
    model_option: Annotated[
        list[str] | None, typer.Option("--model-option", "-M", help="KEY=VALUE for the model; repeat.", rich_help_panel=MODEL)
    ] = None,
    allow_paid: Annotated[bool, typer.Option("--allow-paid", help="Go on with a paid endpoint.", rich_help_panel=MODEL)] = False,
    env_option: Annotated[
        list[str] | None,
        typer.Option("--env", "-E", help="KEY=VALUE for the environment, e.g. mode=teacher, backend=graph; repeat.", rich_help_panel=HOW),
    ] = None,
    lane: Annotated[str, typer.Option(help="throughput, or latency: serial, no cache, publishes latency.", rich_help_panel=HOW)] = "throughput",
    deadline: Annotated[float, typer.Option(min=0.1, help="Seconds for all attempts of one call.", rich_help_panel=HOW)] = 300.0,
    max_errors: Annotated[int | None, typer.Option(min=0, help="Stop after more failed calls than this.", rich_help_panel=HOW)] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight.", rich_help_panel=HOW)] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Episodes played at once.", rich_help_panel=HOW)] = 1,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor fill the response cache.", rich_help_panel=HOW)] = False,
    retry_errors: Annotated[bool, typer.Option("--retry-errors", help="Ask failed calls of a finished run again.", rich_help_panel=HOW)] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would take; ask nothing.", rich_help_panel=HOW)] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder (default: runs/NAME).", rich_help_panel=OUT)] = None,
    runs: Annotated[Path, typer.Option(help="Folder that holds runs.", rich_help_panel=OUT)] = Path("runs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over in a new folder; read nothing from the cache.", rich_help_panel=OUT)] = False,
    config: Annotated[Path | None, typer.Option(help="TOML file with these settings; flags win.", rich_help_panel=OUT)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON object on stdout.", rich_help_panel=OUT)] = False,
) -> None:
    """Evaluate a model and print capability per domain and tier."""
    import signal

    import anyio

    from arena.cli.progress import reporter_for
    from arena.run.config import Operation
    from arena.run.evaluate import evaluate

    chosen = {
        "model": model,
        "model_options": _pairs(model_option, "--model-option") | ({"base_url": base_url} if base_url else {}),
        "domains": domain,
        "tiers": tier,
        "split": split,
        "items": item,
        "limit": limit,
        "repeats": repeats,
        "environment": _pairs(env_option, "--env"),
        "lane": lane,
        "deadline_s": deadline,
        "stop": None if max_errors is None else {"errors": max_errors},
    }
    settings = _settings(chosen, config)
    operation = Operation(
        out=out, root=runs, fresh=fresh, concurrency=concurrency, sessions=sessions,
        cache=not no_cache, allow_paid=allow_paid, retry_errors=retry_errors,
    )
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        result = anyio.run(evaluate, settings, operation, reporter_for(sys.stderr), dry_run)
    except KeyboardInterrupt:
        typer.echo("interrupted: what was recorded is kept; the same command resumes", err=True)
        raise typer.Exit(130) from None
    raise typer.Exit(_show(result, settings, as_json))


command.__doc__ = f"{command.__doc__}\n\n{EXAMPLES}"


def _pairs(given: list[str] | None, flag: str) -> dict[str, Any]:
    """KEY=VALUE flags as a dict; a value that reads as JSON is taken as such."""
    from arena.errors import UsageError
    from arena.identity import load

    pairs: dict[str, Any] = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"{flag} {text!r} is not KEY=VALUE")
        try:
            pairs[key] = load(value)
        except ValueError:
            pairs[key] = value
    return pairs


def _settings(chosen: dict[str, Any], file: Path | None) -> RunConfig:
    """Defaults < TOML file < flags that were given."""
    import tomllib

    from pydantic import ValidationError

    from arena.errors import UsageError
    from arena.run.config import RunConfig
    from arena.tasks import domains

    base: dict[str, Any] = {}
    if file is not None:
        try:
            base = tomllib.loads(file.read_text("utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"--config {file}: {error}") from error
    defaults = {"model": "sparrow-nano", "split": "test", "repeats": 1, "lane": "throughput", "deadline_s": 300.0}
    given = {key: value for key, value in chosen.items() if value not in (None, [], {}) and defaults.get(key) != value}
    merged = {**defaults, **base, **given}
    if not merged.get("domains"):
        raise UsageError("no domain chosen", hint=f"add --domain NAME (one of: {', '.join(domains())}), or --domain all")
    if list(merged["domains"]) == ["all"]:
        merged["domains"] = domains()
    try:
        return RunConfig.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{spot}: {first['msg']} (found {first.get('input')!r})", hint="see: arena eval --help") from error


def _show(result: Result, settings: RunConfig, as_json: bool) -> int:
    """Print the outcome; returns the exit code."""
    from arena.cli.render import print_estimate, print_summary
    from arena.identity import dump

    if result.summary is None or result.folder is None:
        if as_json:
            typer.echo(dump({"estimate": result.estimate.model_dump()}))
        else:
            print_estimate(result.estimate, settings.model)
        return 0
    if as_json:
        typer.echo(dump({"run": str(result.folder), **result.summary}))
    else:
        print_summary(result.folder, result.summary)
    return 1 if result.summary["failed"] else 0
