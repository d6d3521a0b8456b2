"""Record in, verdict out: pure judgements of recorded end states, by registry id."""

from __future__ import annotations

from arena.registry import Registry
from arena.session import Verifier

VERIFIERS: Registry[Verifier] = Registry(
    "verifier",
    "arena.verifiers",
    {"web": "arena.verifiers.web:verify", "tools": "arena.verifiers.tools:verify"},
)
