"""The one command that repeats a run, written from its resolved configuration.

Only what differs from a default is written. What the command line cannot say (a stop rule by share) changes no
number and is left out.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

OPTION_FLAGS = {
    "base_url": "--base-url",
    "model": "--wire-model",
    "api_key_env": "--api-key-env",
    "timeout_s": "--timeout",
    "max_retries": "--max-retries",
    "seed": "--seed",
    "script": "--script",
}
"""Model option -> flag; the same as ``arena.models.FLAGS``, which a board may not import (a test compares them)."""


def command(resolved: Mapping[str, Any]) -> str:
    """``arena eval ...`` for a resolved configuration, quoted for a POSIX shell."""
    return shlex.join(["arena", "eval", *_arguments(resolved)])


def _arguments(resolved: Mapping[str, Any]) -> Iterator[str]:
    yield from ("--model", resolved["model"])
    for name in resolved["domains"]:
        yield from ("--domain", name)
    if list(resolved["tiers"]) != ["all"]:
        for tier in resolved["tiers"]:
            yield from ("--tier", tier)
    if resolved["split"] != "test":
        yield from ("--split", resolved["split"])
    for item in resolved["items"]:
        yield from ("--item", item)
    if resolved["limit"] is not None:
        yield from ("--limit", str(resolved["limit"]))
    if resolved["repeats"] != 1:
        yield from ("--repeats", str(resolved["repeats"]))
    if resolved.get("trials", 1) != 1:
        yield from ("--trials", str(resolved["trials"]))
    for key, value in resolved["model_options"].items():
        if key == "extra":
            for name, inner in value.items():
                yield from ("--model-option", f"{name}={_value(inner)}")
        elif value is not None:
            yield from (OPTION_FLAGS[key], str(value))
    for name, options in resolved["environment"].items():
        for key, value in options.items():
            yield from ("--env", f"{'' if name == '*' else f'{name}:'}{key}={_value(value)}")
    if (plan := resolved["reliability"]) is not None:
        yield "--reliability"
        if plan["orders"] != 12:
            yield from ("--orders", str(plan["orders"]))
        if plan["per_domain"] != 50:
            yield from ("--per-domain", str(plan["per_domain"]))
        if plan["probes"]:
            yield "--probes"
    if resolved["lane"] != "throughput":
        yield from ("--lane", resolved["lane"])
    if resolved["stop"]["errors"] is not None:
        yield from ("--max-errors", str(resolved["stop"]["errors"]))
    if resolved["model_card"]["paid"]:
        yield "--allow-paid"


def _value(value: Any) -> str:
    """A value as KEY=VALUE flags read it back: text as it is, unless it would read as JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)
