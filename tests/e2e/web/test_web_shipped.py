"""Every episode that ships is its recording: in the browser, without one, and for its verifier."""

from __future__ import annotations

from pathlib import Path

import pytest

import arena.tasks
from arena.envs.web.check import check_episodes
from arena.envs.web.episode import read_recording
from arena.envs.web.jevnav import Imported, import_jevnav
from arena.errors import UsageError
from arena.verifiers.web import verify

FOLDER = Path(arena.tasks.__file__).resolve().parent / "data" / "web" / "episodes"
SHIPPED = sorted(FOLDER.glob("*.web.zip"))
SITES = sorted({path.name.split("-")[0] for path in SHIPPED})


def test_there_are_episodes() -> None:
    assert len(SHIPPED) >= 40
    assert len(SITES) >= 3
    tiers = {read_recording(path).manifest.tier for path in SHIPPED}
    assert tiers == {"T1", "T2", "T3", "T4"}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.removesuffix(".web.zip"))
def test_each_holds_together(path: Path) -> None:
    recording = read_recording(path)
    assert recording.manifest.id == path.name.removesuffix(".web.zip")
    assert path.stat().st_size < 60_000
    recording.site_files()
    verdict = verify(recording.conditions, recording.end_state, recording.steps[-1].action)
    assert verdict.ending == "success"
    for step in recording.steps:
        keys = {option.id for option in step.table.options}
        assert set(step.gold) <= keys
        assert step.action in step.gold
        assert not {option.text for option in step.table.options if "http" in option.text}


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("site", SITES)
def test_browser_and_graph_agree_on_every_episode(site: str) -> None:
    paths = [path for path in SHIPPED if path.name.split("-")[0] == site]
    found = check_episodes(paths, times=1)
    assert {path: faults for path, faults in found.items() if faults} == {}


TRACES = {
    "go-demo/demo.trace.jsonl": (5, 0),
    "local-demo/demo.trace.jsonl": (3, 3),
    "pytest-interop/test_sign_in.trace.jsonl": (3, 1),
}


@pytest.fixture(scope="module")
def imported(shared_data: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Imported]:
    out = tmp_path_factory.mktemp("jevnav")
    folder = shared_data / "jevnav" / "examples"
    return {name: import_jevnav(folder / name, (folder / name).parent / "app.html", out) for name in TRACES}


@pytest.mark.browser
@pytest.mark.parametrize("name", TRACES)
def test_recorded_traces_become_episodes(imported: dict[str, Imported], name: str) -> None:
    one = imported[name]
    assert (one.steps, len(one.left_out)) == TRACES[name]
    recording = read_recording(one.path)
    for step in recording.steps:
        assert step.recorded is not None
        keys = [option.id for option in step.table.options]
        assert set(step.recorded["probabilities"]) == set(keys)
        assert keys[-1] == "none_of_the_above"
    assert check_episodes([one.path], times=2) == {str(one.path): []}
    if "go-demo" in name:
        assert [step.gold for step in recording.steps] == [("c4",), ("c5",), ("c6",), ("c2",), ("none_of_the_above",)]
        assert verify(recording.conditions, recording.end_state, "done").ending == "success"
    if "local-demo" in name:
        assert "nobody approved" in one.left_out[0]
        assert recording.conditions is None


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_what_cannot_be_imported_says_why(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "jevnav"
    trace = folder / "examples" / "local-demo" / "demo.trace.jsonl"
    with pytest.raises(UsageError, match=r"the page has no textbox 'Email', which the recording offers"):
        import_jevnav(trace, folder / "fixtures" / "app.mutated.html", tmp_path)
    with pytest.raises(UsageError, match="not a jevnav trace"):
        import_jevnav(folder / "examples" / "game" / "state.js", folder / "fixtures" / "app.html", tmp_path)
    assert list(tmp_path.iterdir()) == []
