"""From a TOML file and flags to one ``RunConfig``: defaults < file < flags that were given.

A flag counts as given when it stands on the command line, also when it repeats a default: ``--seed 0`` wins over
a seed in the file. Tables (model options, environment, reliability, stop) are merged key by key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena.envs import ENVS
from arena.errors import UnknownName, UsageError
from arena.identity import load
from arena.run.config import RunConfig
from arena.tasks import domains

DEFAULT_MODEL = "sparrow-nano"

SANDBOXED = "tools/sandbox-v1"
"""The environment that ``--sandbox`` speaks of."""

_PLAIN = {
    "model": "model",
    "split": "split",
    "limit": "limit",
    "repeats": "repeats",
    "trials": "trials",
    "lane": "lane",
}
_LISTS = {"domain": "domains", "tier": "tiers", "item": "items"}
_MODEL = {
    "base_url": "base_url",
    "wire_model": "model",
    "api_key_env": "api_key_env",
    "timeout": "timeout_s",
    "max_retries": "max_retries",
    "seed": "seed",
    "script": "script",
}
_RELIABILITY = ("orders", "per_domain", "probes")


def run_config(flags: Mapping[str, Any], file: Path | None) -> RunConfig:
    """The configuration of a run. ``flags``: parameter name -> value, of those on the command line alone.

    Raises:
        UsageError: a file that cannot be read, a setting that makes no sense, or no domain.
    """
    given = {"model": DEFAULT_MODEL} | ({} if file is None else _read(file))
    for names in (_PLAIN, _LISTS):
        given |= {field: flags[flag] for flag, field in names.items() if flag in flags}
    _merge(given, "model_options", {field: _plain(flags[flag]) for flag, field in _MODEL.items() if flag in flags})
    _merge(given, "environment", environment(flags.get("env", ())))
    if "sandbox" in flags:
        _merge(given, "environment", {SANDBOXED: {"sandbox": flags["sandbox"]}})
    if extra := pairs(flags.get("model_option", ()), "--model-option"):
        options = given.setdefault("model_options", {})
        _merge(options, "extra", extra)
    if "max_errors" in flags:
        _merge(given, "stop", {"errors": flags["max_errors"]})
    _reliability(given, flags)
    _domains(given)
    return _validated(given)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _read(file: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--config {file} cannot be read: {error.strerror}", hint="give a TOML file") from error
    except ValueError as error:
        raise UsageError(
            f"--config {file} is not TOML: {error}",
            hint='keys are those of RunConfig, e.g. model = "uniform", domains = ["intent"]',
        ) from error
    for name in found:
        if name not in RunConfig.model_fields:
            raise UnknownName(f"setting in {file}", name, RunConfig.model_fields)
    return found


def _merge(given: dict[str, Any], field: str, found: Mapping[str, Any]) -> None:
    """Put ``found`` over the table ``field``, which may come from the file."""
    if not found:
        return
    before = given.get(field) or {}
    if not isinstance(before, Mapping):
        raise UsageError(f"{field}: expected a table, found {before!r}", hint="see: arena eval --help")
    nested = {
        key: {**before[key], **value}
        for key, value in found.items()
        if isinstance(value, Mapping) and isinstance(before.get(key), Mapping)
    }
    given[field] = {**before, **found, **nested}


def _reliability(given: dict[str, Any], flags: Mapping[str, Any]) -> None:
    wanted = {name: flags[name] for name in _RELIABILITY if name in flags}
    if flags.get("reliability"):
        given["reliability"] = given.get("reliability") or {}
    elif wanted and not given.get("reliability"):
        raise UsageError(f"--{next(iter(wanted)).replace('_', '-')} needs --reliability", hint="add --reliability")
    _merge(given, "reliability", wanted)


def _domains(given: dict[str, Any]) -> None:
    names = given.get("domains")
    if names in (["all"], ("all",)) or (not names and "reliability" in given):
        given["domains"] = domains()
    elif not names:
        raise UsageError(
            "no domain chosen", hint=f"add --domain NAME (one of: {', '.join(domains())}), or --domain all"
        )


def _validated(given: Mapping[str, Any]) -> RunConfig:
    options = given.get("model_options")
    if isinstance(options, dict) and options.get("seed") == 0:
        given = {**given, "model_options": {key: value for key, value in options.items() if key != "seed"}}
    try:
        return RunConfig.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{spot}: {first['msg']} (found {first.get('input')!r})", hint="see: arena eval --help"
        ) from error


def pairs(given: tuple[str, ...] | list[str], flag: str) -> dict[str, Any]:
    """KEY=VALUE flags as a dict; a value that reads as JSON is taken as such.

    Raises:
        UsageError: a flag without a key or a sign.
    """
    found: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"{flag} {text!r} is not KEY=VALUE", hint=f"write {flag} {key or 'key'}=value")
        try:
            found[key] = load(value)
        except ValueError:
            found[key] = value
    return found


def environment(given: tuple[str, ...] | list[str]) -> dict[str, dict[str, Any]]:
    """``[ENVIRONMENT:]KEY=VALUE`` flags by environment id; without one they go to every environment.

    Raises:
        UnknownName: no such environment.
        UsageError: a flag without a key or a sign.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        name, colon, rest = text.partition(":")
        named = bool(colon) and "=" not in name
        if named and name not in ENVS:
            raise UnknownName("environment", name, ENVS, hint="arena list envs")
        found.setdefault(name if named else "*", {}).update(pairs([rest if named else text], "--env"))
    return found
