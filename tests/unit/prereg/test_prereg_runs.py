"""Pre-registration end to end on a small suite with scripted models: hash, stop rule, verdicts, tampering."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_runs import KEYS, registered, write_suite
from cli_calls import Called, call

from arena.identity import sha256_file
from arena.log.reader import RunReader
from arena.run.prereg import read_prereg, templates


@pytest.fixture(autouse=True)
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "suite", ("alpha",), ("v1", "v2"))
    with registered(tmp_path / "suite"):
        yield


def right(share: float = 1.0) -> list[dict[str, Any]]:
    """Rules that read the sign and grade off the state, on a share of the items."""
    rules = [{"question": "sign", "state": f"sign={n}", "pick": key, "p": 0.8} for n, key in enumerate(KEYS)]
    rules += [{"question": "grade", "state": f"grade={n}", "pick": str(n), "p": 0.8} for n in range(3)]
    return [{**rule, "share": share} for rule in rules]


def arm(name: str, rules: list[dict[str, Any]], extra: str = "") -> str:
    script = Path(f"{name}.json")
    script.write_text(json.dumps({"rule": rules}), "utf-8")
    options = f'model_options = {{ script = "{script.absolute()}" }}'
    return f'[arms.{name}]\nmodel = "fake"\ndomains = ["alpha"]\n{options}\n{extra}\n'


def prereg(kind: str, criteria: str, *arms: str, stop: str = "errors = 20") -> Path:
    path = Path("q.toml")
    body = f'kind = "{kind}"\nhypothesis = "It holds."\n[criteria]\n{criteria}\n[stop]\n{stop}\n'
    if not criteria:
        body = body.replace("[criteria]\n\n", "")
    path.write_text(body + "".join(arms), "utf-8")
    return path


def judged(path: Path) -> dict[str, Any]:
    assert (done := call("prereg", "run", path)).code == 0, done.err
    found = call("prereg", "verdict", path, "--json")
    assert found.code == (0 if found.json["verdict"] == "passes" else 1)
    return found.json  # type: ignore[no-any-return]


def test_the_hash_is_in_the_header_before_the_first_call() -> None:
    path = prereg("alert", "positives = 16\nhits = 7", arm("run", right(), 'tiers = ["T2"]'))
    assert call("prereg", "run", path, "--dry-run").code == 0
    assert not Path("runs").exists()
    assert call("prereg", "run", path).code == 0
    (folder,) = Path("runs").iterdir()
    config = RunReader(folder).config
    assert config["resolved"]["prereg_sha256"] == sha256_file(path)
    first = next(RunReader(folder).rows())
    assert config["started_at"] <= first["started_at"]


@pytest.mark.parametrize("name", templates())
def test_every_template_is_whole(name: str) -> None:
    assert call("prereg", "new", "t.toml", "--template", name).code == 0
    assert read_prereg(Path("t.toml")).says.kind == name
    again = call("prereg", "new", "t.toml", "--template", name)
    assert (again.code, "never written over" in again.err) == (2, True)


def test_superiority_needs_interval_and_test() -> None:
    criteria = 'family = ["all", "alpha@1.0.0/grade"]'
    found = judged(prereg("superiority", criteria, arm("candidate", right()), arm("reference", [])))
    assert found["verdict"] == "passes"
    assert found["level_of_each"] == pytest.approx(0.975)
    assert [cell["cell"] for cell in found["cells"]] == ["all", "alpha@1.0.0/grade"]
    assert all(cell["ci"][0] > 0 and cell["holm_p"] < 0.05 for cell in found["cells"])


def test_superiority_the_other_way_round_fails() -> None:
    path = prereg("superiority", "margin = 0.0", arm("candidate", []), arm("reference", right()))
    assert judged(path)["verdict"] == "fails"


def test_an_empty_cell_of_the_family_is_inconclusive() -> None:
    criteria = 'family = ["all", "alpha@1.0.0/other"]'
    found = judged(prereg("superiority", criteria, arm("candidate", right()), arm("reference", [])))
    assert found["verdict"] == "inconclusive"
    assert found["cells"][1]["holm_p"] == 1.0


@pytest.mark.parametrize(("candidate", "verdict"), [(1.0, "passes"), (0.0, "fails")])
def test_non_inferiority(candidate: float, verdict: str) -> None:
    path = prereg("non-inferiority", "margin = 0.1", arm("candidate", right(candidate)), arm("reference", right()))
    assert judged(path)["verdict"] == verdict


def test_less_is_better_in_brier() -> None:
    arms = arm("candidate", right()), arm("reference", [])
    assert judged(prereg("superiority", 'metric = "brier"', *arms))["verdict"] == "passes"


def test_replicas_agree_and_are_not_answered_from_a_cache() -> None:
    found = judged(prereg("replica-stability", "", arm("first", right()), arm("second", right())))
    assert (found["verdict"], found["agreements"], found["decisions"]) == ("passes", 96, 96)
    assert found["model_versions"] == ["1"]
    for run in found["runs"].values():
        assert not any(row["cached"] for row in RunReader(Path(run)).rows())


def test_replicas_that_differ_fail() -> None:
    other = [{"question": "urgent", "pick": "last", "p": 0.9}, *right()]
    assert judged(prereg("replica-stability", "", arm("first", right()), arm("second", other)))["verdict"] == "fails"


RELIABILITY = 'tiers = ["T2"]\nreliability = { orders = 12, per_domain = 50, repeats = 1 }'


@pytest.mark.parametrize(("pick", "verdict", "points"), [("first", "passes", 80.0), ("random", "fails", None)])
def test_primacy(pick: str, verdict: str, points: float | None) -> None:
    """A model that names the first option errs there in 4 of 5 orders, and never at the last."""
    rules = right() if pick == "random" else [{"question": "sign", "pick": "first", "p": 0.9}]
    found = judged(prereg("primacy", 'family = ["all"]', arm("run", rules, RELIABILITY)))
    assert found["verdict"] == verdict
    if points is not None:
        assert found["cells"][0]["points"] == pytest.approx(points, abs=4.0)
        assert found["cells"][0]["ci95"][0] > 0


@pytest.mark.parametrize(
    ("criteria", "rules", "verdict"),
    [
        ("positives = 8\nhits = 7", [{"question": "urgent", "probabilities": {"true": 0.9, "false": 0.1}}], "fails"),
        ("positives = 8\nhits = 7\nfalse_positives = 8", [{"question": "urgent", "pick": "true", "p": 0.9}], "passes"),
        ("positives = 8\nhits = 1", [{"question": "urgent", "pick": "false", "p": 0.9}], "fails"),
        ("positives = 10", [], "inconclusive"),
    ],
)
def test_alert(criteria: str, rules: list[dict[str, Any]], verdict: str) -> None:
    found = judged(prereg("alert", criteria, arm("run", rules, 'tiers = ["T2"]')))
    assert (found["verdict"], found["positives"], found["negatives"]) == (verdict, 8, 8)


TWO_ORDERS = 'tiers = ["T2"]\nreliability = { orders = 2, per_domain = 50, repeats = 1 }'


def test_thinking_gain_holds_in_both_orders() -> None:
    arms = arm("candidate", right(), TWO_ORDERS), arm("reference", [], TWO_ORDERS)
    found = judged(prereg("thinking-gain", "margin = 0.0", *arms))
    assert found["verdict"] == "passes"
    assert [cell["cell"] for cell in found["cells"]] == ["order 0", "order 1"]


def test_thinking_that_harms_fails() -> None:
    arms = arm("candidate", [], TWO_ORDERS), arm("reference", right(), TWO_ORDERS)
    assert judged(prereg("thinking-gain", "margin = 0.0", *arms))["verdict"] == "fails"


def test_another_model_under_the_same_name_is_refused() -> None:
    """The arm's script is not in the file; the run's header holds its hash, and a resume compares it."""
    path = prereg("alert", "positives = 8", arm("run", right(), 'tiers = ["T2"]'))
    assert call("prereg", "run", path).code == 0
    arm("run", [])
    done = call("prereg", "run", path)
    assert (done.code, "script_sha256" in done.err) == (2, True)


def test_the_stop_rule_ends_the_run_and_the_verdict_is_inconclusive() -> None:
    failing = [{"question": "sign", "fault": "server_error"}]
    path = prereg("alert", "positives = 8", arm("run", failing), stop="errors = 3")
    stopped = call("prereg", "run", path)
    assert stopped.code == 1
    assert "stop rule" in stopped.err
    (folder,) = Path("runs").iterdir()
    assert sum(row["outcome"] == "server_error" for row in RunReader(folder).rows()) <= 5 * 3
    found = call("prereg", "verdict", path, "--json")
    assert (found.code, found.json["verdict"]) == (1, "inconclusive")
    assert "stop rule" in found.json["why"]


def changed(path: Path) -> Called:
    path.write_text(path.read_text("utf-8").replace("hits = 7", "hits = 6"), "utf-8")
    return call("prereg", "verdict", path)


def test_a_changed_file_gets_no_verdict() -> None:
    path = prereg("alert", "positives = 8\nhits = 7", arm("run", right(), 'tiers = ["T2"]'))
    assert (done := call("prereg", "verdict", path)).code == 2
    assert "was not run" in done.err
    assert call("prereg", "run", path).code == 0
    done = changed(path)
    assert done.code == 2
    assert "is not the file that was run" in done.err


def test_a_run_that_is_not_the_declared_one_gets_no_verdict() -> None:
    path = prereg("alert", "positives = 8", arm("run", right(), 'tiers = ["T2"]'))
    assert call("prereg", "run", path).code == 0
    (folder,) = Path("runs").iterdir()
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["resolved"]["tiers"] = ["T1"]
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    done = call("prereg", "verdict", path)
    assert (done.code, "differs in tiers" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind =", "is not TOML"),
        ('kind = "hope"', "kinds: alert"),
        ('kind = "alert"\nhypothesis = "x"\n[criteria]\n[arms.run]\nmodel = "m"\ndomains = ["alpha"]', "stop"),
        ('kind = "alert"\n[arms.run]\nstop = { errors = 1 }', "under [stop]"),
    ],
)
def test_a_file_that_makes_no_sense(text: str, told: str) -> None:
    Path("bad.toml").write_text(text, "utf-8")
    for command in ("run", "verdict"):
        done = call("prereg", command, "bad.toml")
        assert (done.code, told in done.err) == (2, True), done.err
    assert call("prereg", "run", "gone.toml").code == 4
    assert call("prereg", "new", "x.toml", "--template", "superior").code == 2


def test_gold_version_of_the_registry() -> None:
    """The newest version is asked for; an older one scores the same log again."""
    path = prereg("alert", "positives = 8", arm("run", right(), 'tiers = ["T2"]'))
    assert call("prereg", "run", path).code == 0
    (folder,) = Path("runs").iterdir()
    versions = [call("score", folder, *flags, "--json").json["gold"]["versions"] for flags in ((), ("--gold", "v1"))]
    assert versions == [{"alpha@1.0.0": "v2"}, {"alpha@1.0.0": "v1"}]
    assert call("score", folder, "--gold-report", "v1", "v2", "--json").json["changed"] == 0
