"""One running service: router, workers, handoff actor and HTTP gateway, placed and watched over by Ray.

Ray carries placement and control only; jobs and tokens travel over ZeroMQ between the actors themselves.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence

import ray
from ray.exceptions import RayError

from cactus_actors.cluster import ray_session
from cactus_actors.cluster.actor_settings import ActorSettings
from cactus_actors.cluster.collector import otlp_endpoint
from cactus_actors.cluster.control_plane import ControlPlane
from cactus_actors.cluster.fleet import DrainWorker, Fleet, StartWorker
from cactus_actors.cluster.job_log import JobLogPlace
from cactus_actors.cluster.journal_place import is_found_again, journal_directory
from cactus_actors.cluster.ports import check_ports
from cactus_actors.cluster.service_keys import service_keys
from cactus_actors.cluster.watched import Watched, answer_of
from cactus_actors.config import ServeConfig
from cactus_actors.gateway.actor import GatewayActor
from cactus_actors.gateway.keys import check_exposure, read_keys
from cactus_actors.handoff.actor import HandoffActor
from cactus_actors.models.files import resolve_model
from cactus_actors.models.hub_cache import pinned
from cactus_actors.protocol.errors import CactusError, Unavailable
from cactus_actors.protocol.terms import Terms
from cactus_actors.text import load_text_model
from router.actor import Endpoints, RouterActor
from workers.actor import WorkerActor, WorkerHealth

READY_TIMEOUT_S = 120.0
LOSSES_AT_START = 2
"""Workers, for each one wished for, that may be lost until all are ready, as to a node that has just died."""
CONTROL_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 3.0
TEND_INTERVAL_S = 0.25
DRAIN_INTERVAL_S = 0.05
ANSWER_TIMEOUT_S = 1.0
ROUTER_RETRY_S = 1.0
GATEWAY_RETRY_S = 1.0
STUCK_AFTER_S = 20.0
"""A step is kept shorter than a heartbeat; a worker that shares its core with many others takes longer."""


class Service:
    """Starts the actors, keeps the wished number of workers alive, and stops everything.

    `announce` is told, in one line each, what a person running the service wants to know; `log_line` gets the
    lines of a job log that goes to standard error.
    """

    def __init__(
        self,
        config: ServeConfig,
        announce: Callable[[str], None] = lambda _: None,
        log_line: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._config = config
        self._announce = announce
        self._log_line = log_line
        self._fleet = Fleet(desired=config.workers)
        self._workers: dict[str, Watched] = {}
        self._router: Watched | None = None
        self._handoff: Watched | None = None
        self._gateway: Watched | None = None
        self._http: str | None = None
        self._gateway_not_before = 0.0
        self._endpoints: Endpoints | None = None
        self._owns_session = False
        self._control_plane: ControlPlane | None = None
        self._router_not_before = 0.0
        self._ready_workers: tuple[str, ...] = ()
        self._num_restarts_heard = 0
        self._journal_dir = journal_directory(config) if config.journal else None
        self._job_log: JobLogPlace | None = None
        self._actor_settings: ActorSettings | None = None

    @property
    def endpoints(self) -> Endpoints:
        """Where clients and workers connect, ports resolved; the service must have started."""
        assert self._endpoints is not None
        return self._endpoints

    @property
    def _settings(self) -> ActorSettings:
        assert self._actor_settings is not None
        return self._actor_settings

    @property
    def http(self) -> str | None:
        """Where the gateway listens, as HOST:PORT with the port resolved; None without a gateway."""
        return self._http

    def start(self) -> None:
        """Start every actor and return once jobs are accepted and the wished workers are ready.

        Raises ConfigurationInvalid or Unavailable, with nothing left running.
        """
        check_ports(self._config)
        api_keys = self._read_api_keys()
        keys = service_keys(self._config)
        model = self._find_model()  # a wrong path need not wait for Ray
        collector = otlp_endpoint(self._config, os.environ, self._announce)
        try:
            self._job_log = JobLogPlace(self._config, self._log_line)
            self._actor_settings = ActorSettings(
                config=self._config,
                model=model,
                keys=keys,
                api_keys=api_keys,
                journal_dir=self._journal_dir,
                job_log=self._job_log.path,
                otlp_endpoint=collector,
            )
            state_dir = self._config.state_dir.expanduser()
            self._owns_session = ray_session.connect(self._config.ray_address, state_dir)
            self._control_plane = ControlPlane(ray_session.server_address(), self._announce)
            self._start_router()
            self._start_handoff()
            self._apply_plan()
            if self._config.http:
                self._start_gateway()
            self._await_workers(time.monotonic() + READY_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def tend(self, stop: threading.Event) -> None:
        """Replace what dies or hangs, and follow the wished number of workers, until `stop` is set.

        Raises Unavailable when Ray itself is gone and nothing can be replaced any more.
        """
        while not stop.wait(TEND_INTERVAL_S):
            self._tend_all()

    def refuse(self) -> None:
        """Take no new work from now on; may be called from any thread."""
        for watched, arguments in ((self._gateway, ()), (self._router, (0.0,))):
            if watched is not None:
                watched.tell("drain", *arguments)

    def drain(self, timeout_s: float) -> bool:
        """Refuse new jobs and tend those that run; whether all had ended within `timeout_s` seconds."""
        give_up_at = time.monotonic() + timeout_s
        while not self._is_drained():
            if time.monotonic() >= give_up_at:
                return False
            time.sleep(DRAIN_INTERVAL_S)
            self._tend_all()
        return True

    def stop(self) -> None:
        """End every actor and leave Ray.

        Jobs that run are left to the next service on the same endpoint if the journal holds them, and end
        with an error otherwise; so do HTTP requests, whose jobs are left if their sender can come back.
        """
        if self._gateway is not None:
            _end([self._gateway])  # before those who could still answer its requests
        leaves_jobs = self._journal_dir is not None and is_found_again(self._config.jobs_endpoint)
        if self._router is not None:
            _end([self._router], leaves_jobs)
        _end([*self._workers.values(), *([self._handoff] if self._handoff else [])])
        self._workers.clear()
        self._router = self._handoff = self._gateway = None
        if self._owns_session:
            ray_session.disconnect()
        if self._job_log is not None:
            self._job_log.close()
        if self._journal_dir is not None and not leaves_jobs:
            shutil.rmtree(self._journal_dir, ignore_errors=True)

    def _tend_all(self) -> None:
        assert self._control_plane is not None
        now = time.monotonic()
        if not self._control_plane.is_there(now):
            return  # whatever is asked of Ray now may not come back
        self._tend_router(now)
        self._tend_handoff(now)
        self._tend_gateway(now)
        for worker_id in list(self._workers):
            self._tend_worker(worker_id, now)
        self._apply_plan()

    def _is_drained(self) -> bool:
        """Tell those who take work, restarted ones too, to take no more; whether they have none left."""
        answers = [] if self._gateway is None else [self._gateway.control("drain")]
        if self._router is not None:
            answers.append(self._router.control("drain", 0.0))
        with contextlib.suppress(RayError):
            return all(ray.get(answers, timeout=ANSWER_TIMEOUT_S))
        return False

    def _find_model(self) -> str:
        """Have the model's files here; by what name the actors find the very same."""
        path = resolve_model(self._config.model, self._announce)
        load_text_model(path)
        on_this_machine = self._config.ray_address is None
        return str(path.absolute()) if on_this_machine else pinned(self._config.model, path)

    def _start_router(self) -> None:
        config = self._config
        known = self._endpoints
        settings = self._settings.router(
            jobs=known.jobs if known else config.jobs_endpoint,
            stream=known.stream if known else config.stream_endpoint,
            workers=known.workers if known else config.workers_endpoint,
            desired_workers=self._fleet.desired,
        )
        router = Watched(RouterActor, settings, where=ray_session.this_node())
        try:
            self._endpoints = answer_of(router.actor.start.remote(), READY_TIMEOUT_S)
        except CactusError:
            router.kill()
            raise
        router.begin()
        self._router = router

    def _start_handoff(self) -> None:
        self._handoff = Watched(HandoffActor, self._settings.handoff(), where=ray_session.this_node())
        self._handoff.begin(self.endpoints.workers)

    def _read_api_keys(self) -> dict[str, Terms]:
        """Their terms by digest; refuses an endpoint that is open to others without a key."""
        if not self._config.http:
            return {}
        keys = read_keys(self._config.api_key_file, os.environ)
        is_encrypted = self._config.behind_proxy or self._config.tls_cert is not None
        check_exposure(self._config.http, keys, is_encrypted=is_encrypted)
        return keys

    def _start_gateway(self) -> None:
        settings = self._settings.gateway(self._http or self._config.http)
        gateway = Watched(GatewayActor, settings, where=ray_session.this_node())
        try:
            self._http = answer_of(gateway.actor.start.remote(), READY_TIMEOUT_S)
        except CactusError:
            gateway.kill()
            raise
        gateway.begin(self.endpoints.jobs, self.endpoints.stream)
        self._gateway = gateway

    def _start_worker(self, worker_id: str) -> None:
        config = self._config
        settings = self._settings.worker(worker_id)
        # A private local Ray has one machine and one user: how many workers share its cores is their choice.
        num_cpus = 0 if config.ray_address is None else config.threads
        worker = Watched(WorkerActor, settings, where="SPREAD", num_cpus=num_cpus)
        worker.begin(self.endpoints.workers)
        self._workers[worker_id] = worker

    def _apply_plan(self) -> None:
        for action in self._fleet.plan(time.monotonic(), self._ready_workers):
            match action:
                case StartWorker(worker_id):
                    self._start_worker(worker_id)
                    self._announce(f"{worker_id} starts")
                case DrainWorker(worker_id):
                    self._workers[worker_id].tell("drain")
                    self._announce(f"{worker_id} drains")

    def _await_workers(self, deadline: float) -> None:
        assert self._router is not None
        num_ready = 0
        while num_ready < self._config.workers:
            if time.monotonic() > deadline:
                lost = f", {self._fleet.num_restarts} were lost" if self._fleet.num_restarts else ""
                raise Unavailable(
                    f"{num_ready} of {self._config.workers} workers were ready within "
                    f"{READY_TIMEOUT_S:.0f} s{lost}; does Ray have a free CPU for each of their threads?"
                )
            for worker_id in list(self._workers):
                self._replace_if_lost(worker_id)
            self._apply_plan()
            num_ready = len(answer_of(self._router.control("health"), CONTROL_TIMEOUT_S).ready_workers)
            time.sleep(0.05)

    def _replace_if_lost(self, worker_id: str) -> None:
        """Raises what a worker raised that is not ready yet, and when too many of them are lost."""
        worker = self._workers[worker_id]
        if worker.ending() is None:
            return
        if not worker.was_lost() or self._fleet.num_restarts >= LOSSES_AT_START * self._config.workers:
            answer_of(worker.run, CONTROL_TIMEOUT_S)
            raise Unavailable("a worker left before it was ready")
        self._tend_worker(worker_id, time.monotonic())

    def _tend_router(self, now: float) -> None:
        assert self._router is not None
        if reason := self._router.ending():
            if now < self._router_not_before:
                return
            self._router_not_before = now + ROUTER_RETRY_S
            ray_session.check_this_node()
            self._router.kill()  # a call that Ray lost looks like a process that died
            self._announce(f"the router ended ({reason}); it restarts on the same endpoints")
            try:
                self._start_router()
            except CactusError as error:
                self._announce(f"the router did not start: {error.message}")
        elif self._router.is_hung(now):
            self._announce("the router does not answer; it is ended")
            self._router.kill()
        elif health := self._router.health(now):
            self._fleet.desired = health.desired_workers
            self._ready_workers = health.ready_workers
            if health.num_restarts_wished > self._num_restarts_heard:
                self._announce("every worker is replaced, one after the other")
                self._fleet.replace_all()
            self._num_restarts_heard = health.num_restarts_wished

    def _tend_handoff(self, now: float) -> None:
        assert self._handoff is not None
        self._handoff.health(now)
        if reason := self._handoff.ending():
            self._announce(f"the handoff actor ended ({reason}); it restarts")
            self._handoff.kill()
            self._start_handoff()
        elif self._handoff.is_hung(now):
            self._handoff.kill()

    def _tend_gateway(self, now: float) -> None:
        if self._gateway is None:
            return
        self._gateway.health(now)
        if reason := self._gateway.ending():
            if now < self._gateway_not_before:
                return
            self._gateway_not_before = now + GATEWAY_RETRY_S
            self._announce(f"the gateway ended ({reason}); it restarts on the same address")
            self._gateway.kill()
            try:
                self._start_gateway()
            except CactusError as error:
                self._announce(f"the gateway did not start: {error.message}")
        elif self._gateway.is_hung(now):
            self._announce("the gateway does not answer; it is ended")
            self._gateway.kill()

    def _tend_worker(self, worker_id: str, now: float) -> None:
        worker = self._workers[worker_id]
        health = worker.health(now)
        if reason := worker.ending():
            del self._workers[worker_id]
            self._on_worker_ended(worker_id, reason, now)
            worker.kill()
        elif worker.is_hung(now) or (health is not None and _is_stuck(health)):
            self._announce(f"{worker_id} does not answer; it is ended")
            worker.kill()

    def _on_worker_ended(self, worker_id: str, reason: str, now: float) -> None:
        if reason == "drained":
            self._fleet.on_left(worker_id)
            self._announce(f"{worker_id} left")
            return
        delay = self._fleet.on_died(worker_id, now)
        self._announce(f"{worker_id} ended ({reason}); its jobs go on elsewhere, a new one in {delay:.0f} s")
        if self._router is not None:
            self._router.tell("worker_lost", worker_id)


def _is_stuck(health: WorkerHealth) -> bool:
    """Whether the loop of a worker whose other threads still answer has stopped."""
    return health.state != "loading" and health.last_tick_s > STUCK_AFTER_S


def _end(actors: Sequence[Watched], *arguments: object) -> None:
    """Let actors end by themselves, soon, and end those that do not."""
    for watched in actors:
        watched.tell("stop", *arguments)
    runs = [watched.run for watched in actors if watched.run is not None]
    if runs:
        ray.wait(runs, num_returns=len(runs), timeout=STOP_TIMEOUT_S)
    for watched in actors:
        watched.kill()
