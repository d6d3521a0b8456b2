"""One package out of visible folders: what is installed is what the tree holds, and no module has two names."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PARTS = ("envs", "tasks", "verifiers", "models", "reliability", "leaderboard")

HEAVY = (
    "altair",
    "anyio",
    "docker",
    "fastapi",
    "gymnasium",
    "httpx",
    "jinja2",
    "numpy",
    "pandas",
    "playwright",
    "pyarrow",
    "pydantic",
    "scipy",
    "sparrow_decider",
)


def test_the_parts_are_linked_into_the_package() -> None:
    assert f"PARTS = {PARTS!r}".replace("'", '"') in (ROOT / "setup.py").read_text("utf-8")
    for part in PARTS:
        link = ROOT / "arena" / part
        assert link.is_symlink()
        assert link.readlink() == Path("..") / part
        assert (ROOT / part / "__init__.py").is_file()


def test_scripts_and_tests_are_no_packages() -> None:
    for folder in ("docker", "benchmarks", "tests", "docs"):
        assert not list((ROOT / folder).rglob("__init__.py"))


def test_coverage_measures_every_folder() -> None:
    assert set(PROJECT["tool"]["coverage"]["run"]["source_dirs"]) == {"arena", *PARTS}


def test_no_module_has_two_names() -> None:
    for part in PARTS:
        code = f"import {part}"
        lint = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", "arena/bare.py", "-"],
            input=f"{code}\n\nprint({part})\n",
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert lint.returncode == 1, lint.stderr
        assert f"import arena.{part}" in lint.stdout
        away = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", check=False)
        assert away.returncode == 1
        assert f"No module named '{part}'" in away.stderr


def test_the_command_starts_without_anything_heavy() -> None:
    code = f"import sys, arena.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel that is built from a copy of the tree."""
    root = tmp_path_factory.mktemp("wheel")
    source = root / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "runs"))
    build = "import sys; sys.path.insert(0, ''); from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", build, str(root)], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (found,) = root.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        return {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}


def in_tree(*suffixes: str) -> set[str]:
    """Files of the package in the tree, under the names they have once installed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "arena", *PARTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no git checkout: what belongs to the tree cannot be told from what lies about in it")
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    return {
        name if name.startswith("arena/") else f"arena/{name}"
        for name in names
        if not suffixes or name.endswith(suffixes)
    }


def test_the_wheel_holds_the_modules_of_the_tree(wheel: set[str]) -> None:
    assert {name for name in wheel if name.endswith(".py")} == in_tree(".py")


def test_the_wheel_holds_the_data_of_the_tree(wheel: set[str]) -> None:
    """Everything but what is written for developers."""
    for_developers = in_tree(".md")
    assert in_tree() - wheel - for_developers == set()


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel} == {"arena"}
    assert wheel <= in_tree()
    assert "arena/py.typed" in wheel
