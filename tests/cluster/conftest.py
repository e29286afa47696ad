"""Services on either placement, and one small Ray cluster of two nodes for the whole session."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import HandoffSettings, ServeConfig
from tests.support.processes.faulty_worker import ARMED_FAULTS_VARIABLE
from tests.support.processes.ray_server import START_ATTEMPTS, added_node, kill_processes_of
from tests.support.services.running_service import Running, Serve, running_service

CPUS_A_NODE = 3


@pytest.fixture(scope="session", autouse=True)
def _armed_faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A directory for armed faults: Ray's workers have the environment in which Ray was started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ARMED_FAULTS_VARIABLE, str(tmp_path_factory.mktemp("faults")))
        yield


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine."""
    # Ray's unix sockets need a short path, shorter than pytest's own temporary directories.
    with tempfile.TemporaryDirectory(prefix="ca-", ignore_cleanup_errors=True) as temp_dir:
        token = Path(temp_dir) / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        os.environ |= {
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_TMPDIR": temp_dir,  # otherwise each process that joins makes a directory that all users share
            "RAY_worker_niceness": "0",  # as in a service with a private Ray cluster
        }
        cluster = _started_cluster(temp_dir)
        try:
            yield cluster
        finally:
            cluster.shutdown()


def _started_cluster(temp_dir: str) -> Any:
    """A cluster in `temp_dir`; Ray gives up a start after 30 s, too few for a starved machine, so it is repeated."""
    from ray.cluster_utils import Cluster

    directory = f"{temp_dir}/ray"  # the one in which Ray itself writes the address, below RAY_TMPDIR
    head = {"num_cpus": CPUS_A_NODE, "include_dashboard": False, "temp_dir": directory}
    for attempt in range(START_ATTEMPTS):
        try:
            cluster = Cluster(initialize_head=True, head_node_args=head)
            added_node(cluster, CPUS_A_NODE)
            return cluster
        except Exception:
            kill_processes_of(directory)
            shutil.rmtree(directory, ignore_errors=True)
            if attempt + 1 == START_ATTEMPTS:
                raise
    raise AssertionError("every attempt returns or raises")


@pytest.fixture(scope="session")
def ray_address(ray_cluster: Any) -> str:
    """The address of the cluster."""
    return str(ray_cluster.address)


@pytest.fixture(params=["local", "ray"])
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a placement; a test with this fixture runs on both."""
    return place_of(request, request.param)


def place_of(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """The settings of the placement of that name; the cluster starts when the first test needs it."""
    return {"ray_address": request.getfixturevalue("ray_address")} if name == "ray" else {"placement": name}


@pytest.fixture
def place_options(place: dict[str, Any]) -> list[str]:
    """`place` as options of `cactus serve`."""
    return [word for name, value in place.items() for word in (f"--{name.replace('_', '-')}", value)]


@pytest.fixture
def serve(place: dict[str, Any], tmp_path: Path) -> Serve:
    """A function that runs a service on free ports, on both placements."""
    return _serving(place, tmp_path)


@pytest.fixture
def serve_locally(tmp_path: Path) -> Serve:
    """`serve` on the local placement only, for tests that do not depend on the placement."""
    return _serving({"placement": "local"}, tmp_path)


@pytest.fixture(scope="module", params=["local", "ray"])
def two_workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with two workers on either placement. Tests may kill its actors, but must see them return."""
    place = place_of(request, request.param)
    with _serving(place, tmp_path_factory.mktemp("two-workers"))(workers=2, http="127.0.0.1:0") as running:
        yield running


def _serving(place: dict[str, Any], state_dir: Path) -> Serve:
    def serve(
        *, workers: int = 2, handoff: HandoffSettings | None = None, name: str = "", http: str = ""
    ) -> AbstractContextManager[Running]:
        return running_service(
            ServeConfig(
                workers=workers,
                jobs_endpoint="tcp://127.0.0.1:*",
                stream_endpoint="tcp://127.0.0.1:*",
                state_dir=state_dir / name,
                http=http,
                handoff=handoff or HandoffSettings(),
                **place,
            )
        )

    return serve
