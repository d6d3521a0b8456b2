"""Map the visible top-level folders into the single import package ``arena``."""

from setuptools import find_packages, setup

PARTS = ("envs", "tasks", "verifiers", "models", "reliability", "leaderboard")

packages = find_packages(
    ".",
    include=["arena", "arena.*"],
    exclude=[pattern for part in PARTS for pattern in (f"arena.{part}", f"arena.{part}.*")],
)
for part in PARTS:
    packages += [f"arena.{part}", *(f"arena.{part}.{sub}" for sub in find_packages(part))]

setup(
    packages=packages,
    package_dir={"arena": "arena"} | {f"arena.{part}": part for part in PARTS},
)
