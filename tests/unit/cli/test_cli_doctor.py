"""``arena doctor``: every part is looked at, also when another one is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_tools import Arena

from arena.cli import doctor


def test_what_is_missing_comes_with_its_remedy(arena: Arena, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ARENA_CHROMIUM", "/nonexistent")
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "file"))
    said = arena("doctor", "--json")
    assert said.code == 4
    rows = {row["check"]: row for row in said.json}
    assert set(rows) == set(doctor.CHECKS)
    assert rows["default model"]["ok"]
    assert not rows["browser"]["ok"]
    assert "/nonexistent" in rows["browser"]["found"]
    assert rows["browser"]["remedy"] == "make browser"
    assert not rows["response cache"]["ok"]
    shown = arena("doctor").out
    assert "fix: make browser" in shown


def test_all_is_well(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", {"disk": (lambda: "[9] GiB free", "buy one")})
    said = arena("doctor")
    assert (said.code, said.out) == (0, "ok      disk: [9] GiB free\n")
