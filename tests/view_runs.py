"""Runs for the viewer's tests: real ones on the hostile suite of ``board_runs``, and logs written line by line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
from board_runs import evaluate, registered, script, write_suite

from arena.identity import PROTOCOL, dump, presented_id, question_id, sha256, state_id
from arena.items import Gold, Variant
from arena.records import Decision, Episode, Step
from arena.types import Choice
from arena.view.app import create_app

KEYS = ("a", "b", "c", "d")


def real_run(folder: Path) -> Path:
    """A finished run of a scripted model, with reliability, on two domains with hostile texts."""
    write_suite(folder / "suite")
    told = script(folder / "hasty.json", hasty=True)
    both = ("--domain", "alpha", "--domain", "beta", "--reliability", "--probes")
    with registered(folder / "suite"):
        return evaluate(folder / "runs", "--model", "fake", "--script", told, *both)


def decision(unit: str, **changes: Any) -> dict[str, Any]:
    """A decision line as a dict: a choice over ``KEYS``, answered ``a`` with .7, right. ``changes`` go over it.

    ``committed`` moves the answer along; ``variant`` may be a dict; ids follow from unit, variant and repeat.
    """
    variant = Variant.model_validate(changes.pop("variant", {}))
    order = variant.order or KEYS
    committed = changes.pop("committed", "a")
    question = changes.pop("question", Choice(instructions="Which?", criteria={key: f"told {key}" for key in order}))
    case = sha256(f"{unit}{variant.key()}{changes.get('repeat', 0)}".encode())[:24]
    name = changes.get("question_name", "pick")
    state = changes.pop("state", f"state of {unit}")
    p = {key: 0.7 if key == committed else 0.3 / (len(order) - 1) for key in order}
    answer = None if committed is None else {"type": "choice", "choice": committed, "probabilities": p}
    fields: dict[str, Any] = {
        "protocol": PROTOCOL,
        "run": "made",
        "id": sha256(f"{case}{name}".encode())[:24],
        "case": case,
        "ask": case,
        "domain": "alpha",
        "tier": "T1",
        "suite": "alpha@1.0.0",
        "split": "test",
        "unit": unit,
        "group": None,
        "episode": None,
        "step": 0,
        "question_name": name,
        "question_id": question_id(question),
        "presented_id": presented_id(question),
        "state_id": state_id(state),
        "variant": variant,
        "model": "made",
        "model_version": None,
        "question": question,
        "state": state,
        "state_blob": None,
        "request_sha256": "0" * 64,
        "response": answer,
        "body": None,
        "outcome": "ok",
        "error": None,
        "answer": answer,
        "valid": committed is not None,
        "invalid_reason": None if committed is not None else "no answer",
        "renormalized": False,
        "committed": committed,
        "confidence": None if committed is None else 0.7,
        "provider_confidence": None,
        "gold": Gold(accepted=("a",)),
        "correct": committed == "a",
        "latency_ms": 1.0,
        "server_latency_ms": None,
        "attempts": (),
        "usage": None,
        "cost_usd": None,
        "cached": False,
        "lane": "throughput",
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    made = Decision.model_validate({**fields, **changes})
    return dict(orjson.loads(orjson.dumps(made.model_dump(mode="json"))))


def episode(unit: str, steps: Sequence[Step], **changes: Any) -> dict[str, Any]:
    """An episode line as a dict; it failed."""
    fields: dict[str, Any] = {
        "protocol": PROTOCOL,
        "run": "made",
        "id": sha256(f"{unit}base0".encode())[:24],
        "unit": unit,
        "domain": "alpha",
        "tier": "T1",
        "suite": "alpha@1.0.0",
        "split": "test",
        "group": None,
        "env": "made/v1",
        "verifier": "made",
        "recording_sha256": "0" * 64,
        "variant": Variant(),
        "steps": tuple(steps),
        "gold_steps": 1,
        "ending": "failure",
        "claimed": None,
        "truncated": False,
        "started_at": "2026-01-01T00:00:00+00:00",
        "seconds": 1.5,
    }
    made = Episode.model_validate({**fields, **changes})
    return dict(orjson.loads(orjson.dumps(made.model_dump(mode="json"))))


def line(row: dict[str, Any]) -> bytes:
    """A log line."""
    return dump(row) + b"\n"


def write_run(
    folder: Path,
    rows: Iterable[dict[str, Any]],
    episodes: Iterable[dict[str, Any]] = (),
    *,
    packed: bool = True,
) -> Path:
    """A run folder with these lines: finished (``packed``) or still growing."""
    folder.mkdir(parents=True, exist_ok=True)
    resolved = {
        "model": "made",
        "domains": ["alpha"],
        "split": "test",
        "protocol": PROTOCOL,
        "lane": "throughput",
        "reliability": None,
        "model_card": {"name": "made", "version": "", "verified": "embedded"},
    }
    header = {"run": folder.name, "resolved": resolved, "limited": False, "started_at": "2026-01-01T00:00:00+00:00"}
    (folder / "config.json").write_bytes(orjson.dumps({**header, "hardware": {}, "git": None}))
    for name, lines in (("decisions.jsonl", rows), ("episodes.jsonl", episodes)):
        data = b"".join(line(row) for row in lines)
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return folder


class Client:
    """The viewer over ``root`` in this process, asked over ASGI as a browser would ask it."""

    def __init__(self, root: Path) -> None:
        self._app = create_app(root)

    def get(self, path: str, **headers: str) -> httpx.Response:
        """One GET."""
        return self.request("GET", path, **headers)

    def request(self, method: str, path: str, **headers: str) -> httpx.Response:
        """One request."""

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, headers=headers)

        return anyio.run(asked)
