"""The five sites are one small framework and five pages: what they share must not drift apart."""

from __future__ import annotations

from arena.identity import sha256_file
from arena.tasks.definition import DATA

SITES = DATA / "web" / "sites"


def test_every_site_carries_the_same_core() -> None:
    """A site is served from its own folder alone, so each has a copy; a fix belongs into all of them."""
    cores = {path.parent.name: sha256_file(path) for path in SITES.glob("*/core.js")}
    assert len(cores) == len([path for path in SITES.iterdir() if path.is_dir()]) == 5
    assert len(set(cores.values())) == 1, cores
