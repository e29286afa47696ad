"""Fixtures for faults that need root; without root, or without the tool, each test is skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.processes.network_link import run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.chaos)
            item.add_marker(pytest.mark.skipif(os.geteuid() != 0, reason="needs root"))


@pytest.fixture
def need() -> Callable[[str], None]:
    """Skip the test if a tool is missing."""

    def check(tool: str) -> None:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")

    return check


@pytest.fixture
def small_disk(tmp_path: Path, need: Callable[[str], None]) -> Iterator[Callable[[int], Path]]:
    """Return a function that makes file systems of a given size in kilobytes."""
    need("mount")
    mounted: list[Path] = []

    def make(kilobytes: int) -> Path:
        path = tmp_path / f"disk{len(mounted)}"
        path.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(path))
        mounted.append(path)
        return path

    yield make
    for path in mounted:
        run("umount", "-l", str(path))
