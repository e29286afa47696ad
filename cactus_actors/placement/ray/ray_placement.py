"""The `ray` placement on a cluster: actors on the nodes of an existing Ray."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import ray

from cactus_actors.placement.interface import ActorKind, PlacementLost
from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.control_plane import ControlPlane
from cactus_actors.placement.ray.ray_actor import RayActor
from cactus_actors.placement.ray.ray_nodes import RayNodes
from cactus_actors.placement.ray.ray_output import RayOutput

NODE_LOST = (
    "control_plane_down: Ray's process on this machine exited, and all actors with it; the service ends, "
    "and finds its jobs in the journal when it is started again"
)
POLL_INTERVAL_S = PROBE_TIMEOUT_S = 1.0


class RayPlacement:
    """Connects to the cluster at `ray_address`; an existing connection of this process is kept.

    Ray's output goes to a file in `state_dir`. Raises Unavailable and ConfigurationInvalid.
    """

    def __init__(self, ray_address: str, state_dir: Path, announce: Callable[[str], None]) -> None:
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(contextlib.closing(RayOutput(state_dir, announce, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(output))
            if not ray.is_initialized():
                ray_session.join(ray_address)
                stack.callback(ray_session.disconnect, output)
            self._control_plane = ControlPlane(ray_session.server_address(), announce)
            self._node_socket = ray_session.node_socket()
            self._next_probe_at = 0.0
            self._nodes = stack.enter_context(contextlib.closing(RayNodes()))
            self._closing = stack.pop_all()

    @property
    def nodes(self) -> RayNodes:
        return self._nodes

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> RayActor:
        if num_cpus is not None:
            nodes = self._nodes.label_selector
            return RayActor(kind, settings, name, where="SPREAD", num_cpus=num_cpus, label_selector=nodes)
        if not ray_session.is_local_node_alive():
            raise PlacementLost(NODE_LOST)
        return RayActor(kind, settings, name, where=ray_session.local_node(), num_cpus=0)

    def workers_endpoint(self) -> str:
        return "tcp://127.0.0.1:*"

    def can_start(self, now: float) -> bool:
        if now >= self._next_probe_at:  # the GCS server would notice later
            self._next_probe_at = now + POLL_INTERVAL_S
            if not _listens(self._node_socket):
                raise PlacementLost(NODE_LOST)
        return self._control_plane.is_there(now)

    def close(self) -> None:
        self._closing.close()


def _listens(path: str) -> bool:
    """True if a process listens on a Unix socket; a slow one counts as listening."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_TIMEOUT_S)
        try:
            probe.connect(path)
        except TimeoutError:
            return True
        except OSError:
            return False
    return True
