"""A small suite folder with one static and one episode domain, locked by the real tool."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from arena.registry import Registry
from arena.tasks import registry

STATIC = """\
name = "mail"
title = "Mail"
kind = "static"
suite = "mail"
version = "1.0.0"
licence = "Apache-2.0"
data = "mail"
splits = ["train", "test"]
gold_versions = ["v1"]
[[tiers]]
name = "T1"
rule = "short"
[[tiers]]
name = "T2"
rule = "long"
"""

EPISODE = """\
name = "pages"
title = "Pages"
kind = "episode"
suite = "pages"
version = "0.2.0"
licence = "Apache-2.0"
data = "pages/episodes"
env = "web/replay-v1"
verifier = "web"
splits = ["dev", "test"]
[[tiers]]
name = "T1"
rule = "short"
[[tiers]]
name = "T4"
rule = "long"
"""

QUESTIONS = {
    "folder": {"type": "choice", "instructions": "Which folder?", "criteria": {"10": "bills", "9": None, "00": "spam"}},
    "stars": {"type": "score", "instructions": "How many?", "criteria": ["none", "one", "two"]},
    "reply": {"type": "noul", "instructions": "Reply?"},
}
GOLDS = {"folder": {"accepted": ["9", "00"]}, "stars": {"accepted": [2]}, "reply": {"accepted": [False]}}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSONL, non-ASCII kept as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8", newline="\n")


def write_static(folder: Path, count: int = 3) -> None:
    """The static domain, unlocked; ``count`` items a cell."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mail.toml").write_text(STATIC, "utf-8")
    for tier in ("T1", "T2"):
        for split in ("train", "test"):
            names = [f"mail-{tier}-{split}-{number}".lower() for number in range(count)]
            items = [{"id": name, "state": f"{name} a\x85b\u2028c", "questions": QUESTIONS} for name in names]
            write_rows(folder / f"mail/{tier}.{split}.jsonl", items)
            write_rows(folder / f"mail/gold/v1/{tier}.{split}.jsonl", [{"id": n, "golds": GOLDS} for n in names])


def write_episode(folder: Path, name: str, tier: str, split: str, steps: int = 2) -> Path:
    """A recording with what the lock tool reads."""
    path = folder / f"pages/episodes/{name}.web.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as recording:
        manifest = {"id": name, "tier": tier, "split": split, "group": name[0], "goal": "g"}
        recording.writestr("manifest.json", json.dumps(manifest))
        recording.writestr("steps.jsonl", "".join(json.dumps({"t": t}) + "\n" for t in range(steps)))
    return path


def write_episodes(folder: Path) -> None:
    """The episode domain, unlocked."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pages.toml").write_text(EPISODE, "utf-8")
    for name, tier, split in (("b2", "T1", "test"), ("a1", "T1", "test"), ("c3", "T4", "test"), ("d4", "T1", "dev")):
        write_episode(folder, name, tier, split)


def use(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let ``folder`` be what arena ships."""
    monkeypatch.setattr(f"{__name__}.FOLDER", folder, raising=False)
    monkeypatch.setattr(
        registry, "SUITES", Registry("suite folder", "arena.suites.test", {"arena": f"{__name__}:FOLDER"})
    )
