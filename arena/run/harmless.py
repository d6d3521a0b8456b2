"""Text of strangers made safe to look at: what could move a cursor, hide or reorder text is spelled out.

Command output, file contents and names come from a sandbox or a model. A terminal obeys escape sequences, and
bidirectional controls turn what a reader sees around. Everything of that kind becomes its escape, in plain sight.
"""

from __future__ import annotations

import json
import unicodedata

from arena.types import JSON

_SPELLED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories shown as escapes: controls, formats (bidi, zero width), surrogates, unassigned, separators."""


def harmless(text: str) -> str:
    """``text`` with every control but newline and tab as ``\\xHH``, ``\\uHHHH`` or ``\\UHHHHHHHH``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(each) for each in text)


def _spelled(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _SPELLED:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def harmless_json(value: JSON) -> str:
    """JSON that reads back as ``value``, in printable ASCII and without ``<``: safe in a terminal and in a page."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f").replace("<", "\\u003c")
