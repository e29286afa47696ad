"""A service on a Ray cluster that grows from one node to four and shrinks again, under load; prints what happened."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray

from cactus_actors.config import ServeConfig
from tests.support.processes.autoscaling_ray import start_growing_cluster
from tests.support.services.running_service import OPTIONS, STORY, Running, local_workers, running_service

CPUS, MAX_NODES = 2, 4
NUM_STREAMS = 2
GIVE_UP_S = 1200.0
ANY_PORT = "tcp://127.0.0.1:*"


def num_nodes() -> int:
    """The nodes with CPUs; the head has none."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in nodes)


class Load:
    """Jobs that a service runs, NUM_STREAMS at once; each must give the tokens of `undisturbed`."""

    def __init__(self, running: Running) -> None:
        self._client = running.client
        self.undisturbed = self._client.complete(prompt=STORY, **OPTIONS).token_ids
        self.num_jobs, self.num_wrong = 1, 0

    def keep_until(self, is_over: Callable[[], bool]) -> float:
        """Keep jobs going until a condition holds, then wait for them; returns the seconds until it held."""
        began_at = time.monotonic()
        jobs: list[str] = []
        while not is_over():
            assert time.monotonic() - began_at < GIVE_UP_S, self._client.status()
            while len(jobs) < NUM_STREAMS:
                jobs.append(self._client.submit(prompt=STORY, **OPTIONS))
                self.num_jobs += 1
            self._end(jobs.pop(0))
        seconds = time.monotonic() - began_at
        for job in jobs:
            self._end(job)
        return seconds

    def _end(self, job: str) -> None:
        self.num_wrong += self._client.result(job).token_ids != self.undisturbed


def main(directory: Path) -> None:
    config = ServeConfig(
        workers=1,
        jobs_endpoint=ANY_PORT,
        stream_endpoint=ANY_PORT,
        ray_address="auto",
        state_dir=directory / "state",
        http="",
        ready_timeout_s=GIVE_UP_S,
    )
    start_growing_cluster(max_nodes=MAX_NODES, cpus=CPUS, idle_s=5.0)
    with running_service(config) as running:
        nodes = [num_nodes()]
        load = Load(running)
        running.client.scale(MAX_NODES * CPUS)
        grew_s = load.keep_until(lambda: len(local_workers(running.client.status())) == MAX_NODES * CPUS)
        nodes.append(num_nodes())
        running.client.scale(1)
        shrank_s = load.keep_until(lambda: num_nodes() == 1)
        nodes.append(num_nodes())
        jobs = running.client.status().jobs
        counts = {"jobs": load.num_jobs, "wrong": load.num_wrong, "finished": jobs.finished, "failed": jobs.failed}
        times = {"grew_s": round(grew_s, 1), "shrank_s": round(shrank_s, 1)}
        print(json.dumps({"nodes": nodes, **counts, **times, "lines": running.lines}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
