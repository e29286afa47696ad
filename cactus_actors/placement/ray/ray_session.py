"""This process's connection to a Ray cluster."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cactus_actors.placement.ray.ray_environment import check_token, token_source
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.protocol.errors import ConfigurationInvalid, Unavailable

CONNECT_TIMEOUT_S = 5.0


def join(ray_address: str) -> None:
    """Connect to the cluster at `ray_address`.

    Raises Unavailable if no cluster answers, and ConfigurationInvalid if it would not require a token.
    """
    _check_reachable(ray_address)
    check_token()
    try:
        connect(ray_address)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise Unavailable(
            f"no Ray cluster at {ray_address}: {first_line(error)}; do its token "
            f"({token_source()}) and its version match?"
        ) from None


def connect(address: str) -> None:
    """Become a driver of the Ray at `address`; raises Ray's errors."""
    with _own_handlers():
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)


def local_node() -> NodeAffinitySchedulingStrategy:
    """Placement on the node that this process runs on, where the service's endpoints are bound."""
    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def server_address() -> str:
    """HOST:PORT of the cluster's GCS server."""
    return str(ray.get_runtime_context().gcs_address)


def is_local_node_alive() -> bool:
    """True if Ray's process on this machine runs; nothing can be placed here without it."""
    here = ray.get_runtime_context().get_node_id()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return any(node["NodeID"] == here and node["Alive"] for node in nodes)


def num_nodes() -> int:
    """The number of nodes that run."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return sum(node["Alive"] for node in nodes)


def node_socket() -> str:
    """The path of the socket on which Ray's process on this machine listens."""
    node: Any = ray._private.worker._global_node
    return str(node.raylet_socket_name)


def disconnect(output: RayOutput) -> None:
    """End the connection; messages that Ray held back are printed then, by this thread, and go to `output`."""
    with output.captured():
        ray.shutdown()


@contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep this process's SIGTERM handler: Ray's own aborts the process."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _check_reachable(ray_address: str) -> None:
    """Fail fast: Ray itself retries for more than a minute and floods the terminal."""
    host, separator, port = ray_address.rpartition(":")
    if not separator:
        return  # "auto", or a name that Ray resolves
    if not port.isdigit():
        raise ConfigurationInvalid(f"{ray_address} is not HOST:PORT of a Ray head node", param="ray_address")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise Unavailable(f"no Ray cluster at {ray_address}: {error}") from None


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its type."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
