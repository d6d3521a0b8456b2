"""Bake a walk into an episode file, or refuse it with the reason.

1. Play the walk and record every state; 2. play it again and again: every hash must be the same; 3. execute
the options that look equivalent (same role and name, or same link target) to find the gold *set* of each step;
4. test the verifier by mutation: gold must pass; the empty walk, each walk with one step left out and single
wrong siblings must fail. ``python -m arena.envs.web.bake WALKS OUT`` bakes a folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from arena.envs.web.browser import SharedBrowser, versions
from arena.envs.web.episode import GoldStep, Manifest, Recording, Site, read_recording, write_recording
from arena.envs.web.mutate import Trial, check_verifier, equivalents
from arena.envs.web.observe import Observation
from arena.envs.web.options import ENDINGS, Option
from arena.envs.web.player import Play, State
from arena.envs.web.recipe import script
from arena.envs.web.router import Recorder, Router, SiteRouter, Taped, TapeRouter
from arena.envs.web.walk import Walk, read_walk, resolve
from arena.errors import ArenaError, Failure, UsageError
from arena.identity import digest, sha256
from arena.registry import Registry
from arena.session import Verifier
from arena.types import JSON

REPLAYS = 3
TIER_LIMITS = {"T1": (5, 30), "T2": (10, 120)}
"""Tier -> most actions, most options at a step."""

JUDGES: Registry[Verifier] = Registry("verifier", "arena.verifiers", {"web": "arena.verifiers.web:verify"})
"""Verifiers by id: a sibling is named in data, never imported."""


class Refused(UsageError):
    """A walk that makes no episode; the message says why."""


@dataclass(frozen=True)
class Source:
    """Where a walk is recorded: files of a site, or a tape."""

    start: str
    network: Callable[[], Router]
    site: Site | None = None
    tape: tuple[Taped, ...] = ()
    blobs: dict[str, bytes] | None = None


def site_source(walk: Walk, sites: Path, out: Path) -> Source:
    """The site of an app walk. ``sites``: the folder of all sites; ``out``: where the episode will lie.

    Raises:
        UsageError: there is no such site.
    """
    folder = sites / walk.site
    if not folder.is_dir():
        known = sorted(path.name for path in sites.iterdir() if path.is_dir()) if sites.is_dir() else []
        raise UsageError(f"{walk.id}: no site {walk.site!r} in {sites}; there are {', '.join(known) or 'none'}")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    root = Path(os.path.relpath(sites, out)).as_posix()
    site = Site(name=walk.site, root=root, files={name: sha256(data) for name, data in files.items()})
    return Source(f"http://{walk.site}.test{walk.start}", lambda: SiteRouter(walk.site, files), site)


async def record_tape(walk: Walk, origin: str, browser: SharedBrowser) -> Source:
    """Play a walk against a live server at ``origin`` (scheme and host) and keep its answers as a tape.

    Raises:
        Refused: a step has no option, or a request left the server.
    """
    recorder = Recorder(origin, walk.volatile)
    start = origin + walk.start
    await _gold(walk, lambda: Play(walk, browser, lambda: recorder, start))
    tape, blobs = tuple(recorder.tape()), dict(recorder.blobs)
    return Source(start, lambda: TapeRouter(tape, blobs, walk.volatile), tape=tape, blobs=blobs)


@dataclass(frozen=True)
class _Played:
    states: tuple[State, ...]
    actions: tuple[Option, ...]
    end_state: JSON
    histories: tuple[tuple[str, ...], ...]


async def _gold(walk: Walk, new_play: Callable[[], Play]) -> _Played:
    play = new_play()
    states: list[State] = []
    actions: list[Option] = []
    histories: list[tuple[str, ...]] = []
    try:
        state = await play.begin()
        for number, step in enumerate(walk.step, 1):
            option = resolve(step, state.observation, state.table)
            if isinstance(option, str):
                raise Refused(f"{walk.id}: step {number}: {option}")
            states.append(state)
            actions.append(option)
            histories.append(tuple(play.history))
            if option.op in ENDINGS:
                break
            state, note = await play.do(option)
            if note and note.startswith("could not"):
                raise Refused(f"{walk.id}: step {number}: {note}")
        states.append(state)
        end_state = await play.end_state()
        _check_quiet(walk, play, [state.observation for state in states])
    finally:
        await play.close()
    return _Played(tuple(states), tuple(actions), end_state, tuple(histories))


def _check_quiet(walk: Walk, play: Play, seen: Sequence[Observation]) -> None:
    assert play.page is not None
    if missed := play.missed():
        raise Refused(f"{walk.id}: {len(missed)} requests are not in the recording: {', '.join(missed[:3])}")
    if refused := sorted({name for observation in seen for name in observation.refused}):
        raise Refused(f"{walk.id}: the page uses {', '.join(refused)}, which cannot be replayed")
    if play.page.settler.noisy:
        raise Refused(f"{walk.id}: the page never comes to rest (a request or a navigation that does not end)")


def _check_tier(walk: Walk, played: _Played) -> None:
    actions = sum(option.op not in ENDINGS for option in played.actions)
    most = max(len(state.table.options) for state in played.states)
    steps, options = TIER_LIMITS.get(walk.tier, (actions, most))
    if actions > steps or most > options:
        raise Refused(
            f"{walk.id}: {actions} actions and up to {most} options; {walk.tier} has at most {steps} and {options}"
        )


def _first_difference(a: _Played, b: _Played) -> str | None:
    for t, (one, two) in enumerate(zip(a.states, b.states, strict=True)):
        first, second = one.observation, two.observation
        if first.sem_hash == second.sem_hash:
            continue
        for name in ("url", "title", "text"):
            if getattr(first, name) != getattr(second, name):
                lines = zip(getattr(first, name).split("\n"), getattr(second, name).split("\n"), strict=False)
                pair = next(((x, y) for x, y in lines if x != y), ("", ""))
                return f"state {t}: {name} {pair[0][:80]!r} became {pair[1][:80]!r}"
        return f"state {t}: the elements differ"
    return None


async def bake(
    walk: Walk, source: Source, browser: SharedBrowser, *, times: int = REPLAYS, origin: dict[str, JSON] | None = None
) -> Recording:
    """Make the recording of a walk. ``times``: how often it is played before hashes count as equal.
    ``origin``: what it was made of, kept in the manifest (see ``made_of``).

    Raises:
        Refused: the walk makes no episode; says why. Failure: ``env``; the browser failed.
    """

    def new_play() -> Play:
        return Play(walk, browser, source.network, source.start)

    judge = JUDGES.get("web")
    played = await _gold(walk, new_play)
    _check_tier(walk, played)
    for _ in range(times - 1):
        if difference := _first_difference(played, await _gold(walk, new_play)):
            raise Refused(f"{walk.id}: two replays differ: {difference}")
    claim = walk.verify["claim"]
    verdict = judge(walk.verify, played.end_state, claim)
    if verdict.ending != "success":
        raise Refused(f"{walk.id}: the verifier fails the gold walk: {'; '.join(verdict.reasons)}")
    if verdict.key_nodes not in (None, 1.0):
        raise Refused(f"{walk.id}: the gold walk reaches only {verdict.key_nodes:.0%} of the key nodes")
    trial = Trial(walk, played.states, played.actions, new_play)
    golds, graph = [], []
    for t in range(len(played.actions)):
        accepted, rows = await equivalents(trial, t)
        golds.append(accepted)
        graph += rows
    if faults := await check_verifier(trial, golds, judge):
        raise Refused(f"{walk.id}: the verifier does not tell wrong from right: {'; '.join(faults)}")
    return _recording(walk, source, played, golds, graph, origin or {})


def _recording(
    walk: Walk,
    source: Source,
    played: _Played,
    golds: Sequence[tuple[str, ...]],
    graph: list[dict[str, JSON]],
    origin: dict[str, JSON],
) -> Recording:
    steps = tuple(
        GoldStep(
            t=t,
            sem_hash=state.observation.sem_hash,
            url=state.observation.url,
            title=state.observation.title,
            text=state.observation.text,
            viewport=state.observation.viewport,
            table=state.table,
            gold=gold,
            action=option.id,
            history=history,
        )
        for t, (state, option, gold, history) in enumerate(
            zip(played.states[: len(played.actions)], played.actions, golds, played.histories, strict=True)
        )
    )
    end = played.states[-1].observation
    manifest = Manifest(
        id=walk.id,
        kind="tape" if source.site is None else "app",
        goal=walk.goal,
        tier=walk.tier,
        split=walk.split,
        group=walk.group,
        licence=walk.licence,
        seed=walk.seed,
        params=walk.params,
        values=walk.values,
        start=source.start,
        site=source.site,
        frame=walk.frame,
        volatile=walk.volatile,
        baked_with=versions(),
        source=origin,
    )
    return Recording(
        manifest=manifest,
        steps=steps,
        graph=tuple(graph),
        conditions=walk.verify,
        end_state=played.end_state,
        final={"sem_hash": end.sem_hash, "url": end.url, "title": end.title},
        tape=source.tape,
        blobs=source.blobs or {},
    )


def made_of(walk: Path) -> dict[str, JSON]:
    """What an episode is made of beside its site: sha256 of the walk, and a digest of the page scripts."""
    scripts = {name: sha256(script(name).encode()) for name in ("seed.js", "clamp.js", "observe.js")}
    return {"walk": sha256(walk.read_bytes()), "scripts": digest(scripts)}


def _is_current(path: Path, source: Source, origin: dict[str, JSON]) -> bool:
    """Whether an episode file was baked from just this walk, site, page scripts, browser and fonts."""
    try:
        manifest = read_recording(path).manifest
    except ArenaError:
        return False
    return manifest.source == origin and manifest.site == source.site and manifest.baked_with == versions()


def bake_walks(
    walks: Path, out: Path, *, only: Sequence[str] = (), say: Callable[[str], None] = print
) -> dict[str, str]:
    """Bake every walk (``*.toml``) of a folder; sites lie in ``sites`` beside it. Walk id -> why it was refused.

    An episode file whose walk is refused is removed: the folder holds what passes, and nothing older.

    Raises:
        UsageError: there is no walk. MissingNeed: no browser.
    """
    paths = sorted(path for path in walks.glob("*.toml") if not only or path.stem in only)
    if not paths:
        raise UsageError(f"{walks} holds no walk (*.toml){' named ' + ', '.join(only) if only else ''}")
    out.mkdir(parents=True, exist_ok=True)
    return asyncio.run(_bake_all(paths, out, walks.parent / "sites", say))


async def _bake_all(paths: Sequence[Path], out: Path, sites: Path, say: Callable[[str], None]) -> dict[str, str]:
    browser, refused = SharedBrowser(), {}
    try:
        for path in paths:
            begun = perf_counter()
            target = out / f"{path.stem}.web.zip"
            try:
                walk = read_walk(path)
                source, origin = site_source(walk, sites, out), made_of(path)
                if _is_current(target, source, origin):
                    say(f"kept    {path.stem}")
                    continue
                recording = await bake(walk, source, browser, origin=origin)
                write_recording(recording, target)
                most = max(len(step.table.options) for step in recording.steps)
                size = f"{len(recording.steps)} steps, up to {most} options"
                say(f"baked   {path.stem}: {size}, {perf_counter() - begun:.1f} s")
            except (ArenaError, Failure) as error:
                target.unlink(missing_ok=True)
                refused[path.stem] = str(error)
                say(f"refused {error}")
    finally:
        await browser.aclose()
    return refused


def main(arguments: Sequence[str]) -> int:
    """``WALKS OUT [ID...]``: 0 when every walk was baked, 1 when one was refused, 2 on wrong usage."""
    if len(arguments) < 2:
        print("usage: python -m arena.envs.web.bake WALKS OUT [ID...]", file=sys.stderr)
        return 2
    try:
        refused = bake_walks(Path(arguments[0]), Path(arguments[1]), only=arguments[2:])
    except ArenaError as error:
        print(error, file=sys.stderr)
        return error.code
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
