"""What stands before every page: this machine only, GET only, nothing from elsewhere runs or loads.

A page of another site must not read runs through the browser of who looks at them: a name that resolves to
127.0.0.1 (DNS rebinding) arrives with a foreign Host header and is refused.
"""

from __future__ import annotations

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = frozenset({"127.0.0.1", "localhost"})

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """ASGI middleware: refuses foreign hosts and methods that could change something; adds ``HEADERS``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not _local(hosts[0].decode("latin-1")):
            await PlainTextResponse("arena view answers this machine only\n", 403)(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("only GET\n", 405, {"allow": "GET, HEAD"})(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _local(host: str) -> bool:
    """Whether a Host header names this machine, with any port."""
    name, _, port = host.partition(":")
    return name in HOSTS and (port == "" or (port.isascii() and port.isdecimal()))


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *(e for e in extra if e[0] not in present)]}
        await send(message)

    return sending
