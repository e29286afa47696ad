"""The `ray` placement on one machine: a private Ray instance, which is restarted when it ends."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import ray

from cactus_actors.placement.interface import ActorKind, PlacementLost
from cactus_actors.placement.ray import ray_session
from cactus_actors.placement.ray.private_ray import PrivateRay
from cactus_actors.placement.ray.ray_actor import RayActor
from cactus_actors.placement.ray.ray_output import RayOutput
from cactus_actors.process.backoff import Backoff
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid, Unavailable

CONNECT_ATTEMPTS = 3


class PrivateRayPlacement:
    """Starts a Ray instance that ends with this process. `prepare_environment` must have been called.

    Ray's output goes to a file in `state_dir`. Raises ConfigurationInvalid if a directory is not writable or this
    process is connected to another Ray, and Unavailable if Ray cannot be started.
    """

    def __init__(self, state_dir: Path, announce: Callable[[str], None]) -> None:
        if ray.is_initialized():
            raise ConfigurationInvalid("this process is connected to Ray already: give its address (ray_address)")
        self._announce = announce
        self._backoff = Backoff()
        self._started_at = float("-inf")
        self._is_closed = False
        with contextlib.ExitStack() as stack:
            self._output = stack.enter_context(contextlib.closing(RayOutput(state_dir, announce, sys.stdout)))
            stack.enter_context(contextlib.redirect_stdout(self._output))
            self._ray = self._started()
            self._closing = stack.pop_all()

    @property
    def nodes(self) -> None:
        return None

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> RayActor:  # noqa: ARG002  this placement does not reserve CPUs
        if self._ray.has_ended() or not ray_session.is_local_node_alive():
            self._ray.close()
            raise Unavailable("Ray exited on this machine; it is restarted")
        here = ray_session.local_node()
        return RayActor(kind, settings, name, where=here, num_cpus=0, has_ended=self._ray.has_ended)

    def workers_endpoint(self) -> str:
        return "tcp://127.0.0.1:*"

    def can_start(self, now: float) -> bool:
        if not self._ray.has_ended():
            return True
        if now < self._backoff.not_before:
            return False
        self._announce("Ray exited, and all actors with it; all are restarted")
        self._leave()
        try:
            self._ray = self._started()
        except CactusError as error:
            raise PlacementLost(f"{error.message}; the service ends, and finds its jobs in the journal") from None
        self._backoff.on_failed(now, now - self._started_at)
        self._started_at = now
        return True

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._leave()
        self._closing.close()

    def _leave(self) -> None:
        ray_session.disconnect(self._output)
        self._ray.close()

    def _started(self) -> PrivateRay:
        """Start Ray and connect to it; if Ray ends before that, it is started again."""
        for attempt in range(CONNECT_ATTEMPTS):
            private = PrivateRay(self._output, self._announce)
            try:
                ray_session.connect(private.address)
                return private
            except BaseException as error:
                private.close()
                if not isinstance(error, Exception) or attempt + 1 == CONNECT_ATTEMPTS:
                    raise
                self._announce(f"Ray ended while connecting ({ray_session.first_line(error)}); it is started again")
        raise AssertionError("every attempt returns or raises")
