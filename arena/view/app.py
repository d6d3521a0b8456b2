"""The pages: URLs to templates. A URL holds the run, the filters, the page and the decision; nothing else is kept.

Handlers are plain functions (FastAPI runs them in threads): each opens the index, asks it, closes it.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined

from arena.errors import ArenaError, UsageError
from arena.log.blobs import Blobs
from arena.log.reader import Header, RunReader
from arena.view import pages
from arena.view.filters import FORMS, LOW_CONFIDENCE, Filter
from arena.view.guard import Guard
from arena.view.index import RunIndex
from arena.view.runs import Runs, headline
from arena.view.store import PAGE, Store

_HERE = Path(__file__).parent
_SHA = re.compile(r"[0-9a-f]{64}\Z")


class _NotFound(UsageError):
    """There is nothing under this URL."""


def create_app(root: Path) -> FastAPI:
    """The viewer over the runs in ``root``."""
    viewer = Viewer(root)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    app.add_exception_handler(ArenaError, viewer.failed)
    app.add_exception_handler(FileNotFoundError, viewer.moved)
    app.add_exception_handler(404, viewer.unknown)
    pages_by_path: dict[str, Callable[..., Response]] = {
        "/": viewer.runs,
        "/run/{name}": viewer.run,
        "/run/{name}/status": viewer.status,
        "/run/{name}/decisions": viewer.decisions,
        "/run/{name}/decisions/{identity}": viewer.decision,
        "/run/{name}/decisions/{identity}/line": viewer.line,
        "/run/{name}/episodes": viewer.episodes,
        "/run/{name}/episodes/{identity}": viewer.episode,
        "/run/{name}/shots/{sha}.png": viewer.shot,
    }
    for path, handler in pages_by_path.items():
        app.add_api_route(path, handler, methods=["GET"], response_model=None)
    app.add_middleware(Guard)
    return app


class Viewer:
    """The handlers. Each opens what its URL names, and nothing stays open after it."""

    def __init__(self, root: Path) -> None:
        self._root, self._runs, self._templates = root, Runs(root), _templates()

    def _page(self, template: str, code: int = 200, **context: Any) -> HTMLResponse:
        body = self._templates.get_template(template).render(root=str(self._root), **context)
        # Names from a sandbox need not be text; a lone surrogate, which no encoding holds, is spelled out.
        return HTMLResponse(body.encode("utf-8", "backslashreplace"), code, {"cache-control": "no-cache"})

    def failed(self, request: Request, error: Exception) -> Response:
        """What cannot be shown, and why."""
        code = 404 if isinstance(error, _NotFound) else 400 if isinstance(error, UsageError) else 500
        return self._page(
            "error.html", code, title="Not found" if code == 404 else "Cannot be shown", message=str(error)
        )

    def moved(self, request: Request, error: Exception) -> Response:
        """A plain log that was packed between two reads."""
        told = "The run's log was packed while it was read. Load the page again."
        return self._page("error.html", 503, title="The run has just moved", message=told)

    def unknown(self, request: Request, error: Exception) -> Response:
        """A URL that names no page."""
        return self.failed(request, _NotFound("There is no such page."))

    def runs(self) -> Response:
        """The list of runs."""
        return self._page("runs.html", runs=self._runs.listed())

    def run(self, name: str) -> Response:
        """One run: its figures, and what its log holds."""
        opened = _Opened(self._runs, name)
        with opened.store() as store:
            return self._page("run.html", **opened.context(store), cells=_cells(store), header=opened.reader.config)

    def status(self, name: str) -> Response:
        """How far a run's log is read, as JSON."""
        opened = _Opened(self._runs, name)
        with opened.store() as store:
            return JSONResponse(opened.status(store), headers={"cache-control": "no-store"})

    def decisions(self, name: str, request: Request) -> Response:
        """A page of the decisions that a filter lets through."""
        opened, chosen = _Opened(self._runs, name), Filter.parse(request.query_params)
        with opened.store() as store:
            total = store.total(chosen)
            last = max(1, math.ceil(total / PAGE))
            number = min(_number(request, "page") or 1, last)
            return self._page(
                "decisions.html",
                **opened.context(store),
                filter=chosen,
                choices=_choices(store),
                low=LOW_CONFIDENCE,
                rows=store.page(chosen, number),
                total=total,
                number=number,
                last=last,
                first=(number - 1) * PAGE,
                here=request.query_params.get("at"),
            )

    def decision(self, name: str, identity: str, request: Request) -> Response:
        """One decision, all its forms, and the ones next to it under the filter."""
        opened, chosen = _Opened(self._runs, name), Filter.parse(request.query_params)
        whole = request.query_params.get("state") == "whole"
        with opened.store() as store:
            row = _found(store.decision(identity), opened, store, f"decision {identity}")
            spot = store.spot(chosen, row)
            return self._page(
                "decision.html",
                **opened.context(store),
                filter=chosen,
                spot=spot,
                number=1 if spot is None else math.ceil(spot.position / PAGE),
                **pages.decision_page(store, opened.reader, row, whole),
            )

    def line(self, name: str, identity: str) -> Response:
        """The log line of a decision as JSON."""
        opened = _Opened(self._runs, name)
        with opened.store() as store:
            row = _found(store.decision(identity), opened, store, f"decision {identity}")
            return Response(pages.pretty(store.lines("decisions", [row])[0]), media_type="application/json")

    def episodes(self, name: str, request: Request) -> Response:
        """The episodes of a run."""
        opened, ending = _Opened(self._runs, name), request.query_params.get("ending", "")
        with opened.store() as store:
            every = store.episodes()
            return self._page(
                "episodes.html",
                **opened.context(store),
                rows=[row for row in every if not ending or row["ending"] == ending],
                endings=sorted({row["ending"] for row in every}),
                ending=ending,
            )

    def episode(self, name: str, identity: str, request: Request) -> Response:
        """One episode, step by step."""
        opened, at = _Opened(self._runs, name), _number(request, "step")
        with opened.store() as store:
            row = _found(store.episode(identity), opened, store, f"episode {identity}")
            found = pages.episode_page(store, row, at)
            replay = f"{opened.reader.folder}:{row['unit']}"
            return self._page("episode.html", **opened.context(store), **found, replay=replay)

    def shot(self, name: str, sha: str) -> Response:
        """A screenshot, by the sha256 of its bytes."""
        folder = self._runs.folder(name)
        data = pages.screenshot(Blobs(folder / "blobs"), sha) if folder is not None and _SHA.match(sha) else None
        if data is None:
            raise _NotFound("There is no such screenshot, or its bytes are not what its name says.")
        return Response(data, media_type="image/png", headers={"cache-control": "private, max-age=31536000, immutable"})


class _Opened:
    """A run that a page is about, its index brought up to date as far as a reader is willing to wait."""

    def __init__(self, runs: Runs, name: str) -> None:
        folder = runs.folder(name)
        if folder is None:
            raise _NotFound(f"There is no run {name!r} in {runs.root}.")
        self.name, self.reader = name, RunReader(folder)
        self.index: RunIndex = runs.index(name, folder)
        self.index.refresh()

    def store(self) -> Store:
        return Store(self.index)

    def context(self, store: Store) -> dict[str, Any]:
        """What every page of a run shows."""
        summary = self.reader.summary
        return {
            "run": headline(self.name, Header(self.reader.folder, self.reader.config, summary)),
            "summary": summary,
            "status": self.status(store),
            "fault": self.index.error,
        }

    def status(self, store: Store) -> dict[str, Any]:
        """How far reading is; ``live``: more may come."""
        state = store.state()
        return {
            "decisions": state.decisions,
            "episodes": state.episodes,
            "fraction": state.fraction,
            "reading": not state.complete and self.index.error is None,
            "live": not self.reader.finished,
        }


def _found(row: sqlite3.Row | None, opened: _Opened, store: Store, what: str) -> sqlite3.Row:
    if row is None:
        state = store.state()
        yet = "" if state.complete else f" (its log is being read: {100 * state.fraction:.0f} %)"
        raise _NotFound(f"Run {opened.name} holds no {what}{yet}.")
    return row


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise UsageError(f"{name}={given!r}: expected a number")
    return int(given)


def _cells(store: Store) -> list[dict[str, Any]]:
    """Counts of the index per domain, tier and form."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in store.counts():
        key = (row["domain"], row["tier"], row["form"])
        cell = found.setdefault(key, {"n": 0, "hits": 0, "wrong": 0, "invalid": 0, "flipped": 0})
        for name in cell:
            cell[name] += row[name] or 0
    return [{"domain": d, "tier": t, "form": f, **cell} for (d, t, f), cell in found.items()]


def _choices(store: Store) -> dict[str, Any]:
    """What the filters may be set to in this run, and how many decisions the usual ones hold."""
    rows = store.counts()
    totals = {name: sum(row[name] or 0 for row in rows) for name in ("n", "wrong", "invalid", "flipped", "unsure")}
    return {
        **{f"{name}s": list(dict.fromkeys(row[name] for row in rows)) for name in ("domain", "tier", "type", "form")},
        "slots": max((row["slots"] or 0 for row in rows), default=0),
        "totals": totals,
    }


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("arena.view", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["forms"] = FORMS
    environment.filters |= {
        "p": lambda value: "–" if value is None else f"{value:.3f}",
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f}",
        "count": lambda value: "–" if value is None else f"{value:,}",
        "ms": lambda value: "–" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}",
    }
    return environment
