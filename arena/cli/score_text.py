"""Scores as a person and a spreadsheet read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from arena.cli.render import CELL_COLUMNS, cell_rows, console, interval, percent, table

METRICS = ("accuracy", "macro_f1", "ece", "brier", "nll", "mae", "spearman")


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _points(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def print_result(result: Mapping[str, Any]) -> None:
    """One run's scores."""
    out = console()
    marks = f"  ({'; '.join(result['marks'])})" if result["marks"] else ""
    versions = ", ".join(f"{suite} {version}" for suite, version in result["gold"]["versions"].items())
    out.print(Text(f"{result['model']}  profile {result['profile']}  protocol {result['protocol']}{marks}", "bold"))
    rows = [_suite_row(suite["suite"], suite, suite["metrics"]) for suite in result["suites"]]
    rows.append(_suite_row("total", result["total"], result["metrics"]))
    columns = ("suite", "answered", "pct", "95% CI", "majority", *METRICS[:5], "coverage")
    out.print(table(columns, rows))
    out.print(table(("question", "", "n", "hits", "credit", "majority hits"), _question_rows(result["total"])))
    for name in ("adjusted", "composite"):
        if result[name] is not None:
            bounds = interval(result.get(f"{name}_ci95"), 1.0)
            out.print(Text(f"{name}: {result[name]:.2f} {bounds}"))
    if (chosen := result.get("selection")) is not None:
        out.print(Text(f"selection: {chosen['told']}"))
    if "cells" in result:
        _print_arena(result)
    rules = result["rules"]
    out.print(Text(f"rules: {rules['decision']['score']} (score); {rules['decision']['noul']} (noul)", "dim"))
    parts = rules["denominators"]
    out.print(
        Text(f"       bins {rules['bin_edges']}; pct over {parts['pct']}; accuracy over {parts['accuracy']}", "dim")
    )
    out.print(Text(f"gold: {versions} from {result['gold']['source']}", "dim"))
    if (checked := result.get("log_checked")) is not None:
        out.print(Text(_checked(checked), "green"))
    out.print(Text(f"run: {result['run']}"))


def _checked(found: Mapping[str, Any]) -> str:
    errors = found["episodes"] - found["judged"]
    without = f", {errors} more ended in an error and have no verdict" if errors else ""
    return (
        f"log checked: {found['decisions']} decisions gated again, {found['judged']} episodes judged again{without}; "
        "every line and every verdict agrees"
    )


def _suite_row(name: str, row: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[str]:
    return [
        name,
        f"{row['answered']}/{row['cases']} cases",
        _points(row["pct"]),
        interval(row["ci95"], 1.0),
        _points(row["majority_pct"]),
        *[_number(metrics[key]) for key in METRICS[:5]],
        percent(metrics["coverage"], ""),
    ]


def _question_rows(total: Mapping[str, Any]) -> list[list[str]]:
    return [
        [name, "", str(row["n"]), str(row["hits"]), f"{row['credit']:g}", str(row["majority_hits"])]
        for name, row in total["questions"].items()
    ]


def _print_arena(result: Mapping[str, Any]) -> None:
    out = console()
    out.print(table(CELL_COLUMNS, cell_rows(result["cells"])))
    if result["capability"] is None:
        out.print(f"capability C: pending (not run or no floor: {', '.join(result['pending'])})")
    else:
        out.print(f"capability C: {result['capability']:.1f} {interval(result['capability_ci95'], 1.0)}")
    ceilings = ", ".join(f"{name} {tier or 'none'}" for name, tier in result["ceilings"].items())
    out.print(Text(f"ceilings (highest tier with skill >= .5): {ceilings}"))
    found = result["reliability"]
    shown = (
        "pending"
        if found is None
        else "  ".join(f"{name} {percent(found[name])} {interval(found[f'{name}_ci95'])}" for name in ("S", "N", "R"))
    )
    out.print(Text(f"reliability: {shown}"))


def csv_text(results: Sequence[Mapping[str, Any]]) -> str:
    """One line a suite and one a run's total, figures unrounded."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = (
        "run",
        "model",
        "profile",
        "gold",
        "suite",
        "cases",
        "answered",
        "pct",
        "majority_pct",
        "ci95_low",
        "ci95_high",
    )
    rules = ("choice_rule", "score_rule", "noul_rule", "bin_edges", "pct_denominator", "accuracy_denominator")
    writer.writerow((*head, "coverage", *METRICS, "p50_s", "p95_s", "p99_s", "adjusted", "composite", *rules))
    for result in results:
        versions, told = result["gold"]["versions"], _csv_rules(result["rules"])
        for suite in result["suites"]:
            place = (result["run"], result["model"], result["profile"], versions.get(suite["suite"]), suite["suite"])
            writer.writerow((*place, *_csv_row(suite, suite["metrics"]), "", suite.get("composite", ""), *told))
        gold = "+".join(sorted(set(versions.values())))
        place = (result["run"], result["model"], result["profile"], gold, "total")
        last = ("" if result[name] is None else result[name] for name in ("adjusted", "composite"))
        writer.writerow((*place, *_csv_row(result["total"], result["metrics"]), *last, *told))
    return stream.getvalue()


def _csv_rules(rules: Mapping[str, Any]) -> list[str]:
    """What every line says of its rules."""
    decision, parts = rules["decision"], rules["denominators"]
    told = [decision["choice"], decision["score"], decision["noul"], rules["bin_edges"]]
    return [*told, parts["pct"], parts["accuracy"]]


def _csv_row(row: Mapping[str, Any], metrics: Mapping[str, Any]) -> list[Any]:
    bounds = row["ci95"] or ["", ""]
    latency = metrics["latency_s"]
    cells = [row["cases"], row["answered"], row["pct"], row["majority_pct"], *bounds, metrics["coverage"]]
    cells += [metrics[key] for key in METRICS] + [latency[key] for key in ("p50", "p95", "p99")]
    return ["" if cell is None else cell for cell in cells]


def print_gold_report(found: Mapping[str, Any]) -> None:
    """What a new gold version changed."""
    out = console()
    old, new = found["old"]["version"], found["new"]["version"]
    out.print(Text(f"gold {old} -> {new}: {found['changed']} of {found['labels']} labels changed", "bold"))
    fields = found["fields"].items()
    out.print(
        table(("question", "", "labels", "changed"), [[n, "", str(f["n"]), str(f["changed"])] for n, f in fields])
    )
    for item in found["items"]:
        was, now = ("none" if item[k] is None else ", ".join(map(str, item[k])) for k in ("old", "new"))
        out.print(Text(f"  {item['item']}  {item['question']}: {was} -> {now}"))
    rows = []
    for model in found["models"]:
        pct = model["pct"]
        moved = "" if pct["difference"] is None else f"{pct['difference']:+.2f}"
        rows.append(
            [
                model["model"],
                model["run"],
                _points(pct["old"]),
                _points(pct["new"]),
                moved,
                f"+{model['gained']}",
                f"-{model['lost']}",
            ]
        )
    out.print(table(("model", "run", f"pct {old}", f"pct {new}", "difference", "hits gained", "lost"), rows))


def print_agreement(rows: Sequence[Mapping[str, Any]]) -> None:
    """Second annotations: agreement by kind."""
    cells = [
        [
            row["question"],
            f"{row['first']} / {row['second']}",
            row["kind"],
            str(row["n"]),
            percent(row["agreement"]),
            interval(row["ci95"]),
            _number(row["kappa"], 3),
            row["weights"],
        ]
        for row in rows
    ]
    out = console()
    out.print(table(("question", "annotators", "kind", "n", "agreement", "95% CI", "kappa", "weights"), cells))
