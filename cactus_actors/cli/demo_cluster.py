"""The demo's prompt file on a private Ray cluster of two nodes, one of which is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cactus_actors.cli.demo_run import DemoSummary, run_prompt_file, running
from cactus_actors.cli.terminal import activity
from cactus_actors.config import ServeConfig
from cactus_actors.config_scaling import worker_range
from cactus_actors.protocol.errors import ServerFailure

if TYPE_CHECKING:
    from rich.console import Console

    from cactus_actors.placement.ray.private_cluster import AddedNode
    from cactus_actors.process.health import Endpoints


def show_on_cluster(config: ServeConfig, output: Path, before: DemoSummary, console: Console) -> None:
    """Run the demo on two nodes, kill one, and compare the tokens with `before`.

    The results go to `output`; no process is left when it returns or raises. Raises ServerFailure for other tokens,
    and the errors of a start.
    """
    from cactus_actors.placement.ray.ray_environment import prepare_environment

    state_dir = config.state_dir.expanduser()
    prepare_environment(state_dir)  # before Ray is imported
    from cactus_actors.placement.ray.private_cluster import PrivateCluster

    num_workers = max(2, worker_range(config.workers).low)
    with activity(console, "starting a private Ray cluster of two nodes"):
        cluster = PrivateCluster(num_workers, state_dir, console.print)
    console.print(
        "One of them is killed on purpose at the first answer. Ray then reports that its raylet is terminated."
    )
    with cluster:
        on_ray = msgspec.structs.replace(config, workers=num_workers, ray_address=cluster.address)
        with running(on_ray, console) as endpoints:
            lost = _workers_on(cluster.added, endpoints)
            tally = asyncio.run(run_prompt_file(endpoints, output, console, cluster.added.kill))
    killed = f"the node of {', '.join(lost)} was killed at the first answer"
    console.print(f"\n{num_workers} workers on 2 nodes; {killed}")
    _compare(tally, before, console)


def _workers_on(node: AddedNode, endpoints: Endpoints) -> list[str]:
    from cactus_actors.client import Client

    with Client(endpoints.jobs, endpoints.stream, key_file="") as client:
        workers = client.status().workers
    return [worker.worker_id for worker in workers if worker.kind == "local" and node.has(worker.pid)]


def _compare(tally: DemoSummary, before: DemoSummary, console: Console) -> None:
    lines = tally.token_ids.keys() & before.token_ids.keys()
    differing = [line for line in lines if tally.token_ids[line] != before.token_ids[line]]
    if differing or tally.num_failed:
        raise ServerFailure(f"{len(differing)} answers have other tokens, and {tally.num_failed} failed")
    console.print(
        f"{tally.num_retried} answers continued on the other node; all {len(lines)} have the same tokens as without Ray"
    )
