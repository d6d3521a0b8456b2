"""Names that are hashes: states, questions, cases, requests; and randomness that depends on names only.

Two hashes per question: ``question_id`` ignores option order (the same question), ``presented_id``
keeps it (what the model saw). One hash with sorted keys would hide a rotation of the options.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import lru_cache
from pathlib import Path

import orjson

from arena.types import JSON, Choice, Noul, Score

PROTOCOL = "1.0.0"
PROTOCOL_SEED = 20261006


def dump(value: JSON, *, sort: bool = False) -> bytes:
    """JSON bytes, UTF-8, compact, key order kept unless ``sort``.

    Falls back to the standard library for what orjson refuses (integers beyond 64 bits, lone
    surrogates): such values occur in foreign answers and must survive.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort else None)
    except TypeError:
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=sort)
        return text.encode()


_ONLY_DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
"""Translation table: every digit becomes "0", every other byte a space."""

_BEYOND_64_BITS = b"0" * 20


def load(data: bytes | str) -> JSON:
    """Read JSON; NaN and Infinity become floats, so that the gate can refuse one answer, not the reply.

    Integers stay exact: where a run of 20 digits occurs, the standard library reads, because orjson turns
    integers beyond 64 bits into floats.

    Raises:
        ValueError: not JSON.
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if _BEYOND_64_BITS in raw.translate(_ONLY_DIGITS):
        return json.loads(raw)
    try:
        return orjson.loads(raw)
    except ValueError:
        return json.loads(data)


def sha256(data: bytes) -> str:
    """Hex sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex sha256 of a file, streamed."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(value: JSON, length: int = 16) -> str:
    """First ``length`` hex digits of the sha256 of the canonical (key-sorted) JSON of ``value``."""
    return sha256(dump(value, sort=True))[:length]


def state_id(state: JSON) -> str:
    """Hash of a state as shown (key order kept), 64 hex digits."""
    return sha256(dump(state))


@lru_cache(maxsize=65536)
def _wire_id(wire: bytes) -> str:
    return sha256(wire)


def presented_id(question: Choice | Score | Noul) -> str:
    """Hash of a question as shown: option order counts. 64 hex digits."""
    return _wire_id(dump(question.wire()))


def question_id(question: Choice | Score | Noul) -> str:
    """Hash of a question whatever the order of its options. 64 hex digits."""
    wire = question.wire()
    if isinstance(question, Choice):
        wire["criteria"] = {key: question.criteria[key] for key in sorted(question.criteria)}
    return _wire_id(dump(wire))


def rng_for(*parts: str | int) -> random.Random:
    """A generator that depends on ``parts`` alone, so filtering or resuming moves no other draw."""
    return random.Random(int.from_bytes(hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()[:16], "big"))


def case_id(unit: str, variant_key: str, repeat: int) -> str:
    """Identity of a case: an item or episode under one variant, asked the ``repeat``-th time. 24 hex digits."""
    return sha256(f"{unit}\x1f{variant_key}\x1f{repeat}".encode())[:24]
