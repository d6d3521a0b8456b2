"""Bad input: one line that says what was found, the next command, the right exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from run_tools import Arena, Said
from sandbox_engines import missing

from arena.log.reader import RunReader

FAST = ("--model", "uniform", "--domain", "intent", "--tier", "T1")


def refused(said: Said, code: int, *words: str) -> None:
    """One error line, at most one hint under it, and ``words`` in them."""
    assert said.code == code, said
    lines = said.err.strip().split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("error: "))
    assert len(lines) - begin <= 2, said.err
    if len(lines) - begin == 2:
        assert lines[-1].startswith("  ")
    for word in words:
        assert word in said.err, said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--model", "sparow-nano", "--domain", "intent"], 2, ["did you mean sparrow-nano?", "arena list models"]),
        (["--domain", "intnet"], 2, ["unknown domain 'intnet'", "did you mean intent?", "arena list domains"]),
        (["--domain", "intent", "--tier", "T33"], 2, ["unknown tier of intent 'T33'", "did you mean T3"]),
        (["--domain", "intent", "--split", "tset"], 2, ["unknown split", "did you mean test?"]),
        (["--domain", "intent", "--item", "intent-t1-test-00"], 2, ["did you mean intent-t1-test-0"]),
        ([], 2, ["no domain chosen", "--domain NAME"]),
        ([*FAST, "-M", "peak"], 2, ["--model-option 'peak' is not KEY=VALUE"]),
        ([*FAST, "-M", "peak=1"], 2, ["model 'uniform' has no option 'peak'"]),
        (["-m", "slot-biased", "-d", "intent", "-M", "peak=2"], 2, ["must be a number in [0, 1], found 2"]),
        (["-m", "slot-biased", "-d", "intent", "-M", "peak=NaN"], 2, ["must be a number in [0, 1], found nan"]),
        ([*FAST, "--env", "mode"], 2, ["--env 'mode' is not KEY=VALUE"]),
        ([*FAST, "--env", "web/repaly-v1:mode=free"], 2, ["did you mean web/replay-v1", "arena list envs"]),
        ([*FAST, "--env", "mode=free"], 2, ["this run opens none"]),
        ([*FAST, "--base-url", "http://localhost:1"], 2, ["takes no --base-url"]),
        ([*FAST, "--lane", "fast"], 2, ["lane: Input should be 'throughput' or 'latency' (found 'fast')"]),
        ([*FAST, "--orders", "6"], 2, ["--orders needs --reliability"]),
        ([*FAST, "--probes"], 2, ["--probes needs --reliability"]),
        ([*FAST, "--max-retries", "99"], 2, ["less than or equal to 20"]),
        (["-m", "systemone", "-d", "intent"], 2, ["needs the address of a server", "--base-url"]),
        (["-m", "systemone", "-d", "intent", "--base-url", "localhost"], 2, ["no http(s) address", "http://HOST:PORT"]),
        (["-m", "fake", "-d", "intent", "--script", "none.toml"], 4, ["script none.toml cannot be read"]),
        ([*FAST, "--config", "none.toml"], 2, ["--config none.toml cannot be read: No such file"]),
        ([*FAST, "--config", "."], 2, ["--config . cannot be read: Is a directory"]),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_what_makes_no_sense(arena: Arena, arguments: list[str], code: int, words: list[str]) -> None:
    refused(arena("eval", *arguments), code, *words)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"model = \n", ["is not TOML", "line 1"]),
        (b"\xff\xfe", ["is not TOML"]),
        (b'domian = ["intent"]', ["unknown setting in my.toml 'domian'", "did you mean domains"]),
        (b'domains = "intent"', ["domains: Input should be a valid tuple (found 'intent')"]),
        (b"domains = 5", ["domains: Input should be a valid tuple (found 5)"]),
        (b'domains = ["intent"]\nreliability = true', ["reliability: "]),
        (b'domains = ["intent"]\n[reliability]\norders = "12"', ["reliability.orders: "]),
        (b'domains = ["intent"]\n[model_options]\nbase = 1', ["model option 'base'"]),
        (b'domains = ["intent"]\nmodel_options = 3', ["model_options: "]),
        (b'domains = ["intent"]\nlimit = 1.5', ["limit: "]),
    ],
)
def test_a_bad_file_of_settings(arena: Arena, content: bytes, words: list[str]) -> None:
    Path("my.toml").write_bytes(content)
    refused(arena("eval", "--config", "my.toml"), 2, *words)


@pytest.mark.parametrize("limit", ["0", "x", "1.5"])
def test_what_the_parser_refuses_is_one_json_object_too(arena: Arena, limit: str) -> None:
    said = arena("eval", *FAST, "--limit", limit, "--json")
    assert said.code == 2
    assert set(said.json) == {"error"}
    assert said.json["error"]["code"] == 2
    assert "--limit" in said.json["error"]["message"]
    assert said.json["error"]["hint"] == "see: arena eval --help"


def test_an_error_under_json_is_one_object(arena: Arena) -> None:
    said = arena("eval", "--domain", "intnet", "--json")
    assert said.code == 2
    assert said.json == {
        "error": {
            "message": "unknown domain 'intnet'; did you mean intent?",
            "hint": "arena list domains",
            "code": 2,
        }
    }
    assert said.out.count("\n") == 1


def test_nothing_selected(arena: Arena, intent: Path) -> None:
    lock = json.loads((intent / "intent.lock.json").read_bytes())
    lock["cells"]["T2"].pop("dev")
    (intent / "intent.lock.json").write_text(json.dumps(lock))
    refused(arena("eval", "-d", "intent", "-t", "T2", "--split", "dev"), 3, "nothing selected", "arena list domains")


@pytest.mark.parametrize("file", ["intent/T1.test.jsonl", "intent/gold/v1/T1.test.jsonl"])
def test_a_changed_data_file(arena: Arena, intent: Path, file: str) -> None:
    path = intent / file
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    said = arena("eval", *FAST)
    refused(said, 4, str(path), "locked sha256", "found", "restore the file")
    assert sum(len(word.strip(",")) == 64 for word in said.err.split()) == 2


def test_a_changed_tier_rule(arena: Arena, intent: Path) -> None:
    toml = intent / "intent.toml"
    toml.write_text(toml.read_text().replace('rule = "', 'rule = "Any. ', 1))
    refused(arena("eval", *FAST), 4, f"{toml} changed", "locked sha256")


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_dead_server(arena: Arena) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    said = arena("eval", "-m", "systemone", "-d", "intent", "--base-url", url)
    refused(said, 4, f"no server answers at {url}", "--base-url", "sparrow-nano")
    assert not Path("runs").exists()


@contextmanager
def web_server() -> Iterator[str]:
    """Answers every request with a web page and status 200, as a wrong path behind a web site does."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Welcome</title>")

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_wrong_address_that_answers_a_web_page(arena: Arena) -> None:
    with web_server() as url:
        said = arena("eval", "-m", "systemone", "-d", "intent", "--base-url", url)
    refused(said, 4, "answers a web page, expected JSON", "--base-url")
    assert not Path("runs").exists()


@pytest.mark.parametrize("model", ["glide", "jev"])
def test_no_key(arena: Arena, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    env = {"glide": "FASTINO_API_KEY", "jev": "TYPESAFE_API_KEY"}[model]
    monkeypatch.delenv(env, raising=False)
    refused(arena("eval", "-m", model, "-d", "intent"), 4, env, "without a key", "sparrow-nano", "uniform")
    assert arena("eval", "-m", model, "-d", "intent", "--dry-run").code == 0


def test_a_paid_endpoint_shows_the_estimate_and_asks_for_consent(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTINO_API_KEY", "k" * 20)
    refused(arena("eval", "-m", "glide", "-d", "intent"), 2, "would cost at least 0.0", "720 decisions", "--allow-paid")


@pytest.mark.parametrize("place", ["file", "file/deeper"])
def test_a_file_where_the_run_folder_should_be(arena: Arena, place: str) -> None:
    Path("file").write_text("in the way")
    refused(arena("eval", *FAST, "--out", place), 2 if place == "file" else 4, place, "--out")


def test_a_file_where_the_folder_of_runs_should_be(arena: Arena) -> None:
    Path("runs").write_text("in the way")
    refused(arena("eval", *FAST), 4, "cannot be written", "--out")


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own at ``folder``; needs root, as CI and containers have it."""
    folder.mkdir()
    if os.geteuid() or not shutil.which("mount"):
        missing("mounting a file system needs root")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        missing(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_read_only_folder(arena: Arena, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro,size=64k") as disk:
        refused(
            arena("eval", *FAST, "--out", disk / "run"), 4, f"{disk / 'run'} cannot be written", "Read-only", "--out"
        )


def test_a_run_folder_that_became_read_only(arena: Arena, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=4m") as disk:
        assert arena("eval", *FAST, "--out", disk / "run").code == 0
        (disk / "run" / "summary.json").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused(arena("eval", *FAST, "--out", disk / "run"), 4, "cannot be written", "Read-only")


def test_a_full_disk_keeps_what_was_recorded_and_resumes(arena: Arena, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=256k") as disk:
        refused(arena("eval", *FAST, "--out", disk / "run"), 4, "the disk is full", "same command again")
        kept = len(list(RunReader(disk / "run").rows()))
        assert 20 < kept < 240
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        said = arena("eval", *FAST, "--out", disk / "run", "--json")
        assert said.code == 0
        assert said.json["counts"]["decisions"] == 240
        assert "already recorded" in said.err


def test_a_run_of_another_configuration(arena: Arena) -> None:
    assert arena("eval", *FAST, "--out", "run").code == 0
    said = arena("eval", *FAST, "--out", "run", "--repeats", "2", "--limit", "3")
    refused(said, 2, "differs in: limit, repeats", "--fresh")
    said = arena("eval", "-m", "constant", "-d", "intent", "-t", "T1", "--out", "run")
    refused(said, 2, "model", "model_card.name")


def test_no_browser_installed(arena: Arena, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENA_CHROMIUM", "/nonexistent")
    web = ("eval", "-m", "always-first", "-d", "web", "-t", "T1")
    refused(arena(*web), 4, "ARENA_CHROMIUM is '/nonexistent'")
    monkeypatch.delenv("ARENA_CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    refused(arena(*web), 4, "Chromium", "make browser")


@pytest.mark.parametrize("bad", ["mode=fast", "speed=1", "screenshots=maybe"])
def test_an_option_that_the_environment_does_not_take(arena: Arena, bad: str) -> None:
    refused(arena("eval", "-m", "uniform", "-d", "web", "--env", bad), 2, bad.split("=")[0])


def test_a_server_that_dies_stops_the_run_and_the_same_command_asks_again(arena: Arena) -> None:
    Path("fails.toml").write_text('[[rule]]\nfault = "server_error"\n')
    said = arena("eval", "-m", "fake", "--script", "fails.toml", "-d", "intent", "--out", "run")
    refused(said, 1, "20 failed calls of 20", "same command again")
    assert not (Path("run") / "summary.json").exists()


def test_too_many_invalid_answers_end_with_1(arena: Arena) -> None:
    Path("bad.toml").write_text('[[rule]]\nfault = "nan"\n')
    said = arena("eval", "-m", "fake", "--script", "bad.toml", "-d", "intent", "-t", "T1", "--json")
    assert said.code == 1
    assert said.json["failed"]
    assert said.json["counts"]["invalid"] == 240
    shown = arena("eval", "-m", "fake", "--script", "bad.toml", "-d", "intent", "-t", "T1")
    assert (shown.code, "failed: 240 of 240 answers are invalid, over 5.0 %" in shown.out) == (1, True)


def test_too_many_broken_episodes_end_with_1_and_are_played_again_on_demand(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arena.envs.tools.sandbox import SandboxFailure
    from arena.envs.tools.sim import SimSandbox

    def broken(self: SimSandbox, files: object) -> None:
        raise SandboxFailure("gone", "the engine went away")

    command = ("eval", "-m", "uniform", "-d", "tools", "-t", "T0", "--limit", "2", "--sandbox", "sim", "--trials", "2")
    with monkeypatch.context() as patched:
        patched.setattr(SimSandbox, "seed", broken)
        said = arena(*command, "--out", "run")
    assert said.code == 1
    assert "failed: 4 of 4 plays broke outside the model, over 1.0 %" in said.out
    assert "--retry-errors" in said.out
    mended = arena(*command, "--out", "run", "--retry-errors")
    assert mended.code == 0, mended.err
    assert "failed:" not in mended.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["replay", "nowhere"], 2, ["no run at 'nowhere'", "arena list runs"]),
        (["replay", "run:intent-t1-test-00"], 2, ["did you mean intent-t1-test-00"]),
        (["replay", "run:intent-t1-test-000:7"], 2, ["has no step 7"]),
        (["replay", "run:intent-t1-test-000:x"], 2, ["step 'x' is not a number"]),
        (["replay", "run:a:1:2"], 2, ["unknown item or episode 'a:1:2'"]),
        (["replay", "run:intent-t1-test-000", "--trial", "1"], 2, ["no trial 1, repeat 0", "it holds trial 0"]),
        (["replay", "run", "--repeat", "1"], 2, ["need an episode or item"]),
        (["replay", "run", "--html", "x.html"], 2, ["need an episode or item"]),
        (["replay", "run:intent-t1-test-000", "--html", "no/such/x.html"], 4, ["no/such/x.html: No such file"]),
        (["replay", "run:intent-t1-test-000", "--again", "unifrom"], 2, ["did you mean uniform?"]),
        (["replay", "run:intent-t1-test-000", "--again", "glide"], 4, ["FASTINO_API_KEY"]),
        (["replay", "run:intent-t1-test-000", "--live"], 2, ["web episodes only"]),
        (["publish", "nowhere"], 2, ["nowhere"]),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_the_other_commands(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: list[str]
) -> None:
    monkeypatch.delenv("FASTINO_API_KEY", raising=False)
    assert arena("eval", *FAST, "--limit", "2", "--out", "run").code == 0
    refused(arena(*arguments), code, *words)


def test_a_limited_run_is_marked_and_never_published(arena: Arena) -> None:
    said = arena("eval", *FAST, "--limit", "2", "--out", "run")
    assert "LIMITED: never enters a leaderboard" in said.out
    assert arena("list", "runs", ".", "--json").json[0]["limited"] == "limited"
    said = arena("publish", "run", "-o", "site")
    assert said.code == 1, said
    assert "limit" in said.err
    assert not Path("site").exists()
    said = arena("eval", *FAST, "--item", "intent-t1-test-000", "--out", "one", "--json")
    assert said.json["limited"] is True
    assert arena("publish", "one", "-o", "site").code == 1


def test_a_damaged_run_is_listed_beside_the_others(arena: Arena) -> None:
    assert arena("eval", *FAST, "--limit", "1").code == 0
    Path("runs/broken").mkdir()
    Path("runs/broken/config.json").write_text("{half")
    assert {row["status"] for row in arena("list", "runs", "--json").json} == {"complete", "damaged"}


def test_output_that_nobody_reads_is_no_traceback() -> None:
    command = [sys.executable, "-c", "from arena.cli.main import main; main()", "list", "models"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
