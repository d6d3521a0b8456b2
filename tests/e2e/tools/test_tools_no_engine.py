"""``arena eval --domain tools`` where no Docker engine answers: bubblewrap and a notice, or a refusal with reasons."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_tools import Arena

from arena.log.reader import RunReader

EVAL = ("eval", "--model", "sparrow-nano", "--domain", "tools", "--tier", "T4", "--limit", "2", "--json")


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An address at which no Docker engine is."""
    address = f"unix://{tmp_path}/nowhere/sock"
    monkeypatch.delenv("ARENA_DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_HOST", address)
    return address


@pytest.mark.engine
@pytest.mark.usefixtures("image", "bwrap_backend")
def test_without_docker_bubblewrap_is_taken_and_said(arena: Arena, no_engine: str) -> None:
    said = arena(*EVAL, "--sandbox", "auto")
    assert said.code == 0, said.err
    assert f"sandbox docker cannot be used: no Docker engine answers at {no_engine}" in said.err
    assert "sandbox bwrap: isolation namespaces" in said.err
    found = RunReader(Path(said.json["run"])).config["resolved"]["environments"]["tools/sandbox-v1"]
    assert found["sandbox"] == "bwrap"
    assert [cell["infra_rate"] for cell in said.json["cells"] if cell["domain"] == "tools"] == [0.0]
    strict = arena(*EVAL, "--sandbox", "docker")
    assert strict.code == 4
    assert no_engine in strict.json["error"]["message"]


def test_with_neither_both_reasons_are_named(
    arena: Arena, no_engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = arena(*EVAL)
    assert said.code == 4
    message = said.json["error"]["message"]
    assert "commands never run on the host" in message
    assert f"no Docker engine answers at {no_engine}" in message
    assert "bubblewrap (bwrap) is not installed" in message
    assert not Path("runs").exists()
