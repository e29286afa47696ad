"""The `ray` placement: actors on the nodes of a cluster, or on a Ray that this process starts for itself."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from cactus_actors.cluster import ray_session
from cactus_actors.cluster.control_plane import ControlPlane
from cactus_actors.placement.interface import ActorKind, ActorLost, Ending
from cactus_actors.protocol.errors import CactusError, ServerFailure, Unavailable

CONTROL = "control"
CONTROL_THREADS = 2
LOST = "its process died"


class RayAnswer:
    """The answer to a call, `what` for people."""

    def __init__(self, reference: Any, what: str) -> None:
        self._reference = reference
        self._what = what

    def is_there(self) -> bool:
        return _is_done(self._reference)

    def value(self, timeout_s: float) -> Any:
        try:
            return ray.get(self._reference, timeout=timeout_s)
        except GetTimeoutError:
            raise Unavailable(f"{self._what} took longer than {timeout_s:.0f} s") from None
        except Exception as error:
            raise _told(error) from None


class RayActor:
    """An actor placed by Ray, with threads for control calls apart from its `run`."""

    def __init__(self, kind: ActorKind, settings: object, name: str, *, where: object, num_cpus: int) -> None:
        cls = getattr(importlib.import_module(kind.module), kind.name)
        remote: Any = ray.remote
        groups = {CONTROL: CONTROL_THREADS}
        placed = remote(num_cpus=num_cpus, concurrency_groups=groups, scheduling_strategy=where)
        self._name = name
        self._actor = placed(cls).remote(settings)
        self._placed = self._actor.__ray_ready__.remote()
        self._run: Any = None

    @property
    def is_placed(self) -> bool:
        return _is_done(self._placed)

    @property
    def pid(self) -> int | None:
        return None

    def run(self, *arguments: object) -> None:
        self._run = self._actor.run.remote(*arguments)

    def ask(self, method: str, *arguments: object) -> RayAnswer:
        call = getattr(self._actor, method)
        if method != "start":
            call = call.options(concurrency_group=CONTROL)
        return RayAnswer(call.remote(*arguments), f"{self._name}: {method}")

    def tell(self, method: str, *arguments: object) -> None:
        with contextlib.suppress(RayError):
            self.ask(method, *arguments)

    def ending(self) -> Ending | None:
        if self._run is None or not _is_done(self._run):
            return None
        try:
            return Ending(str(ray.get(self._run)))
        except Exception as error:  # whatever ended the actor, the service goes on
            told = _told(error)
            return Ending(told.message, told)

    def end(self) -> None:
        """A call that Ray lost looks like a process that died: it is killed in any case."""
        with contextlib.suppress(RayError):
            ray.kill(self._actor)


class RayPlacement:
    """Joins the cluster at `ray_address`, or starts a local Ray, which ends with this process.

    Raises Unavailable and ConfigurationInvalid as `ray_session.connect`.
    """

    def __init__(self, ray_address: str | None, state_dir: Path, announce: Callable[[str], None]) -> None:
        self._is_private = ray_address is None
        self._owns_session = ray_session.connect(ray_address, state_dir)
        self._control_plane = ControlPlane(ray_session.server_address(), announce)

    def start(self, kind: ActorKind, settings: object, *, name: str, num_cpus: int | None = None) -> RayActor:
        if num_cpus is None:
            ray_session.check_this_node()
            return RayActor(kind, settings, name, where=ray_session.this_node(), num_cpus=0)
        # A private local Ray has one machine and one user: how many workers share its cores is their choice.
        num_needed = 0 if self._is_private else num_cpus
        return RayActor(kind, settings, name, where="SPREAD", num_cpus=num_needed)

    def workers_endpoint(self) -> str:
        return "tcp://127.0.0.1:*"

    def can_start(self, now: float) -> bool:
        return self._control_plane.is_there(now)

    def close(self) -> None:
        if self._owns_session:
            self._owns_session = False
            ray_session.disconnect()


def _told(error: Exception) -> CactusError:
    """What a call's failure says: the actor's own error, that it is gone, or what else happened."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, CactusError):
        return cause
    if isinstance(error, RayActorError) and not error.actor_init_failed:
        return ActorLost(LOST)
    return ServerFailure(_last_line(error))


def _is_done(reference: Any) -> bool:
    done, _ = ray.wait([reference], timeout=0)
    return bool(done)


def _last_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
