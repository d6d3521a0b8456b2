"""The runs under a root folder: their headers for the list, and one index each, made when it is first needed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from arena.errors import ArenaError, UsageError
from arena.log.reader import CONFIG, Header, read_header
from arena.view.index import RunIndex


class Runs:
    """Run folders directly under ``root``, or the one folder ``root`` is itself."""

    def __init__(self, root: Path) -> None:
        """Look at ``root``.

        Raises:
            UsageError: it is no folder.
        """
        if not root.is_dir():
            raise UsageError(f"{root} is no folder of runs", hint="make a run first: arena eval --help")
        self.only = root.name or root.resolve().name if (root / CONFIG).is_file() else None
        self.root = root
        self._indexes: dict[str, RunIndex] = {}
        self._lock = threading.Lock()

    def folder(self, name: str) -> Path | None:
        """The folder of a run, None when there is none of this name. Names never leave the root."""
        if self.only is not None:
            return self.root if name == self.only else None
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            return None
        folder = self.root / name
        return folder if (folder / CONFIG).is_file() else None

    def index(self, name: str, folder: Path) -> RunIndex:
        """The index of a run; always the same object for a name."""
        with self._lock:
            if name not in self._indexes:
                self._indexes[name] = RunIndex(folder)
            return self._indexes[name]

    def listed(self) -> list[dict[str, Any]]:
        """What the list shows of every run, newest first. Opens no log; a run that cannot be read says why."""
        names = [self.only] if self.only is not None else sorted(path.name for path in self.root.iterdir())
        found = []
        for name in names:
            if (folder := self.folder(name)) is None:
                continue
            try:
                found.append(headline(name, read_header(folder)))
            except (ArenaError, OSError) as error:
                found.append({"name": name, "started": "", "fault": str(error)})
        return sorted(found, key=lambda row: (row["started"], row["name"]), reverse=True)


def headline(name: str, header: Header) -> dict[str, Any]:
    """One line of the list of runs."""
    resolved, summary = header.config.get("resolved") or {}, header.summary or {}
    counts, found = summary.get("counts") or {}, summary.get("reliability") or {}
    return {
        "name": name,
        "model": resolved.get("model"),
        "domains": resolved.get("domains") or [],
        "split": resolved.get("split"),
        "started": str(header.config.get("started_at") or ""),
        "finished": header.summary is not None,
        "limited": bool(header.config.get("limited")),
        "failed": bool(summary.get("failed")),
        "decisions": counts.get("decisions"),
        "invalid": counts.get("invalid"),
        "capability": summary.get("capability"),
        "S": found.get("S"),
        "N": found.get("N"),
        "R": found.get("R"),
        "skills": _hardest(summary),
        "fault": None,
    }


def _hardest(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The last measured tier of each domain, with its accuracy."""
    last = {cell["domain"]: cell for cell in summary.get("cells") or []}
    return [{"domain": c["domain"], "tier": c["tier"], "accuracy": c["accuracy"]} for c in last.values()]
