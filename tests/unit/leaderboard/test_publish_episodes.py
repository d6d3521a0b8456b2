"""Episodes on a board: judged again from their end state, shown with the page that the model saw."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from board_runs import copied, registered
from episode_run import png, write_pages, write_run

from arena.leaderboard import exhibits
from arena.leaderboard.audit import audit
from arena.leaderboard.board import load
from arena.leaderboard.publish import publish
from arena.leaderboard.recheck import Locked, Refused

Row = dict[str, Any]


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Path]:
    write_pages(tmp_path / "suite")
    with registered(tmp_path / "suite"):
        yield tmp_path


@pytest.fixture
def run(pages: Path) -> Path:
    return write_run(pages / "walker_pages_12345678", png())


def won(row: Row) -> Row:
    return {**row, "ending": "success"}


def other_recording(row: Row) -> Row:
    return {**row, "recording_sha256": "0" * 64}


def other_unit(row: Row) -> Row:
    return {**row, "unit": "page-9"}


def unflagged(row: Row) -> Row:
    trail = [{"key_nodes": [], "forbidden": [{"url": "https://pages.test/bad"}]}]
    return {**row, "end_state": {**row["end_state"], "trail": trail}}


def lenient(row: Row) -> Row:
    """Its end would be a success, under conditions that its recording does not have."""
    return {**row, "ending": "success", "verify": {**row["verify"], "final": []}}


def other_step(row: Row) -> Row:
    return {**row, "steps": [{**row["steps"][0], "committed": "click:a"}]}


def another_trial(row: Row) -> Row:
    """A play that the plan does not have would enter pass^k."""
    return {**row, "variant": {**row["variant"], "kind": "trial", "index": 1}}


FORGERIES = {
    another_trial: "trial 1 is none of the run's 1 trials",
    lenient: "judged by other conditions than its recording's",
    other_step: "step 0 did 'click:a', and no decision says so",
    won: "ending is 'success', but its end state gives 'failure'",
    other_recording: "played on recording 000000000000...",
    other_unit: "'page-9' is not a locked episode",
    unflagged: "its end state gives the flag 'forbidden'",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_changed_episode_is_found(run: Path, tmp_path: Path, forge: Callable[[Row], Row]) -> None:
    assert not audit(run, Locked()).faults
    path = run / "episodes.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).split(b"\n")[:-1]
    lines[1] = orjson.dumps(forge(orjson.loads(lines[1])))
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))
    with pytest.raises(Refused) as caught:
        audit(run, Locked())
    assert "episodes.jsonl.gz:2: episode " in caught.value.message
    assert FORGERIES[forge] in caught.value.message


def test_an_episode_that_never_ended_is_missing(run: Path, tmp_path: Path) -> None:
    broken = copied(run, tmp_path / "broken")
    path = broken / "episodes.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).split(b"\n")[0] + b"\n"))
    with pytest.raises(Refused, match="pages/T1 has 1 of 2 units"):
        load([broken])


def test_the_page_shows_what_the_model_saw(run: Path, tmp_path: Path) -> None:
    site = publish([run], tmp_path / "site").out
    (page,) = site.glob("decisions/walker/*.html")
    text = page.read_text()
    assert page.with_suffix(".png").read_bytes() == png()
    assert f'href="{page.stem}.png"' in text
    assert '<rect class="gold" x="1" y="2" width="10" height="8">' in text
    assert '<rect class="miss" x="20" y="2" width="10" height="8">' in text
    assert "arena replay runs/walker_pages_12345678:page-2:0" in text
    assert "Click &lt;b&gt;A&lt;/b&gt;" in text


@pytest.mark.parametrize(
    ("screenshot", "why"),
    [
        (b"<svg onload=alert(1)>", "it is no PNG, JPEG or WebP image"),
        (png() + b"\x00" * exhibits.SCREENSHOT_BYTES, "kB, the page holds 400"),
    ],
    ids=["foreign", "large"],
)
def test_a_screenshot_that_is_none_or_too_large_is_left_out(
    pages: Path, tmp_path: Path, screenshot: bytes, why: str
) -> None:
    site = publish([write_run(pages / "walker_pages_87654321", screenshot)], tmp_path / "site").out
    assert not list(site.glob("decisions/walker/*.png"))
    (page,) = site.glob("decisions/walker/*.html")
    assert why in page.read_text()
