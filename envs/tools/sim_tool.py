"""What a simulated tool gets and gives: arguments, the file system, streams, and busybox's way of failing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from arena.envs.tools.simfs import FileSystem, Node
from arena.errors import UsageError


@dataclass(slots=True)
class Call:
    """One run of a tool. ``options``: letter -> values in order (``""`` for a flag); ``args``: the operands."""

    name: str
    fs: FileSystem
    argv: list[str]
    stdin: bytes
    timeout_s: float
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    options: dict[str, list[str]] = field(default_factory=dict)
    args: list[str] = field(default_factory=list)
    timed_out: bool = False

    def parse(self, known: str, *, permute: bool = True) -> None:
        """Split ``argv`` into options and operands. ``known``: letters, with ``:`` after those with a value.

        Raises:
            UsageError: an option that the simulation lacks.
        """
        words = iter(self.argv)
        for word in words:
            if word == "--":
                self.args += words
            elif word == "-" or not word.startswith("-") or (not permute and self.args):
                self.args.append(word)
            else:
                self._letters(word, known, words)

    def _letters(self, word: str, known: str, words: Iterator[str]) -> None:
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            place = known.find(letter)
            if place < 0 or letter == ":":
                raise self.lacks(f"option {word}")
            value = ""
            if known[place + 1 : place + 2] == ":":
                value = rest or next(words, "")
                rest = ""
            self.options.setdefault(letter, []).append(value)

    def lacks(self, what: str) -> UsageError:
        """The error for what the real tool has and the simulation does not."""
        return UsageError(f"simulated {self.name} lacks {what}", hint="use --sandbox docker or --sandbox bwrap")

    def has(self, letters: str) -> bool:
        """Whether one of these options is given."""
        return any(letter in self.options for letter in letters)

    def value(self, letter: str, default: str = "") -> str:
        """The last value of an option."""
        return self.options[letter][-1] if letter in self.options else default

    def print(self, text: str | bytes) -> None:
        """Write to standard output."""
        self.out += text if isinstance(text, bytes) else os.fsencode(text)

    def complain(self, message: str) -> int:
        """Write ``NAME: message`` to standard error; returns 1."""
        self.err += os.fsencode(f"{self.name}: {message}\n")
        return 1

    def complain_of(self, what: str, error: OSError) -> int:
        """``NAME: what: reason``; returns 1."""
        return self.complain(f"{what}: {error.strerror}")

    def read(self, path: str) -> bytes:
        """Content of a file; ``-`` is standard input, which is empty once it was read."""
        if path != "-":
            return self.fs.read(path)
        data, self.stdin = self.stdin, b""
        return data

    def read_lax(self, path: str) -> bytes:
        """As ``read``, for tools that do not look at read errors: a folder is empty."""
        return b"" if path != "-" and self.into(path) else self.read(path)

    def into(self, path: str) -> Node | None:
        """The node at ``path`` if it is a folder."""
        try:
            node = self.fs.find(path)
        except OSError:
            return None
        return node if node.kind == "dir" else None


Tool = Callable[[Call], int]


def lines(data: bytes) -> list[bytes]:
    """Lines without their newline; a last line without one counts."""
    parts = data.split(b"\n")
    return parts[:-1] if parts[-1] == b"" else parts


def join(path: str, name: str) -> str:
    """Path of an entry of a folder, without doubling the slash."""
    return f"{path}{name}" if path.endswith("/") else f"{path}/{name}"


def last(path: str) -> str:
    """Last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


MODE_BITS = {"r": 4, "w": 2, "x": 1}
WHO = {"u": 6, "g": 3, "o": 0}


def change_mode(mode: int, change: str, *, folder: bool) -> int | None:
    """Apply ``chmod``'s MODE, octal or symbolic; ``None`` when it is not one. The umask is 022."""
    if change and all(c in "01234567" for c in change) and len(change) <= 4:
        return int(change, 8)
    for clause in change.split(","):
        place = next((i for i, c in enumerate(clause) if c in "+-="), -1)
        if place < 0 or any(c not in "ugoa" for c in clause[:place]):
            return None
        mode_or_none = _clause(mode, clause[:place], clause[place:], folder)
        if mode_or_none is None:
            return None
        mode = mode_or_none
    return mode


def _clause(mode: int, who: str, actions: str, folder: bool) -> int | None:
    """Apply one clause, e.g. who ``go`` and actions ``-w+x``."""
    targets: Sequence[str] = "ugo" if not who or "a" in who else who
    allowed = 0o777 if who else 0o755
    index = 0
    while index < len(actions):
        action = actions[index]
        index += 1
        bits = 0
        while index < len(actions) and actions[index] not in "+-=":
            letter = actions[index]
            if letter == "X":
                bits |= 1 if folder or mode & 0o111 else 0
            elif letter in WHO:
                bits |= mode >> WHO[letter] & 7
            elif letter in MODE_BITS:
                bits |= MODE_BITS[letter]
            else:
                return None
            index += 1
        mask = sum(bits << WHO[target] for target in targets) & allowed
        whole = sum(7 << WHO[target] for target in targets)
        if action == "+":
            mode |= mask
        elif action == "-":
            mode &= ~mask
        else:
            mode = mode & ~whole | mask
    return mode
