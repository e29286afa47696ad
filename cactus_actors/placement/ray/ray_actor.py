"""An actor placed by Ray."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from cactus_actors.placement.interface import ActorExit, ActorKind, ActorLost
from cactus_actors.process import node_id
from cactus_actors.protocol.errors import CactusError, ServerFailure, Unavailable

CONTROL = "control"
CONTROL_THREADS = 2
LOST = "its process died"
POLL_INTERVAL_S = 0.5

HasEnded = Callable[[], bool]


class RayFuture:
    """The pending result of a call; `what` names it in messages."""

    def __init__(self, reference: Any, what: str, has_ended: HasEnded) -> None:
        self._reference = reference
        self._what = what
        self._has_ended = has_ended

    def done(self) -> bool:
        return self._has_ended() or _is_done(self._reference)

    def result(self, timeout_s: float) -> Any:
        until = time.monotonic() + timeout_s
        while not self._has_ended():
            wait_s = max(0.0, min(POLL_INTERVAL_S, until - time.monotonic()))
            try:
                return ray.get(self._reference, timeout=wait_s)
            except GetTimeoutError:
                if time.monotonic() >= until:
                    raise Unavailable(f"{self._what} took longer than {timeout_s:.0f} s") from None
            except Exception as error:
                raise _as_cactus_error(error) from None
        raise ActorLost(LOST)


class RayActor:
    """An actor placed by Ray, with separate threads for `run` and for control calls.

    `has_ended` says whether its Ray has ended: no more calls are made then.
    """

    def __init__(
        self,
        kind: ActorKind,
        settings: object,
        name: str,
        *,
        where: object,
        num_cpus: int,
        label_selector: dict[str, str] | None = None,
        has_ended: HasEnded = lambda: False,
    ) -> None:
        cls = getattr(importlib.import_module(kind.module), kind.name)
        remote: Any = ray.remote
        groups = {CONTROL: CONTROL_THREADS}
        placed = remote(
            num_cpus=num_cpus,
            concurrency_groups=groups,
            scheduling_strategy=where,
            label_selector=label_selector or None,
        )
        self._name = name
        self._has_ended = has_ended
        self._actor = placed(cls).remote(settings)
        self._placed = self._actor.__ray_call__.remote(_learn_node)
        self._run: Any = None

    @property
    def is_placed(self) -> bool:
        return self._has_ended() or _is_done(self._placed)

    @property
    def pid(self) -> int | None:
        return None

    def run(self, *arguments: object) -> None:
        if not self._has_ended():
            self._run = self._actor.run.remote(*arguments)

    def ask(self, method: str, *arguments: object) -> RayFuture:
        reference = None
        if not self._has_ended():
            call = getattr(self._actor, method)
            if method != "start":
                call = call.options(concurrency_group=CONTROL)
            reference = call.remote(*arguments)
        return RayFuture(reference, f"{self._name}: {method}", self._has_ended)

    def notify(self, method: str, *arguments: object) -> None:
        with contextlib.suppress(RayError):
            self.ask(method, *arguments)

    def exit_info(self) -> ActorExit | None:
        if self._has_ended():
            return ActorExit(LOST, ActorLost(LOST))
        if self._run is None or not _is_done(self._run):
            return None
        try:
            return ActorExit(str(ray.get(self._run)))
        except Exception as error:  # whatever ended the actor, the service continues
            failure = _as_cactus_error(error)
            return ActorExit(failure.message, failure)

    def terminate(self) -> None:
        """Kill the actor in any case: a call that Ray lost looks like a dead process."""
        if not self._has_ended():
            with contextlib.suppress(RayError):
                ray.kill(self._actor)


def _learn_node(_: object) -> None:
    """Note Ray's id of its node in an actor's process, before the actor starts."""
    os.environ[node_id.VARIABLE] = ray.get_runtime_context().get_node_id()


def _as_cactus_error(error: Exception) -> CactusError:
    """The error of a failed call: the actor's own error, ActorLost, or ServerFailure."""
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
