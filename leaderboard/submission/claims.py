"""What a bundle claims of a run: worked out from its header and recomputed summary, when written and when checked."""

from __future__ import annotations

from arena.identity import digest
from arena.leaderboard.audit import Audited
from arena.leaderboard.submission.models import RUNS, CellClaim, RunClaim


def claim_of(run: Audited) -> RunClaim:
    """What a bundle says of a run, from its recomputed summary and its header."""
    config = run.reader.config
    versions: dict[str, str] = {}
    for row in run.reader.rows():
        if row["gold"] is not None:
            versions[row["domain"]] = row["gold"]["version"]
    return RunClaim(
        folder=f"{RUNS}/{config['run']}",
        run=config["run"],
        config=digest(run.resolved, 64),
        lane=run.resolved["lane"],
        started_at=config["started_at"],
        decisions=run.summary["counts"]["decisions"],
        cells=tuple(CellClaim(domain=c["domain"], tier=c["tier"], n=c["n"]) for c in run.summary["cells"]),
        reliability=run.summary["reliability"] is not None,
        gold_versions=dict(sorted(versions.items())),
    )
