"""Pages over HTTP: what they show, what they refuse, and that a stranger's text stays text."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest
from board_runs import HOSTILE_KEY, HOSTILE_TEXT
from view_runs import KEYS, Client, decision, episode, write_run

from arena.log.blobs import Blobs
from arena.records import Step
from arena.view.guard import POLICY
from arena.view.index import RunIndex
from arena.view.tools import outcome

PNG = b"\x89PNG\r\n\x1a\n" + b"rest of it"


@pytest.fixture(scope="module")
def client(run: Path) -> Client:
    RunIndex(run).refresh(60)
    return Client(run.parent)


def links(html: str) -> list[str]:
    return [link.replace("&amp;", "&") for link in re.findall(r'class="open" href="([^"]+)"', html)]


def test_the_list_leads_to_the_run_and_its_decisions(client: Client, run: Path) -> None:
    (link,) = links(client.get("/").text)
    assert unquote(link) == f"/run/{run.name}"
    overview = client.get(link).text
    assert "Results by tier" in overview
    decisions = client.get(f"{link}/decisions?verdict=invalid").text
    found = links(decisions)
    assert found
    assert all(link.endswith("?verdict=invalid") for link in found)
    assert "Invalid:" in client.get(found[0]).text


def test_a_hostile_text_is_escaped_everywhere(client: Client, run: Path) -> None:
    page = client.get(f"/run/{run.name}/decisions?flipped=1&q=alpha").text
    for link in links(page)[:3]:
        html = client.get(link).text
        assert HOSTILE_TEXT not in html
        assert HOSTILE_KEY not in html
        assert "<svg onload" not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html
        assert re.findall(r"<script[^>]*>", html) == ['<script src="/static/view.js" defer>']


def test_all_forms_of_a_question_stand_side_by_side(client: Client, run: Path) -> None:
    link = links(client.get(f"/run/{run.name}/decisions?form=reorder&q=alpha").text)[0]
    html = client.get(link).text
    heads = re.findall(r'<th scope="col"[^>]*><a href="[^"]+#orders" title="([^"]+)"', html)
    assert heads[0] == "canonical order"
    assert [head for head in heads if head.startswith("order ")] == [f"order {n}" for n in range(1, 12)]
    assert [head for head in heads if head.startswith("repeat")] == [
        f"repeat {n} of the canonical order" for n in (1, 2, 3)
    ]
    assert {"right option removed, null offered", "right option removed, no null offered"} <= set(heads)
    assert len(re.findall(r'aria-current="page"', html.split('class="heat"')[1])) == 1


def test_a_step_reached_by_another_way_is_no_form_of_the_recorded_one(tmp_path: Path) -> None:
    """Episodes with several right ways: step 1 of the model's walk is not step 1 of the recording."""
    orders = [
        decision("e#1", variant={"kind": "reorder", "index": n, "question": "pick", "order": KEYS}) for n in (0, 1)
    ]
    for way in ("e#1", "another way"):
        walked = decision("e", episode="e", step=1, phase="teacher", state=f"state of {way}", committed="b")
        folder = write_run(tmp_path / way.replace(" ", "-") / "run", [walked, *orders])
        RunIndex(folder).refresh(60)
        browser = Client(folder.parent)
        shown = [browser.get(f"/run/run/decisions/{row['id']}").text for row in (walked, *orders)]
        same = way == "e#1"
        assert ["as asked in the run itself" in html for html in shown] == [same] * 3
        assert ["canonical order" in html for html in shown] == [same, True, True]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1:80:80", "[::1]", "0.0.0.0"])
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    assert client.get("/", host=host).status_code == 403
    assert client.get("/static/view.js", host=host).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:8321", "localhost:1"])
def test_this_machine_is_let_in(client: Client, host: str) -> None:
    assert client.get("/", host=host).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_get_is_answered(client: Client, method: str) -> None:
    answer = client.request(method, "/")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/", "/static/view.css", "/nowhere", "/run/none", "/docs", "/openapi.json"])
def test_every_answer_carries_the_policy(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY


@pytest.mark.parametrize("name", ["%2e%2e", "..%2f..%2fetc", "%2fetc", "a%00b", "none"])
def test_names_do_not_leave_the_root(client: Client, name: str) -> None:
    assert client.get(f"/run/{name}").status_code == 404
    assert client.get(f"/run/{name}/decisions").status_code == 404


def test_a_bad_filter_is_a_page_with_a_reason(client: Client, run: Path) -> None:
    answer = client.get(f"/run/{run.name}/decisions?verdict=maybe")
    assert answer.status_code == 400
    assert "expected one of" in answer.text


def test_a_decision_that_is_not_there(client: Client, run: Path) -> None:
    assert client.get(f"/run/{run.name}/decisions/{'0' * 24}").status_code == 404
    assert client.get(f"/run/{run.name}/episodes/{'0' * 24}").status_code == 404


def test_the_log_line_comes_as_json(client: Client, run: Path) -> None:
    link = links(client.get(f"/run/{run.name}/decisions").text)[0].split("?")[0]
    answer = client.get(f"{link}/line")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == link.rsplit("/", 1)[1]


def step(number: int, **fields: object) -> Step:
    given = {
        "step": number,
        "phase": "teacher",
        "ask": f"ask{number}",
        "page_hash": "h",
        "committed": "a",
        "correct": True,
    }
    return Step.model_validate({**given, **fields})


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    """An episode of a screenshot step, a sandbox step and a step whose blob is no image."""
    folder = tmp_path / "runs" / "walk"
    blobs = Blobs(folder / "blobs")
    folder.mkdir(parents=True)
    shot, page = blobs.put(PNG), blobs.put(b"<script>alert(1)</script>")
    view = {"viewport": [1280, 720], "boxes": {"a": [10, 20, 30, 40], "b": [10, 20, 30, 40]}}
    told = {
        "command": "cat <b>",
        "stdout": "<img src=x>",
        "stderr": "oh",
        "rc": 2,
        "diff": "--- a\n+++ b\n-old\n+<new>",
    }
    steps = (
        step(0, artifacts={"screenshot": shot}, view=view),
        step(1, view=told, correct=False, committed="b"),
        step(2, artifacts={"screenshot": page}, phase="free", correct=None),
    )
    made = episode("walk-1", steps, flags=("off_tape",))
    rows = [
        decision(
            "walk-1", episode="walk-1", step=n, ask=f"ask{n}", case=made["id"], id=f"{n:024}", committed=c, phase=p
        )
        for n, (c, p) in enumerate((("a", "teacher"), ("b", "teacher"), ("a", "free")))
    ]
    return write_run(folder, rows, [made])


def test_an_episode_shows_its_steps_pictures_and_boxes(walk: Path) -> None:
    client = Client(walk.parent)
    (link,) = links(client.get("/run/walk/episodes").text)
    html = client.get(f"{link}?step=0").text
    assert html.count('<li class="teacher">') == 2
    assert html.count('<li class="free">') == 1
    # Two options on one element share a box and add up.
    assert re.findall(r"<title>([^<]+)</title><rect", html) == ["a, b: p = 0.800"]
    assert 'x="10" y="20" width="30" height="40"' in html


def test_a_sandbox_step_shows_command_output_and_diff(walk: Path) -> None:
    client = Client(walk.parent)
    (link,) = links(client.get("/run/walk/episodes").text)
    html = client.get(link).text  # without a step: the first that went wrong
    assert "cat &lt;b&gt;" in html
    assert "&lt;img src=x&gt;" in html
    assert "exit code 2" in html
    assert '<span class="minus">-old' in html
    assert '<span class="plus">+&lt;new&gt;' in html
    own = client.get(f"/run/walk/decisions/{1:024}").text
    assert "The sandbox step" in own


def test_an_end_state_may_hold_names_that_are_no_text(tmp_path: Path) -> None:
    """A file that a command named with a byte that is no UTF-8."""
    made = episode("odd", (step(0),)) | {"end_state": {"files": {"bad\udcff": {"kind": "file"}}}}
    row = decision("odd", episode="odd", ask="ask0", case=made["id"], phase="teacher")
    client = Client(write_run(tmp_path / "runs" / "odd", [row], [made]).parent)
    (link,) = links(client.get("/run/odd/episodes").text)
    answer = client.get(link)
    assert answer.status_code == 200
    assert "bad\\udcff" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_sandbox_step_may_be_told_by_the_step_after_it() -> None:
    last = {
        "command": ["grep", "-c", "a b", "notes.txt"],
        "stdout": "3\n",
        "rc": 0,
        "diff": [
            {"path": "notes.txt", "change": "changed", "before": "one\ntwo", "after": "one\nthree"},
            {"path": "new.txt", "change": "added", "after": "hello\u202e"},
            {"path": "run.sh", "change": "changed", "before": "mode 644", "after": "mode 755"},
        ],
    }
    told = outcome({"step": 0, "view": {"last": None}}, {"step": 1, "view": {"last": last}})
    assert told is not None
    assert told["command"] == "grep -c 'a b' notes.txt"
    assert ("minus", "-two") in told["diff"]
    assert ("plus", "+three") in told["diff"]
    assert ("file", "--- /dev/null") in told["diff"]
    assert ("plus", "+hello\\u202e") in told["diff"]
    assert told["diff"][-3:] == [("file", "changed run.sh"), ("minus", "-mode 644"), ("plus", "+mode 755")]
    end = {"step": 1, "view": {"last": last}}
    assert outcome(end, end) is None  # it acted on nothing: what stands there is what the step before it did
    assert outcome({"step": 0, "view": {"last": last}}, None) is None
    assert outcome({"step": 0, "view": None}, {"step": 1, "view": None}) is None


def test_only_screenshots_are_served_by_hash(walk: Path) -> None:
    blobs = {path.name: path.read_bytes() for path in (walk / "blobs").rglob("*") if path.is_file()}
    shot = next(name for name, data in blobs.items() if data == PNG)
    page = next(name for name in blobs if name != shot)
    client = Client(walk.parent)
    answer = client.get(f"/run/walk/shots/{shot}.png")
    assert answer.content == PNG
    assert answer.headers["content-type"] == "image/png"
    for name in (page, "0" * 64, "..%2f..%2fconfig", shot.upper()):
        assert client.get(f"/run/walk/shots/{name}.png").status_code == 404
    Blobs(walk / "blobs").path(shot).write_bytes(PNG + b"changed")
    assert client.get(f"/run/walk/shots/{shot}.png").status_code == 404


def test_a_root_may_be_a_single_run(walk: Path) -> None:
    client = Client(walk)
    assert links(client.get("/").text) == ["/run/walk"]
    assert client.get("/run/walk").status_code == 200


def test_a_run_whose_header_is_broken_hides_no_other(walk: Path) -> None:
    shutil.copytree(walk, walk.parent / "broken")
    (walk.parent / "broken" / "config.json").write_text("{")
    client = Client(walk.parent)
    html = client.get("/").text
    assert links(html) == ["/run/walk"]
    assert "unreadable" in html
    assert client.get("/run/broken").status_code == 500


def test_a_damaged_log_is_said_on_the_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "bad", [decision("u0")], packed=False)
    with (folder / "decisions.jsonl").open("ab") as log:
        log.write(b"{oops\n")
    client = Client(tmp_path / "runs")
    html = client.get("/run/bad/decisions").text
    assert "cannot be read to its end" in html
    assert "decisions.jsonl:2" in html


def test_a_state_of_many_parts_is_shown_part_by_part(tmp_path: Path) -> None:
    state = {"goal": "Buy it", "text": "one\ntwo", "left": 3, "list": ["x"]}
    write_run(tmp_path / "runs" / "parts", [decision("u0", state=state)])
    client = Client(tmp_path / "runs")
    html = client.get(links(client.get("/run/parts/decisions").text)[0]).text
    assert "<dt>goal</dt><dd>Buy it</dd>" in html
    assert '<pre tabindex="0">one\ntwo</pre>' in html
    assert "<dt>left</dt><dd>3</dd>" in html


def test_the_state_is_cut_and_shown_whole_on_demand(tmp_path: Path) -> None:
    rows = [decision("u0", state="word " * 6000 + "END-OF-STATE")]
    write_run(tmp_path / "runs" / "long", rows)
    client = Client(tmp_path / "runs")
    (link,) = links(client.get("/run/long/decisions").text)
    assert "END-OF-STATE" not in client.get(link).text
    assert "END-OF-STATE" in client.get(f"{link}?state=whole").text
