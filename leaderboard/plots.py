"""Figures of the board as Vega-Lite specs: capability against reliability, spectrum, calibration, accuracy by tier.

A figure is data (``spec``) with its words (``title``, ``told``: what a reader who cannot see it is told). Nothing is
drawn that was not measured: where no row has R yet, the first figure is the C axis alone and says so. Colours are
named in ``INK`` so that a page can map them to its theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.errors import MissingNeed
from arena.leaderboard.labels import place_labels

INK = {
    "text": "#1c2430",
    "soft": "#5a6675",
    "line": "#dfe4ea",
    "mark": "#1f5fd0",
    "front": "#0b7a53",
    "grey": "#8a94a3",
    "bad": "#b3261e",
    "paper": "#ffffff",
}
"""Colours of the light theme by role; each stands for its role, so a page may replace it."""

HEAT = ("#f3f6fb", "#d5e2f7", "#a9c6f0", "#74a3e4", "#3f7ad0", "#1b4fa3")
"""Skill 0..1 in six steps, light to dark."""

FONT = "Helvetica Neue, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: Vega-Lite ``spec``, ``title``, ``told`` (its text alternative), ``note`` (what is missing, or "").

    ``links``: description of a mark -> slug of the model page it opens.
    """

    spec: dict[str, Any]
    title: str
    told: str
    note: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


def altair() -> Any:
    """The altair module.

    Raises:
        MissingNeed: it is not installed.
    """
    try:
        import altair as module
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingNeed(
            f"plots need altair and vl-convert-python: {error}", hint="pip install 'system-one-arena[report]'"
        ) from error
    return module


def capability_reliability(rows: Sequence[Mapping[str, Any]], width: int = 980, height: int = 440) -> Figure:
    """C against R with interval whiskers and the front; the C axis alone while no row has R."""
    measured = [row for row in rows if row["capability"] is not None]
    both = [row for row in measured if row["reliability"] is not None and row["reliability"]["R"] is not None]
    if both:
        return _scatter(both, [row for row in rows if row not in both], width, height)
    if measured:
        return _axis(measured, [row for row in rows if row not in measured], width)
    return _nothing(rows, width)


def described(row: Mapping[str, Any]) -> str:
    """One line on a row: what its mark says on hover."""
    text = f"{row['name']}: C {row['capability']:.1f}{_bounds(row['capability_ci95'], '.1f')}"
    found = row["reliability"]
    if found is not None and found["R"] is not None:
        text += f", R {found['R']:.3f}{_bounds(found.get('R_ci95'), '.3f')}, S {found['S']:.3f}, N {found['N']:.3f}"
    return text + (" (baseline)" if row["baseline"] else " (on the front)" if row["front"] else "")


def _bounds(interval: Sequence[float] | None, form: str) -> str:
    return "" if not interval else f" [{interval[0]:{form}}, {interval[1]:{form}}]"


def _colour(row: Mapping[str, Any]) -> str:
    return INK["grey"] if row["baseline"] else INK["front"] if row["front"] else INK["mark"]


def _scatter(
    rows: Sequence[Mapping[str, Any]], without: Sequence[Mapping[str, Any]], width: int, height: int
) -> Figure:
    alt = altair()
    points = [_xy(row) for row in rows]
    c_top = _top((p["c_high"] for p in points), 100.0)
    r_top = _top((100 * p["r_high"] for p in points), 100.0) / 100
    place_labels(points, (c_top, r_top), (width, height), INK["grey"])
    x = alt.X("c:Q", title="Capability C", scale=alt.Scale(domain=[0, c_top]))
    y = alt.Y("r:Q", title="Reliability R", scale=alt.Scale(domain=[0, r_top]))
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(alt.InlineData(points))
    line = [point for point in points if point["front"]]
    layers = [
        base.mark_rule(strokeWidth=1.3, opacity=0.55, aria=False).encode(
            alt.X("c_low:Q", scale=alt.Scale(domain=[0, c_top])), alt.X2("c_high:Q"), y, colour
        ),
        base.mark_rule(strokeWidth=1.3, opacity=0.55, aria=False).encode(
            x, alt.Y("r_low:Q"), alt.Y2("r_high:Q"), colour
        ),
        alt.Chart(alt.InlineData(line))
        .mark_line(color=INK["front"], strokeWidth=1.6, strokeDash=[5, 4], aria=False)
        .encode(x, y, order=alt.Order("c:Q")),
        base.mark_point(filled=True, size=95, opacity=1).encode(x, y, colour, **_told_channels(alt)),
        alt.Chart(alt.InlineData([p for p in points if p["label"]]))
        .mark_text(align="left", baseline="middle", fontSize=12, aria=False)
        .encode(
            alt.X("label_c:Q", scale=alt.Scale(domain=[0, c_top])),
            alt.Y("label_r:Q", scale=alt.Scale(domain=[0, r_top])),
            alt.Text("label:N"),
            alt.Color("ink:N", scale=None),
        ),
    ]
    names = ", ".join(row["name"] for row in without)
    return Figure(
        spec=finished(alt.layer(*layers).properties(width=width, height=height)),
        title="Capability against reliability",
        told="; ".join(described(row) for row in rows),
        note=f"Not drawn, because C or R is pending: {names}." if names else "",
        links={described(row): row["slug"] for row in rows},
    )


def _xy(row: Mapping[str, Any]) -> dict[str, Any]:
    found = row["reliability"]
    c = row["capability_ci95"] or [row["capability"]] * 2
    r = found.get("R_ci95") or [found["R"]] * 2
    return {
        "name": row["name"],
        "c": row["capability"],
        "c_low": c[0],
        "c_high": c[1],
        "r": found["R"],
        "r_low": r[0],
        "r_high": r[1],
        "front": row["front"],
        "colour": _colour(row),
        "ink": INK["soft"] if row["baseline"] else INK["text"],
        "told": described(row),
    }


def _top(highs: Iterable[float], most: float) -> float:
    """Upper end of an axis that starts at 0: the next ten above all intervals, at least a fifth of the scale."""
    return min(most, max(0.2 * most, 10 * math.ceil((max(highs) + 0.02 * most) / 10)))


def _axis(rows: Sequence[Mapping[str, Any]], without: Sequence[Mapping[str, Any]], width: int) -> Figure:
    """C alone, one line per row: nothing stands in for an R that was not measured."""
    alt = altair()
    points = [
        {
            "name": row["name"],
            "c": row["capability"],
            "low": (row["capability_ci95"] or [row["capability"]] * 2)[0],
            "high": (row["capability_ci95"] or [row["capability"]] * 2)[1],
            "colour": _colour(row),
            "told": described(row),
        }
        for row in rows
    ]
    scale = alt.Scale(domain=[0, _top((p["high"] for p in points), 100.0)])
    y = alt.Y(
        "name:N", sort=[p["name"] for p in points], title=None, axis=alt.Axis(labelLimit=150, ticks=False, grid=True)
    )
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(alt.InlineData(points))
    low = alt.X("low:Q", scale=scale, title="Capability C")
    chart = alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.5, aria=False).encode(low, alt.X2("high:Q"), y, colour),
        base.mark_point(filled=True, size=95, opacity=1).encode(
            alt.X("c:Q", scale=scale, title="Capability C"), y, colour, **_told_channels(alt)
        ),
    )
    names = ", ".join(row["name"] for row in without)
    return Figure(
        spec=finished(chart.properties(width=width - 110, height=34 * len(points))),
        title="Capability, reliability pending",
        told="; ".join(described(row) for row in rows),
        note="Reliability is pending: no run here has measured S, N and R, so there is no second axis yet."
        + (f" C is pending, so not drawn: {names}." if names else ""),
        links={described(row): row["slug"] for row in rows},
    )


def _nothing(rows: Sequence[Mapping[str, Any]], width: int) -> Figure:
    alt = altair()
    pending = sorted({name for row in rows for name in row["pending"]})
    text = f"C is pending for every row (not measured: {', '.join(pending)})"
    chart = (
        alt.Chart(alt.InlineData([{"text": text}])).mark_text(fontSize=13, color=INK["soft"]).encode(alt.Text("text:N"))
    )
    return Figure(finished(chart.properties(width=width, height=90)), "Capability pending", text, text + ".")


def spectrum(row: Mapping[str, Any], domains: Sequence[Mapping[str, Any]]) -> Figure:
    """Skill of every domain and tier as a heat map; a cell that was not run is blank and says pending."""
    alt = altair()
    found = {(cell["domain"], cell["tier"]): cell["skill"] for cell in row["cells"]}
    cells = []
    for each in domains:
        for tier in each["tiers"]:
            skill = found.get((each["name"], tier["name"]))
            step = None if skill is None else min(max(int(skill * len(HEAT)), 0), len(HEAT) - 1)
            cells.append(
                {
                    "domain": each["name"],
                    "tier": tier["name"],
                    "fill": INK["paper"] if step is None else HEAT[step],
                    "ink": INK["soft"] if step is None else "#ffffff" if step >= 4 else "#10203a",
                    "text": "pending" if skill is None else f"{round(100 * skill):d}",
                }
            )
    tiers = sorted({cell["tier"] for cell in cells})
    base = alt.Chart(alt.InlineData(cells))
    x = alt.X(
        "tier:N",
        sort=tiers,
        title="Tier (hardest on the right)",
        axis=alt.Axis(orient="top", domain=False, labelAngle=0),
    )
    y = alt.Y("domain:N", title=None, axis=alt.Axis(domain=False))
    heat = base.mark_rect(stroke=INK["line"], cornerRadius=3, aria=False).encode(x, y, alt.Color("fill:N", scale=None))
    text = base.mark_text(fontSize=12, aria=False).encode(x, y, alt.Text("text:N"), alt.Color("ink:N", scale=None))
    told = ", ".join(f"{c['domain']} {c['tier']} {c['text']}" for c in cells)
    size = {"width": max(160, 62 * len(tiers)), "height": 42 * len(domains)}
    ragged = len(cells) < len(tiers) * len(domains)
    note = "Blank: the domain has no such tier." if ragged else ""
    return Figure(
        finished(alt.layer(heat, text).properties(**size)), "Spectrum: skill x 100 by domain and tier", told, note
    )


def reliability_diagram(row: Mapping[str, Any]) -> Figure:
    """Accuracy against stated confidence in ten bins; the area of a point is its share of decisions."""
    alt = altair()
    total = sum(b["n"] for b in row["calibration"])
    bins = [{**b, "share": b["n"] / total} for b in row["calibration"]]
    unit = alt.Scale(domain=[0, 1])
    line = alt.Chart(alt.InlineData([{"a": 0, "b": 0}, {"a": 1, "b": 1}]))
    x = alt.X("confidence:Q", scale=unit, title="Confidence")
    y = alt.Y("accuracy:Q", scale=unit, title="Accuracy")
    base = alt.Chart(alt.InlineData(bins))
    size = alt.Size("share:Q", scale=alt.Scale(domain=[0, 1], range=[25, 900]), legend=None)
    chart = alt.layer(
        line.mark_line(color=INK["grey"], strokeDash=[4, 4], strokeWidth=1.2, aria=False).encode(
            alt.X("a:Q", scale=unit), alt.Y("b:Q", scale=unit)
        ),
        base.mark_line(color=INK["mark"], strokeWidth=1.6, aria=False).encode(x, y, order=alt.Order("confidence:Q")),
        base.mark_point(filled=True, color=INK["mark"], opacity=0.85, aria=False).encode(x, y, size),
    )
    told = "; ".join(f"confidence {b['confidence']:.2f}: accuracy {b['accuracy']:.2f} of {b['n']}" for b in bins)
    return Figure(finished(chart.properties(width=270, height=250)), "Reliability diagram", told or "no valid answer")


def accuracy_bars(row: Mapping[str, Any]) -> Figure:
    """Accuracy (or success) of every cell with its interval; the tick is the floor of the best trivial policy."""
    alt = altair()
    cells = [
        {
            "cell": f"{cell['domain']} {cell['tier']}",
            "accuracy": cell["accuracy"],
            "floor": cell["floor"],
            "low": cell["ci95"][0] if cell["ci95"] else None,
            "high": cell["ci95"][1] if cell["ci95"] else None,
        }
        for cell in row["cells"]
    ]
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(alt.InlineData(cells))
    axis = alt.Axis(labelLimit=120, ticks=False, domain=False, grid=False)
    y = alt.Y("cell:N", sort=[cell["cell"] for cell in cells], title=None, axis=axis)
    x = alt.X("accuracy:Q", scale=scale, title="Accuracy or success (tick: floor)")
    chart = alt.layer(
        base.mark_bar(color=HEAT[2], height=15, aria=False).encode(x, y),
        base.mark_rule(color=INK["mark"], strokeWidth=2, aria=False).encode(
            alt.X("low:Q", scale=scale, title=""), alt.X2("high:Q"), y
        ),
        base.mark_tick(color=INK["text"], thickness=2, height=21, aria=False).encode(
            alt.X("floor:Q", scale=scale, title=""), y
        ),
    )
    told = "; ".join(f"{c['cell']}: {c['accuracy']:.3f}, floor {_known(c['floor'])}" for c in cells)
    return Figure(finished(chart.properties(width=230, height=30 * len(cells))), "Accuracy by tier", told)


def order_map(lines: Sequence[Mapping[str, Any]]) -> Figure:
    """Items by option orders: where the decision left the canonical one. Items that flipped most are on top."""
    alt = altair()
    fills = {"same": HEAT[1], "flipped": INK["bad"], "invalid": INK["grey"], "alone": HEAT[0]}
    cells = [
        {"item": number, "order": order + 1, "fill": fills[kind]}
        for number, line in enumerate(lines)
        for order, kind in enumerate(line["cells"])
    ]
    orders = max(len(line["cells"]) for line in lines)
    high = max(1, min(9, 420 // len(lines)))  # whole pixels: no seams between rows
    x = alt.X("order:O", title="Option order (1: canonical)", axis=alt.Axis(orient="top", labelAngle=0, domain=False))
    y = alt.Y("item:O", title=f"{len(lines)} items", axis=alt.Axis(labels=False, ticks=False, domain=False))
    chart = alt.Chart(alt.InlineData(cells)).mark_rect(aria=False).encode(x, y, alt.Color("fill:N", scale=None))
    flipped = sum(line["cells"].count("flipped") for line in lines)
    compared = flipped + sum(line["cells"][1:].count("same") for line in lines)
    touched = sum(line["moved"] > 0 for line in lines)
    told = f"{flipped} of {compared} decisions left the canonical one, in {touched} of {len(lines)} items"
    size = {"width": 22 * orders, "height": high * len(lines)}
    return Figure(finished(chart.properties(**size)), "Decisions by option order", told, f"Red: {told}.")


def _known(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _told_channels(alt: Any) -> dict[str, Any]:
    return {"tooltip": alt.Tooltip("told:N", title=" "), "description": alt.Description("told:N")}


def finished(chart: Any) -> dict[str, Any]:
    """The spec with the house style."""
    axis = {
        "labelColor": INK["soft"],
        "titleColor": INK["text"],
        "gridColor": INK["line"],
        "domainColor": INK["line"],
        "tickColor": INK["line"],
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 9,
        "labelPadding": 5,
        "tickCount": 6,
    }
    styled = chart.configure(font=FONT, background=INK["paper"]).configure_view(strokeWidth=0).configure_axis(**axis)
    spec: dict[str, Any] = styled.to_dict()
    return spec
