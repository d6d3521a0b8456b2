"""Tapes: a shop whose cart lives on its server is recorded, the server is shut, and the tape answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from web_tools import Lab, in_browser

from arena.envs.check import Played, follow_gold, play_policy
from arena.envs.web import open_environment
from arena.envs.web.bake import Refused, bake, record_tape
from arena.envs.web.browser import SharedBrowser
from arena.envs.web.episode import read_recording, write_recording
from arena.envs.web.router import TapeRouter
from arena.envs.web.session import Mode
from arena.envs.web.walk import Walk, WalkStep, check_walk
from arena.session import Turn
from arena.verifiers.web import verify

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("chromium")]

SHOP = """<!doctype html><title>Shop</title><h1>Shop</h1><p id=n></p><a href=/cart>Cart</a>
<button onclick="add(3)">Add item 3</button> <button onclick="add(7)">Add item 7</button><script>
const add = (id) => fetch('/api/add', {method: 'POST', body: JSON.stringify({id})}).then((r) => r.json()).then(show);
const show = (cart) => { n.textContent = cart.length + ' in the cart' };
fetch('/api/cart?t=' + Date.now()).then((r) => r.json()).then(show);
</script>"""
CART = """<!doctype html><title>Cart</title><h1>Cart</h1><p id=list></p><a href=/>Shop</a>
<button onclick="pay()">Pay now</button><script>
const show = (cart) => { list.textContent = cart.map((id) => 'Item ' + id).join(', ') };
fetch('/api/cart').then((r) => r.json()).then(show);
const paid = (sum) => { document.title = 'Paid ' + sum };
const pay = () => fetch('/api/pay', {method: 'POST'}).then((r) => r.json()).then(paid);
</script>"""


class Shop(BaseHTTPRequestHandler):
    """The server: pages, and a cart that every request can change."""

    cart: ClassVar[list[int]] = []
    served: ClassVar[list[str]] = []

    def _answer(self, body: str, kind: str) -> None:
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.served.append(self.path)
        if self.path.startswith("/api/cart"):
            self._answer(json.dumps(self.cart), "application/json")
        else:
            self._answer(CART if self.path == "/cart" else SHOP, "text/html")

    def do_POST(self) -> None:
        self.served.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/api/add":
            self.cart.append(json.loads(body)["id"])
            self._answer(json.dumps(self.cart), "application/json")
        else:
            paid = len(self.cart)
            self.cart.clear()
            self._answer(str(paid), "application/json")

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def shop() -> Iterator[str]:
    """A running shop; its origin."""
    Shop.cart.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


WALK = check_walk(
    Walk(
        id="server-shop",
        site="shop",
        start="/",
        seed=3,
        tier="T1",
        split="test",
        goal="Buy item 3 and item 7.",
        step=(
            WalkStep(op="click", role="button", name="Add item 3"),
            WalkStep(op="click", role="button", name="Add item 7"),
            WalkStep(op="click", role="link", name="Cart"),
            WalkStep(op="click", role="button", name="Pay now"),
        ),
        verify={
            "final": [
                {"kind": "net", "method": "POST", "path": "/api/pay", "count": 1},
                {"kind": "dom", "css": "#list", "text": "Item 3, Item 7"},
            ],
            "key_nodes": [{"kind": "dom", "css": "#list", "text": "Item 3"}],
        },
        volatile=("t",),
    ),
    "test",
)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tape") / "server-shop.web.zip"

    async def make() -> None:
        Lab.browser = Lab.browser or SharedBrowser()
        with shop() as origin:
            source = await record_tape(WALK, origin, Lab.browser)
        write_recording(await bake(WALK, source, Lab.browser), path)

    in_browser(make())
    return str(path)


def _play(path: str, mode: Mode, choose: list[str]) -> Played:
    """Play by option names (or ids), in order; after them: done."""
    names = iter(choose)

    def policy(turn: Turn) -> dict[str, str | int | bool]:
        wanted = next(names, "done")
        texts: dict[str, str] = turn.ask.questions["action"].wire()["criteria"]
        return {"action": next(key for key, text in texts.items() if key == wanted or f'"{wanted}"' in text)}

    async def run() -> Played:
        environment = open_environment(mode=mode, screenshots=False)
        try:
            return await play_policy(environment, path, policy)
        finally:
            await environment.aclose()

    return in_browser(run())


GOLD = ["Add item 3", "Add item 7", "Cart", "Pay now", "done"]


def test_the_tape_replays_with_the_server_shut(tape: str) -> None:
    before = len(Shop.served)
    played = _play(tape, "free", GOLD)
    assert len(Shop.served) == before
    assert played.right == (True,) * 5
    assert verify(played.ended.verify, played.ended.end_state, played.ended.claimed).ending == "success"
    assert played.ended.flags == ()


def test_a_cart_that_nobody_filled_is_not_paid_for(tape: str) -> None:
    played = _play(tape, "free", ["Cart", "Pay now", "done"])
    assert played.ended.truncated
    assert played.ended.flags == ("off_tape",)
    assert played.ended.end_state["title"] != "Paid 2"
    assert verify(played.ended.verify, played.ended.end_state, played.ended.claimed).ending == "failure"


def test_without_epochs_the_same_path_would_be_a_false_success(tape: str) -> None:
    """What the epoch prevents: keyed by method, url and body alone, the tape would answer."""
    recording = read_recording(Path(tape))
    careless = TapeRouter(
        [entry.model_copy(update={"static": True}) for entry in recording.tape], recording.blobs, ["t"]
    )
    careful = recording.router()
    origin = recording.manifest.start
    found = careless.lookup("POST", f"{origin}api/pay", b"")
    assert found is not None
    assert recording.blobs[found.body] == b"2"
    assert isinstance(careful, TapeRouter)
    assert careful.lookup("POST", f"{origin}api/pay", b"") is None


def test_another_order_is_off_the_tape_and_said_so(tape: str) -> None:
    played = _play(tape, "free", ["Add item 7", "Add item 3", "Cart", "Pay now", "done"])
    assert played.ended.flags == ("off_tape",)
    assert len(played.turns) == 1, "the first miss ends a free run"


def test_recover_brings_the_page_back_without_the_option(tape: str) -> None:
    played = _play(tape, "recover", ["Add item 3", "Cart", *GOLD[1:]])
    assert [turn.step for turn in played.turns] == [0, 1, 1, 2, 3, 4]
    asked = [set(turn.ask.questions["action"].labels()) for turn in played.turns]
    assert len(asked[1] - asked[2]) == 1, "the option that missed is not offered again"
    assert verify(played.ended.verify, played.ended.end_state, played.ended.claimed).ending == "success"
    assert "recovered" in played.ended.flags


def test_recover_gives_up_after_three_misses(tape: str) -> None:
    played = _play(tape, "recover", ["Add item 7", "Cart", "Add item 3", "Cart", "Add item 3"])
    assert [turn.step for turn in played.turns] == [0, 0, 0, 1, 1]
    assert played.ended.truncated
    assert {"off_tape", "recovered"} <= set(played.ended.flags)


def test_the_browser_and_the_graph_agree_on_a_tape(tape: str) -> None:
    async def run() -> tuple[Played, Played]:
        browser, graph = (
            open_environment(mode="teacher", screenshots=False),
            open_environment(mode="teacher", backend="graph"),
        )
        try:
            return await play_policy(browser, tape, follow_gold), await play_policy(graph, tape, follow_gold)
        finally:
            await browser.aclose()

    live, baked = in_browser(run())
    assert live.trace == baked.trace
    assert live.ended.end_state == baked.ended.end_state


def test_a_walk_that_leaves_the_server_is_refused() -> None:
    walk = WALK.model_copy(update={"step": (WalkStep(op="click", role="link", name="Away"), WalkStep(op="done"))})

    async def make() -> None:
        Lab.browser = Lab.browser or SharedBrowser()
        with shop() as origin:
            Shop.do_GET, keep = (
                lambda self: self._answer("<a href=http://example.com/>Away</a>", "text/html"),
                Shop.do_GET,
            )
            try:
                await record_tape(walk, origin, Lab.browser)
            finally:
                Shop.do_GET = keep

    with pytest.raises(Refused, match=r"not in the recording: GET http://example\.com/"):
        in_browser(make())
