"""Does a text hold a secret? Known forms of keys and tokens, and the values of this machine's own key variables.

What is found is named by its kind and place, never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

SHORTEST = 8
"""Values of variables shorter than this are words that may occur by chance."""

_KEY_VARIABLE = re.compile(r"(_API_KEY|_TOKEN|_SECRET|_PASSWORD)\Z|\A(API_KEY|TOKEN|SECRET|PASSWORD)\Z")


@dataclass(frozen=True, slots=True)
class Kind:
    """One form of secret. ``hints``: lower-case bytes of which one must occur; a cheap look before the pattern."""

    name: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


KINDS = (
    Kind("bearer token", (b"bearer",), re.compile(rb"(?i)\bbearer\s+[a-z0-9._~+/=-]{16,}")),
    Kind("sk- key", (b"sk-",), re.compile(rb"\bsk-[A-Za-z0-9_-]{16,}")),
    Kind("fast_sk_ key", (b"fast_sk_",), re.compile(rb"\bfast_sk_[A-Za-z0-9_-]{8,}")),
    Kind("GitHub token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), re.compile(rb"\bgh[pousr]_[A-Za-z0-9]{30,}")),
    Kind("Hugging Face token", (b"hf_",), re.compile(rb"\bhf_[A-Za-z0-9]{30,}")),
    Kind("AWS key", (b"akia",), re.compile(rb"\bAKIA[0-9A-Z]{16}\b")),
    Kind("Google key", (b"aiza",), re.compile(rb"\bAIza[0-9A-Za-z_-]{35}")),
    Kind("private key", (b"private key-----",), re.compile(rb"-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----")),
    Kind(
        "API key in a header or assignment",
        (b"api-key", b"api_key", b"apikey", b"authorization"),
        re.compile(
            rb"(?i)\b(?:x-api-key|api[_-]?key|authorization)\b\\?[\"']?\s*[:=]\s*\\?[\"']?(?:(?:basic|token)\s+)?"
            rb"[a-z0-9._~+/=-]{20,}"
        ),
    ),
)


class Scanner:
    """Looks for secrets. ``environment``: variables whose values are secrets when their names say so."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._values = {
            name: value.encode()
            for name, value in environment.items()
            if _KEY_VARIABLE.search(name.upper()) and len(value) >= SHORTEST
        }

    def find(self, lines: Iterable[bytes]) -> Iterator[tuple[int, str]]:
        """(line number from 1, what it is) of every line that holds a secret."""
        for number, line in enumerate(lines, 1):
            lower = line.lower()
            for kind in KINDS:
                if any(hint in lower for hint in kind.hints) and kind.pattern.search(line):
                    yield number, kind.name
            for name, value in self._values.items():
                if value in line:
                    yield number, f"the value of ${name}"
