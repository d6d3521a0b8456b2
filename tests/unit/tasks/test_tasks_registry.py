"""Selecting and loading units: one place decides what a run is about, and checks the bytes first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import suite_maker as made

import arena.registry
from arena import tasks
from arena.errors import ChangedData, MissingNeed, NothingSelected, UnknownName, UsageError
from arena.identity import sha256_file
from arena.items import EpisodeRef, Item
from arena.registry import Registry
from arena.tasks import registry
from arena.tasks.lock import lock

pytestmark = pytest.mark.usefixtures("suite")


def test_domains_tiers_and_the_hardest() -> None:
    assert tasks.domains() == ("mail", "pages")
    assert tasks.domain("pages").env == "web/replay-v1"
    assert [tier.rule for tier in tasks.domain("mail").tiers] == ["short", "long"]
    assert tasks.hardest_tier("mail") == "T2"
    assert tasks.hardest_tier("pages") == "T4"
    assert tasks.gold_versions("mail") == ("v1",)
    assert tasks.gold_versions("pages") == ()


def test_a_domain_without_a_lock_is_a_draft(suite: Path) -> None:
    (suite / "mail.lock.json").unlink()
    assert tasks.domains() == ("pages",)
    with pytest.raises(UnknownName, match="unknown domain 'mail'"):
        tasks.domain("mail")


def test_select_all_hardest_and_named_tiers() -> None:
    everything = tasks.select("all")
    assert [(c.domain, c.tier, len(c.ids)) for c in everything.cells] == [
        *(("mail", "T1", 3), ("mail", "T2", 3)),
        *(("pages", "T1", 2), ("pages", "T4", 1)),
    ]
    hardest = tasks.select(["pages", "mail"], "hardest")
    assert [(c.domain, c.tier) for c in hardest.cells] == [("pages", "T4"), ("mail", "T2")]
    assert [(c.domain, c.tier) for c in tasks.select("all", ("T4", "T1")).cells] == [
        ("mail", "T1"),
        ("pages", "T1"),
        ("pages", "T4"),
    ]
    assert tasks.select(["pages"], ("T1",)).ids == ("a1", "b2")
    assert tasks.select(["pages", "pages"], ("T1",)).ids == ("a1", "b2")


def test_select_ids_keeps_only_those() -> None:
    chosen = tasks.select("all", ids=["c3", "mail-t1-test-2"])
    assert [(c.domain, c.tier, c.ids) for c in chosen.cells] == [
        ("mail", "T1", ("mail-t1-test-2",)),
        ("pages", "T4", ("c3",)),
    ]
    assert [unit.id for unit in tasks.load_units("mail", "T1", ids=["mail-t1-test-2"])] == ["mail-t1-test-2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((["pagse"],), "unknown domain 'pagse'; did you mean pages"),
        ((["mail"], ("T4",)), "unknown tier of mail 'T4'"),
        (("all", ("T9",)), "unknown tier of mail, pages 'T9'"),
        (("all", "all", "tset"), "did you mean test"),
        (("all", "all", "test", ["a2"]), "unknown item or episode 'a2'; did you mean b2 or a1"),
        (("all", "all", "test", ["zzz"]), r"unknown item or episode 'zzz' \(known: .*mail-t1-test-0"),
    ],
)
def test_unknown_names_propose_the_nearest(arguments: tuple[object, ...], said: str) -> None:
    with pytest.raises(UnknownName, match=said) as caught:
        tasks.select(*arguments)  # type: ignore[arg-type]
    assert caught.value.code == 2


@pytest.mark.parametrize(
    "arguments", [([],), (["pages"], ("T4",), "dev"), (["mail"], ())], ids=["no domain", "empty cell", "no tier"]
)
def test_an_empty_selection_is_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(NothingSelected, match="nothing selected") as caught:
        tasks.select(*arguments)  # type: ignore[arg-type]
    assert caught.value.code == 3


def test_items_come_with_their_place_and_odd_characters() -> None:
    units = tasks.load_units("mail", "T2", "train")
    assert len(units) == 3
    first = units[0]
    assert isinstance(first, Item)
    assert (first.suite, first.domain, first.tier, first.split) == ("mail@1.0.0", "mail", "T2", "train")
    assert first.state == "mail-t2-train-0 a\x85b\u2028c"
    assert first.questions["folder"].labels() == ("10", "9", "00")


def test_golds_keep_their_types_and_version() -> None:
    gold = tasks.load_golds("mail", "T1")["mail-t1-test-0"]
    assert gold["folder"].accepted == ("9", "00")
    assert gold["stars"].accepts(2)
    assert not gold["stars"].accepts(True)
    assert gold["reply"].accepts(False)
    assert not gold["reply"].accepts(0)
    assert {each.version for each in gold.values()} == {"v1"}


def test_the_newest_gold_version_is_used_unless_named(suite: Path) -> None:
    toml = suite / "mail.toml"
    toml.write_text(made.STATIC.replace('["v1"]', '["v1", "v2"]'), "utf-8")
    for path in sorted((suite / "mail/gold/v1").iterdir()):
        (suite / "mail/gold/v2").mkdir(exist_ok=True)
        (suite / "mail/gold/v2" / path.name).write_text(path.read_text("utf-8").replace("[2]", "[1]"), "utf-8")
    lock(suite, "mail")  # adding a gold version changes nothing that is locked
    assert tasks.load_golds("mail", "T1")["mail-t1-test-0"]["stars"].accepted == (1,)
    assert tasks.load_golds("mail", "T1", version="v1")["mail-t1-test-0"]["stars"].accepted == (2,)
    with pytest.raises(UnknownName, match="gold version of mail 'v3'; did you mean"):
        tasks.load_golds("mail", "T1", version="v3")


def test_episodes_come_with_absolute_verified_paths(suite: Path) -> None:
    units = tasks.load_units("pages", "T1")
    assert [unit.id for unit in units] == ["a1", "b2"]
    first = units[0]
    assert isinstance(first, EpisodeRef)
    assert Path(first.path).is_absolute()
    assert first.sha256 == sha256_file(Path(first.path)) == sha256_file(suite / "pages/episodes/a1.web.zip")
    assert (first.env, first.verifier, first.group, first.suite) == ("web/replay-v1", "web", "a", "pages@0.2.0")
    with pytest.raises(UsageError, match="gold is in the recording"):
        tasks.load_golds("pages", "T1")


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("mail/T1.test.jsonl", lambda: tasks.load_units("mail", "T1")),
        ("mail/gold/v1/T1.test.jsonl", lambda: tasks.load_golds("mail", "T1")),
        ("pages/episodes/a1.web.zip", lambda: tasks.load_units("pages", "T1")),
    ],
)
def test_a_changed_byte_is_refused_with_file_and_both_hashes(
    suite: Path, name: str, load: Callable[[], object]
) -> None:
    path = suite / name
    was = sha256_file(path)
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    with pytest.raises(ChangedData) as caught:
        load()
    for part in (str(path), was, sha256_file(path)):
        assert part in str(caught.value)
    assert caught.value.code == 4


def test_a_missing_file_and_a_changed_definition_are_refused(suite: Path) -> None:
    (suite / "pages/episodes/b2.web.zip").unlink()
    with pytest.raises(MissingNeed, match=r"b2\.web\.zip is missing"):
        tasks.load_units("pages", "T1")
    toml = suite / "mail.toml"
    toml.write_text(made.STATIC.replace('"short"', '"shorter"'), "utf-8")
    with pytest.raises(ChangedData, match=r"mail\.toml changed"):
        tasks.domain("mail")
    toml.write_text(made.STATIC.replace('title = "Mail"', 'title = "Post"'), "utf-8")
    assert tasks.domain("mail").title == "Post"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is not TOML"),
        (made.STATIC.replace('kind = "static"', 'kind = "dynamic"'), "not a domain definition at kind"),
        (made.STATIC.replace('"mail"', '"post"'), "names the domain 'post'"),
        (made.STATIC.replace('gold_versions = ["v1"]', ""), "gold_versions"),
        (
            made.EPISODE.replace('name = "pages"', 'name = "mail"').replace('env = "web/replay-v1"', ""),
            "env and verifier",
        ),
    ],
)
def test_a_faulty_definition_is_named(suite: Path, text: str, said: str) -> None:
    (suite / "mail.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=said):
        tasks.domain("mail")


def test_training_examples_are_of_the_split_asked_and_never_of_test() -> None:
    rows = tasks.training_examples("mail")
    assert len(rows) == 2 * 3 * 3
    state, name, question, gold = rows[0]
    assert "train" in state
    assert name == "folder"
    assert question.type == "choice"
    assert gold.accepted == ("9", "00")
    assert tasks.training_examples("pages") == []
    with pytest.raises(UsageError, match="never trained on"):
        tasks.training_examples("mail", "test")


def test_another_distribution_adds_a_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plugin"
    made.write_static(folder)
    (folder / "mail.toml").rename(folder / "post.toml")
    (folder / "post.toml").write_text(made.STATIC.replace('name = "mail"', 'name = "post"'), "utf-8")
    lock(folder, "post")
    monkeypatch.setattr(f"{made.__name__}.PLUGIN", str(folder), raising=False)
    point = EntryPoint("more", f"{made.__name__}:PLUGIN", "arena.suites.test")
    monkeypatch.setattr(arena.registry, "entry_points", lambda group: [point] if group == point.group else [])
    builtin = registry.SUITES.builtin
    monkeypatch.setattr(registry, "SUITES", Registry("suite folder", "arena.suites.test", builtin))
    assert tasks.domains() == ("mail", "pages", "post")
    assert len(tasks.load_units("post", "T1")) == 3
    (folder / "post.toml").rename(folder / "mail.toml")
    (folder / "post.lock.json").rename(folder / "mail.lock.json")
    with pytest.raises(UsageError, match="domain 'mail' is defined twice"):
        tasks.domains()


def test_importing_tasks_loads_nothing() -> None:
    code = "import sys, arena.tasks; print([m for m in sys.modules if m.startswith('arena.tasks.')])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match="nonsense"):
        tasks.nonsense  # noqa: B018
