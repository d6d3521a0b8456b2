"""POSIX regular expressions for the simulation, translated to Python's, on bytes.

Covers what tasks use: literals, ``.``, ``*``, brackets with classes, anchors, groups, intervals,
alternation, back-references. Python takes the first alternative that matches, POSIX the longest; the
differential test against the real tools keeps to patterns where both agree.
"""

from __future__ import annotations

import re
from functools import lru_cache

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t\n\r\f\v",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
}
SPECIAL = "(){}|+?"
"""Special with a backslash in basic expressions, without one in extended ones."""


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """Translate the bracket expression at ``start``; returns it and the index after it."""
    index = start + 1
    text = "["
    if pattern[index : index + 1] == "^":
        text, index = "[^", index + 1
    first = True
    while index < len(pattern):
        char = pattern[index]
        if char == "]" and not first:
            return text + "]", index + 1
        first = False
        if pattern.startswith("[:", index):
            end = pattern.find(":]", index)
            name = pattern[index + 2 : end]
            if end < 0 or name not in CLASSES:
                break
            text += CLASSES[name]
            index = end + 2
        else:
            text += "\\" + char if char in "\\[]^&~|" else char
            index += 1
    raise ValueError(f"bracket expression in {pattern!r} is not closed")


def translate(pattern: str, *, extended: bool) -> str:
    """A POSIX pattern as a Python one.

    Raises:
        ValueError: not a pattern.
    """
    out = ""
    index = 0
    start = True
    while index < len(pattern):
        char = pattern[index]
        if char == "[":
            piece, index = _bracket(pattern, index)
            out += piece
            start = False
            continue
        escaped = char == "\\"
        if escaped:
            index += 1
            if index >= len(pattern):
                raise ValueError("Trailing backslash")
            char = pattern[index]
        index += 1
        opens = False
        if char in SPECIAL and escaped != extended:
            out += char
            opens = char in "(|"
        elif escaped:
            out += {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "n": "\n", "t": "\t"}.get(
                char, "\\" + char if char in "wWsSbB" or char.isdigit() else re.escape(char)
            )
        elif char == "*":
            out += r"\*" if start else "*"
        elif char in ".^$":
            literal = not extended and ((char == "^" and not start) or (char == "$" and not _ends(pattern, index)))
            out += "\\" + char if literal else {"$": r"\Z"}.get(char, char)
            opens = char == "^" and not literal
        else:
            out += re.escape(char)
        start = opens
    return out


def _ends(pattern: str, index: int) -> bool:
    return index == len(pattern) or pattern.startswith((r"\)", r"\|"), index)


@lru_cache(maxsize=256)
def compiled(pattern: str, extended: bool, ignore_case: bool) -> re.Pattern[bytes]:
    """The compiled pattern.

    Raises:
        ValueError: not a pattern.
    """
    try:
        source = translate(pattern, extended=extended).encode("utf-8", "surrogateescape")
        return re.compile(source, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ValueError(str(error)) from error
