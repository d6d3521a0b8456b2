"""Import traces that jevnav recorded (JSONL, spec 0) as tape episodes of recorded decisions.

The options of a step are the candidates its model saw, and ``none_of_the_above`` where the trace offers none. Gold
is what the flow declared (``expected_cid``), else a decision that was approved and executed, else "none" where the
run stopped because its goal was reached. The page is driven once, to take its hashes and to see that every
recorded candidate is there. Steps whose decision nobody approved have no gold: they are left out, saying so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.envs.web.browser import SharedBrowser, versions
from arena.envs.web.episode import GoldStep, Manifest, Recording, write_recording
from arena.envs.web.observe import Observation
from arena.envs.web.options import Option, Table, build_table
from arena.envs.web.page import LivePage
from arena.envs.web.probes import TRAIL, check_conditions, trail_entry
from arena.envs.web.router import Taped, TapeRouter, misses
from arena.envs.web.scene import deed
from arena.errors import UsageError
from arena.identity import load, sha256
from arena.types import JSON, NONE_DESCRIPTION, NONE_OF_THE_ABOVE

SPEC = 0
NONE = "none"
SECRET = "recorded-secret"
"""What is typed where a trace names an environment variable instead of a value."""
INSTRUCTIONS = "Which element is the target of the next action ({action})?"


@dataclass(frozen=True)
class Imported:
    """An imported trace: the episode file, its steps, and per left-out record why."""

    path: Path
    steps: int
    left_out: tuple[str, ...]


def import_jevnav(trace: Path, html: Path, out: Path, *, tier: str = "T1", split: str = "test") -> Imported:
    """Turn a trace and the page it was recorded on into an episode file in the folder ``out``.

    Raises:
        UsageError: not a trace of spec 0, or nothing of it can be asked; says why.
        MissingNeed: no browser.
    """
    header, steps = read_trace(trace)
    return asyncio.run(_import(trace, header, steps, html, out, tier, split))


def read_trace(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run header and the step records of a trace.

    Raises:
        UsageError: names the line and what is wrong.
    """
    try:
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
        records = [load(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a jevnav trace: {error}") from error
    if not records or not isinstance(records[0], dict) or records[0].get("kind") != "run":
        raise UsageError(f"{path} is not a jevnav trace: the first record is not the run header")
    header = records[0]
    if header.get("spec") != SPEC:
        raise UsageError(f"{path}: trace spec {header.get('spec')!r}; this importer reads {SPEC}")
    if "rate_hz" in header:
        raise UsageError(f"{path}: a play trace; a live game's states cannot be replayed, and it has no candidates")
    steps = []
    for number, record in enumerate(records[1:], 2):
        kind = record.get("kind") if isinstance(record, dict) else None
        if kind == "step":
            steps.append(record)
        elif kind != "action":
            raise UsageError(f"{path}:{number}: unknown record kind {kind!r}")
    return header, steps


def gold_of(step: Mapping[str, Any]) -> str | None:
    """The right candidate of a step (``none`` for no element), or None: the recording approves of none."""
    expected = step.get("expected_cid")
    if expected is not None:
        return str(expected)
    decision, gate = step["decision"], step["gate"]["verdict"]
    if gate == "auto" and step["result"]["executed"]:
        return str(decision["choice"])
    if gate == "n/a" and decision.get("status") == "done":
        return NONE
    return None


def _fingerprint(role: str, name: str) -> str:
    return f"{' '.join(role.split()).casefold()}|{' '.join(name.split()).casefold()}"


def recorded_table(step: Mapping[str, Any]) -> Table:
    """The candidates of a step as options, in recorded order; none last, where the model could answer none."""
    candidates = step["candidates"]
    names = [candidate["name"] for candidate in candidates]
    options = []
    for candidate in candidates:
        text = f'{candidate["role"]} "{candidate["name"]}"'
        if candidate.get("scope") and names.count(candidate["name"]) > 1:
            text += f' in "{candidate["scope"]}"'
        if candidate.get("value"):
            text += f' (now "{candidate["value"]}")'
        if candidate.get("disabled"):
            text += " (disabled)"
        options.append(
            Option(id=candidate["cid"], op="target", text=text, role=candidate["role"], name=candidate["name"])
        )
    if NONE in step["decision"].get("probabilities", {}):
        options.append(Option(id=NONE_OF_THE_ABOVE, op="none", text=NONE_DESCRIPTION))
    return Table(options=tuple(options), dropped=step.get("dropped", 0))


def _key(cid: str) -> str:
    return NONE_OF_THE_ABOVE if cid == NONE else cid


def _with_boxes(table: Table, observation: Observation, where: str) -> Table:
    """The recorded options with the boxes of their elements.

    Raises:
        UsageError: a recorded candidate is not on the page.
    """
    live: dict[str, list[tuple[int, int, int, int]]] = {}
    for element in observation.elements:
        live.setdefault(_fingerprint(element.role, element.name), []).append(element.box)
    options = []
    for option in table.options:
        if option.op != "none":
            boxes = live.get(_fingerprint(option.role, option.name))
            if not boxes:
                raise UsageError(f"{where}: the page has no {option.role} {option.name!r}, which the recording offers")
            option = option.model_copy(update={"box": boxes.pop(0) if len(boxes) > 1 else boxes[0]})
        options.append(option)
    return Table(options=tuple(options), dropped=table.dropped)


def _deed(step: Mapping[str, Any], gold: str, observation: Observation, values: Sequence[str]) -> Option | str | None:
    """The live option that does what the recording did; None where it did nothing; a reason where it cannot."""
    if not step["result"]["executed"]:
        return None
    chosen = next(candidate for candidate in step["candidates"] if candidate["cid"] == gold)
    wanted, kind = _fingerprint(chosen["role"], chosen["name"]), step["action"]["type"]
    op = {"click": "click", "check": "click", "fill": "type", "select": "select"}.get(kind)
    if op is None:
        return f"its action {kind!r} has no counterpart here"
    twins = [c["cid"] for c in step["candidates"] if _fingerprint(c["role"], c["name"]) == wanted]
    elements = [e for e in observation.elements if _fingerprint(e.role, e.name) == wanted]
    if len(elements) != len(twins):
        return f"{len(elements)} elements on the page look like {chosen['name']!r}, {len(twins)} in the recording"
    element = elements[twins.index(gold)]
    value = step["action"].get("value", SECRET if "value_from_env" in step["action"] else None)
    for option in build_table(observation, values).options:
        if option.target == element.id and option.op == op and (op == "click" or option.arg == value):
            return option
    return f"the page does not offer to {kind} {chosen['name']!r}"


def _conditions(header: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> dict[str, JSON] | None:
    verified = [step["verify"]["selector"] for step in steps if (step.get("verify") or {}).get("verified")]
    selector = header.get("success") or (verified[-1] if verified else None)
    if selector is None:
        return None
    return check_conditions({"final": [{"kind": "dom", "css": selector, "visible": True}]}, "success selector")


async def _import(
    trace: Path,
    header: dict[str, Any],
    steps: list[dict[str, Any]],
    html: Path,
    out: Path,
    tier: str,
    split: str,
) -> Imported:
    name = f"jevnav-{trace.name.removesuffix('.jsonl').removesuffix('.trace')}-{trace.parent.name}"
    typed = (step["action"].get("value", SECRET) for step in steps if step["action"]["type"] in ("fill", "select"))
    tape, blobs, start = _tape(html)
    manifest = Manifest(
        id=name,
        kind="tape",
        decisions="recorded",
        goal=header.get("goal") or header.get("flow") or "",
        tier=tier,
        split=split,
        licence="Apache-2.0",
        seed=1,
        values=tuple(dict.fromkeys(typed)),
        start=start,
        baked_with=versions(),
    )
    drive, end_state, final = await _drive_all(manifest, TapeRouter(tape, blobs), header, steps, str(trace))
    source = {"tool": header.get("tool"), "spec": header["spec"], "model": header.get("model")}
    recording = Recording(
        manifest=manifest.model_copy(update={"source": {**source, "left_out": drive.left_out}}),
        steps=tuple(drive.steps),
        conditions=drive.conditions,
        end_state=end_state,
        final={"sem_hash": final.sem_hash, "url": final.url, "title": final.title},
        tape=tape,
        blobs=blobs,
    )
    path = out / f"{name}.web.zip"
    write_recording(recording, path)
    return Imported(path, len(drive.steps), tuple(drive.left_out))


async def _drive_all(
    manifest: Manifest, router: TapeRouter, header: dict[str, Any], steps: list[dict[str, Any]], where: str
) -> tuple[_Drive, JSON, Observation]:
    browser = SharedBrowser()
    page = await browser.open(manifest.frame, router)
    try:
        await page.open(manifest.start, seed=manifest.seed, params={})
        drive = _Drive(page, where, header, manifest.values, _conditions(header, steps))
        await drive.all(steps)
        final = await page.observe()
        end_state = await drive.end_state(final)
    finally:
        await browser.close_page(page)
        await browser.aclose()
    if missed := misses(router):
        raise UsageError(f"{where}: the recorded actions request {missed[0].url}, which is not recorded")
    if not drive.steps:
        raise UsageError(f"{where}: nothing can be asked: {'; '.join(drive.left_out) or 'no step records'}")
    return drive, end_state, final


def _tape(html: Path) -> tuple[tuple[Taped, ...], dict[str, bytes], str]:
    content = html.read_bytes()
    start = f"http://recorded.test/{html.name}"
    entry = Taped(
        n=0,
        epoch="",
        method="GET",
        url=start,
        body_sha="",
        status=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body=sha256(content),
        static=True,
        resource="document",
    )
    return (entry,), {entry.body: content}, start


@dataclass
class _Drive:
    """Drives the recorded steps over the page and collects what can be asked."""

    page: LivePage
    where: str
    header: Mapping[str, Any]
    values: Sequence[str]
    conditions: dict[str, JSON] | None

    def __post_init__(self) -> None:
        self.steps: list[GoldStep] = []
        self.left_out: list[str] = []
        self.trail: list[JSON] = []
        self.history: list[str] = []

    async def all(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Every step in order; each is asked, or left out with the reason."""
        self.trail.append(await self._trail())
        for step in steps:
            where = f"step {step['step']}"
            gold = gold_of(step)
            if not step["candidates"]:
                self.left_out.append(f"{where}: {step['gate'].get('reason') or 'it offers no candidates'}")
                continue
            if gold is None:
                self.left_out.append(f"{where}: nobody approved its decision ({step['gate'].get('reason')})")
                continue
            await self._one(step, gold, where)

    async def _one(self, step: Mapping[str, Any], gold: str, where: str) -> None:
        observation = await self.page.observe()
        table = _with_boxes(recorded_table(step), observation, f"{self.where}: {where}")
        if table.get(_key(gold)) is None:
            self.left_out.append(f"{where}: the right answer {gold!r} is not among its options")
            return
        done = _deed(step, gold, observation, self.values)
        if isinstance(done, str):
            raise UsageError(f"{self.where}: {where}: {done}")
        decision = step["decision"]
        self.steps.append(
            GoldStep(
                t=len(self.steps),
                sem_hash=observation.sem_hash,
                url=observation.url,
                title=observation.title,
                text=observation.text,
                viewport=observation.viewport,
                table=table,
                gold=(_key(gold),),
                action=_key(gold),
                history=tuple(self.history),
                goal=self.header.get("goal") or step["intent"],
                instructions=INSTRUCTIONS.format(action=step["action"]["type"]),
                deed=done,
                recorded={
                    "choice": _key(decision["choice"]),
                    "probabilities": {_key(cid): p for cid, p in decision["probabilities"].items()},
                    "confidence": decision["confidence"],
                    "model": decision.get("model"),
                    "latency_ms": decision.get("latency_ms"),
                    "gate": step["gate"],
                },
            )
        )
        if done is not None:
            await self.page.act(done)
            self.history.append(deed(done))
        self.trail.append(await self._trail())

    async def _trail(self) -> JSON:
        return await trail_entry(self.page.probe, self.conditions or {group: [] for group in TRAIL})

    async def end_state(self, final: Observation) -> JSON:
        """What the verifier judges, None where the trace names no success."""
        if self.conditions is None:
            return None
        return {
            "url": final.url,
            "title": final.title,
            "sem_hash": final.sem_hash,
            "final": await self.page.probe(self.conditions["final"]),
            "trail": self.trail,
            "requests": self.page.requests(),
        }
