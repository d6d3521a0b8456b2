"""Raw formulas against figures that others published, read from the shared data.

Named, because the last digit depends on it: Brier = fsum over items of compensated sums over options;
mean confidence and ECE = confidences added in row order; percentiles = linear, as (1 - f) a + f b.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.reliability.metrics.columns import INVALID
from arena.reliability.metrics.confusion import confusion
from arena.reliability.metrics.credit import level_credit
from arena.reliability.metrics.latency import percentile
from arena.reliability.metrics.majority import majority
from arena.reliability.metrics.rows import from_rows
from arena.reliability.metrics.summary import summarise
from arena.reliability.probes import probe_result


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("family", [None, "extraction", "fact", "intent", "tool_selection"])
def test_shisa_to_the_last_digit(shared_data: Path, family: str | None) -> None:
    folder = shared_data / "shisa_jevbench_de1"
    published = json.loads((folder / "easy.published.json").read_text(encoding="utf-8"))
    if family is None:
        expected = published | {"p50_s": published["latency_p50_s"], "p95_s": published["latency_p95_s"]}
    else:
        expected = published["per_family"][family]
    items = [row for row in lines(folder / "easy.jsonl") if family in (None, row["family"])]
    assert all(row["correct"] for row in items)  # so that the prediction is the gold
    scored = from_rows(
        {
            "type": "choice",
            "question": row["family"],
            "probabilities": row["probs_as_returned"],
            "committed": row["predicted"],
            "gold": row["predicted"],
            "latency_s": row["latency_s"],
        }
        for row in items
    )
    summary = summarise(scored)
    assert summary.n == expected["n"]
    assert summary.accuracy == 1.0
    assert summary.brier == expected["brier_mean"]
    assert summary.ece == expected["ece"]
    assert summary.latency_s["p50"] == expected["p50_s"]
    assert summary.latency_s["p95"] == expected["p95_s"]
    assert percentile(scored.latency_s, 0.95, "nearest-rank") != expected["p95_s"]


def flagged(name: str, row: dict[str, Any]) -> bool:
    """The decision from the scores: (no, yes) of a noul against its threshold, or the mode of three."""
    scores = row["option_scores"]
    if name == "tri-choice":
        return int(np.argmax(scores)) != 0
    said_yes = scores[1] >= row["threshold_sent"]
    return not said_yes if row.get("negated") else said_yes


@pytest.mark.parametrize(
    ("name", "recall", "false_block"),
    [
        ("bool-positive", 0.0, 0.0),
        ("bool-threshold-0.5", 0.1612903225806452, 0.0),
        ("tri-choice", 0.7419354838709677, 0.45454545454545453),
        ("bool-negated", 0.8387096774193549, 1.0),
    ],
)
def test_phocinae_recall_and_false_blocks(shared_data: Path, name: str, recall: float, false_block: float) -> None:
    folder = shared_data / "phocinae_safety53"
    gold = {row["id"]: int(row["gold"]["safety_gold"]) for row in lines(folder / "safety-53.gold.jsonl")}
    header, *predictions = lines(folder / f"safety-53.{name}.pred.jsonl")
    assert header["record"] == "header"
    truth = np.array([gold[row["id"]] for row in predictions])
    said = np.array([int(flagged(name, row)) for row in predictions])
    table = confusion(truth, said, 2)
    counts = header["recorded_counts"]
    assert table.tolist() == [[counts["tn"], counts["fp"], 0], [counts["fn"], counts["tp"], 0]]
    assert table[1, 1] / table[1].sum() == pytest.approx(recall, abs=1e-15)
    assert table[0, 1] / table[0].sum() == pytest.approx(false_block, abs=1e-15)


def vector(answer: dict[str, Any], keys: list[str]) -> list[float]:
    if answer["type"] == "noul":
        return [1 - answer["noul"], answer["noul"]]
    return [answer["probabilities"][key] for key in keys]


def commit(answer: dict[str, Any], keys: list[str]) -> int:
    """Mode, first of ascending keys on a tie; noul: yes iff p >= .5."""
    return int(answer["noul"] >= 0.5) if answer["type"] == "noul" else int(np.argmax(vector(answer, keys)))


@pytest.mark.parametrize(
    ("other", "drift", "largest"), [("predictions-run2", 0.0023, 0.02), ("predictions-shuffled", 0.0043, 0.04)]
)
def test_jevassert_repeat_and_shuffle(shared_data: Path, other: str, drift: float, largest: float) -> None:
    folder = shared_data / "jevassert_demo" / "demo-triage"
    levels = ["low", "normal", "high", "unknown"]
    base, changed = ({r["case_id"]: r["answers"] for r in lines(folder / f"{n}.jsonl")} for n in ("predictions", other))
    first, second, p, q = [], [], np.zeros((30, 4)), np.zeros((30, 4))
    hits = {name: Counter[str]() for name in ("base", "other")}
    for case in lines(folder / "cases.jsonl"):
        for name, expected in case["expect"].items():
            a, b = base[case["id"]][name], changed[case["id"]][name]
            keys = sorted(a.get("probabilities", []))
            for which, answer in (("base", a), ("other", b)):
                said: Any = commit(answer, keys)
                meant = {"noul": bool(said), "choice": (keys or [""])[said % max(1, len(keys))], "score": levels[said]}
                hits[which][name] += meant[answer["type"]] == expected
            for target, row in ((p, a), (q, b)):
                target[len(first), : len(vector(row, keys))] = vector(row, keys)
            first.append(commit(a, keys))
            second.append(commit(b, keys))
    result = probe_result(other, np.array(first), np.array(second), p, q)
    assert (result.comparable, result.flips) == (30, 0)
    assert result.drift == pytest.approx(drift, abs=5e-5)
    assert result.largest_drift == pytest.approx(largest)
    for which in hits.values():
        assert dict(which) == {"refund_request": 10, "queue": 10, "urgency": 8}


def test_mindbreaker_rotation_pair(shared_data: Path) -> None:
    runs = shared_data / "mindbreaker81_sysone" / "results"
    straight, rotated = (
        json.loads((runs / name / "adv2.json").read_text(encoding="utf-8"))["cases"]
        for name in ("jev_luna_decisions", "jev_luna_decisions_d1")
    )
    keys = ["admin", "bronchoscopia", "consulta_externa", "urgencias"]
    first, second, p, q = [], [], [], []
    for case in straight:
        for run, committed, probabilities in ((straight, first, p), (rotated, second, q)):
            answer = run[case].get("answers", {}).get("department")
            committed.append(INVALID if answer is None else keys.index(answer["choice"]))
            probabilities.append([0.0] * 4 if answer is None else vector(answer, keys))
    result = probe_result("rotation", np.array(first), np.array(second), np.array(p), np.array(q))
    assert (result.asked, result.comparable, result.flips) == (10, 9, 2)
    assert result.drift == pytest.approx(0.1378, abs=5e-5)
    assert result.largest_drift == pytest.approx(0.50)


def mindbreaker_rows(shared_data: Path, number: int, rule: str) -> list[dict[str, Any]]:
    folder = shared_data / "mindbreaker81_sysone"
    golds = json.loads((folder / "data" / f"adversarial{number if number > 1 else ''}_cases.json").read_text("utf-8"))
    cases = json.loads((folder / "results" / "clef_27b" / f"adv{number}.json").read_text("utf-8"))["cases"]
    rows = []
    for case, gold in golds.items():
        for name, answer in cases[case]["answers"].items():
            kind = answer["type"]
            yes = answer.get("noul")
            options = {"false": 1 - yes, "true": yes} if kind == "noul" else answer["probabilities"]
            if kind == "score" and rule == "rounded":
                said: Any = min(len(options) - 1, max(0, round(answer["score"])))
            elif kind == "score":
                said = min(int(k) for k, v in options.items() if v == max(options.values()))
            else:
                said = yes >= 0.5 if kind == "noul" else answer["choice"]
            rows.append(
                {"type": kind, "question": name, "probabilities": options, "committed": said, "gold": gold[name]}
            )
    return rows


@pytest.mark.parametrize(("rule", "total"), [("rounded", 80.0), ("mode", 77.5)])
def test_mindbreaker_clef_total(shared_data: Path, rule: str, total: float) -> None:
    percents, departments = [], 0
    for number in (1, 2):
        scored = from_rows(mindbreaker_rows(shared_data, number, rule))
        credit = level_credit(scored.kind, scored.committed, scored.correct, scored.accepted, scored.offsets)
        percents.append(100 * credit.reshape(10, 5).mean(axis=1).mean())
        departments += int(scored.correct[scored.question.codes == scored.question.names.index("department")].sum())
    assert departments == 9
    assert np.mean(percents) == pytest.approx(total)


def test_mindbreaker_majority_row(shared_data: Path) -> None:
    percents, departments = [], 0
    for number in (1, 2):
        scored = from_rows(mindbreaker_rows(shared_data, number, "rounded"))
        earned = 0.0
        for code, name in enumerate(scored.question.names):
            part = scored.select(scored.question.codes == code)
            best = majority(int(part.kind[0]), part.accepted, part.label, part.offsets)
            assert best is not None
            earned += best.credit
            departments += best.hits if name == "department" else 0
        percents.append(100 * earned / len(scored))
    assert departments == 17
    assert np.mean(percents) == pytest.approx(79.0)
