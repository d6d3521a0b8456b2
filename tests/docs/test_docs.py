"""What the README and the docs tell a reader to type works; what they name exists.

Every command of every bash block is run as it stands, or in a smaller form that this file names with its
reason. A command that is neither is a failure: the docs and this file change together.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting_server import serving
from run_tools import Arena

from arena.log.reader import RunReader

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

ELSEWHERE = {
    "make demo": "CI runs it on a clean clone",
    "make test": "CI runs it on a clean clone",
}

SERVER = "arena eval --model systemone --base-url http://localhost:8000 --domain intent"

WEB_EVAL = "arena eval --model sparrow-nano --domain web --reliability"
WEB = {
    WEB_EVAL: "one episode in place of all, one reliability item: minutes otherwise",
    "arena replay runs/RUN": "",
    "arena replay runs/RUN:shop-t1-01:1 --html step.html": "",
    "arena replay runs/RUN:shop-t1-01:1 --again uniform": "",
    "arena replay runs/RUN:shop-t1-01 --live --until 3": "",
}
"""Commands on a run of the web domain: they need a browser and share one run."""

TOOLS_EVAL = "arena eval --model random --domain tools --tier T1 --sandbox sim --trials 2"
TOOLS = {
    TOOLS_EVAL: "one task in place of all",
    "arena replay runs/RUN:config-t1-01": "",
    "arena replay runs/RUN:config-t1-01:0": "",
    "arena replay runs/RUN:config-t1-01 --trial 1 --html episode.html": "",
    "arena score runs/RUN --verify": "",
}
"""Commands on a run of the tools domain: they share one run."""

BOXES_EVAL = "arena eval --model sparrow-nano --domain tools --sandbox docker"
BOXES = {
    "arena sandbox build": "",
    "arena sandbox doctor": "",
    BOXES_EVAL: "one task a tier in place of all",
}
"""Commands that need a Docker engine."""

PUBLISH = "arena publish runs/RUN -o site/"


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands() -> Iterator[str]:
    """Every command of every bash block, without comments."""
    for page in PAGES:
        for block in blocks(page, "bash"):
            for line in block.replace("\\\n", " ").split("\n"):
                if command := " ".join(shlex.split(line, comments=True)):
                    yield command


ALONE = [c for c in dict.fromkeys(commands()) if c not in {*ELSEWHERE, *WEB, *TOOLS, *BOXES, SERVER, PUBLISH}]


def run(arena: Arena, command: str, *more: str) -> Any:
    name, *arguments = shlex.split(command)
    assert name == "arena", f"{command!r} is no arena command: run it here, or name it in ELSEWHERE with the reason"
    said = arena(*arguments, *more)
    assert said.code == 0, f"{command}\n{said.err}"
    return said


def test_the_pages_hold_commands() -> None:
    assert {*ELSEWHERE, *WEB, *TOOLS, *BOXES, SERVER, PUBLISH} <= set(commands())


@pytest.mark.parametrize("command", ALONE)
def test_a_command_that_needs_nothing(arena: Arena, command: str) -> None:
    run(arena, command)


def test_the_command_for_a_server(arena: Arena) -> None:
    with serving() as server:
        run(arena, SERVER.replace("http://localhost:8000", server.url), "--tier", "T1")
        assert server.total > 80


def test_publishing(arena: Arena) -> None:
    run(arena, "arena eval --model sparrow-nano --domain intent")
    (folder,) = Path("runs").iterdir()
    run(arena, PUBLISH.replace("RUN", folder.name))
    assert (Path("site") / "index.html").is_file()


@pytest.mark.browser
def test_the_commands_on_web_pages(arena: Arena, chromium: str) -> None:
    run(arena, WEB_EVAL, "--item", "shop-t1-01", "--per-domain", "1")
    (folder,) = Path("runs").iterdir()
    for command in WEB:
        if command != WEB_EVAL:
            run(arena, command.replace("RUN", folder.name))
    assert Path("step.html").is_file()


def test_the_commands_on_tools(arena: Arena) -> None:
    run(arena, TOOLS_EVAL, "--item", "config-t1-01")
    (folder,) = Path("runs").iterdir()
    for command in TOOLS:
        if command != TOOLS_EVAL:
            run(arena, command.replace("RUN", folder.name))
    assert Path("episode.html").is_file()


@pytest.mark.engine
@pytest.mark.usefixtures("docker_host", "image")
def test_the_commands_on_boxes(arena: Arena) -> None:
    for command in BOXES:
        run(arena, command, *(("--limit", "1") if command == BOXES_EVAL else ()))


def test_the_task_in_the_docs_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "tools.md"
    (task,), (code,) = blocks(page, "json"), blocks(page, "python")
    monkeypatch.chdir(tmp_path)
    Path("greet-t0-01.json").write_text(task)
    found: dict[str, Any] = {}
    exec(compile(code, "docs/tools.md", "exec"), found)
    assert found["faults"] == []
    assert 0 < found["wins"] < 60


def test_the_tiers_in_the_docs_are_the_shipped_ones() -> None:
    from arena.tasks.tools.draft import BOUNDS
    from arena.tasks.tools.generate import COUNTS, TIERS

    text = (ROOT / "docs" / "tools.md").read_text("utf-8")
    for tier, families in TIERS.items():
        assert f"| {tier} | {COUNTS[tier]['test'] * len(families)} |" in text
        assert f"at most {100 * BOUNDS[tier]:g} % |" in text.split(f"| {tier} |")[1].split("\n")[0]
    test, dev = (sum(COUNTS[t][split] * len(TIERS[t]) for t in TIERS) for split in ("test", "dev"))
    assert f"{test} test and {dev} dev tasks" in text


def test_the_decider_in_python(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    from arena.models import MODELS

    (code,) = blocks(ROOT / "docs" / "models.md", "python")
    module = types.ModuleType("documented_package")
    exec(compile(code, "docs/models.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(MODELS.builtin, "cautious", f"{module.__name__}:make")
    run(arena, "arena eval --model cautious --domain intent --tier T1")
    (folder,) = Path("runs").iterdir()
    rows = list(RunReader(folder).rows())
    assert len(rows) == 240
    assert all(row["valid"] for row in rows)


def test_the_wire_format_in_the_docs_is_what_is_sent_and_what_is_valid() -> None:
    from arena.gate import gate
    from arena.models.catalog import providers
    from arena.models.wire import decode, encode
    from arena.session import Ask
    from arena.types import parse_question

    sent, came = (json.loads(block) for block in blocks(ROOT / "docs" / "models.md", "json"))
    questions = {name: parse_question(body) for name, body in sent["questions"].items()}
    assert {question.type for question in questions.values()} == {"choice", "score", "noul"}
    assert json.loads(encode(Ask("a", sent["state"], questions), sent["model"])) == sent
    assert sent["model"] == providers()["systemone"].model
    reply = decode(json.dumps(came).encode(), providers()["systemone"])
    assert (reply.model_version, reply.usage) == (came["model"], came["usage"])
    for name, question in questions.items():
        found = gate(question, reply.answers[name])
        assert (found.valid, found.renormalized) == (True, False), found.reason


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


def test_files_that_the_design_names_exist() -> None:
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    for name in re.findall(r"`((?:arena|leaderboard|reliability|envs|tasks|models|verifiers)/[\w./]+\.py)`", text):
        assert (ROOT / name).is_file(), name


def test_models_of_the_readme_exist() -> None:
    from arena.models import known_models

    known = {info.name for info in known_models()}
    table = (ROOT / "README.md").read_text("utf-8").split("## Models")[1].split("\n## ")[0]
    for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", row):
            assert name in known or name.startswith("arena "), name
