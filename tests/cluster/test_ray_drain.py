"""The workers of a node leave it for an operator, or when Ray takes the node; jobs go on elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cactus_actors.cli.main import app
from cactus_actors.config import ServeConfig
from cactus_actors.protocol.messages import Status
from tests.support.processes.ray_server import added_node
from tests.support.router.scripted_router import until
from tests.support.services.running_service import OPTIONS, STORY, Running, local_workers, running_service, wait_until

pytestmark = pytest.mark.chaos

ANY_PORT = "tcp://127.0.0.1:*"
LONG = {**OPTIONS, "max_tokens": 500, "ignore_eos": True}
NUM_WORKERS = 3
ROOM = 5
"""Workers that have a CPU on the other nodes when one of the first two is drained."""
NOTICE_S = 300


@pytest.fixture
def node(ray_cluster: Any) -> Iterator[Any]:
    """One more node, with one worker of three, as the cluster has two nodes already."""
    node = added_node(ray_cluster, 2)
    yield node
    if node in ray_cluster.worker_nodes:
        ray_cluster.remove_node(node, allow_graceful=False)


def nodes_of(status: Status) -> list[str]:
    """The nodes of the workers that take jobs."""
    return [it.node_id for it in status.workers if it.kind == "local" and it.state == "ready"]


def cactus_drain(running: Running, *arguments: str) -> str:
    told = CliRunner().invoke(app, ["drain", *arguments, "--endpoint", running.endpoints.jobs])
    assert told.exit_code == 0, told.output
    return told.output


def take(address: str, node_id: str) -> None:
    """Let Ray drain a node, as its autoscaler does with one that a cloud takes back."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]
    from ray.core.generated import autoscaler_pb2

    reasons: Any = autoscaler_pb2
    why = reasons.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
    until_ms = int((time.time() + NOTICE_S) * 1000)
    is_accepted, reason = GcsClient(address=address).drain_node(node_id, why, "taken", until_ms)
    assert is_accepted, reason


def requested() -> list[float]:
    """The CPUs that Ray's autoscaler is asked for."""
    from ray._private.ray_constants import AUTOSCALER_RESOURCE_REQUEST_CHANNEL
    from ray.experimental.internal_kv import _internal_kv_get

    told = json.loads(_internal_kv_get(AUTOSCALER_RESOURCE_REQUEST_CHANNEL))
    return [bundle["CPU"] for bundle in told]


def test_jobs_go_on_elsewhere_when_a_node_is_drained_or_taken(
    node: Any, ray_cluster: Any, ray_address: str, tmp_path: Path
) -> None:
    config = ServeConfig(
        workers=NUM_WORKERS,
        jobs_endpoint=ANY_PORT,
        stream_endpoint=ANY_PORT,
        ray_address=ray_address,
        state_dir=tmp_path,
        http="",
    )
    with running_service(config) as running:
        client = running.client
        undisturbed = client.complete(prompt=STORY, **LONG).token_ids
        until(lambda: requested() == [1.0] * NUM_WORKERS)
        [drained, *_] = set(nodes_of(client.status())) - {node.node_id}

        jobs = [client.submit(prompt=STORY, **LONG) for _ in range(24)]
        stream = client.stream(prompt=STORY, **LONG)
        streamed = list(next(stream).token_ids)
        said = cactus_drain(running, drained, "--wait")
        assert "1 worker of" in said
        assert "no worker left" in said
        status = client.status()
        assert drained not in nodes_of(status)
        assert len(nodes_of(status)) == NUM_WORKERS, "the others were there before it left"
        assert [it.node_id for it in status.leaving_nodes] == [drained]
        streamed += [token for delta in stream for token in delta.token_ids]
        assert streamed == undisturbed
        assert all(client.result(job).token_ids == undisturbed for job in jobs)

        client.scale(ROOM + 1)
        status = wait_until(client, lambda status: len(nodes_of(status)) == ROOM)
        assert drained not in nodes_of(status), "a drained node gets no worker"
        assert "may have workers again" in cactus_drain(running, drained, "--undo")
        assert client.status().leaving_nodes == []
        status = wait_until(client, lambda status: len(nodes_of(status)) == ROOM + 1)
        assert drained in nodes_of(status), "the worker that had no place may use the node"

        on_taken = [it.worker_id for it in client.status().workers if it.node_id == node.node_id]
        assert on_taken
        jobs = [client.submit(prompt=STORY, **LONG) for _ in range(24)]
        take(ray_address, node.node_id)
        status = wait_until(client, lambda status: not set(on_taken) & set(local_workers(status)))
        assert len(nodes_of(status)) == ROOM + 1
        [leaving] = status.leaving_nodes
        assert leaving.node_id == node.node_id
        assert leaving.ends_in_s is not None
        assert 0 < leaving.ends_in_s < NOTICE_S
        assert all(client.result(job).token_ids == undisturbed for job in jobs)

        ray_cluster.remove_node(node, allow_graceful=False)
        status = wait_until(client, lambda status: status.leaving_nodes == [])
        assert status.jobs.failed == 0
        assert status.jobs.finished == status.jobs.accepted
        assert not [line for line in running.lines if " ended (" in line], "no worker was lost"
