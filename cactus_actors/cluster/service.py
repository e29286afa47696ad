"""One running service: a router, local workers and the handoff actor, placed and watched over by Ray.

Ray carries placement and control only; jobs and tokens travel over ZeroMQ between the actors themselves.
An actor's `run` lasts as long as the actor: when it ends, the actor left or died, and `tend` says which.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from cactus_actors.cluster import ray_session
from cactus_actors.cluster.fleet import DrainWorker, Fleet, StartWorker
from cactus_actors.config import RouterSettings, ServeConfig, WorkerSettings
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid, Unavailable
from router.actor import Endpoints, RouterActor
from workers.actor import WorkerActor

READY_TIMEOUT_S = 120.0
CONTROL_TIMEOUT_S = 10.0
TEND_INTERVAL_S = 0.25


@dataclass(frozen=True)
class Placed:
    """An actor and the reference that ends when its `run` does."""

    actor: Any
    run: ray.ObjectRef[Any]


class Service:
    """Starts the actors, keeps the wished number of workers alive, and stops everything.

    `announce` is told, in one line each, what a person running the service wants to know.
    """

    def __init__(self, config: ServeConfig, announce: Callable[[str], None] = lambda _: None) -> None:
        self._config = config
        self._announce = announce
        self._fleet = Fleet(desired=config.workers)
        self._placed: dict[str, Placed] = {}
        self._router: Placed | None = None
        self._handoff: Placed | None = None
        self._endpoints: Endpoints | None = None
        self._owns_session = False

    @property
    def endpoints(self) -> Endpoints:
        """Where clients and workers connect, ports resolved; the service must have started."""
        assert self._endpoints is not None
        return self._endpoints

    def start(self) -> None:
        """Start every actor and return once jobs are accepted and the wished workers are ready.

        Raises ConfigurationInvalid or Unavailable, with nothing left running.
        """
        try:
            self._owns_session = ray_session.connect(
                self._config.ray_address, self._config.state_dir.expanduser()
            )
            self._start_router()
            self._start_handoff()
            self._apply_plan()
            self._await_workers(time.monotonic() + READY_TIMEOUT_S)
        except BaseException:
            self.stop(drain_s=0.0)
            raise

    def tend(self, stop: threading.Event) -> None:
        """Replace what dies and follow the wished number of workers until `stop` is set."""
        while not stop.wait(TEND_INTERVAL_S):
            self._tend_once()

    def stop(self, drain_s: float = 10.0) -> None:
        """Refuse new jobs, give running ones `drain_s` seconds, then end every actor and leave Ray."""
        if self._router is not None:
            with contextlib.suppress(RayError):
                self._control(self._router, "drain", drain_s, timeout_s=drain_s + CONTROL_TIMEOUT_S)
        everyone = [*self._placed.values(), *(actor for actor in (self._handoff, self._router) if actor)]
        for placed in everyone:
            with contextlib.suppress(RayError):
                placed.actor.stop.options(concurrency_group="control").remote()
        if everyone and ray.is_initialized():
            ray.wait([placed.run for placed in everyone], num_returns=len(everyone), timeout=2.0)
            for placed in everyone:
                ray.kill(placed.actor)
        self._placed.clear()
        self._router = self._handoff = None
        if self._owns_session:
            ray_session.disconnect()

    def _start_router(self) -> None:
        config = self._config
        known = self._endpoints
        settings = RouterSettings(
            model=config.model,
            jobs_endpoint=known.jobs if known else config.jobs_endpoint,
            stream_endpoint=known.stream if known else config.stream_endpoint,
            workers_endpoint=known.workers if known else config.workers_endpoint,
            desired_workers=self._fleet.desired,
            max_queued_jobs=config.max_queued_jobs,
        )
        actor = _place(RouterActor, settings, where=ray_session.this_node())
        self._endpoints = _result(actor.start.remote(), READY_TIMEOUT_S)
        self._router = Placed(actor, actor.run.remote())

    def _start_handoff(self) -> None:
        actor = _place(HandoffActor, self._config.handoff, where=ray_session.this_node())
        self._handoff = Placed(actor, actor.run.remote(self.endpoints.workers))

    def _start_worker(self, worker_id: str) -> None:
        config = self._config
        settings = WorkerSettings(
            worker_id=worker_id,
            model=config.model,
            weights=config.weights,
            threads=config.threads,
            max_sequences=config.max_sequences,
            token_budget=config.token_budget,
            cache_tokens=config.cache_tokens,
        )
        # A private local Ray has one machine and one user: how many workers share its cores is their choice.
        num_cpus = 0 if config.ray_address is None else config.threads
        actor = _place(WorkerActor, settings, where="SPREAD", num_cpus=num_cpus)
        self._placed[worker_id] = Placed(actor, actor.run.remote(self.endpoints.workers))

    def _apply_plan(self) -> None:
        for action in self._fleet.plan(time.monotonic()):
            match action:
                case StartWorker(worker_id):
                    self._start_worker(worker_id)
                case DrainWorker(worker_id):
                    self._announce(f"{worker_id} drains")
                    self._placed[worker_id].actor.drain.options(concurrency_group="control").remote()

    def _await_workers(self, deadline: float) -> None:
        while self._ready_workers() < self._config.workers:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{self._config.workers} workers were not ready within {READY_TIMEOUT_S:.0f} s"
                )
            for placed in self._placed.values():
                _raise_if_failed(placed)
            time.sleep(0.05)

    def _ready_workers(self) -> int:
        assert self._router is not None
        health = self._control(self._router, "health")
        return int(health.num_ready_workers)

    def _tend_once(self) -> None:
        now = time.monotonic()
        if self._router is not None and (reason := _ending(self._router)):
            self._announce(f"router ended ({reason}); restarting it on the same endpoints")
            self._start_router()
        if self._handoff is not None and (reason := _ending(self._handoff)):
            self._announce(f"handoff actor ended ({reason}); restarting it")
            self._start_handoff()
        for worker_id, placed in list(self._placed.items()):
            if reason := _ending(placed):
                self._on_worker_ended(worker_id, reason, now)
        with contextlib.suppress(RayError):
            self._fleet.desired = int(self._control(self._router, "desired_workers"))
        self._apply_plan()

    def _on_worker_ended(self, worker_id: str, reason: str, now: float) -> None:
        placed = self._placed.pop(worker_id)
        left = reason == "drained"
        if left:
            self._fleet.on_left(worker_id)
            self._announce(f"{worker_id} left")
        else:
            delay = self._fleet.on_died(worker_id, now)
            self._announce(
                f"{worker_id} died ({reason}); its jobs go on elsewhere, a new one in {delay:.0f} s"
            )
            with contextlib.suppress(RayError):
                self._control(self._router, "worker_lost", worker_id)
        with contextlib.suppress(RayError):
            ray.kill(placed.actor)

    def _control(
        self, placed: Placed | None, method: str, *arguments: object, timeout_s: float = CONTROL_TIMEOUT_S
    ) -> Any:
        assert placed is not None
        call = getattr(placed.actor, method).options(concurrency_group="control")
        return ray.get(call.remote(*arguments), timeout=timeout_s)


def _place(kind: type[Any], settings: object, *, where: object, num_cpus: int = 0) -> Any:
    """An actor of `kind`, with threads apart from its `run` for control calls."""
    remote: Any = ray.remote
    return remote(num_cpus=num_cpus, concurrency_groups={"control": 2}, scheduling_strategy=where)(
        kind
    ).remote(settings)


def _ending(placed: Placed) -> str | None:
    """Why an actor's `run` ended, or None while it runs."""
    done, _ = ray.wait([placed.run], timeout=0)
    if not done:
        return None
    try:
        return str(ray.get(placed.run))
    except RayActorError as error:
        return type(error).__name__
    except Exception as error:  # whatever ended the actor, the service goes on
        return str(error).strip().splitlines()[-1]


def _raise_if_failed(placed: Placed) -> None:
    done, _ = ray.wait([placed.run], timeout=0)
    if done:
        _result(placed.run, CONTROL_TIMEOUT_S)


def _result(reference: Any, timeout_s: float) -> Any:
    """The value of a call, or the CactusError that it raised inside the actor."""
    try:
        return ray.get(reference, timeout=timeout_s)
    except RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, CactusError):
            raise cause from None
        raise ConfigurationInvalid(f"an actor did not start: {str(error).strip().splitlines()[-1]}") from None
