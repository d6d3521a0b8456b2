"""``arena reliability``: S, N and R of a run, from its log, with all that stands beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

COLUMNS = ("domain", "items", "S", "95% CI", "N", "95% CI", "R", "95% CI")
BESIDE = ("domain", "noise floor", "flips", "drift", "stable", "hit", "false", "AUROC none", "AUROC 1-conf")
"""Two tables, so that neither is wider than a terminal of 80 columns."""


def command(
    run: Annotated[Path, typer.Argument(help="A run that was made with --reliability.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Report order stability S, null detection N and R of a run; never calls a model.

    \b
    Examples:
      arena eval --model sparrow-nano --domain intent --reliability
      arena reliability runs/RUN
      arena reliability runs/RUN --json
    """
    from arena.errors import UsageError
    from arena.identity import dump
    from arena.leaderboard.reliability import invariance, reliability
    from arena.log.reader import RunReader, run_folder

    reader = RunReader(run_folder(run, Path("runs")) or run)
    found = reliability(reader)
    if found is None:
        raise UsageError(f"{run} measured no reliability", hint="run: arena eval ... --reliability")
    card = reader.config["resolved"]["model_card"]
    found["declared_order_invariant"] = card.get("order_invariant")
    if as_json:
        typer.echo(dump(found))
    else:
        _print(found, invariance(found, card))


def _print(found: Mapping[str, Any], claim: str | None) -> None:
    from arena.cli.render import console, table

    out = console()
    parts = [*found["per_domain"].items(), ("all", found)]
    out.print(table(COLUMNS, [_headline(name, one) for name, one in parts]))
    out.print(table(BESIDE, [_beside(name, one) for name, one in parts]))
    spread = found["accuracy_over_orders"]
    if spread is not None:
        out.print(
            f"accuracy over orders: {spread['low']:.3f} worst, {spread['mean']:.3f} mean, {spread['high']:.3f} best"
        )
    slots = found["chosen_slots"]
    if slots is not None:
        out.print(
            f"chosen slot against uniform: chi-square {slots['chi_square']:.1f}, {slots['dof']} df, p {slots['p']:.3g}"
        )
    if (probes := found["probes"]) is not None:
        for probe in probes["probes"]:
            out.print(f"probe {probe['probe']}: flip rate {_rate(probe['flip_rate'])}, drift {_rate(probe['drift'])}")
        if probes["attack"] is not None:
            out.print(f"attack success {_rate(probes['attack']['rate'])} (base {_rate(probes['attack']['base_rate'])})")
        out.print(f"robustness {_rate(probes['robustness'])}")
    if claim is not None:
        out.print(f"the model declares that option order does not matter: {claim}")
    for note in found["partial"]:
        out.print(f"partial: {note}", style="yellow")


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _bounds(bounds: list[float] | None) -> str:
    return "" if bounds is None else f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


def _headline(name: str, one: Mapping[str, Any]) -> list[str]:
    figures = (cell for key in ("S", "N", "R") for cell in (_rate(one[key]), _bounds(one[f"{key}_ci95"])))
    return [name, str(one["items"]), *figures]


def _beside(name: str, one: Mapping[str, Any]) -> list[str]:
    null = one["null"]
    return [
        name,
        _rate(one["noise_floor"]),
        _rate(one["flips"]["rate"]),
        _rate(one["drift"]["mean"]),
        _rate(one["share_stable"]),
        _rate(null["hit"]),
        _rate(null["false"]),
        _rate(one["auroc_explicit"]),
        _rate(one["auroc_implicit"]),
    ]
