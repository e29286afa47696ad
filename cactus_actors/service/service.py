"""One running service: router, workers, handoff actor and HTTP gateway, placed and supervised.

The placement transports calls and health checks only; jobs and tokens travel over ZeroMQ between the actors.
"""

from __future__ import annotations

import functools
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence

from cactus_actors.config import ServeConfig
from cactus_actors.config_scaling import worker_range
from cactus_actors.fleet.actor_handle import DEFAULT_HEALTH_TIMEOUTS, HealthTimeouts
from cactus_actors.fleet.readiness import StallTimeout, await_result
from cactus_actors.fleet.singleton import Singleton
from cactus_actors.fleet.start_phases import PhaseAnnouncer, ShowPhase, StartPhase
from cactus_actors.fleet.worker_pool import MAX_LOSSES_PER_WORKER, WorkerPool
from cactus_actors.fleet.worker_pools import WorkerPools
from cactus_actors.handoff.cloud_key import is_cloud_configured
from cactus_actors.handoff.settings_check import plain_text_warning
from cactus_actors.placement.actor_kinds import GATEWAY, HANDOFF, ROUTER, WORKER
from cactus_actors.placement.interface import Actor, ActorKind, Placement
from cactus_actors.process.health import Endpoints, RouterHealth
from cactus_actors.protocol.errors import CactusError, Unavailable
from cactus_actors.service.actor_settings import ActorSettings
from cactus_actors.service.collector import otlp_endpoint
from cactus_actors.service.job_log_target import JobLogTarget
from cactus_actors.service.local_cores import num_cores, within_cores
from cactus_actors.service.memory_budget import models_without_room
from cactus_actors.service.model_configs import model_configs
from cactus_actors.service.model_source import find_service_model
from cactus_actors.service.node_follower import NodeFollower
from cactus_actors.service.placement_choice import make_placement, uses_ray
from cactus_actors.service.ports import check_ports
from cactus_actors.service.preflight import check_settings
from cactus_actors.service.service_keys import service_keys
from cactus_actors.service.state_directory import StateDirectory, is_reusable, journal_directory

RECONCILE_INTERVAL_S = 0.25
POLL_INTERVAL_S = 0.05
ANSWER_TIMEOUT_S = 1.0


class Service:
    """Starts the actors, keeps the desired number of workers running, and stops everything.

    `announce` receives messages for the operator, one line each; `log_line` receives the lines of a job log that
    goes to standard error. `show_phase` receives the current phases of a start repeatedly; by default each phase
    is announced once. `cores` is the number of them for local workers, by default of those that there are.
    """

    def __init__(
        self,
        config: ServeConfig,
        announce: Callable[[str], None] = lambda _: None,
        log_line: Callable[[str], None] = lambda _: None,
        show_phase: ShowPhase | None = None,
        *,
        worker_kind: ActorKind = WORKER,
        timeouts: HealthTimeouts = DEFAULT_HEALTH_TIMEOUTS,
        cores: int | None = None,
    ) -> None:
        self._worker_kind = worker_kind
        self._config = config
        self._announce = announce
        self._log_line = log_line
        self._show_phase = show_phase or PhaseAnnouncer(announce)
        self._uses_ray = uses_ray(config)
        self._stop_timeout_s = timeouts.stop_s
        self._router = Singleton("the router", self._place_router, self._begin_router, announce, timeouts=timeouts)
        self._handoff = Singleton(
            "the handoff actor",
            self._place_handoff,
            self._begin_handoff,
            announce,
            on_lost=lambda: self._on_worker_lost(config.handoff.worker_id),
            timeouts=timeouts,
        )
        self._gateway = Singleton("the gateway", self._place_gateway, self._begin_gateway, announce, timeouts=timeouts)
        self._model_configs = model_configs(config)
        if not self._uses_ray:
            self._model_configs = list(within_cores(self._model_configs, cores or num_cores(), announce))
        sizes = {name: worker_range(one.workers) for name, _, one in self._model_configs}
        self._workers = WorkerPools(
            {
                name: WorkerPool(
                    sizes[name].num_at_start,
                    functools.partial(self._launch_worker, name),
                    self._on_worker_lost,
                    announce,
                    timeouts,
                    prefix=name or "worker",
                    on_load_failed=functools.partial(self._on_load_failed, name),
                )
                for name in sizes
            }
        )
        self._nodes = NodeFollower(self._workers, functools.partial(self._router.notify, "follow_nodes"), announce)
        self._placement_or_none: Placement | None = None
        self._http: str | None = None
        self._endpoints: Endpoints | None = None
        self._ready_workers: tuple[str, ...] = ()
        self._fixed: tuple[str, ...] = ()
        self._num_restarts_seen = 0
        self._is_started = False
        self._journal_dir = journal_directory(config) if config.journal else None
        self._job_log: JobLogTarget | None = None
        self._state: StateDirectory | None = None
        self._actor_settings: ActorSettings | None = None
        self._model_name = ",".join(name for name, _, _ in self._model_configs) or config.model

    @property
    def endpoints(self) -> Endpoints:
        """The endpoints for clients and workers, with ports resolved; the service must have started."""
        assert self._endpoints is not None
        return self._endpoints

    @property
    def http(self) -> str | None:
        """The gateway's address, HOST:PORT with the port resolved; None without a gateway."""
        return self._http

    @property
    def model_name(self) -> str:
        """The model's name for clients, or those of all models, with commas; the service must have started."""
        return self._config.alias or self._model_name

    @property
    def num_workers(self) -> int:
        """The workers that all models shall have now: none for a model that waits for a job."""
        return self._workers.num_wanted

    @property
    def _settings(self) -> ActorSettings:
        assert self._actor_settings is not None
        return self._actor_settings

    @property
    def _placement(self) -> Placement:
        assert self._placement_or_none is not None
        return self._placement_or_none

    @property
    def _has_cloud(self) -> bool:
        """True if the handoff actor is needed; on a cluster it may find a cloud key on its own node."""
        configured = is_cloud_configured(self._config.handoff, os.environ)
        return configured or self._config.ray_address is not None

    @property
    def _workers_endpoint(self) -> str:
        """The workers endpoint, whether or not the router listens already."""
        return self.endpoints.workers if self._endpoints else self._configured_workers_endpoint

    @property
    def _configured_workers_endpoint(self) -> str:
        return self._config.workers_endpoint or self._placement.workers_endpoint()

    def start(self) -> None:
        """Start every actor; returns when jobs are accepted and the desired workers are ready.

        Raises ConfigurationInvalid or Unavailable, with nothing left running.
        """
        api_keys = check_settings(self._config, os.environ)
        if warning := plain_text_warning(self._config.handoff):
            self._announce(f"warning: {warning}")
        state_dir = self._config.state_dir.expanduser()
        self._state = StateDirectory(state_dir, self._config.jobs_endpoint, self._announce)
        try:
            self._nodes.open(state_dir)
            check_ports(self._config)
            keys = service_keys(self._config)
            models = [find_service_model(named, self._announce) for named in self._model_configs]
            without_room = list(models_without_room(models, self._config.max_model_bytes))
            if without_room:
                self._announce(f"no memory is left for {', '.join(without_room)}: the first job loads it")
            self._workers.bound({it.name: it.memory for it in models if it.memory}, self._config.max_model_bytes)
            asleep = [model.name for model in models if model.size.begins_unloaded]
            self._workers.want(self._workers.desired, {*without_room, *asleep})
            self._model_name = self._model_name if self._config.models else models[0].own_name or self._model_name
            collector = otlp_endpoint(self._config, os.environ, self._announce)
            self._job_log = JobLogTarget(self._config, self._log_line)
            self._actor_settings = ActorSettings(
                config=self._config,
                models=models,
                keys=keys,
                api_keys=api_keys,
                journal_dir=self._journal_dir,
                job_log=self._job_log.path,
                otlp_endpoint=collector,
            )
            num_threads = sum(model.size.high * model.config.threads for model in models)
            self._placement_or_none = make_placement(self._config, num_threads, self._announce)
            self._start_actors()
            self._await_workers()
            self._is_started = True
        except BaseException:
            self.stop()
            raise

    def reconcile(self, stop: threading.Event) -> None:
        """Replace failed and hanging actors and follow the desired number of workers, until `stop` is set.

        Raises PlacementLost when no actor can be placed any more.
        """
        while not stop.wait(RECONCILE_INTERVAL_S):
            self._reconcile_all()

    def refuse(self) -> None:
        """Accept no new jobs from now on; may be called from any thread."""
        self._gateway.notify("drain")
        self._router.notify("drain", 0.0)

    def drain(self, timeout_s: float) -> bool:
        """Refuse new jobs and supervise the running ones; returns True if all ended within `timeout_s` seconds."""
        give_up_at = time.monotonic() + timeout_s
        while not self._is_drained():
            if time.monotonic() >= give_up_at:
                return False
            time.sleep(POLL_INTERVAL_S)
            self._reconcile_all()
        return True

    def stop(self) -> None:
        """Stop every actor and close the placement.

        Running jobs are left to the next service on the same endpoint if the journal holds them; otherwise they
        end with an error. HTTP requests end with an error; their jobs are left if the client can reconnect to them.
        """
        singletons = (self._gateway, self._router, self._handoff)
        for actor in (*self._workers.loading_actors, *(it.loading_actor for it in singletons)):
            if actor is not None:
                actor.terminate()  # it has no job, and would not stop before it is ready
        self._end([self._gateway.actor])  # before the actors that could still answer its requests
        leaves_jobs = self._journal_dir is not None and is_reusable(self._config.jobs_endpoint)
        self._end([self._router.actor], leaves_jobs)
        self._end([*self._workers.actors, self._handoff.actor])
        if self._placement_or_none is not None:
            self._placement_or_none.close()
        if self._job_log is not None:
            self._job_log.close()
        if self._journal_dir is not None and not leaves_jobs:
            shutil.rmtree(self._journal_dir, ignore_errors=True)
        if self._state is not None:
            self._state.close()

    def _start_actors(self) -> None:
        """Place all actors at once, as far as they need not know each other's endpoints."""
        now = time.monotonic()
        self._router.place(now)
        if self._config.http:
            self._gateway.place(now)
        if self._has_cloud:
            self._handoff.place(now)
        if is_reusable(self._workers_endpoint):
            self._reconcile_workers(now)
        self._router.begin()
        if self._handoff.actor is not None:
            self._handoff.begin()
        self._reconcile_workers(now)
        if self._config.http:
            self._gateway.begin()

    def _reconcile_all(self) -> None:
        now = time.monotonic()
        if not self._placement.can_start(now):
            return  # a call to Ray now may never return
        health: RouterHealth | None = self._router.reconcile(now)
        if health is not None:
            self._on_router_health(health)
        if self._handoff.actor is not None or self._has_cloud:
            self._handoff.reconcile(now)
        if self._config.http:
            self._gateway.reconcile(now)
        self._reconcile_workers(now, self._ready_workers)

    def _reconcile_workers(self, now: float, ready: Sequence[str] = ()) -> None:
        if self._placement.nodes is not None:
            self._nodes.follow(self._placement.nodes, self._settings.cpus_of(self._workers.wanted), now)
        self._workers.reconcile(now, ready)

    def _on_router_health(self, health: RouterHealth) -> None:
        self._workers.want(health.desired_workers, health.unloaded)
        self._ready_workers, self._fixed = health.ready_workers, health.fixed
        self._nodes.update(health.leaving_nodes)
        if health.num_restarts_requested > self._num_restarts_seen:
            self._announce("every worker is replaced, one at a time")
            self._workers.replace_all()
        self._num_restarts_seen = health.num_restarts_requested

    def _is_drained(self) -> bool:
        """Make gateway and router, restarted ones too, accept no more work; returns True if they have none left."""
        answers = []
        if self._gateway.actor is not None:
            answers.append(self._gateway.actor.ask("drain"))
        if self._router.actor is not None:
            answers.append(self._router.actor.ask("drain", 0.0))
        try:
            return all(answer.result(ANSWER_TIMEOUT_S) for answer in answers)
        except CactusError:
            return False

    def _place_router(self) -> Actor:
        config, known = self._config, self._endpoints
        settings = self._settings.router(
            jobs=known.jobs if known else config.jobs_endpoint,
            stream=known.stream if known else config.stream_endpoint,
            workers=known.workers if known else self._configured_workers_endpoint,
            desired_workers=self._workers.desired,
            unloaded=self._workers.unloaded,
            fixed=self._fixed,
            leaving_nodes=self._nodes.leaving,
            has_cloud=self._has_cloud,
        )
        return self._placement.start(ROUTER, settings, name="router")

    def _begin_router(self, actor: Actor) -> bool:
        self._endpoints = await_result(actor.ask("start"), self._config.ready_timeout_s, "the router starts")
        if self._state is not None:
            self._state.name(self._endpoints.jobs)
        actor.run()
        return True

    def _place_handoff(self) -> Actor:
        return self._placement.start(HANDOFF, self._settings.handoff(), name="handoff")

    def _begin_handoff(self, actor: Actor) -> bool:
        actor.run(self._workers_endpoint)
        return False

    def _place_gateway(self) -> Actor:
        settings = self._settings.gateway(self._http or self._config.http)
        return self._placement.start(GATEWAY, settings, name="gateway")

    def _begin_gateway(self, actor: Actor) -> bool:
        self._http = await_result(actor.ask("start"), self._config.ready_timeout_s, "the gateway starts")
        actor.run(self.endpoints.jobs, self.endpoints.stream)
        return True

    def _launch_worker(self, model: str, worker_id: str) -> Actor:
        settings = self._settings.worker(model, worker_id)
        worker = self._placement.start(self._worker_kind, settings, name=worker_id, num_cpus=settings.threads)
        worker.run(self._workers_endpoint)
        return worker

    def _on_worker_lost(self, worker_id: str) -> None:
        self._router.notify("worker_lost", worker_id)

    def _on_load_failed(self, model: str, reason: str) -> None:
        if self._is_started:  # a start that fails leaves the jobs to the next one
            self._router.notify("load_failed", model, reason)

    def _await_workers(self) -> None:
        timeout = StallTimeout(self._config.ready_timeout_s, time.monotonic())
        while (num_ready := self._num_ready()) < self._workers.num_wanted:
            self._check_losses()
            now = time.monotonic()
            self._reconcile_workers(now)
            phases = self._workers.loading
            for phase in phases:
                self._show_phase(phase)
            timeout.check(now, (num_ready, phases), self._wait_reason(num_ready, phases))
            time.sleep(POLL_INTERVAL_S)

    def _num_ready(self) -> int:
        assert self._router.actor is not None
        question = self._router.actor.ask("health")
        health: RouterHealth = await_result(question, self._config.ready_timeout_s, "the router answers")
        return len(health.ready_workers)

    def _wait_reason(self, num_ready: int, phases: Sequence[StartPhase]) -> str:
        parts = [f"{num_ready} of {self._workers.num_wanted} workers are ready", *(it.text for it in phases)]
        if num_lost := self._workers.num_restarts:
            parts.append(f"{num_lost} were lost")
        if self._uses_ray and any(phase.name == "placing" for phase in phases):
            parts.append(f"Ray looks for nodes with {self._config.threads} free CPUs")
        return "; ".join(parts)

    def _check_losses(self) -> None:
        """Raise the error of a worker that failed before it was ready, or Unavailable after too many losses."""
        for exit_info in self._workers.unreported_exits():
            num_lost = self._workers.num_restarts
            if not exit_info.is_lost or num_lost >= MAX_LOSSES_PER_WORKER * self._workers.num_wanted:
                raise exit_info.error or Unavailable("a worker left before it was ready")

    def _end(self, actors: Sequence[Actor | None], *arguments: object) -> None:
        """Ask actors to stop, and terminate those that do not in time."""
        running = [actor for actor in actors if actor is not None]
        for actor in running:
            actor.notify("stop", *arguments)
        until = time.monotonic() + self._stop_timeout_s
        while any(actor.exit_info() is None for actor in running) and time.monotonic() < until:
            time.sleep(POLL_INTERVAL_S / 5)
        for actor in running:
            actor.terminate()
