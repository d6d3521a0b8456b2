"""The board's columns, once: the page, the CSV and the Parquet file show the same ones.

A column takes its value from a row of the board's data; nothing is computed here. A value that was not measured is
None: *pending* on the page, blank in the files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Value = float | str | None


def number(value: float, form: str) -> str:
    """A number as text; what rounds to nothing has no sign.

    >>> number(-0.004, ".1f"), number(-0.06, ".1f")
    ('0.0', '-0.1')
    """
    text = f"{value:{form}}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


@dataclass(frozen=True, slots=True)
class Column:
    """``key`` names it in files; ``title`` and ``told`` on the page. ``form``: a format of its number, "" for text.

    ``value`` and ``bounds`` (95 % interval) read a row. ``scale`` turns the value into what is shown.
    ``empty``: what a missing value says on the page.
    """

    key: str
    title: str
    told: str
    value: Callable[[Row], Value]
    form: str = ""
    bounds: Callable[[Row], Sequence[float] | None] | None = None
    scale: float = 1.0
    empty: str = "pending"

    def shown(self, row: Row) -> str:
        """The value as the page shows it; "" where there is none."""
        value = self.value(row)
        return "" if value is None else self._number(value)

    def interval(self, row: Row) -> str:
        """``low-high`` as the page shows it; "" where there is none."""
        found = self.bounds(row) if self.bounds is not None else None
        return "" if not found else f"{self._number(found[0])} – {self._number(found[1])}"

    def _number(self, value: Value) -> str:
        return number(value * self.scale, self.form) if isinstance(value, int | float) else str(value)


def _reliability(name: str) -> Column:
    told = {
        "R": "Reliability: the harmonic mean of S and N, 0 to 1",
        "S": "Order stability: agreement of the decision over 12 option orders, above chance",
        "N": "Null detection: says none when the right option is gone, and only then",
    }[name]

    def value(row: Row) -> Value:
        return None if row["reliability"] is None else row["reliability"][name]

    def bounds(row: Row) -> Sequence[float] | None:
        return None if row["reliability"] is None else row["reliability"].get(f"{name}_ci95")

    return Column(name, name, told, value, ".3f", bounds)


def _skill(domain: Row) -> Column:
    def cell(row: Row) -> Row | None:
        place = (domain["name"], domain["hardest"])
        return next((cell for cell in row["cells"] if (cell["domain"], cell["tier"]) == place), None)

    def value(row: Row) -> Value:
        found = cell(row)
        return None if found is None else found["skill"]

    def bounds(row: Row) -> Sequence[float] | None:
        found = cell(row)
        return None if found is None else found["skill_ci95"]

    told = f"Skill above the floor at the hardest tier of {domain['name']} ({domain['hardest']}), x 100"
    return Column(f"skill_{domain['name']}", domain["name"], told, value, ".1f", bounds, 100.0)


def columns(domains: Sequence[Row]) -> tuple[Column, ...]:
    """All columns but the model's name, which leads every row."""
    return (
        Column(
            "C",
            "C",
            "Capability: mean skill above the floor over all domains at their hardest tiers, x 100",
            lambda row: row["capability"],
            ".1f",
            lambda row: row["capability_ci95"],
        ),
        *map(_reliability, "RSN"),
        *map(_skill, domains),
        Column("validity", "Valid", "Valid answers of all asked, percent", lambda r: r["validity"], ".1f", scale=100.0),
        Column(
            "coverage",
            "Coverage",
            "Valid answers of the decisions that count for capability, percent",
            lambda row: row["coverage"],
            ".1f",
            scale=100.0,
        ),
        _milliseconds("p50", "Median latency"),
        _milliseconds("p95", "95th percentile of latency"),
        Column(
            "cost_usd",
            "USD",
            "Cost of the decisions that count for C; a dash when no price is set",
            lambda r: r["cost_usd"],
            ".4f",
            empty="–",
        ),
        Column("date", "Date", "Day of the latest run in the row", lambda row: row["date"][:10]),
        Column("protocol", "Protocol", "Version of the rules behind every number", lambda row: row["protocol"]),
        Column("verified", "Verified", "How we know the adapter reaches the model", lambda row: row["verified"]),
    )


def _milliseconds(name: str, what: str) -> Column:
    told = f"{what} in ms, client clock, serial lane only"
    return Column(f"latency_{name}_s", name, told, lambda row: row["latency_s"][name], ".1f", scale=1e3, empty="–")


FLAGS = ("baseline", "degenerate", "imported", "front")


def records(rows: Sequence[Row], shown: Sequence[Column]) -> list[dict[str, Any]]:
    """Flat rows for files: values at full precision, intervals as ``KEY_low`` and ``KEY_high``."""
    found = []
    for row in rows:
        record: dict[str, Any] = {"model": row["name"], "version": row["version"]}
        for column in shown:
            record[column.key] = column.value(row)
            if column.bounds is not None:
                low, high = column.bounds(row) or (None, None)
                record |= {f"{column.key}_low": low, f"{column.key}_high": high}
        record |= {name: row[name] for name in FLAGS}
        record |= {
            "partial": "; ".join(row["partial"]),
            "supervised": row["supervised"],
            "ties": row["ties"],
            "runs": " ".join(run["run"] for run in row["runs"]),
        }
        found.append(record)
    return found


def to_csv(flat: Sequence[Mapping[str, Any]]) -> bytes:
    """CSV, blank where a value is missing. Text that a spreadsheet would run as a formula is defused."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, fieldnames=list(flat[0]), lineterminator="\n")
    writer.writeheader()
    for record in flat:
        writer.writerow({key: _defused(value) for key, value in record.items()})
    return out.getvalue().encode()


def _defused(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def to_parquet(flat: Sequence[Mapping[str, Any]]) -> bytes | None:
    """Parquet, or None where pyarrow is not installed (the same rows are in the CSV)."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        return None
    out = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([dict(record) for record in flat]), out)
    return out.getvalue()
