"""A connection to Ray: a private local instance, or an existing cluster by its address."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cactus_actors.cluster.reaper import outlive
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable

CONNECT_TIMEOUT_S = 5.0
# Nothing big ever crosses Ray: tokens go over ZeroMQ and weights through the page cache.
OBJECT_STORE_BYTES = 80 * 1024 * 1024


def connect(ray_address: str | None, state_dir: Path) -> bool:
    """Join the cluster at `ray_address`, or start a local Ray that only this user's token opens.

    Returns False if this process was in a session already, which is then kept. Raises Unavailable when no
    cluster answers there. The processes of a local Ray end with this one.
    """
    if ray.is_initialized():
        return False
    if ray_address is not None:
        _check_reachable(ray_address)
        try:
            ray.init(ray_address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unavailable(f"no Ray cluster at {ray_address}: {_first_line(error)}") from None
        return True
    # A local ray.init switches token authentication on by itself, but its own token file is world readable.
    os.environ.setdefault("RAY_AUTH_TOKEN_PATH", str(_private_token(state_dir)))
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


def _private_token(state_dir: Path) -> Path:
    path = state_dir / "ray-token"
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    except OSError as error:
        raise ConfigurationInvalid(
            f"state directory {state_dir}: {error.strerror}", param="state_dir"
        ) from None
    return path


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
