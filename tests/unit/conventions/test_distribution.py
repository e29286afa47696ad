"""Tests of a group run in one process, so that their shared fixtures are made once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.distribution import group_of

THIS = os.environ.get("PYTEST_XDIST_WORKER", "alone")


@pytest.mark.parametrize("number", range(12))
def test_tests_of_a_file_run_in_one_process(number: int, shared_directory: Path) -> None:
    processes = shared_directory / "processes of this file"
    processes.mkdir(exist_ok=True)
    (processes / THIS).touch()
    assert [path.name for path in processes.iterdir()] == [THIS]


@pytest.mark.parametrize(
    ("node_id", "group"),
    [
        ("tests/unit/test_a.py::test_b", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::TestA::test_b", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::test_b[ray]", "tests/unit/test_a.py"),
        ("tests/unit/test_a.py::test_b[x::y]", "tests/unit/test_a.py"),
        ("tests/cluster/test_a.py::test_b[local-ray gun]", "tests/cluster/test_a.py"),
        ("tests/cluster/test_a.py::test_b[ray]", "ray"),
        ("tests/cluster/test_a.py::test_b[ray-15]", "ray"),
        ("tests/cluster/test_ray_a.py::test_b", "ray"),
        ("tests/unit/conventions/test_a.py::test_b", "tests/unit/conventions"),
    ],
)
def test_the_group_of_a_test_follows_from_its_node_id(node_id: str, group: str) -> None:
    assert group_of(node_id) == group
