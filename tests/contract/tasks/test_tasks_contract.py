"""What every shipped domain must satisfy, whatever it is about; and that tiers get harder for known baselines."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import ComplementNB

from arena import tasks
from arena.errors import ChangedData
from arena.gate import gate
from arena.identity import sha256, sha256_file, state_id
from arena.items import EpisodeRef, Gold, Item
from arena.models import ModelOptions, open_model
from arena.session import Ask, Trainable
from arena.tasks.definition import DATA, items_file, read_definition, read_domain, read_lock, verified
from arena.tasks.lock import GUARDED, _keys, accepted_fit, build
from arena.types import Choice

DOMAINS = tasks.domains()
STATIC = [name for name in DOMAINS if tasks.domain(name).kind == "static"]
EPISODE = [name for name in DOMAINS if tasks.domain(name).kind == "episode"]


def _units(name: str) -> list[Item | EpisodeRef]:
    each = tasks.domain(name)
    return [unit for tier in each.tier_names for split in each.splits for unit in tasks.load_units(name, tier, split)]


def test_every_definition_is_locked() -> None:
    assert sorted(path.stem for path in DATA.glob("*.toml")) == sorted(
        path.name.removesuffix(".lock.json") for path in DATA.glob("*.lock.json")
    )
    assert "intent" in DOMAINS


def test_unit_ids_are_unique_over_all_domains() -> None:
    ids = [unit.id for name in DOMAINS for unit in _units(name)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", DOMAINS)
def test_locking_again_gives_the_same_lock(name: str) -> None:
    each = tasks.domain(name)
    assert build(each.folder, read_definition(each.folder, name)) == each.lock == read_lock(each.folder, name)


@pytest.mark.parametrize("name", DOMAINS)
def test_tiers_have_rules_and_test_units_and_the_hardest_feeds_reliability(name: str) -> None:
    each = tasks.domain(name)
    assert all(tier.rule for tier in each.tiers)
    assert [cell.tier for cell in tasks.select([name]).cells] == list(each.tier_names)
    assert tasks.hardest_tier(name) == each.tier_names[-1]
    hardest = set(tasks.select([name], "hardest").ids)
    reliability = tasks.reliability_ids(name)
    assert {one.partition("#")[0] for one in reliability} <= hardest
    possible = sum(unit.steps for unit in each.lock.cells[each.tier_names[-1]]["test"].values())
    assert len(set(reliability)) == len(reliability) == min(50, possible)
    assert each.licence


@pytest.mark.parametrize("name", STATIC)
def test_golds_are_options_and_states_hold_none(name: str) -> None:
    each = tasks.domain(name)
    for tier in each.tier_names:
        for split in each.splits:
            for version in tasks.gold_versions(name):
                golds = tasks.load_golds(name, tier, split, version)
                units = tasks.load_units(name, tier, split)
                assert set(golds) == {unit.id for unit in units}
                for unit in units:
                    assert isinstance(unit, Item)
                    assert not GUARDED & set(_keys(unit.state))
                    assert set(golds[unit.id]) == set(unit.questions)
                    for key, question in unit.questions.items():
                        gold = golds[unit.id][key]
                        assert gold.version == version
                        assert accepted_fit(question, gold)
                        for value in gold.accepted:
                            assert gold.accepts(value)


@pytest.mark.parametrize("name", STATIC)
def test_each_item_has_its_own_hash_and_no_state_is_in_two_splits(name: str) -> None:
    each = tasks.domain(name)
    seen: dict[str, str] = {}
    for tier in each.tier_names:
        for split in each.splits:
            path = each.folder / items_file(each, tier, split)
            lines = [line for line in path.read_bytes().split(b"\n") if line]
            assert [sha256(line) for line in lines] == [u.sha256 for u in each.lock.cells[tier][split].values()]
            for unit in tasks.load_units(name, tier, split):
                assert isinstance(unit, Item)
                assert seen.setdefault(state_id(unit.state), split) == split


@pytest.mark.parametrize("name", EPISODE)
def test_episodes_are_files_with_their_locked_bytes(name: str) -> None:
    for unit in _units(name):
        assert isinstance(unit, EpisodeRef)
        assert sha256_file(Path(unit.path)) == unit.sha256
        assert (unit.env, unit.verifier) == (tasks.domain(name).env, tasks.domain(name).verifier)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_changed_byte_of_a_copy_is_refused(name: str, tmp_path: Path) -> None:
    each = tasks.domain(name)
    for source in (each.folder / f"{name}.toml", each.folder / f"{name}.lock.json"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    relative = next(iter(each.lock.files))
    data = bytearray((each.folder / relative).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / relative).parent.mkdir(parents=True)
    (tmp_path / relative).write_bytes(data)
    with pytest.raises(ChangedData) as caught:
        verified(read_domain(tmp_path, name), relative)
    assert caught.value.expected == each.lock.files[relative]
    assert caught.value.found == sha256(bytes(data))
    assert relative in caught.value.path


def _share_right(model: str, tier: str) -> float:
    """Share of the intent domain's dev decisions that a model gets right."""
    decider = open_model(model, ModelOptions())
    if isinstance(decider, Trainable):
        decider.fit(tasks.domain("intent").suite_id, tasks.training_examples("intent"))
    golds, right, asked = tasks.load_golds("intent", tier, "dev"), 0, 0
    for unit in tasks.load_units("intent", tier, "dev"):
        assert isinstance(unit, Item)
        reply = asyncio.run(decider.decide(Ask(unit.id, unit.state, unit.questions, unit.suite)))
        for key, question in unit.questions.items():
            gated = gate(question, reply.answers.get(key))
            right += gated.valid and golds[unit.id][key].accepts(gated.committed)
            asked += 1
    return right / asked


@pytest.mark.parametrize("model", ["sparrow-nano", "majority", "always-first"])
def test_intent_gets_harder_for_named_baselines_on_dev(model: str) -> None:
    shares = [_share_right(model, tier) for tier in tasks.domain("intent").tier_names]
    assert all(easier > harder for easier, harder in pairwise(shares)), shares


def test_intent_gets_harder_by_chance_and_for_a_fitted_text_classifier_on_dev() -> None:
    chance, fitted = [], []
    for tier in tasks.domain("intent").tier_names:
        units = [unit for unit in tasks.load_units("intent", tier, "dev") if isinstance(unit, Item)]
        labels = [question.labels() for unit in units for question in unit.questions.values()]
        chance.append(sum(1 / len(each) for each in labels) / len(labels))
        fitted.append(_fitted_share(units, tasks.load_golds("intent", tier, "dev")))
    assert all(easier > harder for easier, harder in pairwise(chance)), chance
    assert all(easier > harder for easier, harder in pairwise(fitted)), fitted


def _fitted_share(units: list[Item], golds: dict[str, dict[str, Gold]]) -> float:
    """TF-IDF and naive Bayes, fitted on train, over the intents offered."""
    rows = [row for row in tasks.training_examples("intent") if isinstance(row[2], Choice)]
    words = TfidfVectorizer(ngram_range=(1, 2))
    model = ComplementNB()
    model.fit(words.fit_transform([str(row[0]) for row in rows]), [str(row[3].accepted[0]) for row in rows])
    right = 0
    for unit, p in zip(units, model.predict_proba(words.transform([str(u.state) for u in units])), strict=True):
        shown = dict(zip(model.classes_, p, strict=True))
        best = max(unit.questions["intent"].labels(), key=lambda key: float(shown.get(key, 0.0)))
        right += golds[unit.id]["intent"].accepts(best)
    return right / len(units)
