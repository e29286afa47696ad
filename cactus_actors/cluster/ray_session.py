"""A connection to Ray: a private local instance, or an existing cluster by its address."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cactus_actors.cluster.places import check_places
from cactus_actors.cluster.ray_token import check_token, make_token, token_place
from cactus_actors.cluster.reaper import ends_children_on_failure, outlive
from cactus_actors.placement.interface import PlacementLost
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable

CONNECT_TIMEOUT_S = 5.0
# Nothing big ever crosses Ray: tokens go over ZeroMQ and weights through the page cache.
OBJECT_STORE_BYTES = 80 * 1024 * 1024


def connect(ray_address: str | None, state_dir: Path) -> bool:
    """Join the cluster at `ray_address`, or start a local Ray that only this user's token opens.

    Returns False if this process was in a session already, which is then kept. Raises Unavailable when no
    cluster answers there, ConfigurationInvalid when Ray would not ask for a token or cannot write
    where it needs to. The processes of a local Ray end with this one.
    """
    if ray.is_initialized():
        return False
    if ray_address is not None:
        _check_reachable(ray_address)
        check_token()
        try:
            with _own_handlers():
                ray.init(ray_address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unavailable(
                f"no Ray cluster at {ray_address}: {_first_line(error)}; is its token ours "
                f"({token_place()}), and its version?"
            ) from None
        return True
    make_token(state_dir)
    check_places()
    # Ray runs its workers at nice 15: router and models would wait for everything else on the machine.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Its autoscaler serves its metrics to everybody, without a token, unless there can be no such port.
    os.environ.setdefault("AUTOSCALER_METRIC_PORT", "-1")
    with _own_handlers(), ends_children_on_failure():
        local: Any = ray.init(
            address="local",
            num_cpus=os.cpu_count(),
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=OBJECT_STORE_BYTES,
        )
    outlive(os.getpid(), Path(local.address_info["raylet_socket_name"]).parent)
    return True


def this_node() -> NodeAffinitySchedulingStrategy:
    """Placement on the node that this process runs on, where the service's endpoints are bound."""
    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def server_address() -> str:
    """HOST:PORT of the cluster's server, which knows of every node and actor."""
    return str(ray.get_runtime_context().gcs_address)


def check_this_node() -> None:
    """Raises PlacementLost once Ray's own process on this machine has ended: nothing can be placed here."""
    here = ray.get_runtime_context().get_node_id()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    if not any(node["NodeID"] == here and node["Alive"] for node in nodes):
        raise PlacementLost(
            "control_plane_down: Ray's process on this machine has ended, and all actors with it; the "
            "service ends, and finds its jobs in the journal when it is started again"
        )


def disconnect() -> None:
    """Leave the cluster; a local Ray ends."""
    ray.shutdown()


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep this process's way to end on SIGTERM: Ray's own aborts it."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


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
