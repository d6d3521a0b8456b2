"""The response cache: replies by model identity and exact request bytes, in one SQLite file (WAL).

The key holds everything that decides an answer (model name and identity, what its canary answered, protocol, request
bytes), so model B is never reported with A's answers, also when it stands behind A's address. Only replies that were
read are kept. Repeats and the latency lane never look here.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from pathlib import Path

from platformdirs import user_cache_path

from arena.errors import MissingNeed
from arena.identity import PROTOCOL, dump, load
from arena.records import Attempt, ModelCard
from arena.session import Reply


def cache_path() -> Path:
    """``$ARENA_CACHE`` or the user's cache folder, plus ``responses.sqlite``."""
    root = os.environ.get("ARENA_CACHE")
    return (Path(root) if root else user_cache_path("arena")) / "responses.sqlite"


class ResponseCache:
    """Replies of one model, as one run sees them.

    ``run``: the token of that run's header. ``generation``: what tells apart models under one identity.
    """

    def __init__(self, path: Path, card: ModelCard, run: str = "", generation: str = "") -> None:
        identity = dump([PROTOCOL, card.name, card.version, card.identity, generation], sort=True)
        self._prefix = hashlib.sha256(identity).digest()
        self._path = path
        self._run_token = run
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30.0)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error

    def _key(self, request: bytes) -> bytes:
        return hashlib.sha256(self._prefix + request).digest()

    def get(self, request: bytes) -> Reply | None:
        """The reply recorded for exactly these bytes, marked ``cached``.

        A reply that this very run asked for (it was interrupted before the line was written) is its own: not marked.

        Raises:
            MissingNeed: the file cannot be read.
        """
        found = self._run("SELECT reply FROM replies WHERE key = ?", (self._key(request),)).fetchone()
        if found is None:
            return None
        body = load(found[0])
        attempts = tuple(Attempt.model_validate(attempt) for attempt in body.pop("attempts"))
        own = body.pop("run", "") == self._run_token != ""
        return Reply(**body, attempts=attempts, cached=not own)

    def put(self, request: bytes, reply: Reply) -> None:
        """Keep a reply that was read (outcome ``ok``); anything else must be asked again.

        Raises:
            MissingNeed: the file cannot be written.
        """
        if reply.outcome != "ok":
            return
        body = {
            "run": self._run_token,
            "answers": dict(reply.answers),
            "body": reply.body,
            "latency_ms": reply.latency_ms,
            "server_latency_ms": reply.server_latency_ms,
            "usage": None if reply.usage is None else dict(reply.usage),
            "model_version": reply.model_version,
            "attempts": [attempt.model_dump() for attempt in reply.attempts],
        }
        # The standard library keeps NaN, Infinity and integers beyond 64 bits as they came.
        self._run("INSERT OR REPLACE INTO replies VALUES (?, ?)", (self._key(request), json.dumps(body).encode()))

    def _run(self, statement: str, values: tuple[bytes, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _unusable(path: Path, error: Exception) -> MissingNeed:
    return MissingNeed(
        f"the response cache {path} cannot be used: {error}",
        hint="free space or set ARENA_CACHE to a folder you may write, or add --no-cache; then run the same command",
    )
