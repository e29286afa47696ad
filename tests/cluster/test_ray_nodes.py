"""A node of the cluster is lost with all its processes; a cluster accepts members with its token only."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.config import ServeConfig
from tests.support.processes.open_sockets import parent_of
from tests.support.processes.ray_server import added_node
from tests.support.services.running_service import OPTIONS, STORY, local_workers, running_service, wait_until

pytestmark = pytest.mark.chaos

ANY_PORT = "tcp://127.0.0.1:*"
CPUS = 2
GONE_WITHIN_S = 20.0
"""The router declares a worker lost within 3 s, 2.3 as measured; the rest is allowance for a busy machine."""


@pytest.fixture
def raylet(ray_cluster: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Ray's own process on one more node."""
    node = added_node(ray_cluster, CPUS)
    yield node.all_processes["raylet"][0].process
    ray_cluster.remove_node(node, allow_graceful=False)


def kill(raylet: subprocess.Popen[bytes]) -> None:
    raylet.kill()
    raylet.wait(60.0)  # its workers consider it alive as long as nobody reaps it


def config_of(ray_address: str, state_dir: Path, workers: int) -> ServeConfig:
    return ServeConfig(
        workers=workers,
        jobs_endpoint=ANY_PORT,
        stream_endpoint=ANY_PORT,
        ray_address=ray_address,
        state_dir=state_dir,
        http="",
    )


def test_workers_of_a_lost_node_are_replaced_on_another_node(
    raylet: subprocess.Popen[bytes], ray_address: str, tmp_path: Path
) -> None:
    with running_service(config_of(ray_address, tmp_path, workers=3)) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        there = [
            worker.worker_id
            for worker in running.client.status().workers
            if worker.kind == "local" and parent_of(worker.pid) == raylet.pid
        ]
        assert there  # one worker per node
        jobs = [running.client.submit(prompt=STORY, **OPTIONS) for _ in range(48)]
        kill(raylet)
        killed_at = time.monotonic()
        wait_until(running.client, lambda status: not set(there) & set(local_workers(status)), GONE_WITHIN_S)
        print(f"its workers were gone after {time.monotonic() - killed_at:.1f} s")
        assert all(running.client.result(job).token_ids == undisturbed.token_ids for job in jobs)
        status = wait_until(running.client, lambda status: len(local_workers(status)) == 3)
        print(f"and replaced after {time.monotonic() - killed_at:.1f} s")
        assert status.jobs.failed == 0
        assert status.jobs.finished == status.jobs.accepted == len(jobs) + 1


def test_a_service_starts_just_after_the_death_of_a_node(
    raylet: subprocess.Popen[bytes], ray_address: str, tmp_path: Path
) -> None:
    """Ray places workers on the dead node for some seconds more."""
    kill(raylet)
    with running_service(config_of(ray_address, tmp_path, workers=3)) as running:
        assert len(local_workers(running.client.status())) == 3
        assert any("ended" in line for line in running.lines), "no worker was placed there"


def open_to_others(path: Path) -> None:
    path.chmod(0o644)


def wrong(path: Path) -> None:
    path.write_text(secrets.token_hex(32))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [(open_to_others, "chmod 600"), (wrong, "token"), (Path.unlink, "token")],
    ids=["readable by others", "wrong", "missing"],
)
def test_without_the_cluster_s_token_the_service_does_not_start(
    ray_address: str, tmp_path: Path, spoil: Callable[[Path], None], said: str
) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text())
    spoil(token)
    command = [sys.executable, "-m", "cactus_actors.cli.main", "serve", "--ray-address", ray_address]
    command += ["--jobs-endpoint", ANY_PORT, "--stream-endpoint", ANY_PORT, "--no-http"]
    environment = {**os.environ, "RAY_AUTH_TOKEN_PATH": str(token)}
    started = subprocess.run(
        [*command, "--state-dir", str(tmp_path / "state")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert started.returncode in (2, 69), started.stderr
    assert started.stdout == ""
    assert said in started.stderr.splitlines()[-1]
    assert "Traceback" not in started.stderr


def test_the_doctor_counts_the_nodes_of_a_cluster_that_takes_the_token(ray_address: str, tmp_path: Path) -> None:
    config, token = tmp_path / "cactus.toml", tmp_path / "token"
    config.write_text(f'ray_address = "{ray_address}"\nworkers_endpoint = "{ANY_PORT}"\nhttp = ""\n')
    token.touch(mode=0o600)
    wrong(token)
    command = [sys.executable, "-m", "cactus_actors.cli", "doctor", "--config", str(config), "--no-self-test", "--json"]
    found = []
    for path in (os.environ["RAY_AUTH_TOKEN_PATH"], str(token)):
        environment = {**os.environ, "RAY_AUTH_TOKEN_PATH": path}
        examined = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        findings = {finding["subject"]: finding for finding in json.loads(examined.stdout)["findings"]}
        found.append(findings["cluster"])
    assert [finding["grade"] for finding in found] == ["good", "bad"]
    assert found[0]["figures"]["nodes"] >= 2
    assert "token" in found[1]["text"]
