"""Measure the floors of an episode domain and freeze them beside its lock (a developer's tool).

``python -m arena.run.floors DOMAIN [--tier T]`` plays the trivial policies of protocol 4 through the same
runner as any model: random under 20 seeds, always-first, give-up. The result names the recordings it was
measured on; after these change it must be measured again.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import orjson

from arena.identity import load
from arena.log.reader import RunReader
from arena.log.writer import write_atomic
from arena.run.config import Operation, RunConfig
from arena.run.evaluate import Reporter, evaluate
from arena.tasks import domain
from arena.tasks.floors import floors_path, recordings_digest

SEEDS = 20
ENVIRONMENT: dict[str, dict[str, Any]] = {
    "web/replay-v1": {"mode": "free", "screenshots": False},
    "tools/sandbox-v1": {"sandbox": "sim"},
}
"""How an environment is opened so that an episode is played by the policy alone.

Tools are played on the simulation: a trivial policy draws from the id of the ask, never from what it shows, and the
contract tests of the tasks hold that every kind of box gives the same deeds, states and verdicts.
"""


def policies() -> list[tuple[str, int]]:
    """(policy, seed) of every play."""
    return [("always-first", 0), ("give-up", 0), *(("random", seed) for seed in range(1, SEEDS + 1))]


async def measure(name: str, tier: str, sessions: int) -> dict[str, Any]:
    """Episodes played and won per policy on one tier, and the recordings they were played on."""
    played: Counter[str] = Counter()
    won: Counter[str] = Counter()
    env = str(domain(name).env)
    for policy, seed in policies():
        with TemporaryDirectory() as folder:
            config = RunConfig(
                model=policy,
                model_options={"seed": seed} if seed else {},
                domains=(name,),
                tiers=(tier,),
                environment={env: ENVIRONMENT[env]},
            )
            result = await evaluate(config, Operation(out=Path(folder) / "run", sessions=sessions), Reporter())
            assert result.folder is not None
            for row in RunReader(result.folder).episode_rows():
                if row["ending"] not in ("success", "failure"):
                    raise SystemExit(f"{row['unit']} under {policy} was not judged: {row['error']}")
                played[policy] += 1
                won[policy] += row["ending"] == "success"
        print(f"{tier} {policy} {seed}: won {won[policy]} of {played[policy]}", file=sys.stderr, flush=True)
    return {
        "recordings": recordings_digest(name, tier),
        "policies": {policy: {"played": played[policy], "won": won[policy]} for policy in sorted(played)},
    }


def main() -> None:
    """Command line of the tool. Goes from the hardest tier down and writes after each."""
    parser = ArgumentParser(prog="python -m arena.run.floors", description="Measure the floors of an episode domain.")
    parser.add_argument("domain")
    parser.add_argument("--tier", action="append", help="only this tier; repeat")
    parser.add_argument("--sessions", type=int, default=1)
    given = parser.parse_args()
    each, path = domain(given.domain), floors_path(given.domain)
    tiers = load(path.read_bytes())["tiers"] if path.is_file() else {}
    for tier in given.tier or reversed(each.tier_names):
        tiers[tier] = anyio.run(measure, given.domain, tier, given.sessions)
        found = {"domain": given.domain, "suite": each.suite_id, "seeds": SEEDS, "tiers": dict(sorted(tiers.items()))}
        write_atomic(path, orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
