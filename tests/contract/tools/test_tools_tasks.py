"""The frozen tools tasks: solvable, not by luck or laziness, repeatable, and the same in every kind of box."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.envs.check import check_session
from arena.envs.tools import open_environment
from arena.envs.tools.environment import ToolsEnvironment
from arena.envs.tools.pool import SandboxPool
from arena.envs.tools.sandbox import Backend, Limits, Sandbox
from arena.envs.tools.session import perform
from arena.envs.tools.sim import SimSandbox
from arena.envs.tools.snapshot import Snapshot
from arena.envs.tools.task import Task, read_task
from arena.identity import dump, rng_for
from arena.run.freeze_tools import FOLDER, file_bytes
from arena.run.tool_lint import ROLLOUTS, Graph, lint, session_faults, walk_faults
from arena.run.tool_search import Search
from arena.tasks import domain
from arena.tasks.definition import TRIALS_FOLDER
from arena.tasks.tools.draft import BOUNDS
from arena.tasks.tools.generate import TIERS, TRIALS, tasks, trials
from arena.types import JSON
from arena.verifiers.tools import verify

PATHS = sorted(FOLDER.glob("*.json"))
TASKS = {path.stem: read_task(path)[0] for path in PATHS}
DRAWN = {path.stem: read_task(path)[0] for path in sorted((FOLDER / TRIALS_FOLDER).glob("*.json"))}
"""The other drawings of the tasks, which further trials play."""
CELLS = sorted({(task.tier, task.family) for task in TASKS.values()})


@pytest.fixture(scope="module")
def sim() -> Iterator[ToolsEnvironment]:
    """The environment on simulated boxes."""
    environment = open_environment(sandbox="sim")
    yield environment
    asyncio.run(environment.aclose())


@pytest.fixture(scope="module")
def sim_box() -> Iterator[Sandbox]:
    """A simulated box."""
    with SimSandbox(Limits()) as box:
        yield box


def test_the_files_are_what_the_generator_writes() -> None:
    """Byte for byte, but for what was observed."""
    made = {body["id"]: body for body in tasks()}
    assert made.keys() == TASKS.keys()
    for path in PATHS:
        seen = [step.model_dump(mode="json") for step in TASKS[path.stem].recorded]
        assert path.read_bytes() == file_bytes({**made[path.stem], "recorded": seen}), path.name


def test_the_drawings_are_what_the_generator_writes() -> None:
    """Byte for byte, each of the same cell as its task, and locked under it."""
    made = {body["id"]: (of, body) for of, body in trials()}
    assert made.keys() == DRAWN.keys()
    for name, (of, body) in made.items():
        assert (FOLDER / TRIALS_FOLDER / f"{name}.json").read_bytes() == file_bytes(body), name
        one, other = TASKS[of], DRAWN[name]
        assert (one.family, one.tier, one.split) == (other.family, other.tier, other.split)
    locked = domain("tools").lock
    units = {unit: each for splits in locked.cells.values() for cell in splits.values() for unit, each in cell.items()}
    for name, unit in units.items():
        expected = [f"tools/episodes/{TRIALS_FOLDER}/{name}.t{number}.json" for number in range(1, TRIALS + 1)]
        assert list(unit.trials) == expected
        assert set(expected) <= locked.files.keys()


def test_there_are_enough_of_every_kind() -> None:
    split = Counter(task.split for task in TASKS.values())
    assert split["test"] >= 120
    assert split["dev"] >= 25
    assert len({task.family for task in TASKS.values()}) >= 6
    assert {tier for tier, _ in CELLS} == set(TIERS) == set(BOUNDS)


FEW = 20
"""Random walks of each further drawing: all 200 are walked before it is frozen."""

SHAPES = {"T0": (4, 4, 2, 2), "T1": (6, 8, 3, 5), "T2": (8, 12, 4, 10), "T3": (10, 20, 6, 15), "T4": (8, 16, 4, 12)}


@pytest.mark.parametrize("name", TASKS | DRAWN)
def test_a_task_has_the_size_of_its_tier(name: str) -> None:
    task = (TASKS | DRAWN)[name]
    fewest, most, shortest, longest = SHAPES[task.tier]
    assert fewest <= len(task.tools) <= most
    assert shortest <= min(map(len, task.oracles))
    assert len(task.oracles[0]) <= longest
    assert len(task.recorded) == (len(task.oracles[0]) if name in TASKS else 0)


def test_no_two_tasks_are_the_same() -> None:
    """Nor two drawings, whatever their split: nothing of the test split can be learnt by heart."""
    every = (*TASKS.values(), *DRAWN.values())
    seen = Counter(dump([task.goal, {k: f.model_dump() for k, f in task.files.items()}]) for task in every)
    assert max(seen.values()) == 1


def test_the_check_finds_what_is_broken(sim_box: Sandbox) -> None:
    """A task that is easy, damaged or mislabelled does not pass."""
    task = TASKS["config-t2-01"]
    easy = task.model_copy(update={"verify": {**task.verify, "final": [], "may_change": ["**"], "trace": []}})
    faults, wins = lint(easy, sim_box)
    assert wins > 50
    assert any("random walks succeed" in fault for fault in faults)
    assert any("decoy" in fault for fault in faults)
    swapped = task.model_copy(update={"oracles": task.decoys})
    assert any("oracle" in fault and "is a failure" in fault for fault in lint(swapped, sim_box)[0])
    tools = tuple(tool.model_copy(update={"risk": "read"}) for tool in task.tools)
    mislabelled = task.model_copy(update={"tools": tools})
    assert any("says that it reads" in fault for fault in lint(mislabelled, sim_box)[0])


def test_the_search_finds_a_right_walk_that_the_oracles_leave_out(sim_box: Sandbox) -> None:
    task = TASKS["backup-t3-01"]
    assert list(Search(Graph(task, sim_box)).faults()) == []
    fewer = task.model_copy(update={"oracles": task.oracles[:1]})
    found = list(Search(Graph(fewer, sim_box)).faults())
    assert any(fault.startswith("after nothing, keep comes nearer to a win") for fault in found)
    unread = {**task.verify, "trace": [each for each in task.verify["trace"] if "check" not in dump(each).decode()]}
    guessed = list(Search(Graph(task.model_copy(update={"verify": unread}), sim_box)).faults())
    assert any("the shortest win has 6 actions" in fault for fault in guessed)


@pytest.mark.parametrize("tier, family", CELLS)
def test_tasks_hold_what_they_promise(tier: str, family: str, sim_box: Sandbox, sim: ToolsEnvironment) -> None:
    """Oracles win, decoys and random walks lose, every tool runs; three sessions show the same."""
    chosen = [task for task in TASKS.values() if (task.tier, task.family) == (tier, family)]
    wins = tries = 0
    for task in chosen:
        faults, won = lint(task, sim_box)
        assert faults == [], task.id
        wins, tries = wins + won, tries + ROLLOUTS
    for task in (each for each in DRAWN.values() if (each.tier, each.family) == (tier, family)):
        graph = Graph(task, sim_box)
        assert list(walk_faults(graph)) == [], task.id
        wins, tries = wins + graph.random_wins(FEW), tries + FEW
    assert wins <= BOUNDS[tier] * tries
    assert list(Search(Graph(chosen[-1], sim_box)).faults()) == [], chosen[-1].id
    first = chosen[0]
    assert asyncio.run(session_faults(sim, str(FOLDER / f"{first.id}.json"), first)) == []


def test_the_environment_keeps_the_contract(sim: ToolsEnvironment) -> None:
    for name in ("flaky-t4-01", "logs-t2-01", "gate-t4-02"):
        assert asyncio.run(check_session(sim, str(FOLDER / f"{name}.json"), verifier=verify)) == []
    asking = open_environment(sandbox="sim", progress=True)
    assert asyncio.run(check_session(asking, str(FOLDER / "flaky-t4-01.json"), verifier=verify)) == []


def _portable(task: Task, snapshot: Snapshot) -> JSON:
    """An end state without the bytes of databases, which differ between versions of sqlite."""
    bases = {path for path, file in task.files.items() if file.sql is not None}
    names = {path.rsplit("/", 1)[-1] for path in bases}
    return {
        path: (entry.kind, entry.mode, b"" if path.rsplit("/", 1)[-1] in names else entry.data)
        for path, entry in snapshot.entries.items()
    }


def _agree(task: Task, real: Sandbox, sim_box: Sandbox) -> None:
    """The oracles' ends, the decoys and some random walks: the same deeds, states and verdicts in both boxes."""
    rng = rng_for("agree", task.id)
    options = sorted(task.options())
    walks = [
        task.oracles[0],
        *task.decoys[:3],
        *([rng.choice(options) for _ in range(task.max_steps)] for _ in range(2)),
    ]
    one, two = Graph(task, real), Graph(task, sim_box)
    for walk in walks:
        (deeds, verdict), (same_deeds, same_verdict) = one.play(walk), two.play(walk)
        assert deeds == same_deeds, (task.id, walk)
        assert verdict == same_verdict, (task.id, walk)
        at, there = one.start, two.start
        for deed in deeds:
            at, there = one.step(at, deed.tool)[0], two.step(there, deed.tool)[0]
            assert _portable(task, one._states[at[0]]) == _portable(task, two._states[there[0]]), (task.id, walk)


def _check_real(backend: Backend, tier: str, family: str, sim_box: Sandbox, count: int) -> None:
    chosen = [task for task in TASKS.values() if (task.tier, task.family) == (tier, family)][:count]
    chosen += [task for task in DRAWN.values() if (task.tier, task.family) == (tier, family)][:1]
    environment = open_environment()
    environment._pool = SandboxPool(backend)
    with backend.sandbox() as real:
        for task in chosen:
            _agree(task, real, sim_box)
            assert asyncio.run(session_faults(environment, str(_path(task)), task, times=1)) == []


def _path(task: Task) -> Path:
    return FOLDER / TRIALS_FOLDER / f"{task.id}.json" if task.id in DRAWN else FOLDER / f"{task.id}.json"


@pytest.mark.engine
@pytest.mark.parametrize("tier, family", CELLS)
def test_bubblewrap_agrees(bwrap_backend: Backend, tier: str, family: str, sim_box: Sandbox) -> None:
    """What was recorded on the simulation is what a real box shows."""
    _check_real(bwrap_backend, tier, family, sim_box, 2)


@pytest.mark.engine
@pytest.mark.parametrize("tier, family", [cell for cell in CELLS if cell[0] in ("T2", "T3", "T4")])
def test_docker_agrees(docker_backend: Backend, tier: str, family: str, sim_box: Sandbox) -> None:
    """As for bubblewrap, one task each: a container answers in 50 ms."""
    _check_real(docker_backend, tier, family, sim_box, 1)


def _end(task: Task, box: Sandbox) -> JSON:
    """What the first oracle leaves in a box that holds the fixture."""
    box.reset(task.fixture())
    uses = Counter[str]()
    for name in task.oracles[0][:-1]:
        perform(box, task.tool(name), uses[name])
        uses[name] += 1
    return _portable(task, box.snapshot())


@pytest.mark.engine
@pytest.mark.parametrize("tier", TIERS)
def test_every_task_ends_alike_in_docker_in_bubblewrap_and_in_the_simulation(
    docker_backend: Backend, bwrap_backend: Backend, sim_box: Sandbox, tier: str
) -> None:
    """A figure says its backend, and it must not depend on it: all shipped tasks, file by file."""
    chosen = [task for task in TASKS.values() if task.tier == tier]
    assert len(chosen) >= 30
    with docker_backend.sandbox() as container, bwrap_backend.sandbox() as box:
        for task in chosen:
            ends = [_end(task, each) for each in (container, box, sim_box)]
            assert ends[0] == ends[1] == ends[2], task.id
