"""A connection to Ray: a private local instance, or an existing cluster by its address."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cactus_actors.cluster.ray_token import check_token, make_token
from cactus_actors.cluster.reaper import outlive
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable

CONNECT_TIMEOUT_S = 5.0
# Nothing big ever crosses Ray: tokens go over ZeroMQ and weights through the page cache.
OBJECT_STORE_BYTES = 80 * 1024 * 1024


def connect(ray_address: str | None, state_dir: Path) -> bool:
    """Join the cluster at `ray_address`, or start a local Ray that only this user's token opens.

    Returns False if this process was in a session already, which is then kept. Raises Unavailable when no
    cluster answers there, ConfigurationInvalid when Ray would not ask for a token. The processes of a
    local Ray end with this one.
    """
    if ray.is_initialized():
        return False
    if ray_address is not None:
        _check_reachable(ray_address)
        check_token()
        try:
            ray.init(ray_address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unavailable(f"no Ray cluster at {ray_address}: {_first_line(error)}") from None
        return True
    make_token(state_dir)
    # Ray runs its workers at nice 15: router and models would wait for everything else on the machine.
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(
        address="local",
        num_cpus=os.cpu_count(),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECT_STORE_BYTES,
    )
    outlive(os.getpid())
    return True


def this_node() -> NodeAffinitySchedulingStrategy:
    """Placement on the node that this process runs on, where the service's endpoints are bound."""
    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def disconnect() -> None:
    """Leave the cluster; a local Ray ends."""
    ray.shutdown()


def _check_reachable(ray_address: str) -> None:
    """Fail fast: Ray itself tries for more than a minute and fills the terminal meanwhile."""
    host, separator, port = ray_address.rpartition(":")
    if not separator:
        return  # "auto", or a name that Ray resolves
    if not port.isdigit():
        raise ConfigurationInvalid(f"{ray_address} is not HOST:PORT of a Ray head node", param="ray_address")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise Unavailable(f"no Ray cluster at {ray_address}: {error}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
