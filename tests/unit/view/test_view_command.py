"""``arena view`` itself: where it listens, what it says when it cannot."""

from __future__ import annotations

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest
from board_runs import arena
from view_runs import decision, write_run

from arena.errors import MissingNeed, UsageError
from arena.view import server


def test_it_listens_on_this_machine_only() -> None:
    with server.bind(0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


def test_a_taken_port_is_refused_and_the_usual_one_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}"):
            server.bind(port)
        monkeypatch.setattr(server, "PORT", port)
        with server.bind(None) as sock:
            assert sock.getsockname()[1] != port


def test_without_the_extra_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name == "fastapi":
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingNeed, match="fastapi") as caught:
        server.require()
    assert caught.value.hint == "pip install 'system-one-arena[view]'"


def test_the_command_prints_where_it_listens_and_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "runs" / "one", [decision("u0")])
    served: list[tuple[Path, str]] = []
    monkeypatch.setattr(server, "serve", lambda root, sock: served.append((root, sock.getsockname()[0])))
    done = arena("view", tmp_path / "runs", "--no-open", "--port", "0", "--json")
    assert done.exit_code == 0, done.output
    assert '"url":"http://127.0.0.1:' in done.stdout
    done = arena("view", tmp_path / "runs" / "one", "--no-open", "--port", "0")
    assert "/run/one" in done.stdout
    assert served == [(tmp_path / "runs", "127.0.0.1"), (tmp_path / "runs" / "one", "127.0.0.1")]


def test_it_starts_at_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "runs" / "one", [row := decision("u0")])
    monkeypatch.setattr(server, "serve", lambda root, sock: None)
    done = arena("view", tmp_path / "runs" / "one", "--no-open", "--port", "0", "--decision", row["id"])
    assert f"/run/one/decisions/{row['id']}" in done.stdout
    many = arena("view", tmp_path / "runs", "--no-open", "--decision", row["id"])
    assert isinstance(many.exception, UsageError)


def test_a_folder_that_is_not_there() -> None:
    done = arena("view", "nowhere", "--no-open")
    assert isinstance(done.exception, UsageError)
