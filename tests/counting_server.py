"""A decision server on this machine that answers by the bytes it is sent and counts every call."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from typing import Any

from arena.identity import dump, load, sha256


@dataclass
class Server:
    """``calls``: sha256 of a request -> how often it came. ``delay_s``: seconds before every answer.

    ``weights``: other ones answer otherwise, as another model behind the same address would.
    """

    url: str = ""
    delay_s: float = 0.0
    weights: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def total(self) -> int:
        """All calls so far."""
        return sum(self.calls.values())


def answer(question: dict[str, Any], seed: bytes) -> dict[str, Any]:
    """An answer that depends on the question and ``seed`` alone."""
    draw = hashlib.sha256(seed + dump(question)).digest()
    if question["type"] == "noul":
        return {"type": "noul", "noul": draw[0] / 255}
    labels = (
        list(question["criteria"]) if question["type"] == "choice" else list(map(str, range(len(question["criteria"]))))
    )
    weights = [1 + draw[i % 32] * (i % 32 + 1) for i in range(len(labels))]
    total = sum(weights)
    probabilities = {label: weight / total for label, weight in zip(labels, weights, strict=True)}
    if question["type"] == "choice":
        return {"type": "choice", "choice": max(labels, key=lambda k: probabilities[k]), "probabilities": probabilities}
    expected = sum(int(label) * p for label, p in probabilities.items())
    return {"type": "score", "score": expected, "probabilities": probabilities}


@contextmanager
def serving() -> Iterator[Server]:
    """The server, listening until the block ends."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply({"data": [{"id": "jev-latest"}]})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with state.lock:
                state.calls[sha256(body)] += 1
            sleep(state.delay_s)
            asked = load(body)
            seed = state.weights.encode() + dump(asked["state"])
            self.reply({"answers": {name: answer(question, seed) for name, question in asked["questions"].items()}})

        def reply(self, content: Any) -> None:
            data = dump(content)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """A client that was killed is the point of these tests."""

    server = Quiet(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
