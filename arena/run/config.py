"""One configuration object: command line = TOML = ``config.json`` = resume key.

``RunConfig`` holds what a user chose; ``resolve`` adds what decides the numbers besides (model identity,
environment versions, data locks, protocol). The digest of that whole is the resume key. How a run is
carried out (folder, concurrency, cache, progress) is in ``Operation`` and never part of the key.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from arena.identity import PROTOCOL, digest
from arena.types import JSON, Frozen

Lane = Literal["throughput", "latency"]


class StopRule(Frozen):
    """When a run ends early: more than ``errors`` failed calls, or more than ``share`` of all calls once
    ``minimum`` have failed. Counts start anew with each session of a run."""

    errors: int | None = None
    share: float | None = 0.5
    minimum: int = 20


class ReliabilityPlan(Frozen):
    """How S, N and R are measured: option orders per item, items per domain, repeats for the noise floor."""

    orders: int = 12
    per_domain: int = 50
    repeats: int = 3
    probes: bool = False


class RunConfig(Frozen):
    """What is evaluated. Every field enters the resume key.

    ``environment``: options by environment id; those under ``*`` go to every environment of the plan.
    ``trials``: how often each episode is played: itself, then over other fixtures and option orders.
    ``prereg_sha256``: the pre-registration the run belongs to; it is in the header before the first call.
    """

    model: str
    model_options: dict[str, JSON] = Field(default_factory=dict)
    domains: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    tiers: Annotated[tuple[str, ...], Field(strict=False)] = ("all",)
    split: str = "test"
    items: Annotated[tuple[str, ...], Field(strict=False)] = ()
    limit: int | None = None
    repeats: int = 1
    trials: int = 1
    environment: dict[str, dict[str, JSON]] = Field(default_factory=dict)
    lane: Lane = "throughput"
    stop: StopRule = StopRule()
    reliability: ReliabilityPlan | None = None
    prereg_sha256: str | None = None

    @property
    def limited(self) -> bool:
        """Whether the run covers less than its tiers: such runs never enter a leaderboard."""
        return self.limit is not None or bool(self.items)


class Operation(Frozen):
    """How a run is carried out; changes no number."""

    out: Path | None = None
    root: Path = Path("runs")
    fresh: bool = False
    concurrency: int | None = None
    sessions: int = 1
    cache: bool = True
    allow_paid: bool = False
    retry_errors: bool = False
    strict: bool = False


def resolve(config: RunConfig, card: JSON, environments: JSON, data: JSON) -> dict[str, Any]:
    """The resolved configuration: all that decides a number, every default written."""
    return {
        "protocol": PROTOCOL,
        **config.model_dump(mode="json"),
        "model_card": card,
        "environments": environments,
        "data": data,
    }


def differing(before: JSON, now: JSON, prefix: str = "") -> list[str]:
    """Dotted keys at which two resolved configurations differ."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [] if before == now else [prefix or "everything"]
    found = []
    for key in sorted({*before, *now}):
        found += differing(before.get(key), now.get(key), f"{prefix}.{key}" if prefix else key)
    return found


def run_id(resolved: dict[str, Any]) -> str:
    """Readable and unique per resolved configuration: ``sparrow-nano_web_1f2e3d4c``."""
    domains = "+".join(resolved["domains"]) if len(resolved["domains"]) <= 3 else f"{len(resolved['domains'])}domains"
    safe = "".join(c if c.isalnum() or c in "-.+" else "-" for c in resolved["model"])
    return f"{safe}_{domains}_{digest(resolved, 8)}"


def hardware() -> dict[str, JSON]:
    """The machine, as far as it can be read without a privilege."""
    memory = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().split("\n") if "model name" in line]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def packages() -> dict[str, str]:
    """Versions of the packages that can decide a number."""
    found = {}
    for name in ("system-one-arena", "numpy", "sparrow-decider", "playwright", "gymnasium", "httpx", "pydantic"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def git() -> dict[str, JSON] | None:
    """Commit and cleanliness of the checkout the package runs from, or None outside one."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return None
    try:
        commit = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "-C", str(here), "status", "--porcelain", "-uno"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changed.strip())}
