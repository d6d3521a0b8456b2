"""A board as a static site: files by path, the same bytes for the same logs.

Pages load nothing from elsewhere and work from a folder or any host. Names, options, states and answers are strangers'
text: templates escape them, a content security policy allows no inline script, and the one page with a script of its
own (Vega) takes data only as JSON that cannot close its element.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from arena.errors import MissingNeed
from arena.identity import PROTOCOL
from arena.leaderboard import exhibits, plots, render, table
from arena.leaderboard.board import Board
from arena.leaderboard.entries import Entry
from arena.leaderboard.plots import Figure
from arena.leaderboard.reliability import invariance

TEMPLATES = Path(__file__).with_name("templates")
MAIN_PLOT = "plots/capability-reliability"

Files = Iterator[tuple[str, bytes]]
"""(path relative to the site, content)."""


def files(board: Board) -> Files:
    """Every file of the site, in the order of writing.

    Raises:
        MissingNeed: jinja2, altair or vl-convert is not installed.
    """
    plots.altair()
    pages = _environment()
    data = board.data()
    rows = data["rows"]
    yield "assets/style.css", (TEMPLATES / "style.css").read_bytes()
    yield "assets/board.js", (TEMPLATES / "board.js").read_bytes()
    yield "assets/icon.svg", (TEMPLATES / "icon.svg").read_bytes()
    parquet = yield from _data(data)
    figure = plots.capability_reliability(rows)
    drawn = render.svg(figure)
    yield from _main_plot(pages, figure, drawn)
    for entry in board.entries:
        yield from _model(pages, entry, data["domains"])
    narrow = plots.capability_reliability(rows, width=300, height=330)
    yield (
        "index.html",
        _page(
            pages,
            "index.html",
            root="",
            rows=[_shown(row) for row in rows],
            domains=data["domains"],
            date=data["date"],
            columns=table.columns(data["domains"]),
            plot=figure,
            plot_wide=_inline(figure, drawn, "wide"),
            plot_narrow=_inline(narrow, render.svg(narrow), "narrow"),
            parquet=parquet,
        ),
    )


def _environment() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise MissingNeed("publishing needs jinja2", hint="pip install 'system-one-arena[report]'") from error
    pages = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters["form"] = table.number
    return pages


def _page(pages: Any, template: str, **context: Any) -> bytes:
    text: str = pages.get_template(template).render(protocol=PROTOCOL, **context)
    # A lone surrogate is valid in JSON text and has no UTF-8 form.
    return text.encode("utf-8", "replace")


def _inline(figure: Figure, drawn: str, name: str) -> Any:
    from markupsafe import Markup

    return Markup(render.inline(figure, drawn, name))  # built by an XML writer, which escaped it


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    dirty = any(run["git"] is not None and run["git"]["dirty"] for run in row["runs"])
    return {**row, "dirty": dirty}


def _data(data: Mapping[str, Any]) -> Any:
    flat = table.records(data["rows"], table.columns(data["domains"]))
    yield "data/leaderboard.json", orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n"
    yield "data/leaderboard.csv", table.to_csv(flat)
    parquet = table.to_parquet(flat)
    if parquet is not None:
        yield "data/leaderboard.parquet", parquet
    return parquet is not None


def _main_plot(pages: Any, figure: Figure, drawn: str) -> Files:
    yield f"{MAIN_PLOT}.svg", drawn.encode()
    yield f"{MAIN_PLOT}.png", render.png(figure)
    yield f"{MAIN_PLOT}.json", render.spec_json(figure)
    yield f"{MAIN_PLOT}.html", offline_plot(pages, figure)


def offline_plot(pages: Any, figure: Figure) -> bytes:
    """The interactive plot as one page that holds all it needs; its scripts are allowed by their hashes."""
    from markupsafe import Markup

    options = {"actions": False, "renderer": "svg"}
    start = f'vegaEmbed("#plot", {render.script_json(figure.spec)}, {render.script_json(options)});'
    # A script element ends at this sequence whatever surrounds it; in Vega it occurs in string literals only.
    bundle = render.bundle().replace("</script", "<\\/script")
    hashes = " ".join(f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in (bundle, start))
    return _page(pages, "plot.html", figure=figure, bundle=Markup(bundle), start=Markup(start), hashes=Markup(hashes))


def _model(pages: Any, entry: Entry, domains: Sequence[Mapping[str, Any]]) -> Files:
    row, slug = entry.row, entry.slug
    figures: list[tuple[str, Figure]] = [("spectrum", plots.spectrum(row, domains))]
    if row["calibration"]:
        figures.append(("calibration", plots.reliability_diagram(row)))
    figures.append(("tiers", plots.accuracy_bars(row)))
    if entry.flips.map:
        figures.append(("orders", plots.order_map(entry.flips.map)))
    shown = [(name, figure, render.svg(figure)) for name, figure in figures]
    for name, _, drawn in shown:
        yield f"plots/{slug}-{name}.svg", drawn.encode()
    wrong = [exhibits.page(one, "wrong") for one in entry.evidence.wrong]
    invalid = [exhibits.page(one, "invalid") for one in entry.evidence.invalid]
    flipped = [exhibits.page(one.exhibit, "flipped", one.orders) for one in entry.flips.worst]
    yield from _decisions(pages, entry, [*wrong, *invalid, *flipped])
    yield (
        f"models/{slug}.html",
        _page(
            pages,
            "model.html",
            root="../",
            row=_shown(row),
            figures=[(name, figure, _inline(figure, drawn, name)) for name, figure, drawn in shown],
            side=_side(row["reliability"] or {}),
            invariant=invariance(row["reliability"] or {}, row["model_card"]),
            wrong=[_line(page) for page in wrong],
            invalid=[_line(page) for page in invalid],
            flipped=[
                {**_line(page), "moved": one.moved, "orders": len(one.orders)}
                for page, one in zip(flipped, entry.flips.worst, strict=True)
            ],
            card=json.dumps(row["model_card"], indent=2, ensure_ascii=False),
        ),
    )


def _line(page: exhibits.Page) -> dict[str, Any]:
    """A decision in the list on its model's page."""
    shown, row = page.context, page.context["row"]
    return {
        "id": page.identity,
        "instructions": shown["instructions"],
        "committed": shown["committed"] or "",
        "gold": shown["gold"],
        "place": shown["place"],
        "confidence": row["confidence"],
        "reason": row["invalid_reason"] or "",
    }


def _decisions(pages: Any, entry: Entry, shown: Sequence[exhibits.Page]) -> Files:
    for number, page in enumerate(shown):
        folder = f"decisions/{entry.slug}"
        image = None
        if page.image is not None:
            image = f"{page.identity}.{page.image[0]}"
            yield f"{folder}/{image}", page.image[1]
        yield (
            f"{folder}/{page.identity}.html",
            _page(
                pages,
                "decision.html",
                root="../../",
                name=entry.row["name"],
                slug=entry.slug,
                image=image,
                before=shown[number - 1].identity if number else None,
                after=shown[number + 1].identity if number + 1 < len(shown) else None,
                **page.context,
            ),
        )


def _side(found: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """What stands beside S and N (protocol 5) and what probes found (protocol 6), where the run measured it."""
    flips, null = found.get("flips") or {}, found.get("null") or {}
    drift, spread = found.get("drift") or {}, found.get("accuracy_over_orders") or {}
    known = [
        ("Noise floor (3 repeats)", found.get("noise_floor")),
        ("Flip rate", flips.get("rate")),
        ("Drift (total variation)", drift.get("mean")),
        ("Stable under all orders", found.get("share_stable")),
        ("Accuracy, worst order", spread.get("low")),
        ("Accuracy, mean of orders", spread.get("mean")),
        ("Accuracy, best order", spread.get("high")),
        ("p, chosen slots uniform", (found.get("chosen_slots") or {}).get("p")),
        ("None when removed", null.get("hit")),
        ("None when intact", null.get("false")),
        ("AUROC, explicit", found.get("auroc_explicit")),
        ("AUROC, implicit", found.get("auroc_implicit")),
    ]
    if (probes := found.get("probes")) is not None:
        known += [(f"Flips under {each['probe']}", each["flip_rate"]) for each in probes["probes"]]
        known += [("Attack success", (probes["attack"] or {}).get("rate")), ("Robustness", probes["robustness"])]
    return [(told, value) for told, value in known if value is None or isinstance(value, float | int)]
