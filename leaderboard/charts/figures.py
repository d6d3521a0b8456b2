"""What ``arena plot`` draws beyond the board's own figures: risk against coverage, confusion, paired differences.

A figure is a Vega-Lite spec with its words; the board's module gives colours and style. Data come from columns and
results that scoring computes, never from anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena.leaderboard.plots import HEAT, INK, Figure, altair, finished
from arena.reliability.metrics.risk_coverage import RiskPoint

CELL = 46
INVALID = "invalid"


def risk_coverage(points: Sequence[RiskPoint]) -> Figure:
    """Error rate among the most confident 10 % .. 100 % of all decisions asked."""
    alt = altair()
    rows = [{"coverage": point.coverage, "risk": point.risk} for point in points]
    top = max(0.1, *(row["risk"] for row in rows))
    x = alt.X("coverage:Q", scale=alt.Scale(domain=[0, 1]), title="Coverage (most confident share)")
    y = alt.Y("risk:Q", scale=alt.Scale(domain=[0, min(1.0, 1.1 * top)]), title="Risk (error rate)")
    base = alt.Chart(alt.InlineData(rows))
    chart = alt.layer(
        base.mark_line(color=INK["mark"], strokeWidth=1.6, aria=False).encode(x, y),
        base.mark_point(filled=True, color=INK["mark"], size=55, opacity=1, aria=False).encode(x, y),
    )
    told = "; ".join(f"coverage {row['coverage']:.1f}: risk {row['risk']:.3f}" for row in rows)
    return Figure(finished(chart.properties(width=380, height=260)), "Risk against coverage", told)


def confusion(tables: Sequence[Mapping[str, Any]]) -> Figure:
    """Which label was committed where which was gold, one heat map a question; shade is the share of the row."""
    alt = altair()
    charts, told = [], []
    for each in tables:
        columns = [*each["labels"], INVALID]
        cells = []
        for gold, counts in zip(each["labels"], each["counts"], strict=True):
            total = sum(counts)
            for label, count in zip(columns, counts, strict=True):
                step = min(int(len(HEAT) * count / total), len(HEAT) - 1) if total else 0
                cells.append(
                    {
                        "gold": gold,
                        "committed": label,
                        "count": count,
                        "fill": HEAT[step] if count else INK["paper"],
                        "ink": "#ffffff" if step >= 4 else INK["text"],
                    }
                )
                if count:
                    told.append(f"{each['question']}: gold {gold}, committed {label}, {count}")
        base = alt.Chart(alt.InlineData(cells))
        x = alt.X("committed:N", sort=columns, title="committed", axis=alt.Axis(orient="top", labelAngle=-40))
        y = alt.Y("gold:N", sort=each["labels"], title="gold")
        heat = base.mark_rect(stroke=INK["line"], aria=False).encode(x, y, alt.Color("fill:N", scale=None))
        text = base.mark_text(fontSize=12, aria=False).encode(x, y, alt.Text("count:Q"), alt.Color("ink:N", scale=None))
        size = {"width": CELL * len(columns), "height": CELL * len(each["labels"])}
        charts.append(alt.layer(heat, text).properties(title=each["question"], **size))
    chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=3)
    return Figure(finished(chart), "Confusion", "; ".join(told))


def differences(found: Mapping[str, Any]) -> Figure:
    """Paired differences in accuracy, A minus B, overall and in every suite and question, with their intervals."""
    alt = altair()
    rows = [_difference("all", found)]
    for name in ("suite", "question"):
        rows += [_difference(value, part) for value, part in found["slices"][name].items()]
    names = [row["name"] for row in rows]
    reach = max(0.05, *(abs(row[key]) for row in rows for key in ("low", "high")))
    scale = alt.Scale(domain=[-1.05 * reach, 1.05 * reach])
    base = alt.Chart(alt.InlineData(rows))
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=260, ticks=False))
    x = alt.X("difference:Q", scale=scale, title="Accuracy, A minus B")
    colour = alt.Color("colour:N", scale=None)
    chart = alt.layer(
        alt.Chart(alt.InlineData([{"zero": 0}]))
        .mark_rule(color=INK["grey"], strokeDash=[4, 4], aria=False)
        .encode(alt.X("zero:Q", scale=scale, title="")),
        base.mark_rule(strokeWidth=2, opacity=0.6, aria=False).encode(
            alt.X("low:Q", scale=scale, title=""), alt.X2("high:Q"), y, colour
        ),
        base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(x, y, colour),
    )
    told = "; ".join(f"{r['name']}: {r['difference']:+.3f} [{r['low']:+.3f}, {r['high']:+.3f}]" for r in rows)
    note = f"A: {found['a']['model']}. B: {found['b']['model']}. Grey: the interval holds 0."
    sized = chart.properties(width=420, height=26 * len(rows))
    return Figure(finished(sized), "Paired differences in accuracy", told, note)


def _difference(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    row = part["differences"]["accuracy"]
    low, high = row["ci"]
    tied = low <= 0 <= high
    colour = INK["grey"] if tied else INK["mark"]
    return {"name": name, "difference": row["difference"], "low": low, "high": high, "colour": colour}
