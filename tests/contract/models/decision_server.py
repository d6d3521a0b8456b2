"""A decision server that plays a script of replies, faults included, on a real socket."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass
class Step:
    """One scripted reply. ``drip_s``: seconds between the bytes of the body; ``half``: promise more than is sent."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    drip_s: float = 0.0
    half: bool = False


@dataclass
class FaultServer:
    """A server on this machine that plays ``steps`` (the last one repeats) and keeps what it was sent."""

    url: str
    steps: list[Step] = field(default_factory=list)
    probe: Step = field(default_factory=lambda: Step(404, b'{"error": "not found"}'))
    calls: list[tuple[str, bytes, dict[str, str]]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def play(self, *steps: Step) -> FaultServer:
        """Replace the script and forget the calls."""
        self.steps = list(steps)
        self.calls.clear()
        return self


def handler(state: FaultServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(state.probe)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.calls.append((self.path, body, {key.lower(): value for key, value in self.headers.items()}))
            self._send(state.steps[min(len(state.calls), len(state.steps)) - 1])

        def _send(self, step: Step) -> None:
            self.send_response(step.status)
            for name, value in {"content-type": "application/json", **step.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(step.body) + (100 if step.half else 0)))
            self.end_headers()
            if step.half:
                self.close_connection = True
            if not step.drip_s:
                self.wfile.write(step.body)
                return
            with suppress(OSError):
                for byte in step.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if state.closing.wait(step.drip_s):
                        return

        def log_message(self, *args: object) -> None:
            pass

    return Handler
