"""What the command says where a newcomer would otherwise have to guess, and that JSON on stdout stays JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting_server import serving
from run_tools import Arena, Said

FAST = ("-m", "uniform", "-d", "intent", "-t", "T1", "--limit", "1")
UNIT = "run:intent-t1-test-000"


def bad(arena: Arena, fault: str) -> Said:
    """A run named ``run`` whose answers all have one fault."""
    Path("bad.toml").write_text(f'[[rule]]\nfault = "{fault}"\n')
    return arena("eval", "-m", "fake", "--script", "bad.toml", "-d", "intent", "-t", "T1", "--limit", "1", "-o", "run")


def test_a_finished_run_says_that_nothing_was_asked(arena: Arena) -> None:
    words = "run run was finished before: its summary is shown, nothing was asked"
    assert words not in arena("eval", *FAST, "-o", "run").err
    again = arena("eval", *FAST, "-o", "run", "--json")
    assert words in again.err
    assert "--fresh" in again.err
    assert again.json["run"] == "run"


def test_a_finished_run_whose_failures_are_asked_again_is_not_called_finished(arena: Arena) -> None:
    assert "already recorded" not in bad(arena, "timeout").err
    said = arena(
        *("eval", "-m", "fake", "--script", "bad.toml", "-d", "intent", "-t", "T1", "--limit", "1", "-o", "run"),
        "--retry-errors",
    )
    assert "was finished before" not in said.err


def test_an_invalid_answer_is_shown_as_it_came(arena: Arena) -> None:
    said = bad(arena, "missing")
    assert said.code == 1
    assert "a mended model is asked again with --fresh" in said.out
    shown = arena("replay", UNIT)
    assert "invalid: " in shown.out
    assert 'answered: {"type":' in shown.out.replace('{"type": ', '{"type":')
    assert "answered:" not in arena("replay", made(arena)).out


def test_a_call_that_failed_shows_its_error(arena: Arena) -> None:
    bad(arena, "timeout")
    assert "answered: " in arena("replay", UNIT).out


def made(arena: Arena) -> str:
    assert arena("eval", *FAST, "-o", "good").code == 0
    return "good:intent-t1-test-000"


def test_a_page_under_json_is_one_object(arena: Arena) -> None:
    assert arena("replay", made(arena), "--html", "page.html", "--json").json == {"html": "page.html"}
    assert Path("page.html").is_file()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--html", "page.html", "--again", "uniform"), "exclude one another"),
        (("--wrong",), "--wrong lists the items and episodes of a run"),
    ],
)
def test_flags_of_replay_that_do_not_go_together(arena: Arena, flags: tuple[str, ...], words: str) -> None:
    said = arena("replay", made(arena), *flags)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert not Path("page.html").exists()


def test_wrong_is_not_recommended_to_who_gave_it(arena: Arena) -> None:
    arena("eval", "-m", "uniform", "-d", "intent", "-t", "T1", "-o", "run")
    assert "--wrong only what went wrong" in arena("replay", "run").out
    shown = arena("replay", "run", "--wrong").out
    assert "more (--json lists all)" in shown


def test_a_folder_without_runs_is_said_to_be_one(arena: Arena) -> None:
    said = arena("list", "runs", "nowhere", "--json")
    assert (said.code, said.json) == (0, [])
    assert "no runs in nowhere" in said.err


def test_reliability_has_the_unit_of_its_report_and_says_what_is_partial(arena: Arena) -> None:
    run = ("eval", "-m", "constant", "-d", "intent", "-t", "hardest", "--reliability", "--orders", "2")
    said = arena(*run, "--per-domain", "2", "-o", "run")
    assert "reliability: S 1.000  N 0.000  R 0.000  (partial: 2 orders instead of 12; 2 items" in said.out
    assert arena(*run, "--per-domain", "2", "-o", "run", "--json").json["reliability"]["S"] == 1.0


@pytest.mark.parametrize(("model", "key"), [("glide", "FASTINO_API_KEY"), ("jev", "TYPESAFE_API_KEY")])
def test_a_dry_run_says_what_the_run_would_need(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, model: str, key: str
) -> None:
    monkeypatch.delenv(key, raising=False)
    dry = ("eval", "-m", model, "-d", "intent", "--dry-run")
    assert f"to run it: the key in {key} (not set) and --allow-paid" in arena(*dry).out
    monkeypatch.setenv(key, "k")
    assert f"the key in {key} (set)" in arena(*dry).out
    assert "to run it" not in arena("eval", *FAST, "--dry-run").out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--by", "me@example.org", "--answers-licence", "CC0-1.0"), "--by: give a name without address"),
        (("--by", "Ex", "--answers-licence", "no licence"), "--answers-licence: "),
    ],
)
def test_a_submission_names_the_flag_that_is_wrong(arena: Arena, flags: tuple[str, ...], words: str) -> None:
    said = arena("submit", "prepare", "run", "-o", "bundle", "--train-split-seen", "no", *flags)
    assert said.code == 2
    assert words in said.err
    assert "Value error" not in said.err


def test_answers_from_the_cache_are_said_to_be_old_ones(arena: Arena) -> None:
    """A model that was trained further behind the same address would else get the figures of its predecessor."""
    with serving() as server:
        run = ("eval", "-m", "systemone", "--base-url", server.url, "-d", "intent", "-t", "T1", "--limit", "2")
        words = "with the same answers to the canary; --fresh asks all again"
        assert words not in arena(*run, "-o", "first").out
        cached = arena(*run, "--repeats", "2", "-o", "second")
        assert "6 from the cache" in cached.out
        assert words in cached.out
        asked = server.total
        assert "0 from the cache" in arena(*run, "--fresh", "-o", "second").out
        assert server.total > asked


def test_a_family_that_names_nothing_is_told(arena: Arena) -> None:
    arena("eval", *FAST, "-o", "a")
    arena("eval", "-m", "majority", *FAST[2:], "-o", "b")
    gone = arena("compare", "a", "b", "--family", "cells.txt")
    assert (gone.code, gone.out) == (4, "")
    assert "--family cells.txt: no such file" in gone.err
    said = arena("compare", "a", "b", "--family", "intent@1.0.0/intent", "--family", "intent/typo", "--json")
    assert said.json["family"]["size"] == 2
    assert said.err == "note: cell 'intent/typo' has no pair in these runs, it enters with p = 1\n"


def test_the_list_of_models_names_all_that_one_must_set(arena: Arena) -> None:
    rows = {row["name"]: row for row in arena("list", "models", "--json").json}
    assert (rows["systemone"]["needs"], rows["systemone"]["also"]) == (None, ["--base-url"])
    assert rows["vllm"]["also"] == ["--wire-model"]
    assert rows["clef"]["also"] == ["CLOUDFLARE_ACCOUNT_ID"]
    shown = next(line for line in arena("list", "models").out.split("\n") if line.startswith("clef "))
    assert "CLOUDFLARE_API_TOKEN, CLOUDFLARE_ACCOUNT_ID" in shown
