"""The actors' folders are imported as cactus_actors.router and cactus_actors.workers, and installed so."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.conventions.sources import PRODUCT, Source, product, sources, tracked
from tests.support.paths import ROOT

TOP_LEVEL = {"router", "workers"}
BUILD = "from setuptools import build_meta; build_meta.build_{}({!r})"


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


def build(kind: str, source: Path, target: Path) -> Path:
    """The distribution of a kind that is built from the files in a folder."""
    command = [sys.executable, "-c", BUILD.format(kind, str(target))]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(built.stdout + built.stderr)
    [distribution] = target.iterdir()
    return distribution


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel that is built from a source distribution of the tracked files."""
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    for path in (path for path in tracked("*") if path.parts[0] in PRODUCT or len(path.parts) == 1):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, source / path)
    for actor in TOP_LEVEL:
        (source / "cactus_actors" / actor).symlink_to(Path("..", actor))
    for name in ("sdist", "wheel"):
        (folder / name).mkdir()
    sdist = build("sdist", source, folder / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    [unpacked] = (folder / "unpacked").iterdir()
    return set(zipfile.ZipFile(build("wheel", unpacked, folder / "wheel")).namelist())


def test_a_wheel_has_one_top_level_package_with_the_actors_in_it(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == {"cactus_actors"}
    assert {"cactus_actors/py.typed", "cactus_actors/router/core.py", "cactus_actors/workers/actor.py"} <= wheel


def test_a_wheel_has_every_file_of_the_product(wheel: set[str]) -> None:
    files = [path for path in tracked("*") if path.parts[0] in PRODUCT and (ROOT / path).is_file()]
    expected = {str(path if path.parts[0] == "cactus_actors" else Path("cactus_actors", path)) for path in files}
    assert {name for name in wheel if ".dist-info/" not in name} == expected
