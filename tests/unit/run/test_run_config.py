"""The resume key: what enters it, what does not, and how two of them are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from run_tools import write_run

from arena.errors import ConfigMismatch, UnknownName, UsageError
from arena.identity import digest
from arena.log.writer import RunWriter
from arena.run.config import Operation, RunConfig, StopRule, differing, resolve, run_id
from arena.run.evaluate import choose_folder

CARD = {"name": "m", "identity": {"seed": 1}}


def resolved(**changes: Any) -> dict[str, Any]:
    return resolve(RunConfig(model="m", domains=("d",), **changes), CARD, {}, {"d": "0" * 64})


def test_every_default_is_written() -> None:
    found = resolved()
    assert found["tiers"] == ["all"]
    assert found["stop"] == {"errors": None, "share": 0.5, "minimum": 20}
    assert set(RunConfig.model_fields) <= set(found)
    assert found["protocol"] == "1.0.0"


CHANGES: list[dict[str, Any]] = [
    {"tiers": ("T1",)},
    {"split": "dev"},
    {"items": ("x",)},
    {"limit": 3},
    {"repeats": 2},
    {"model_options": {"seed": 2}},
    {"environment": {"*": {"mode": "free"}}},
    {"lane": "latency"},
    {"stop": StopRule(errors=1)},
    {"reliability": {}},
    {"reliability": {"orders": 6}},
]


@pytest.mark.parametrize("change", CHANGES, ids=repr)
def test_what_is_evaluated_changes_the_digest(change: dict[str, Any]) -> None:
    assert digest(resolved(**change)) != digest(resolved())
    assert run_id(resolved(**change)) != run_id(resolved())


def test_card_environments_and_data_change_the_digest() -> None:
    config = RunConfig(model="m", domains=("d",))
    base = resolve(config, CARD, {"e": {"browser": "1"}}, {"d": "0"})
    for changed in (
        resolve(config, {**CARD, "identity": {"seed": 2}}, {"e": {"browser": "1"}}, {"d": "0"}),
        resolve(config, CARD, {"e": {"browser": "2"}}, {"d": "0"}),
        resolve(config, CARD, {"e": {"browser": "1"}}, {"d": "1"}),
    ):
        assert digest(changed) != digest(base)


def test_no_field_says_how_a_run_is_carried_out() -> None:
    assert not set(RunConfig.model_fields) & set(Operation.model_fields)


def test_a_limited_run_says_so() -> None:
    assert not RunConfig(model="m", domains=("d",)).limited
    assert RunConfig(model="m", domains=("d",), limit=10**9).limited
    assert RunConfig(model="m", domains=("d",), items=("x",)).limited


@pytest.mark.parametrize("bad", [{"domains": ()}, {"capability": True}, {"limit": "3"}, {"lane": "fast"}])
def test_a_configuration_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunConfig.model_validate({"model": "m", "domains": ("d",), **bad})


@pytest.mark.parametrize(
    ("before", "now", "keys"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["a.b.c"]),
        ({"a": {"b": 1}}, {"a": {}}, ["a.b"]),
        ({"a": None}, {"a": {"b": 1}}, ["a"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a"]),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ["a", "b"]),
        (None, {"a": 1}, ["everything"]),
    ],
)
def test_differing_names_dotted_keys(before: Any, now: Any, keys: list[str]) -> None:
    assert differing(before, now) == keys


NESTED = st.recursive(
    st.none() | st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from("abc"), NESTED), st.dictionaries(st.sampled_from("abc"), NESTED))
def test_differing_is_symmetric_and_empty_only_for_what_is_equal(one: Any, two: Any) -> None:
    assert differing(one, two) == differing(two, one)
    assert differing(one, one) == []

    def bare(value: Any) -> Any:
        """Without keys that hold nothing: an absent key and a null one are the same choice."""
        if not isinstance(value, dict):
            return value
        return {key: kept for key, inner in value.items() if (kept := bare(inner)) is not None}

    if bare(one) == bare(two) and one == two:
        assert not differing(one, two)
    if bare(one) != bare(two):
        assert differing(one, two)


@pytest.mark.parametrize(
    ("model", "domains", "start"),
    [
        ("sparrow-nano", ["web"], "sparrow-nano_web_"),
        ("a/b:c d", ["x", "y"], "a-b-c-d_x+y_"),
        ("m", ["a", "b", "c", "d"], "m_4domains_"),
    ],
)
def test_a_run_is_named_readably_and_safely(model: str, domains: list[str], start: str) -> None:
    name = run_id({"model": model, "domains": domains})
    assert name.startswith(start)
    assert len(name.removeprefix(start)) == 8


def header(folder: Path, config: dict[str, Any]) -> Path:
    with RunWriter(folder, {"resolved": config}):
        return folder


def test_the_same_configuration_finds_its_folder(tmp_path: Path) -> None:
    config = resolved()
    folder = choose_folder(config, Operation(root=tmp_path))
    assert folder == tmp_path / run_id(config)
    header(folder, config)
    assert choose_folder(config, Operation(root=tmp_path)) == folder
    assert choose_folder(resolved(limit=1), Operation(root=tmp_path)) != folder


def test_fresh_takes_the_next_free_folder(tmp_path: Path) -> None:
    config = resolved()
    fresh = Operation(root=tmp_path, fresh=True)
    name = run_id(config)
    for expected in (name, f"{name}-2", f"{name}-3"):
        folder = choose_folder(config, fresh)
        assert folder.name == expected
        header(folder, config)


def test_a_run_of_another_configuration_is_refused_with_the_keys(tmp_path: Path) -> None:
    header(tmp_path / "run", resolved(split="dev", limit=2))
    with pytest.raises(ConfigMismatch, match="differs in: limit, split") as caught:
        choose_folder(resolved(), Operation(out=tmp_path / "run"))
    assert caught.value.code == 2
    assert "--fresh" in str(caught.value.hint)
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(ConfigMismatch, match="differs in: everything"):
        choose_folder(resolved(), Operation(out=tmp_path / "run"))


def test_a_folder_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    (tmp_path / "file").touch()
    for name in ("photos", "file"):
        with pytest.raises(UsageError, match="exists and is not a run"):
            choose_folder(resolved(), Operation(out=tmp_path / name))
    (tmp_path / "empty").mkdir()
    assert choose_folder(resolved(), Operation(out=tmp_path / "empty")) == tmp_path / "empty"


def test_what_a_kill_at_the_very_start_left_is_taken_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 0)
    (folder / "config.json").rename(folder / "config.json.tmp")
    for log in folder.glob("*.jsonl"):
        log.unlink()
    assert choose_folder(resolved(), Operation(out=folder)) == folder


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("sparow-nano", ["sparrow-nano", "uniform"], "did you mean sparrow-nano?"),
        ("unifrom", ["sparrow-nano", "uniform"], "did you mean uniform?"),
        ("T33", ["T1", "T2", "T3"], "did you mean T3"),
        ("zzz", ["b", "a"], "(known: a, b)"),
        ("zzz", [], "(known: none)"),
    ],
)
def test_an_unknown_name_proposes_the_nearest(name: str, known: list[str], said: str) -> None:
    error = UnknownName("model", name, known)
    assert error.message.startswith(f"unknown model '{name}'")
    assert said in error.message
    assert error.code == 2
