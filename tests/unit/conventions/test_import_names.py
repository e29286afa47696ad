"""The actors' folders are imported as cactus_actors.router and cactus_actors.workers, and installed so."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.conventions.sources import PRODUCT, Source, product, sources, tracked
from tests.support.paths import ROOT

TOP_LEVEL = {"router", "workers"}
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "cactus_actors", "router", "workers")


def imported_modules(source: Source) -> list[str]:
    found: list[str] = []
    for node in source.nodes:
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return found


def test_no_file_imports_router_or_workers_from_the_top_level() -> None:
    others = {path.parts[0] for path in tracked("*.py")} - {*PRODUCT, "tests"}
    every = (*product(), *sources("tests"), *sources(*sorted(others)))
    assert len(every) > 500
    offenders = [
        f"{source.path}: {module}"
        for source in every
        for module in imported_modules(source)
        if module.partition(".")[0] in TOP_LEVEL
    ]
    assert offenders == []


def test_a_wheel_has_one_top_level_package_with_the_actors_in_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", str(source), "--no-deps", "--no-build-isolation"]
    built = subprocess.run([*command, "--wheel-dir", str(tmp_path)], capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(built.stdout + built.stderr)
    [wheel] = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"cactus_actors"}
    for actor in TOP_LEVEL:
        files = {path.relative_to(ROOT) for path in (ROOT / actor).rglob("*.py")}
        assert {f"cactus_actors/{path}" for path in files} <= names
    assert {"cactus_actors/py.typed", "cactus_actors/router/core.py"} <= names
