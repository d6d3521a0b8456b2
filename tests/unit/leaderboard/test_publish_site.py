"""The written site: the same bytes for the same logs, the numbers of the summaries, nothing loaded, nothing run."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from board_runs import HOSTILE_KEY, arena
from hypothesis import given, settings
from hypothesis import strategies as st
from view_runs import KEYS, decision, write_run

from arena.errors import MissingNeed
from arena.leaderboard import plots, render
from arena.leaderboard.board import build, load
from arena.leaderboard.flips import flips
from arena.leaderboard.labels import place_labels
from arena.leaderboard.publish import publish
from arena.leaderboard.reliability import invariance
from arena.log.reader import RunReader

Runs = dict[str, Path]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_the_same_logs_give_the_same_bytes(runs: Runs, tmp_path: Path) -> None:
    chosen = [runs["hasty"], runs["constant"]]
    moved = [shutil.copytree(run, tmp_path / "moved" / run.name) for run in reversed(chosen)]
    first = publish(chosen, tmp_path / "site").out
    before = contents(first)
    done = arena("publish", *moved, "-o", first, "--json")
    assert done.exit_code == 0, done.output
    assert contents(first) == before
    assert len(json.loads(done.stdout)["rows"]) == 2


def test_the_manifest_lists_every_file(site: Path) -> None:
    manifest = json.loads((site / "manifest.json").read_text())
    assert set(manifest["files"]) == set(contents(site)) - {"manifest.json"}


def test_numbers_on_the_site_are_those_of_the_summaries(runs: Runs, site: Path) -> None:
    board = json.loads((site / "data/leaderboard.json").read_text())
    page = (site / "index.html").read_text()
    table = list(csv.DictReader(io.StringIO((site / "data/leaderboard.csv").read_text())))
    for row, line in zip(board["rows"], table, strict=True):
        run = next(run for run in runs.values() if run.name == row["runs"][0]["run"])
        stored = json.loads((run / "summary.json").read_text())
        assert row["capability"] == stored["capability"] == float(line["C"])
        found = re.search(rf'data-value="{re.escape(html.escape(row["name"]))}".*?</tr>', page, re.DOTALL)
        assert found is not None
        shown = dict(re.findall(r'data-column="([^"]+)" data-value="([^"]*)"', found.group()))
        assert float(shown["C"]) == stored["capability"]
        for name in "RSN":
            assert float(shown[name]) == stored["reliability"][name] == float(line[name])
        for cell in stored["cells"]:
            if cell["tier"] == "T2":
                assert float(shown[f"skill_{cell['domain']}"]) == cell["skill"]
        assert shown["latency_p50_s"] == "", "no serial lane, no latency"


def test_the_page_of_a_model_tells_what_stands_beside_s_and_n(runs: Runs, site: Path) -> None:
    board = json.loads((site / "data/leaderboard.json").read_text())
    for row in board["rows"]:
        found = row["reliability"]
        page = (site / f"models/{row['slug']}.html").read_text()
        moved, spread = found["flips"], found["accuracy_over_orders"]
        assert f"Red: {moved['flips']} of {moved['comparable']} decisions left the canonical one" in page
        told = {
            "Drift (total variation)": found["drift"]["mean"],
            "Accuracy, worst order": spread["low"],
            "Accuracy, best order": spread["high"],
            "p, chosen slots uniform": found["chosen_slots"]["p"],
        }
        for name, value in told.items():
            assert f"<dt>{name}</dt><dd>{value:.3f}</dd>" in page, name


def measured(folder: Path, rows: list[dict[str, Any]]) -> RunReader:
    """A run of these lines that measured reliability."""
    run = write_run(folder, rows)
    config = json.loads((run / "config.json").read_text())
    config["resolved"]["reliability"] = {"orders": 3}
    (run / "config.json").write_text(json.dumps(config))
    return RunReader(run)


def forms(unit: str, *committed: str | None) -> list[dict[str, Any]]:
    """One question in as many orders."""
    variants = [{"kind": "reorder", "index": n, "question": "pick", "order": KEYS} for n in range(len(committed))]
    return [decision(unit, variant=each, committed=said) for each, said in zip(variants, committed, strict=True)]


def test_nothing_is_said_to_have_left_a_canonical_decision_that_is_invalid(tmp_path: Path) -> None:
    found = flips([measured(tmp_path / "run", forms("u", None, "a", None) + forms("v", "a", "b", "a"))])
    assert [line["cells"] for line in found.map] == [["same", "flipped", "same"], ["invalid", "alone", "invalid"]]
    assert [one.moved for one in found.worst] == [1]
    assert plots.order_map(found.map).note == "Red: 1 of 2 decisions left the canonical one, in 1 of 2 items."


@pytest.mark.parametrize("state", ["state of e#1", "the state of another way"])
def test_a_moved_step_is_shown_with_the_screenshot_of_the_same_state(tmp_path: Path, state: str) -> None:
    walked = decision("e", episode="e", step=1, phase="teacher", state=state)
    (worst,) = flips([measured(tmp_path / "run", [walked, *forms("e#1", "a", "b")])]).worst
    assert worst.exhibit.walked == (walked["ask"] if state == "state of e#1" else None)


def test_a_claim_of_order_invariance_stands_beside_what_became_of_it() -> None:
    card = {"order_invariant": True}
    still, moved = ({"flips": {"flips": n, "comparable": 550}} for n in (0, 3))
    assert invariance(still, card) == "confirmed: no flip in 550 pairs"
    assert invariance(moved, card) == "NOT confirmed: 3 of 550 pairs flip"
    assert invariance(moved, {"order_invariant": False}) is None
    assert invariance({}, card) is None


def test_the_commands_of_a_decision_open_that_very_decision(runs: Runs, site: Path) -> None:
    """By its place where it is asked as it is, by its id where it is varied; and in the viewer."""
    flipped = replayed = 0
    for path in site.glob("decisions/*/*.html"):
        page = html.unescape(path.read_text())
        (viewed,) = re.findall(r"<code>arena view runs/\S+ --decision (\w+)</code>", page)
        (again,) = re.findall(r"<code>arena replay (runs/.+)</code>", page)
        varied = '<span class="badge warn">flipped</span>' in page
        assert viewed == path.stem
        assert (" --decision " in again) == varied
        assert again.endswith(f" --decision {path.stem}") or not varied
        flipped, replayed = flipped + varied, replayed + 1
    assert 0 < flipped < replayed
    assert replayed > 20


class Audit(HTMLParser):
    """What a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.inline: list[str] = []
        self.handlers: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in ("script", "img", "image", "link", "iframe", "object", "embed", "source", "video", "audio"):
            self.loads += [str(found[key]) for key in ("src", "href", "data") if key in found]
        self.handlers += [f"{tag}@{key}" for key in found if key.startswith("on") or key == "style"]
        self._script = tag == "script" and "src" not in found
        if self._script:
            self.inline.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.inline[-1] += data


def test_pages_load_their_own_files_and_run_no_stranger_s_text(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.parent.name != "plots"]
    assert len(pages) > 40
    for path in pages:
        audit = Audit()
        audit.feed(path.read_text())
        assert not audit.inline, path
        assert not audit.handlers, path
        for address in audit.loads:
            assert (path.parent / address).resolve().is_relative_to(site.resolve()), address
            assert (path.parent / address).is_file(), address
        assert "default-src 'none'" in path.read_text()


def test_every_link_leads_somewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        if path.parent.name == "plots":
            continue
        for address in re.findall(r' href="([^"#]+)', path.read_text()):
            assert (path.parent / html.unescape(address)).is_file(), (path, address)


def test_hostile_options_are_shown_as_text(site: Path) -> None:
    shown = [path.read_text() for path in site.glob("decisions/*/*.html")]
    assert any(html.escape(HOSTILE_KEY) in page for page in shown)
    assert not any(HOSTILE_KEY in page for page in shown)


def test_decisions_are_bounded_and_all_of_one_order(site: Path) -> None:
    board = json.loads((site / "data/leaderboard.json").read_text())
    hasty = next(row for row in board["rows"] if row["name"] != "constant" and row["validity"] < 1.0)
    pages = list((site / "decisions" / hasty["slug"]).glob("*.html"))
    assert 40 <= len(pages) <= 70
    model = (site / "models" / f"{hasty['slug']}.html").read_text()
    assert all(path.name in model for path in pages)
    assert "Invalid answers" in model
    assert "Most moved by order" in model


def test_the_offline_plot_holds_all_it_needs(site: Path) -> None:
    page = (site / "plots/capability-reliability.html").read_text()
    audit = Audit()
    audit.feed(page)
    assert not audit.loads
    assert "vegaEmbed" in page
    assert "unsafe-inline'; script" not in page


def test_a_plot_s_text_cannot_close_its_script() -> None:
    assert "<" not in render.script_json({"a": "</script><!--\u2028"})
    assert json.loads(render.script_json({"a": "</script>&\u2028"})) == {"a": "</script>&\u2028"}


def test_without_reliability_nothing_is_drawn_in_its_place(runs: Runs, tmp_path: Path) -> None:
    rows = [{**entry.row, "reliability": None} for entry in build(load([runs["careful"], runs["uniform"]])).entries]
    figure = plots.capability_reliability(rows)
    assert "pending" in figure.title
    assert "no run here has measured" in figure.note
    assert '"r"' not in json.dumps(figure.spec)
    nothing = plots.capability_reliability([{**row, "capability": None, "pending": ["beta"]} for row in rows])
    assert "beta" in nothing.told
    mixed = plots.capability_reliability([build(load([runs["careful"]])).entries[0].row, *rows[1:]])
    assert rows[1]["name"] in mixed.note


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100),
            st.floats(0, 1),
            st.sampled_from(["a", "model-x", "a-long-name-here"]),
            st.sampled_from(["#1f5fd0", plots.INK["grey"]]),
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_labels_never_overlap(found: list[tuple[float, float, str, str]]) -> None:
    points: list[dict[str, Any]] = [
        {"name": name, "c": c, "r": r, "c_low": c, "c_high": c, "r_low": r, "r_high": r, "colour": colour}
        for c, r, name, colour in found
    ]
    width, height = 720, 430
    place_labels(points, (100.0, 1.0), (width, height), plots.INK["grey"])
    boxes = []
    for point in points:
        if point["label"]:
            x, y = point["label_c"] / 100 * width, (1 - point["label_r"]) * height
            boxes.append((x, y - 8, x + 6.6 * len(point["label"]), y + 8))
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[0] >= b[2] - 1e-6 or b[0] >= a[2] - 1e-6 or a[1] >= b[3] - 1e-6 or b[1] >= a[3] - 1e-6


def test_baselines_that_lie_on_one_another_share_a_label() -> None:
    grey = plots.INK["grey"]
    at = {"one": (1.0, 0.0), "two": (1.2, 0.0), "three": (0.8, 0.01), "apart": (60.0, 0.0)}
    for size, label in (((720, 430), "two, one, three"), ((55, 430), "3 baselines")):
        points: list[dict[str, Any]] = [
            {"name": name, "c": c, "r": r, "c_low": c, "c_high": c, "r_low": r, "r_high": r, "colour": grey}
            for name, (c, r) in at.items()
        ]
        place_labels(points, (100.0, 1.0), size, grey)
        assert [point["label"] for point in points if point["name"] != "apart"] == ["", label, ""]


def test_figures_repeat_to_the_byte(runs: Runs) -> None:
    row = build(load([runs["careful"]])).entries[0].row
    figure = plots.capability_reliability([row])
    assert render.svg(figure) == render.svg(figure)
    assert render.png(figure) == render.png(figure)
    assert render.png(figure).startswith(b"\x89PNG")
    inline = render.inline(figure, render.svg(figure), "x")
    assert f'href="models/{row["slug"]}.html"' in inline
    assert "<title>" in inline


def test_a_missing_package_is_named_with_the_next_command(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingNeed, match=r"pip install 'system-one-arena\[report\]'") as caught:
        publish([runs["careful"]], tmp_path / "site")
    assert caught.value.code == 4
    assert not (tmp_path / "site").exists()


def test_the_command_tells_what_it_wrote(runs: Runs, tmp_path: Path) -> None:
    done = arena("publish", runs["careful"], "-o", tmp_path / "site")
    assert done.exit_code == 0, done.output
    assert "index.html" in done.stdout
    assert (tmp_path / "site/index.html").is_file()
