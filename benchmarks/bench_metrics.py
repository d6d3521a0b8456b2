"""Time and peak memory of scoring 1,000,000 decisions of two models.

Every metric of protocol 3 for both models, then 1,000 bootstrap resamples, paired by decision, of their
accuracy, Brier score and NLL. Target: under 20 s and 1.5 GB on 2 cores.

    python benchmarks/bench_metrics.py [--decisions N] [--resamples B] [--check]

Prints one JSON object; with ``--check`` the exit code is 1 when the target is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

import numpy as np

from arena.leaderboard.statistics import bootstrap_means
from arena.reliability.metrics.accuracy import correct
from arena.reliability.metrics.columns import CHOICE, NOUL, SCORE, Codes, Scored
from arena.reliability.metrics.mae import expected_level
from arena.reliability.metrics.summary import per_item, summarise

SECONDS, GIGABYTES = 20.0, 1.5
OPTIONS = {CHOICE: 6, SCORE: 5, NOUL: 2}


def decisions(n: int, seed: int) -> Scored:
    """n made-up decisions (60 % choice, 20 % score, 20 % noul), 1 % invalid; gold depends on n only."""
    items, answers = np.random.default_rng(0), np.random.default_rng(seed)
    kind = items.choice(3, n, p=[0.6, 0.2, 0.2]).astype(np.int8)
    sizes = np.array([OPTIONS[k] for k in range(3)])[kind]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    first, m = offsets[:-1], int(offsets[-1])
    gold = (items.random(n) * sizes).astype(np.int32)
    accepted = np.zeros(m, dtype=np.bool_)
    accepted[first + gold] = True
    valid = answers.random(n) > 0.01
    probabilities = answers.random(m) ** 3
    probabilities[first + gold] += answers.random(n)
    probabilities /= np.repeat(np.add.reduceat(probabilities, first), sizes)
    probabilities[np.repeat(~valid, sizes)] = 0.0
    top = np.maximum.reduceat(probabilities, first)
    position = np.where(probabilities == np.repeat(top, sizes), np.arange(m) - np.repeat(first, sizes), 255)
    committed = np.where(valid, np.minimum.reduceat(position, first), -1).astype(np.int32)
    scores = valid & (kind == SCORE)
    return Scored(
        kind=kind,
        question=Codes(kind.astype(np.int32), ("choice", "score", "noul")),
        valid=valid,
        correct=correct(committed, accepted, offsets),
        confidence=np.where(valid, np.minimum(top, 1.0), np.nan),
        committed=committed,
        gold=gold,
        expected=np.where(scores, expected_level(probabilities, offsets), np.nan),
        group=np.arange(n, dtype=np.int32),
        latency_s=answers.gamma(2.0, 0.05, n),
        cost_usd=np.full(n, 1e-5),
        offsets=offsets,
        probabilities=probabilities,
        accepted=accepted,
        label=(np.arange(m) - np.repeat(first, sizes)).astype(np.int32),
        labels=tuple(tuple(str(k) for k in range(OPTIONS[code])) for code in range(3)),
        slices={"kind": Codes(kind.astype(np.int32), ("choice", "score", "noul"))},
    )


def main() -> int:
    """Run the benchmark; 0 unless ``--check`` finds the target missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    models = [decisions(arguments.decisions, seed) for seed in (1, 2)]
    started, busy = time.perf_counter(), time.process_time()
    summaries = [summarise(model) for model in models]
    scored = time.perf_counter()
    columns = [column for model in models for column in per_item(model).values()]
    draws = bootstrap_means(np.stack(columns, axis=1), resamples=arguments.resamples)
    difference = draws.difference(0, 3)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    report = {
        "decisions": arguments.decisions,
        "models": len(models),
        "resamples": arguments.resamples,
        "metrics_s": round(scored - started, 2),
        "bootstrap_s": round(done - scored, 2),
        "total_s": round(done - started, 2),
        "cpu_s": round(time.process_time() - busy, 2),
        "peak_rss_gb": round(peak, 3),
        "accuracy": [summary.accuracy for summary in summaries],
        "accuracy_difference": [difference.estimate, difference.low, difference.high],
    }
    print(json.dumps(report, indent=1))
    missed = done - started >= SECONDS or peak >= GIGABYTES
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
