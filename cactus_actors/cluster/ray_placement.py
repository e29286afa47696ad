"""The `ray` placement on a cluster: actors on the nodes of somebody else's Ray."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import ray

from cactus_actors.cluster import ray_session
from cactus_actors.cluster.control_plane import ControlPlane
from cactus_actors.cluster.ray_actor import RayActor
from cactus_actors.cluster.ray_output import RayOutput
from cactus_actors.placement.interface import ActorKind, PlacementLost


class RayPlacement:
    """Joins the cluster at `ray_address`, unless this process is in a session already, which is then kept.

    What Ray prints goes to a file in `state_dir`. Raises Unavailable and ConfigurationInvalid.
    """

    def __init__(self, ray_address: str, state_dir: Path, announce: Callable[[str], None]) -> None:
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(contextlib.closing(RayOutput(state_dir, announce, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(output))
            if not ray.is_initialized():
                ray_session.join(ray_address)
                stack.callback(ray_session.disconnect)
            self._control_plane = ControlPlane(ray_session.server_address(), announce)
            self._closing = stack.pop_all()

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> RayActor:
        if num_cpus is not None:
            return RayActor(kind, settings, name, where="SPREAD", num_cpus=num_cpus)
        if not ray_session.has_this_node():
            raise PlacementLost(
                "control_plane_down: Ray's process on this machine has ended, and all actors with it; the "
                "service ends, and finds its jobs in the journal when it is started again"
            )
        return RayActor(kind, settings, name, where=ray_session.this_node(), num_cpus=0)

    def workers_endpoint(self) -> str:
        return "tcp://127.0.0.1:*"

    def can_start(self, now: float) -> bool:
        return self._control_plane.is_there(now)

    def close(self) -> None:
        self._closing.close()
