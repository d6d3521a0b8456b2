"""A run's decisions for other tools: csv, parquet, a Hugging Face dataset folder.

One row a decision, one column a field; what is nested (state, question, answers, gold) is JSON text, because
questions differ in shape from row to row. The log itself stays the only source: figures are computed from it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from arena.errors import MissingNeed, UsageError
from arena.identity import dump
from arena.log.reader import Row, RunReader

TEXT = (
    *("protocol", "run", "id", "case", "ask", "domain", "tier", "suite", "split", "unit", "group", "episode", "phase"),
    *("question_name", "question_type", "question_id", "presented_id", "state_id", "model", "model_version"),
    *("outcome", "error", "invalid_reason", "lane", "started_at"),
)
JSON_TEXT = ["state", "question", "variant", "response", "answer", "committed", "gold", "usage"]
WHOLE = ["step", "repeat", "retry"]
REAL = ["confidence", "provider_confidence", "latency_ms", "server_latency_ms", "cost_usd"]
TRUTH = ["valid", "renormalized", "correct", "cached"]
COLUMNS = (*TEXT, *JSON_TEXT, *WHOLE, *REAL, *TRUTH)
BATCH = 10_000

FORMATS = ("csv", "parquet", "hf")


def flat(row: Row, reader: RunReader) -> dict[str, Any]:
    """One decision as plain columns."""
    cells = {name: row.get(name) for name in (*TEXT, *WHOLE, *REAL, *TRUTH)}
    cells["question_type"] = row["question"]["type"]
    for name in JSON_TEXT:
        value = reader.state(row) if name == "state" else row.get(name)
        cells[name] = None if value is None else dump(value).decode("utf-8", "surrogatepass")
    return cells


def export(reader: RunReader, kind: str, out: Path) -> list[Path]:
    """Write the decisions of a run under ``out`` (a new folder, or one without these files); the files written.

    Raises:
        UsageError: an unknown format, or a file that is there already.
        MissingNeed: parquet is asked for and pyarrow is not installed.
    """
    if kind not in FORMATS:
        raise UsageError(f"format {kind!r} is none of {', '.join(FORMATS)}", hint="arena export --help")
    writers = {"csv": _csv, "parquet": _parquet, "hf": _hf}
    return writers[kind](reader, out)


def _rows(reader: RunReader) -> Iterator[dict[str, Any]]:
    for row in reader.rows():
        yield flat(row, reader)


def _free(path: Path) -> Path:
    if path.exists():
        raise UsageError(f"{path} is there already", hint="choose another -o")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _csv(reader: RunReader, out: Path) -> list[Path]:
    path = _free(out / "decisions.csv")
    with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_rows(reader))
    return [path]


def _parquet(reader: RunReader, out: Path, name: str = "decisions.parquet") -> list[Path]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingNeed(f"parquet needs pyarrow: {error}", hint="pip install 'system-one-arena[report]'") from error
    path = _free(out / name)
    types = {
        **dict.fromkeys(WHOLE, pa.int64()),
        **dict.fromkeys(REAL, pa.float64()),
        **dict.fromkeys(TRUTH, pa.bool_()),
    }
    schema = pa.schema([(column, types.get(column, pa.string())) for column in COLUMNS])
    rows = _rows(reader)
    with pq.ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    return [path]


def _hf(reader: RunReader, out: Path) -> list[Path]:
    """``data/SPLIT.parquet`` and a README whose header tells ``datasets.load_dataset`` what lies where."""
    split = str(reader.config["resolved"]["split"])
    card = _free(out / "README.md")
    found = _parquet(reader, out, f"data/{split}.parquet")
    card.write_text(_card(reader, split), "utf-8")
    return [card, *found]


def _card(reader: RunReader, split: str) -> str:
    config = reader.config
    resolved, imported = config["resolved"], config.get("imported")
    source = f"Imported ({imported['format']}) from files of others." if imported else "Evaluated with arena."
    return "\n".join(
        [
            "---",
            f"pretty_name: {dump('Decisions of ' + resolved['model']).decode()}",
            "configs:",
            "- config_name: default",
            "  data_files:",
            f"  - split: {split}",
            f"    path: data/{split}.parquet",
            "---",
            "",
            f"# Decisions of {resolved['model']}",
            "",
            f"One row a decision, protocol {resolved['protocol']}. {source} Nested fields are JSON text.",
            "The licence is that of the suites asked.",
            "",
        ]
    )
