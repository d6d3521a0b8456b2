"""``arena eval``: run a model over domains and print the results table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arena.run.config import Operation, RunConfig
    from arena.run.evaluate import Result

EXAMPLES = """\b
Examples:
  arena eval --model sparrow-nano --domain web
  arena eval --model sparrow-nano --domain intent --tier hardest --json
  arena eval --model sparrow-nano --domain all --reliability
  arena eval --model glide --domain web --dry-run
  arena eval --model systemone --base-url http://localhost:8000 --domain intent
  arena eval --config my-run.toml

The same command again resumes an interrupted run, and prints a finished one.

\b
Exit codes: 0 complete, 1 errors or invalid answers above the threshold,
  2 usage, 3 nothing selected, 4 something needed is missing,
  130 interrupted (resumable)."""


Domain = Annotated[
    list[str] | None, typer.Option("--domain", "-d", metavar="NAME", help="Domain; repeat for several, or 'all'.")
]
Tier = Annotated[
    list[str] | None, typer.Option("--tier", "-t", metavar="NAME", help="Tier; repeat, or 'hardest' (default: all).")
]


def command(
    ctx: typer.Context,
    model: Annotated[str, typer.Option("--model", "-m", help="Model; see: arena list models.")] = "sparrow-nano",
    domain: Domain = None,
    tier: Tier = None,
    split: Annotated[str, typer.Option(help="Split of the suites.")] = "test",
    item: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this item or episode; the run is limited.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="First N of each tier; the run is limited.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Ask everything N times.")] = 1,
    trials: Annotated[int, typer.Option(min=1, help="Play episodes N times, fixture and order varied: pass^k.")] = 1,
    base_url: Annotated[str | None, typer.Option(help="Server of a wire model.")] = None,
    wire_model: Annotated[str | None, typer.Option(help="The model's name on the wire.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the key.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds for one call, all attempts.")] = None,
    max_retries: Annotated[int | None, typer.Option(min=0, help="Tries after the first.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of a random model.")] = 0,
    script: Annotated[Path | None, typer.Option(help="Script of the model 'fake'.")] = None,
    model_option: Annotated[
        list[str] | None, typer.Option("--model-option", "-M", metavar="KEY=VALUE", help="Option of the model; repeat.")
    ] = None,
    allow_paid: Annotated[bool, typer.Option("--allow-paid", help="Go on with a paid endpoint.")] = False,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-E", metavar="[ENV:]KEY=VALUE", help="Option of an environment, e.g. mode=free."),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(metavar="KIND", help="Boxes of the domain tools: auto, docker, bwrap or sim.")
    ] = None,
    reliability: Annotated[bool, typer.Option("--reliability", help="Also measure S, N and R.")] = False,
    orders: Annotated[int, typer.Option(min=2, help="Option orders; not 12: the row is partial.")] = 12,
    per_domain: Annotated[int, typer.Option(min=1, help="Reliability items per domain; not 50: partial.")] = 50,
    probes: Annotated[bool, typer.Option("--probes", help="With --reliability: the four probes.")] = False,
    lane: Annotated[str, typer.Option(help="throughput; or latency: serial, no cache.")] = "throughput",
    max_errors: Annotated[int | None, typer.Option(min=0, help="Stop after more failed calls than this.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight.")] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Episodes played at once.")] = 1,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Leave the response cache alone.")] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="In a finished run, ask what failed and play what broke again.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop when the visibility canary fails.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would take; ask nothing.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder (default: runs/NAME).")] = None,
    runs: Annotated[Path, typer.Option(help="Folder that holds runs.")] = Path("runs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over in a new folder, cache unread.")] = False,
    config: Annotated[Path | None, typer.Option(help="TOML file with these settings; flags win.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON object on stdout.")] = False,
) -> None:
    """Evaluate a model and print capability per domain and tier."""
    from arena.cli.settings import run_config
    from arena.run.config import Operation

    flags = {name: value for name, value in ctx.params.items() if _given(ctx, name)}
    settings = run_config(flags, config)
    operation = Operation(
        out=out,
        root=runs,
        fresh=fresh,
        concurrency=concurrency,
        sessions=sessions,
        cache=not no_cache,
        allow_paid=allow_paid,
        retry_errors=retry_errors,
        strict=strict,
    )
    raise typer.Exit(_show(interruptible(settings, operation, dry_run), settings, as_json))


def _given(ctx: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def interruptible(settings: RunConfig, operation: Operation, dry_run: bool) -> Result:
    """Evaluate under signals: Ctrl-C and SIGTERM leave a resumable run."""
    import signal

    import anyio

    from arena.cli.progress import reporter_for
    from arena.errors import Interrupted
    from arena.run.evaluate import evaluate

    # A shell starts background jobs with SIGINT ignored, and a run that cannot be stopped is no use to anyone.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    reporter = reporter_for(sys.stderr)
    try:
        result = anyio.run(evaluate, settings, operation, reporter, dry_run)
    except KeyboardInterrupt:
        raise Interrupted("interrupted", hint="what was recorded is kept; the same command resumes") from None
    if result.folder is not None and not reporter.playing:
        said = f"run {result.folder} was finished before: its summary is shown, nothing was asked"
        typer.echo(f"{said} (arena eval --fresh asks everything again)", err=True)
    return result


command.__doc__ = f"{command.__doc__}\n\n{EXAMPLES}"


def _print_needs(settings: RunConfig) -> None:
    """What the run itself would ask for that the dry run did not: the key, and consent to pay."""
    import os

    from arena.models import known_models

    info = next((info for info in known_models() if info.name == settings.model), None)
    key = settings.model_options.get("api_key_env") or (info.needs if info else None)
    needs = [f"the key in {key} ({'set' if os.environ.get(str(key)) else 'not set'})"] if key else []
    for name in info.also if info else ():
        needs += [f"{name} ({'set' if os.environ.get(name) else 'not set'})"] if name.isupper() else []
    if info is not None and info.paid:
        needs.append("--allow-paid")
    if needs:
        typer.echo(f"to run it: {' and '.join(needs)}")


def _show(result: Result, settings: RunConfig, as_json: bool) -> int:
    """Print the outcome; returns the exit code."""
    from arena.cli.render import print_estimate, print_summary
    from arena.identity import dump

    if result.summary is None or result.folder is None:
        if as_json:
            typer.echo(dump({"estimate": result.estimate.model_dump()}))
        else:
            print_estimate(result.estimate, settings.model)
            _print_needs(settings)
        return 0
    if as_json:
        typer.echo(dump({**result.summary, "run": str(result.folder)}))
    else:
        print_summary(result.folder, result.summary)
    return 1 if result.summary["failed"] else 0
