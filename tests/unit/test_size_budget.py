"""Small modules: no file over 400 lines, no function over 60 lines or 8 parameters, but for named exceptions.

Covers what is shipped and the benchmarks; a test module may be one long table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("arena", "envs", "tasks", "verifiers", "models", "reliability", "leaderboard", "benchmarks")

MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 400, 60, 8

FLAGS = "the parameters of a command are its flags: typer reads them off the signature"

EXCEPTIONS = {
    "arena/cli/compare.py:command": FLAGS,
    "arena/cli/evaluate.py:command": FLAGS,
    "arena/cli/imports.py:answers": FLAGS,
    "arena/cli/replay.py:command": FLAGS,
    "arena/cli/score.py:command": FLAGS,
    "arena/cli/submit.py:prepare": FLAGS,
}


def modules() -> list[Path]:
    """Every module, once: not through the links arena/X -> ../X."""
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
    ]


def faults(path: Path) -> Iterator[tuple[str, str]]:
    """(what, why) of everything in a module that is too large."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
    if (lines := text.count("\n")) > MAX_FILE:
        yield name, f"{lines} lines, at most {MAX_FILE}"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        where, length = f"{name}:{node.name}", (node.end_lineno or 0) - node.lineno + 1
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = len(given) - (bool(given) and given[0].arg in ("self", "cls"))
        if length > MAX_FUNCTION:
            yield where, f"{length} lines, at most {MAX_FUNCTION}"
        if count > MAX_PARAMETERS:
            yield where, f"{count} parameters, at most {MAX_PARAMETERS}"


def test_nothing_is_too_large() -> None:
    found = [f"{what}: {why}" for path in modules() for what, why in faults(path) if what not in EXCEPTIONS]
    assert not found, "split, or name the exception with its reason:\n" + "\n".join(found)


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_every_exception_is_still_needed(exception: str) -> None:
    path = ROOT / exception.split(":")[0]
    assert path.is_file()
    assert exception in {what for what, _ in faults(path)}


def test_the_budget_can_be_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    long = tmp_path / "long.py"
    long.write_text("def f(a, b, c, d, e, f, g, h, i):\n" + "    a = 1\n" * 400)
    assert [why for _, why in faults(long)] == [
        "401 lines, at most 400",
        "401 lines, at most 60",
        "9 parameters, at most 8",
    ]
