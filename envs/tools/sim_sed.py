"""The simulated stream editor: ``s``, ``p``, ``d``, ``q`` with line, ``$``, pattern and range addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arena.envs.tools.sim_regex import compiled
from arena.envs.tools.sim_tool import Call, Tool
from arena.envs.tools.simfs import Node

Address = int | re.Pattern[bytes]
LAST = -1


@dataclass(slots=True)
class Command:
    """One editing command. ``active``: inside its range; ``opened``: the line number where that began."""

    letter: str
    first: Address | None = None
    final: Address | None = None
    negated: bool = False
    pattern: re.Pattern[bytes] | None = None
    replacement: bytes = b""
    flags: str = ""
    active: bool = False


class Script:
    """A parsed script and the cursor into its text."""

    def __init__(self, call: Call, text: str, extended: bool) -> None:
        self._call, self._text, self._extended = call, text, extended
        self._at = 0
        self.commands: list[Command] = []
        while self._skip(" ;\n\t"):
            self.commands.append(self._command())

    def _skip(self, chars: str) -> bool:
        while self._at < len(self._text) and self._text[self._at] in chars:
            self._at += 1
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _until(self, delimiter: str) -> str:
        """Text up to an unescaped delimiter, which is passed; ``\\delimiter`` loses its backslash."""
        out = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == delimiter:
                return out
            if char == "\\" and self._at < len(self._text):
                following = self._text[self._at]
                self._at += 1
                out += following if following == delimiter else char + following
            else:
                out += char
        raise self._call.lacks("a message for an unterminated command")

    def _address(self) -> Address | None:
        char = self._peek()
        if char.isdigit():
            digits = re.match(r"\d+", self._text[self._at :])
            assert digits is not None
            self._at += digits.end()
            return int(digits[0])
        if char == "$":
            self._at += 1
            return LAST
        if char == "/":
            self._at += 1
            return compiled(self._until("/"), self._extended, False)
        return None

    def _command(self) -> Command:
        command = Command("", first=self._address())
        if command.first is not None and self._peek() == ",":
            self._at += 1
            command.final = self._address()
            if command.final is None:
                raise self._call.lacks("this address")
        self._skip(" ")
        if self._peek() == "!":
            command.negated = True
            self._at += 1
        command.letter = self._peek()
        self._at += 1
        if command.letter == "s":
            self._substitution(command)
        elif command.letter not in ("p", "d", "q"):
            raise self._call.lacks(f"the command {command.letter!r}")
        return command

    def _substitution(self, command: Command) -> None:
        delimiter = self._peek()
        self._at += 1
        pattern, replacement = self._until(delimiter), self._until(delimiter)
        found = re.match(r"[gpiI0-9]*", self._text[self._at :])
        command.flags = found[0] if found else ""
        self._at += len(command.flags)
        command.pattern = compiled(pattern, self._extended, "i" in command.flags.lower())
        command.replacement = replacement.encode("utf-8", "surrogateescape")


def _expand(template: bytes, match: re.Match[bytes]) -> bytes:
    def part(found: re.Match[bytes]) -> bytes:
        token = found[0]
        if token == b"&":
            return match[0]
        if token[1:].isdigit():
            return match[int(token[1:])] or b""
        return {b"n": b"\n", b"t": b"\t"}.get(token[1:], token[1:])

    return re.sub(rb"\\.|&", part, template)


def _substitute(command: Command, line: bytes) -> tuple[bytes, bool]:
    assert command.pattern is not None
    digits = re.sub(r"\D", "", command.flags)
    nth = int(digits or 1)
    count = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal count
        count += 1
        wanted = count >= nth if "g" in command.flags else count == nth
        return _expand(command.replacement, match) if wanted else match[0]

    return command.pattern.sub(replace, line), count >= nth


def _at(address: Address | None, number: int, line: bytes, is_last: bool) -> bool:
    if isinstance(address, int):
        return is_last if address == LAST else number == address
    return address is not None and address.search(line) is not None


def _selected(command: Command, number: int, line: bytes, is_last: bool) -> bool:
    if command.first is None:
        return True
    if command.final is None:
        return _at(command.first, number, line, is_last) != command.negated
    if command.active:
        done = number >= command.final if isinstance(command.final, int) and command.final != LAST else False
        command.active = not (done or _at(command.final, number, line, is_last))
        return not command.negated
    opened = _at(command.first, number, line, is_last)
    if opened:
        past = isinstance(command.final, int) and command.final != LAST and command.final <= number
        command.active = not past
    return opened != command.negated


def _edit(call: Call, script: Script, data: bytes) -> bytes:
    parts = data.split(b"\n")
    ended = parts[-1] == b""
    if ended:
        parts.pop()
    out: list[bytes] = []
    for number, line in enumerate(parts, 1):
        is_last = number == len(parts)
        keep, stop = True, False
        for command in script.commands:
            if not _selected(command, number, line, is_last):
                continue
            if command.letter == "s":
                line, hit = _substitute(command, line)
                if hit and "p" in command.flags:
                    out.append(line)
            elif command.letter == "p":
                out.append(line)
            else:
                keep, stop = command.letter != "d", command.letter == "q"
                break
        if keep and not call.has("n"):
            out.append(line)
        if stop:
            ended = ended or not is_last
            break
    return b"\n".join(out) + (b"\n" if out and ended else b"")


def _replace(call: Call, path: str, data: bytes) -> None:
    """As the tool does it: a new file takes the name, and also that of a symlink."""
    if call.into(path):
        raise call.lacks("editing a folder in place")
    mode = call.fs.find(path).mode
    call.fs.require_writable(call.fs.parent(path)[0])
    call.fs.unlink(path)
    call.fs.add(path, Node("file", mode, data=data))


def sed(call: Call) -> int:
    """``sed [-n] [-i] [-E] SCRIPT FILE...``."""
    call.parse("niEre:")
    texts = call.options.get("e") or [call.args.pop(0)]
    try:
        script = Script(call, "\n".join(texts), call.has("Er"))
    except ValueError as error:
        raise call.lacks(f"a message for a bad pattern ({error})") from error
    contents = []
    rc = 0
    for path in call.args or ["-"]:
        try:
            contents.append((path, call.read_lax(path)))
        except OSError as error:
            rc = call.complain_of(path, error)
    if call.has("i"):
        for path, data in contents:
            for command in script.commands:
                command.active = False
            try:
                _replace(call, path, _edit(call, script, data))
            except OSError as error:
                rc = call.complain(f"can't create temp file '{path}XXXXXX': {error.strerror}")
    else:
        call.print(_edit(call, script, b"".join(data for _, data in contents)))
    return rc


TOOLS: dict[str, Tool] = {"sed": sed}
