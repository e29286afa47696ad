"""Time of a fleet on a Ray cluster from no worker to all of them, on nodes that are there already.

python -m benchmarks.fleet.ray_start --nodes 4 --workers 8

The nodes are on this machine, so their processes share its cores: compare the wall time with the processor's time of
the workers, of which a cluster has more cores. A worker is asked for by `scale`; then Ray starts its process, which
imports the engine, loads the embedded model and says hello to the router.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.process_tree import cpu_seconds, processes_of_kind
from cactus_actors.client import Client
from cactus_actors.config import ServeConfig
from cactus_actors.service.service import Service

ANY_PORT = "tcp://127.0.0.1:*"
POLL_S = 0.05
LEFT_WITHIN_S = 120.0


def cluster_of(num_nodes: int, cpus: int, directory: str) -> Any:
    """A Ray cluster on this machine."""
    token = Path(directory) / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_TMPDIR": directory}
    os.environ |= {"RAY_worker_niceness": "0"}
    from ray.cluster_utils import Cluster  # Ray reads the environment when it is imported

    head = {"num_cpus": cpus, "include_dashboard": False, "temp_dir": f"{directory}/ray"}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(num_nodes - 1):
        cluster.add_node(num_cpus=cpus)
    return cluster


def measure(client: Client, num_workers: int, console: Console) -> None:
    """Print when each worker was ready, and the processor's time that it took until then."""
    began_at = time.monotonic()
    client.scale(num_workers)
    ready: dict[str, float] = {}
    spent: dict[str, float] = {}
    while len(ready) < num_workers:
        for worker in client.status().workers:
            if worker.kind == "local" and worker.worker_id not in ready:
                ready[worker.worker_id] = time.monotonic() - began_at
                spent[worker.worker_id] = cpu_seconds(worker.pid)
        time.sleep(POLL_S)
    first, last = min(ready.values()), max(ready.values())
    console.print(f"{num_workers} workers: the first was ready after {first:.1f} s, the last after {last:.1f} s")
    console.print(f"processor time of a worker until then: {min(spent.values()):.1f} to {max(spent.values()):.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    console = Console()
    cpus = -(-options.workers // options.nodes)
    with tempfile.TemporaryDirectory(prefix="ca-", ignore_cleanup_errors=True) as directory:
        cluster = cluster_of(options.nodes, cpus, directory)
        config = ServeConfig(
            workers=0,
            jobs_endpoint=ANY_PORT,
            stream_endpoint=ANY_PORT,
            ray_address=cluster.address,
            state_dir=Path(directory) / "state",
            http="",
        )
        service, stop = Service(config), threading.Event()
        service.start()
        reconciling = threading.Thread(target=service.reconcile, args=(stop,))
        reconciling.start()
        try:
            with Client(service.endpoints.jobs, service.endpoints.stream, timeout=60.0) as client:
                for _ in range(options.repeat):
                    measure(client, options.workers, console)
                    client.scale(0)
                    until = time.monotonic() + LEFT_WITHIN_S
                    while processes_of_kind("WorkerActor", os.getpid()) and time.monotonic() < until:
                        time.sleep(POLL_S)
        finally:
            stop.set()
            reconciling.join()
            service.stop()
            cluster.shutdown()


if __name__ == "__main__":
    main()
