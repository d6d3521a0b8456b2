"""One command in a container, with a deadline that holds.

The SDK's own ``exec_run`` has no time limit and hangs when the container dies, and Docker has no call that
kills an exec. So: open the raw stream, read it against a deadline, have a second exec kill the processes,
and keep draining until the end of the stream, because an abandoned stream delays the engine's next answer.
"""

from __future__ import annotations

import contextlib
import io
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import docker.errors
import requests.exceptions

from arena.envs.tools.sandbox import KILLED, Cause, Flag, SandboxFailure
from arena.envs.tools.streams import Capture

CHUNK = 65536
GRACE_S = 4.0
"""How long killed processes may take to die before the container is removed."""
REKILL_S = 1.0
SETTLE_S = 5.0
"""How long the engine may take to report the return code after the stream ended."""
RUNTIME_ERROR = b"OCI runtime exec failed"

Api = Any
"""``docker.APIClient``; the SDK has no type annotations."""


@contextlib.contextmanager
def engine_errors(doing: str, cause: Cause = "engine") -> Iterator[None]:
    """Turn whatever the SDK raises into a ``SandboxFailure``. A vanished container is ``gone``."""
    try:
        yield
    except docker.errors.NotFound as error:
        _release(error)
        raise SandboxFailure("gone", f"{doing}: {error.explanation or error}", error=error) from error
    except docker.errors.APIError as error:
        _release(error)
        status = error.response.status_code if error.response is not None else None
        blame: Cause = "gone" if status == 409 else cause
        raise SandboxFailure(blame, f"{doing}: {error.explanation or error}", error=error) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise SandboxFailure(cause, f"{doing}: engine does not answer: {error}", error=error) from error


def _release(error: docker.errors.APIError) -> None:
    """The SDK leaves the connection of a refused streaming request open."""
    if error.response is not None:
        error.response.close()


def ignore_errors() -> contextlib.suppress:
    """For clean-up: that a container is gone already, or the engine is down, is as good."""
    return contextlib.suppress(docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class Stream:
    """The hijacked connection of an exec or attach: non-blocking reads, writes, half-close."""

    def __init__(self, raw: Any) -> None:
        """``raw``: what the SDK returns for ``socket=True``."""
        self._raw = raw
        self._response = getattr(raw, "_response", None)
        self._socket: socket.socket = getattr(raw, "_sock", raw)
        self._socket.setblocking(False)
        self.early = self._buffered()

    def _buffered(self) -> bytes:
        """Bytes that the HTTP layer read past the response header; on a loaded machine there are some."""
        reader = getattr(getattr(getattr(self._response, "raw", None), "_fp", None), "fp", None)
        if not isinstance(reader, io.BufferedReader):
            return b""
        with contextlib.suppress(BlockingIOError):
            return bytes(reader.peek(1))
        return b""

    def fileno(self) -> int:
        """For ``select``."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Bytes; empty at the end; ``None`` when there is nothing yet."""
        if self.early:
            data, self.early = self.early, b""
            return data
        try:
            return self._socket.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return None
        except ConnectionResetError:
            return b""

    def write(self, data: memoryview) -> int:
        """Bytes taken, perhaps 0."""
        try:
            return self._socket.send(data[:CHUNK])
        except (BlockingIOError, InterruptedError):
            return 0

    def half_close(self) -> None:
        """End the command's standard input."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection for good; never back to the pool."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(Exception):
            self._raw.close()
        if self._response is not None:
            with contextlib.suppress(Exception):
                self._response.close()
        with contextlib.suppress(OSError):
            self._socket.close()


class Frames:
    """Docker's multiplexed stream: 8 bytes of header (stream, length), then that many bytes."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._header = b""
        self._left = 0
        self._error = False

    def feed(self, data: bytes) -> None:
        """Take bytes as they come, in any split.

        Raises:
            ValueError: the stream number is none that the engine sends.
        """
        while data:
            if self._left == 0:
                need = 8 - len(self._header)
                self._header, data = self._header + data[:need], data[need:]
                if len(self._header) < 8:
                    return
                number, self._left = struct.unpack(">BxxxL", self._header)
                if number > 2:
                    raise ValueError(f"stream number {number} in the engine's answer")
                self._header, self._error = b"", number == 2
            part, data = data[: self._left], data[self._left :]
            self._left -= len(part)
            if part:
                self._capture.feed(part, error=self._error)


class ContainerExec:
    """Runs commands in one container. ``kill``: starts the second exec that kills what commands run."""

    def __init__(self, api: Api, container: str, kill: Callable[[], None], give_up: Callable[[], None]) -> None:
        """``give_up``: removes the container, which ends every stream, when killing did not help."""
        self._api, self._container = api, container
        self._kill, self._give_up = kill, give_up

    def run(
        self, argv: Sequence[str], user: str, stdin: bytes | None, timeout_s: float, capture: Capture
    ) -> tuple[int, set[Flag]]:
        """Return code and flags.

        Raises:
            SandboxFailure: container or engine is gone.
        """
        deadline = time.monotonic() + timeout_s
        with engine_errors("exec"):
            # Not in the work folder: a command may have closed it, and the runtime would refuse to start.
            made = self._api.exec_create(
                self._container, list(argv), user=user, workdir="/", stdin=stdin is not None, stdout=True, stderr=True
            )
            raw = self._api.exec_start(made["Id"], socket=True)
            stream = Stream(raw)
            try:
                flags = self._pump(stream, stdin, deadline, capture)
            except ValueError as error:
                raise SandboxFailure("engine", f"exec stream cannot be read: {error}", error=error) from error
            finally:
                stream.close()
            if "unkillable" in flags:
                return KILLED, flags
            rc = self._return_code(made["Id"])
        if rc == 126 and bytes(capture.out[: len(RUNTIME_ERROR)]) == RUNTIME_ERROR:
            raise SandboxFailure("engine", bytes(capture.out[:500]).decode(errors="replace").strip())
        return (KILLED if flags else rc), flags

    def _pump(self, stream: Stream, stdin: bytes | None, deadline: float, capture: Capture) -> set[Flag]:
        frames = Frames(capture)
        pending = memoryview(stdin or b"")
        if stdin == b"":
            stream.half_close()
        flags: set[Flag] = set()
        give_up = rekill = float("inf")
        while True:
            now = time.monotonic()
            if not flags and (capture.flooded or now >= deadline):
                flags.add("output_limit" if capture.flooded else "timeout")
                give_up, rekill = now + GRACE_S, now
            if now >= give_up:
                flags.add("unkillable")
                self._give_up()
                return flags
            if now >= rekill:
                self._kill()
                rekill = time.monotonic() + REKILL_S
                continue
            wake = min(give_up if flags else deadline, rekill)
            wait = 0.0 if stream.early else max(0.0, wake - now)
            ready, writable, _ = select.select([stream], [stream] if pending else [], [], wait)
            if writable:
                pending = pending[stream.write(pending) :]
                if not pending:
                    stream.half_close()
            if ready or stream.early:
                data = stream.read()
                if data == b"":
                    return flags
                frames.feed(data or b"")

    def _return_code(self, exec_id: str) -> int:
        patience = time.monotonic() + SETTLE_S
        while True:
            state = self._api.exec_inspect(exec_id)
            if state["ExitCode"] is not None and not state["Running"]:
                return int(state["ExitCode"])
            if time.monotonic() > patience:
                raise SandboxFailure("engine", "the engine does not report the command's return code")
            time.sleep(0.005)
