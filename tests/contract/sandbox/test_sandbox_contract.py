"""What every sandbox backend does, simulated or real: one set of tests for all of them."""

from __future__ import annotations

import pytest

from arena.envs.tools.sandbox import Backend, Files, Sandbox, SandboxFailure, SeedFile, text_files
from arena.envs.tools.snapshot import Snapshot, database, database_bytes
from arena.errors import MissingNeed, UsageError

FIXTURE: Files = {
    **text_files({"notes.txt": "one\ntwo\nthree\n", "logs/app.log": "INFO start\nERROR disk\n", "empty": ""}),
    "bin.dat": SeedFile(data=bytes(range(256))),
    "secret": SeedFile(data=b"s", mode=0o000),
    "locked": SeedFile(kind="dir", mode=0o500),
    "locked/inner": SeedFile(data=b"i", mode=0o400),
    "hidden": SeedFile(kind="dir", mode=0o000),
    "hidden/deep": SeedFile(kind="dir", mode=0o300),
    "hidden/deep/file": SeedFile(data=b"d", mode=0o200),
    "run.sh": SeedFile(data=b"#!/bin/sh\n", mode=0o755),
    "open": SeedFile(data=b"", mode=0o666),
    "link": SeedFile(kind="symlink", target="notes.txt"),
    "dangling": SeedFile(kind="symlink", target="../../etc/shadow"),
    "a name\nwith é": SeedFile(data=b"x"),
    "/".join(["n" * 90] * 3): SeedFile(data=b"long"),
}


def state_of(files: Files) -> Snapshot:
    return Snapshot.of_files(files)


def test_seeding_gives_exactly_the_fixture(box: Sandbox) -> None:
    box.seed(FIXTURE)
    found = box.snapshot()
    assert state_of(FIXTURE).changes(found) == ()
    assert found.sha256 == state_of(FIXTURE).sha256


def test_a_snapshot_changes_nothing(box: Sandbox) -> None:
    box.seed(FIXTURE)
    before = box.exec(["ls", "-l"]).out
    assert box.snapshot().sha256 == box.snapshot().sha256
    assert box.exec(["ls", "-l"]).out == before
    assert b"d---------" in before


def test_seeded_times_are_fixed(box: Sandbox) -> None:
    box.seed(FIXTURE)
    listing = box.exec(["ls", "-l"]).out_text.splitlines()[1:]
    shown = [line for line in listing if " -> " not in line and line[0] in "-d"]
    assert shown
    assert all("Jan  1  2024" in line for line in shown)


def test_a_command_acts_and_the_next_one_sees_it(box: Sandbox) -> None:
    box.seed(FIXTURE)
    assert box.exec(["cp", "notes.txt", "logs/copy"]).rc == 0
    result = box.exec(["cat", "logs/copy"])
    assert (result.rc, result.out, result.err, result.flags) == (0, b"one\ntwo\nthree\n", b"", ())
    assert result.total_bytes == len(result.out)
    assert result.ms > 0
    changes = state_of(FIXTURE).changes(box.snapshot())
    assert [(change.path, change.what) for change in changes] == [("logs/copy", "added")]


def test_arguments_reach_the_program_unread(box: Sandbox) -> None:
    words = ["a b", "$HOME;id", "`id`", "'\"\\", "*", "", "~", "é\n\t", "-n"]
    assert box.exec(["printf", "%s|", *words]).out == "|".join([*words, ""]).encode()


@pytest.mark.parametrize("rc", [0, 1])
def test_return_codes(box: Sandbox, rc: int) -> None:
    result = box.exec(["false" if rc else "true"])
    assert (result.rc, result.flags) == (rc, ())


def test_a_failing_command_says_why(box: Sandbox) -> None:
    result = box.exec(["cat", "absent"])
    assert (result.rc, result.err_text) == (1, "cat: can't open 'absent': No such file or directory\n")


def test_a_missing_program_is_127(box: Sandbox) -> None:
    result = box.exec(["no-such-tool", "x"])
    assert result.rc == 127
    assert result.err_text == "setsid: can't execute 'no-such-tool': No such file or directory\n"


@pytest.mark.parametrize("data", [b"", b"x", b"line\n" * 30_000])
def test_standard_input_ends(box: Sandbox, data: bytes) -> None:
    assert box.exec(["wc", "-c"], stdin=data).out.split() == [str(len(data)).encode()]
    assert box.exec(["wc", "-c"]).out.split() == [b"0"]


def test_input_that_a_command_does_not_read_is_dropped(box: Sandbox) -> None:
    assert box.exec(["true"], stdin=b"x" * 300_000).rc == 0
    assert box.exec(["cat"], stdin=b"next").out == b"next"


def test_long_output_keeps_its_head_and_the_return_code(box: Sandbox) -> None:
    box.seed({"big": SeedFile(data=b"0123456789" * 1000)})
    result = box.exec(["cat", "big"], output_limit=1000)
    assert (result.rc, result.flags, result.truncated) == (0, ("truncated",), True)
    assert result.out == b"0123456789" * 100
    assert result.total_bytes == 10_000
    assert box.seen == {"truncated"}


def test_output_without_end_is_cut_off(box: Sandbox) -> None:
    box.seed({"big": SeedFile(data=b"x" * 500_000)})
    result = box.exec(["cat", "big"], output_limit=1000)
    assert (result.rc, result.flags) == (137, ("output_limit", "truncated"))
    assert result.out == b"x" * 1000
    assert box.exec(["true"]).rc == 0


def test_output_that_is_no_text(box: Sandbox) -> None:
    box.seed(FIXTURE)
    result = box.exec(["cat", "bin.dat"])
    assert result.out == bytes(range(256))
    assert "\ufffd" in result.out_text
    assert len(result.output_sha256) == 64
    assert result.output_sha256 != box.exec(["cat", "open"]).output_sha256


def test_a_command_that_takes_too_long(box: Sandbox) -> None:
    result = box.exec(["sleep", "60"], timeout_s=0.3)
    assert (result.rc, result.flags) == (137, ("timeout",))
    assert box.exec(["echo", "still"]).out == b"still\n"


def test_reset_leaves_only_the_fixture(box: Sandbox) -> None:
    box.seed(FIXTURE)
    for argv in (["rm", "notes.txt"], ["cp", "run.sh", ".dot"], ["mkdir", "-p", "/tmp/left/over"], ["chmod", "0", "."]):
        assert box.exec(argv).rc == 0
    box.reset(FIXTURE)
    assert box.snapshot().sha256 == state_of(FIXTURE).sha256
    assert box.exec(["ls", "-A", "/tmp"]).out == b""
    box.reset({})
    assert box.snapshot().sha256 == state_of({}).sha256


def test_a_work_folder_that_was_closed(box: Sandbox) -> None:
    box.seed(FIXTURE)
    assert box.exec(["chmod", "0", "."]).rc == 0
    assert box.exec(["cat", "notes.txt"]).err_text == "cat: can't open 'notes.txt': Permission denied\n"
    changes = state_of(FIXTURE).changes(box.snapshot())
    assert [(change.path, change.what) for change in changes] == [(".", "mode")]
    assert box.exec(["echo", "on"]).out == b"on\n"
    assert box.exec(["chmod", "755", "/task"]).rc == 0
    assert box.snapshot().sha256 == state_of(FIXTURE).sha256


def test_nothing_but_the_work_folder_can_be_written(box: Sandbox) -> None:
    result = box.exec(["touch", "/etc/passwd", "/x", "/bin/x"])
    assert result.rc == 1
    assert result.err_text.count("Read-only file system") == 3


def test_databases_travel(box: Sandbox) -> None:
    seed = database_bytes("create table t(a, b); insert into t values (1, 'x'), (2, null);")
    box.seed({"app.db": SeedFile(data=seed)})
    assert box.exec(["sqlite3", "app.db", "select a, b from t order by a"]).out == b"1|x\n2|\n"
    assert box.exec(["sqlite3", "app.db", "update t set b = 'y;z' where a = 2; delete from t where a = 1"]).rc == 0
    data = box.snapshot().read("app.db")
    assert data is not None
    connection = database(data)
    assert connection.execute("select * from t").fetchall() == [(2, "y;z")]
    connection.close()


def test_health_of_a_good_box(box: Sandbox) -> None:
    health = box.health()
    assert (health.alive, health.processes, health.oom_kills) == (True, 0, 0)


def test_a_closed_box_refuses(backend: Backend) -> None:
    box = backend.sandbox()
    with pytest.raises(SandboxFailure) as early:
        box.exec(["true"])
    assert early.value.cause == "gone"
    with box:
        assert box.exec(["true"]).rc == 0
    box.close()
    for use in (lambda: box.exec(["true"]), box.snapshot, lambda: box.reset({}), box.start):
        with pytest.raises(SandboxFailure) as late:
            use()
        assert late.value.cause == "closed"
    assert not box.health().alive


def test_boxes_do_not_see_each_other(backend: Backend) -> None:
    with backend.sandbox() as one, backend.sandbox() as two:
        one.seed(text_files({"mine": "1"}))
        assert two.exec(["ls", "-A"]).out == b""
        assert two.exec(["touch", "/tmp/theirs"]).rc == 0
        assert one.exec(["ls", "-A", "/tmp"]).out == b""


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "nul\0"])
def test_fixtures_stay_in_the_work_folder(box: Sandbox, path: str) -> None:
    with pytest.raises(UsageError, match="fixture"):
        box.seed({path: SeedFile()})


def test_fixtures_make_sense(box: Sandbox) -> None:
    with pytest.raises(UsageError, match="twice"):
        box.seed({"a": SeedFile(), "./a": SeedFile()})
    with pytest.raises(UsageError, match="below"):
        box.seed({"a": SeedFile(), "a/b": SeedFile()})


@pytest.mark.parametrize("argv", ["ls -l", [], ["a\0b"]])
def test_a_command_is_a_list(box: Sandbox, argv: list[str]) -> None:
    with pytest.raises(UsageError, match="list of arguments"):
        box.exec(argv)


def test_programs_that_are_not_there_are_named(backend: Backend) -> None:
    backend.require(["cat", "grep", "sqlite3"])
    with pytest.raises(MissingNeed, match="kubectl"):
        backend.require(["cat", "kubectl"])


def test_the_check_is_recorded(backend: Backend) -> None:
    check = backend.check
    assert (check.kind, check.isolation, check.problems) == (backend.kind, backend.isolation, ())
    assert check.engine
    if backend.kind != "sim":
        assert len(check.image) == 64
        assert check.facts["uid"] == "1000"
        assert check.facts["network"] == "unreachable"
    assert type(check).model_validate_json(check.model_dump_json()) == check
