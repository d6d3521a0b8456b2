"""What a page gets from its "network": the recording, and nothing else.

``SiteRouter`` serves one of our own sites from files; ``TapeRouter`` serves recorded responses in recorded
order, keyed by epoch, method, url and body; ``Recorder`` fills a tape from a live server. Whatever is not
there is a *miss*: the page sees an error, and the log of the router tells. Playwright's own HAR replay is not
used: it serves the first response for every repetition of a request.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from playwright.async_api import BrowserContext, Route, WebSocketRoute

from arena.identity import digest, sha256
from arena.types import Frozen

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
KEPT_HEADERS = frozenset({"content-type", "cache-control", "set-cookie"})
STATIC_TYPES = frozenset({"stylesheet", "script", "image", "font"})
MISSING_PAGE = "<!doctype html><title>Not in the recording</title><h1>This page is not in the recording</h1>"


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the router saw it. ``hit``: ``file``, ``tape``, ``live`` or ``miss``."""

    method: str
    url: str
    hit: str
    epoch: str = ""
    body_sha: str = ""
    document: bool = False


class Taped(Frozen):
    """One recorded response. ``static``: served in every epoch. ``body``: sha256 of the blob."""

    n: int
    epoch: str
    method: str
    url: str
    body_sha: str
    status: int
    headers: dict[str, str]
    body: str
    static: bool = False
    resource: str = ""


class Router(Protocol):
    """Serves the requests of one context and remembers them."""

    calls: list[Call]

    async def install(self, context: BrowserContext) -> None:
        """Take over every request of the context."""
        ...


def misses(router: Router) -> list[Call]:
    """The requests that the recording does not hold."""
    return [call for call in router.calls if call.hit == "miss"]


def next_epoch(epoch: str, method: str, url: str, body_sha: str) -> str:
    """The epoch after a mutating request: a hash of all mutating requests so far, in order."""
    return digest([epoch, method, url, body_sha])


def normalise(url: str, volatile: Iterable[str]) -> str:
    """A url without its fragment and without the query parameters declared volatile."""
    parts = urlsplit(url)
    dropped = set(volatile)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in dropped]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


async def _take_over(
    context: BrowserContext, handler: Callable[[Route], Coroutine[Any, Any, None]], calls: list[Call]
) -> None:
    await context.route("**/*", handler)

    async def refuse(socket: WebSocketRoute) -> None:
        calls.append(Call("WEBSOCKET", socket.url, "miss"))
        await socket.close(code=1001, reason="not recorded")

    await context.route_web_socket("**/*", refuse)


async def _miss(route: Route) -> None:
    if route.request.is_navigation_request():
        await route.fulfill(status=404, content_type="text/html; charset=utf-8", body=MISSING_PAGE)
    else:
        await route.abort("failed")


@dataclass
class SiteRouter:
    """Serves the files of a site at ``http://<name>.test/``. ``files``: path -> bytes."""

    name: str
    files: Mapping[str, bytes]
    calls: list[Call] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """Scheme and host of the site."""
        return f"http://{self.name}.test"

    async def install(self, context: BrowserContext) -> None:
        """Take over every request of the context."""
        await _take_over(context, self._serve, self.calls)

    async def _serve(self, route: Route) -> None:
        request = route.request
        parts = urlsplit(request.url)
        path = parts.path.lstrip("/") or "index.html"
        document = request.is_navigation_request()
        ours = f"{parts.scheme}://{parts.netloc}" == self.origin
        if ours and path == "favicon.ico" and path not in self.files:
            await route.fulfill(status=204)
            return
        if not ours or request.method not in SAFE_METHODS or path not in self.files:
            self.calls.append(Call(request.method, request.url, "miss", document=document))
            await _miss(route)
            return
        self.calls.append(Call(request.method, request.url, "file", document=document))
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        if kind.startswith("text/") or kind in ("application/json", "application/javascript"):
            kind += "; charset=utf-8"
        await route.fulfill(
            status=200, headers={"content-type": kind, "cache-control": "no-store"}, body=self.files[path]
        )


class TapeRouter:
    """Serves recorded responses: per key in recorded order, the last one again and again.

    ``entries``: the tape; ``blobs``: sha256 -> body; ``volatile``: names of query parameters to drop.
    """

    def __init__(self, entries: Iterable[Taped], blobs: Mapping[str, bytes], volatile: Iterable[str] = ()) -> None:
        self.calls: list[Call] = []
        self.epoch = ""
        self._blobs = blobs
        self._volatile = tuple(volatile)
        self._queues: dict[tuple[str, str, str, str], list[Taped]] = {}
        for entry in sorted(entries, key=lambda entry: entry.n):
            epoch = "*" if entry.static else entry.epoch
            key = (epoch, entry.method, normalise(entry.url, self._volatile), entry.body_sha)
            self._queues.setdefault(key, []).append(entry)

    async def install(self, context: BrowserContext) -> None:
        """Take over every request of the context."""
        await _take_over(context, self._serve, self.calls)

    def lookup(self, method: str, url: str, body: bytes) -> Taped | None:
        """The next recorded response for a request, or None: it is not in the recording."""
        url = normalise(url, self._volatile)
        body_sha = sha256(body) if body else ""
        for epoch in (self.epoch, "*"):
            queue = self._queues.get((epoch, method, url, body_sha))
            if queue:
                return queue.pop(0) if len(queue) > 1 else queue[0]
        return None

    async def _serve(self, route: Route) -> None:
        request = route.request
        body = request.post_data_buffer or b""
        body_sha = sha256(body) if body else ""
        entry = self.lookup(request.method, request.url, body)
        hit = "miss" if entry is None else "tape"
        self.calls.append(Call(request.method, request.url, hit, self.epoch, body_sha, request.is_navigation_request()))
        if request.method not in SAFE_METHODS:
            self.epoch = next_epoch(self.epoch, request.method, normalise(request.url, self._volatile), body_sha)
        if entry is None:
            await _miss(route)
        else:
            await route.fulfill(status=entry.status, headers=entry.headers, body=self._blobs[entry.body])


class Recorder:
    """Lets requests through to a live server under ``origin`` and records every answer.

    Failed attempts (no answer, aborted) are not recorded: only what a replay can serve is on the tape.
    """

    def __init__(self, origin: str, volatile: Iterable[str] = ()) -> None:
        self.calls: list[Call] = []
        self.epoch = ""
        self.origin = origin
        self.entries: list[Taped] = []
        self.blobs: dict[str, bytes] = {}
        self._volatile = tuple(volatile)

    async def install(self, context: BrowserContext) -> None:
        """Take over every request of the context."""
        await _take_over(context, self._serve, self.calls)

    async def _serve(self, route: Route) -> None:
        request = route.request
        body = request.post_data_buffer or b""
        body_sha = sha256(body) if body else ""
        parts = urlsplit(request.url)
        live = f"{parts.scheme}://{parts.netloc}" == self.origin
        epoch = self.epoch
        if request.method not in SAFE_METHODS:
            self.epoch = next_epoch(epoch, request.method, normalise(request.url, self._volatile), body_sha)
        hit = "live" if live else "miss"
        self.calls.append(Call(request.method, request.url, hit, epoch, body_sha, request.is_navigation_request()))
        if not live:
            await _miss(route)
            return
        document = request.is_navigation_request()
        response = await route.fetch(max_redirects=0) if document else await route.fetch()
        status, content = response.status, await response.body()
        headers = {name: value for name, value in response.headers.items() if name in KEPT_HEADERS}
        target = response.headers.get("location")
        if document and 300 <= status < 400 and target:
            # The browser follows a redirect past the router, so a redirect of a document becomes a page that goes on.
            where = json.dumps(urljoin(request.url, target)).replace("<", "\\u003c")
            status, content = 200, f"<!doctype html><script>location.replace({where})</script>".encode()
            headers = {**headers, "content-type": "text/html; charset=utf-8"}
        blob = sha256(content)
        self.blobs[blob] = content
        self.entries.append(
            Taped(
                n=len(self.entries),
                epoch=epoch,
                method=request.method,
                url=request.url,
                body_sha=body_sha,
                status=status,
                headers=headers,
                body=blob,
                resource=request.resource_type,
            )
        )
        await route.fulfill(status=status, headers=headers, body=content)

    def tape(self) -> list[Taped]:
        """The tape. Scripts, styles, images and fonts are epoch-free, and so is a document that was the same
        in two epochs or more; all else belongs to the epoch in which it was recorded."""
        seen: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for entry in self.entries:
            seen.setdefault((entry.method, entry.url), set()).add((entry.epoch, entry.body))
        taped = []
        for entry in self.entries:
            pairs = seen[entry.method, entry.url]
            same = len({body for _, body in pairs}) == 1 and len(pairs) > 1
            static = entry.resource in STATIC_TYPES or (entry.resource == "document" and entry.method == "GET" and same)
            taped.append(entry.model_copy(update={"static": static}))
        return taped
