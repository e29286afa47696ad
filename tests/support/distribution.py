"""Distribution of tests over the processes of pytest-xdist; tests/conftest.py loads this as a plugin.

A file stays in one process, so that its fixtures are made once. All tests of the Ray cluster share one process, so
that there is one cluster, and those of conventions another, so that the sources are parsed once. pytest-xdist knows
tests by their node ids only, so the id tells whether a test needs Ray.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

RAY = "ray"
CONVENTIONS = "tests/unit/conventions"
FIRST = (RAY, CONVENTIONS, "tests/cluster/", "tests/numerics/", "tests/wire/", "tests/gateway/", "tests/sdk/")
"""Prefixes of the groups that take long. They start first, so that none runs alone at the end."""


def group_of(node_id: str) -> str:
    """The group of a test: its file, `ray` or the folder of conventions. One process runs all tests of a group."""
    path, _, test = node_id.partition("::")
    if path.startswith(CONVENTIONS):
        return CONVENTIONS
    _, _, parameters = test.rstrip("]").partition("[")
    needs_ray = path.startswith("tests/cluster/") and ("/test_ray_" in path or RAY in parameters.split("-"))
    return RAY if needs_ray else path


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Give each process whole groups, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    config.option.loadscopereorder = False  # the number of a group's tests says nothing about their time
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    misnamed = [item.nodeid for item in items if _uses_ray_cluster(item) and group_of(item.nodeid) != RAY]
    if misnamed:
        raise pytest.UsageError(f"node ids that do not tell that the tests use the Ray cluster: {misnamed}")
    if _is_one_of_several(config):
        items.sort(key=lambda item: _rank(group_of(item.nodeid)))


def _uses_ray_cluster(item: pytest.Item) -> bool:
    """Return true if a test runs on the cluster of tests/cluster/conftest.py."""
    if not isinstance(item, pytest.Function):
        return False
    if hasattr(item, "callspec") and "place" in item.callspec.params:
        return bool(item.callspec.params["place"] == "ray")
    return "ray_cluster" in item.fixturenames


def _is_one_of_several(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _rank(group: str) -> int:
    return next((rank for rank, start in enumerate(FIRST) if group.startswith(start)), len(FIRST))


@pytest.fixture(scope="session")
def shared_directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary directory of this run, the same one in all its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if _is_one_of_several(request.config) else own
