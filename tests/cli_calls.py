"""Call the ``arena`` command as a user does, in this process: exit code, stdout and stderr apart."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from arena.cli.main import main


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as JSON."""
        return json.loads(self.out)


def call(*arguments: str | Path) -> Called:
    """``arena ARGUMENTS``."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["arena", *map(str, arguments)]):
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1 if left.code else 0
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Called(code, texts[0], texts[1])


def wire_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows of the plain answer form."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"a": "first", "b": "second", "c": "third"}}


def wire_row(item: str, p: dict[str, float], gold: Any = "a", **more: Any) -> dict[str, Any]:
    """One plain row: a choice of ``p``'s options, answered by their mode."""
    return {
        "suite": "s",
        "item": item,
        "question_name": "q",
        "question": {**CHOICE, "criteria": dict.fromkeys(p)},
        "gold": gold,
        "answer": {"type": "choice", "choice": max(p, key=lambda key: p[key]), "probabilities": p},
        **more,
    }


def imported(folder: Path, rows: list[dict[str, Any]], *flags: str) -> Path:
    """A run made of plain rows."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = call("import", "answers", wire_rows(folder.with_suffix(".jsonl"), rows), "--out", folder, *flags)
    assert done.code == 0, done.err
    return folder
