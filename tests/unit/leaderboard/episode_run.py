"""A run over one episode domain, written line by line: what a browser would have recorded, without one."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from arena.gate import gate
from arena.identity import PROTOCOL, case_id, digest, presented_id, question_id, sha256, state_id
from arena.items import BASE, Gold
from arena.leaderboard.summary import summarise
from arena.log.reader import RunReader
from arena.log.writer import RunWriter
from arena.records import Decision, Episode, ModelCard, Step
from arena.run.config import RunConfig, resolve
from arena.tasks import domain
from arena.tasks.lock import lock
from arena.types import Choice

TOML = """\
name = "pages"
title = "Pages"
kind = "episode"
suite = "pages"
version = "1.0.0"
licence = "Apache-2.0"
data = "pages"
env = "web/replay-v1"
verifier = "web"
splits = ["test"]
[[tiers]]
name = "T1"
rule = "short"
"""

QUESTION = Choice(instructions="What next?", criteria={"click:a": "Click <b>A</b>", "click:b": "Click B", "done": None})
UNITS = ("page-1", "page-2")
WON = {
    "final": [{"kind": "answer", "equals": "done"}],
    "key_nodes": [],
    "forbidden": [{"kind": "url", "path": "/bad"}],
    "claim": "done",
}


def png(width: int = 40, height: int = 30) -> bytes:
    """A small white PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\xff" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def write_pages(folder: Path) -> None:
    """The domain, locked."""
    (folder / "pages").mkdir(parents=True)
    (folder / "pages.toml").write_text(TOML, "utf-8")
    for unit in UNITS:
        with zipfile.ZipFile(folder / "pages" / f"{unit}.web.zip", "w") as recording:
            recording.writestr("manifest.json", json.dumps({"id": unit, "tier": "T1", "split": "test", "goal": "g"}))
            recording.writestr("steps.jsonl", '{"t": 0}\n')
            recording.writestr("verify.json", json.dumps({"conditions": WON}))
    lock(folder, "pages")


def write_run(folder: Path, screenshot: bytes) -> Path:
    """A finished run: the first episode is won, the second lost by a wrong click."""
    card = ModelCard(name="walker", version="1")
    config = RunConfig(model="walker", domains=("pages",))
    data = {"pages": digest(domain("pages").lock.model_dump(mode="json"), 64)}
    header = {
        "run": folder.name,
        "resolved": resolve(config, card.model_dump(mode="json"), {}, data),
        "limited": False,
        "started_at": "2026-01-02T03:04:05+00:00",
        "hardware": {},
        "packages": {},
        "git": None,
    }
    with RunWriter(folder, header) as writer:
        blob = writer.put_blob(screenshot)
        for unit, chosen in zip(UNITS, ("click:a", "click:b"), strict=True):
            decision = _decision(folder.name, unit, chosen)
            writer.decisions([decision])
            writer.episode(_episode(folder.name, unit, decision, blob))
        writer.finish(summarise(RunReader(folder)))
    return folder


def _decision(run: str, unit: str, chosen: str) -> Decision:
    case = case_id(unit, BASE.key(), 0)
    ask, state = f"{case}:teacher:0", {"text": f"page of {unit}"}
    raw = {
        "type": "choice",
        "choice": chosen,
        "probabilities": {key: 0.8 if key == chosen else 0.1 for key in QUESTION.criteria},
    }
    gated, gold = gate(QUESTION, raw), Gold(accepted=("click:a",))
    fields: dict[str, Any] = {
        **_shared(run, unit),
        "id": sha256(f"{ask}\x1faction".encode())[:24],
        "case": case,
        "ask": ask,
        "episode": unit,
        "step": 0,
        "question_name": "action",
        "question_id": question_id(QUESTION),
        "presented_id": presented_id(QUESTION),
        "state_id": state_id(state),
        "model": "walker",
        "model_version": "1",
        "question": QUESTION,
        "state": state,
        "state_blob": None,
        "request_sha256": "0" * 64,
        "response": raw,
        "body": None,
        "outcome": "ok",
        "error": None,
        "answer": {**gated.answer.__dict__},
        "valid": True,
        "invalid_reason": None,
        "renormalized": False,
        "committed": gated.committed,
        "confidence": gated.confidence,
        "provider_confidence": None,
        "gold": gold,
        "correct": gold.accepts(gated.committed),
        "latency_ms": 1.0,
        "server_latency_ms": None,
        "attempts": (),
        "usage": None,
        "cost_usd": None,
        "cached": False,
        "lane": "throughput",
    }
    return Decision(**fields)


def _shared(run: str, unit: str) -> dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "run": run,
        "domain": "pages",
        "tier": "T1",
        "suite": "pages@1.0.0",
        "split": "test",
        "unit": unit,
        "group": None,
        "variant": BASE,
        "started_at": "2026-01-02T03:04:05+00:00",
    }


def _episode(run: str, unit: str, decision: Decision, blob: str) -> Episode:
    step = Step(
        step=0,
        phase="teacher",
        ask=decision.ask,
        page_hash="0" * 64,
        committed=decision.committed,
        correct=decision.correct,
        artifacts={"screenshot": blob},
        view={"viewport": [40, 30], "boxes": {"click:a": [1, 2, 10, 8], "click:b": [20, 2, 10, 8]}},
    )
    claimed = "done" if decision.correct else None
    return Episode(
        **_shared(run, unit),
        id=decision.case,
        env="web/replay-v1",
        verifier="web",
        recording_sha256=domain("pages").lock.cells["T1"]["test"][unit].sha256,
        steps=(step,),
        gold_steps=1,
        ending="success" if decision.correct else "failure",
        claimed=claimed,
        truncated=False,
        key_nodes=None,
        end_state={"final": [{}], "trail": [], "url": "", "requests": []},
        verify=WON,
        seconds=0.1,
    )
