"""A run by its folder, or by its decision log alone: ``decisions.jsonl.gz`` is enough to score again anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from arena.errors import LogCorrupt, NothingSelected, UsageError
from arena.log.blobs import Blobs
from arena.log.reader import Row, RunReader, iter_rows


class BareLog(RunReader):
    """A decision log without its folder. What a header would say is read off its first line and its variants."""

    def __init__(self, path: Path) -> None:
        first = next(islice(iter_rows(path), 1), None)
        if first is None:
            raise NothingSelected(f"{path} holds no decision")
        self.folder = path
        self.blobs = Blobs(path.parent / "blobs")
        self.path = path
        self.config = {
            "run": first["run"],
            "limited": False,
            "imported": None,
            "resolved": {
                "protocol": first["protocol"],
                "model": first["model"],
                "model_card": {"name": first["model"], "version": first["model_version"] or ""},
                "split": first["split"],
                "lane": first["lane"],
                "reliability": self._planned(),
            },
        }

    @property
    def summary(self) -> Row | None:
        """A bare log has none."""
        return None

    def rows(self) -> Iterator[Row]:
        """Decisions as dicts, each id once (its highest retry)."""
        latest: dict[str, int] = {}
        for number, row in enumerate(iter_rows(self.path), 1):
            name, retry = str(row["id"]), int(row.get("retry", 0))
            if latest.get(name, -1) >= retry:
                raise LogCorrupt(f"{self.path}:{number}: id {name} occurs twice")
            latest[name] = retry
        for row in iter_rows(self.path):
            if latest[str(row["id"])] == int(row.get("retry", 0)):
                yield row

    def episode_rows(self) -> Iterator[Row]:
        """None: episodes stand in another file."""
        return iter(())

    def _planned(self) -> dict[str, Any] | None:
        """What was asked for reliability, as far as the variants in the log show it."""
        units: dict[str, set[str]] = {}
        orders = repeats = 0
        probes = False
        for row in iter_rows(self.path):
            variant = row["variant"]
            if variant["kind"] == "reorder":
                orders = max(orders, variant["index"] + 1)
                units.setdefault(row["domain"], set()).add(row["unit"])
            repeats = max(repeats, variant["index"] + 1 if variant["kind"] == "repeat" else 0)
            probes = probes or variant["kind"] == "probe"
        if not units:
            return None
        widest = max(map(len, units.values()))
        return {"orders": orders, "per_domain": widest, "repeats": repeats, "probes": probes}


def open_log(path: Path) -> RunReader:
    """A run folder, or a bare ``decisions.jsonl`` or ``decisions.jsonl.gz``.

    Raises:
        UsageError: neither.
    """
    if path.is_file():
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            return BareLog(path)
        raise UsageError(f"{path} is no run and no decision log (.jsonl, .jsonl.gz)", hint="see: arena list runs")
    if not path.exists():
        raise UsageError(f"no run at {path}", hint="see: arena list runs")
    return RunReader(path)
