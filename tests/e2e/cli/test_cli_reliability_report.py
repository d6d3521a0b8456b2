"""``arena reliability``: the report of a run, and what it says of a model that claims not to mind the order."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from arena.cli.main import app
from arena.errors import UsageError

RUNNER = CliRunner()


def said(*words: str) -> Result:
    """Run a command that must succeed."""
    result = RUNNER.invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A small reliability run of the embedded model, which declares that it does not mind the order."""
    folder = str(tmp_path / "run")
    said(
        *("eval", "-m", "sparrow-nano", "-d", "intent", "-t", "T1", "--reliability"),
        *("--orders", "4", "--per-domain", "5", "--out", folder),
    )
    return folder


def test_the_report_is_the_summary(run: str) -> None:
    found = json.loads(said("reliability", run, "--json").stdout)
    summary = json.loads((Path(run) / "summary.json").read_text())["reliability"]
    assert found["S"] == pytest.approx(summary["S"])
    assert found["items"] == summary["items"] == 5
    assert found["declared_order_invariant"] is True


def test_the_declaration_is_checked_and_what_is_partial_is_said(run: str) -> None:
    text = said("reliability", run).stdout
    assert "option order does not matter: confirmed" in text
    assert "partial: 4 orders instead of 12" in text
    assert "partial: 5 items per domain instead of 50" in text


def test_a_run_without_reliability_says_what_to_run(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    said("eval", "-m", "uniform", "-d", "intent", "-t", "T1", "--limit", "2", "--out", folder)
    with pytest.raises(UsageError, match=re.escape("measured no reliability")):
        RUNNER.invoke(app, ["reliability", folder], catch_exceptions=False)


def test_nothing_is_cut_on_a_terminal_of_80_columns(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = said("reliability", run).stdout
    assert "AUROC 1-conf" in text
    assert "…" not in text
