"""The state of one router, built once and passed to every part of `lifecycle/`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from cactus_actors.config import RouterSettings
from cactus_actors.router.effects import Outbox
from cactus_actors.router.scheduling.leaving_nodes import LeavingNodes
from cactus_actors.router.scheduling.model_fleet import ModelFleet, ModelFleets
from cactus_actors.router.scheduling.queued_loads import QueuedLoads
from cactus_actors.router.state.deferred_messages import DeferralLimits
from cactus_actors.router.state.ended_jobs import MAX_ENDED_JOBS
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.kept_pictures import KeptPictures
from cactus_actors.router.state.result_store import ResultStore
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.service_facts import ServiceFacts
from cactus_actors.router.state.submission import PendingSubmit
from cactus_actors.router.state.topics import Topics
from cactus_actors.router.state.worker import WorkerRefusal
from cactus_actors.router.telemetry.counters import RouterCounters

CacheSalt = Callable[[str, str], str]
"""(tenant, the client's cache salt) -> the salt under which cached prefixes are shared."""

LOAD_LIMITS = DeferralLimits(in_all=4096, of_requester=1024, of_requester_about_job=8)


def plain_cache_salt(tenant: str, salt: str) -> str:
    """A salt that separates tenants, where no tenant has a reason to guess another's."""
    return f"{tenant}/{salt}"


class RequiredThreshold(NamedTuple):
    """The least threshold, after so many steps by which audits have raised it."""

    minimum: float = 0.0
    step: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterOptions:
    """The arguments of a router in addition to its settings.

    `unix_offset` is the difference of Unix seconds and the router's clock; None without a journal. `models` are those
    of the service, the default one first. `cache_salt` separates the prefix caches of tenants. `refused` counts refused
    requests and connections by reason. `load_limits` bound the messages that wait for results from the journal,
    `max_ended_jobs` the ended jobs that are known, each for jobs with an idempotency key and others.
    """

    unix_offset: float | None = None
    models: tuple[ServedModel, ...] = (ServedModel(),)
    cache_salt: CacheSalt = plain_cache_salt
    refused: Counter[str] = field(default_factory=Counter)
    load_limits: DeferralLimits = LOAD_LIMITS
    max_ended_jobs: int = MAX_ENDED_JOBS


class RouterState:
    """The tables, the counters and the effects that wait to be performed.

    `storage_error` is the reason why the journal cannot be written, empty while it works.
    `num_restarts_requested` counts the requests of operators. `required` are the thresholds that audits require, by the
    model of a cascade, "" for jobs outside of it.
    """

    def __init__(self, settings: RouterSettings, facts: ServiceFacts, options: RouterOptions) -> None:
        self.settings = settings
        self.facts = facts
        self.options = options
        self.outbox = Outbox()
        self.counters = RouterCounters()
        self.jobs = JobTable(settings.retention_s, settings.keyed_retention_s, options.max_ended_jobs)
        self.pending: dict[str, PendingSubmit] = {}  # being prepared, in the order of their arrival
        self.topics = Topics()
        self.results = ResultStore(settings.max_result_bytes, facts.epoch, has_journal=self.has_journal)
        self.kept_pictures = KeptPictures(settings.max_journal_picture_bytes)
        queued = QueuedLoads() if len(options.models) > 1 else None
        self.fleets = ModelFleets(
            (
                ModelFleet(served, settings, facts.epoch, self.outbox, self.counters, queued)
                for served in options.models
            ),
            settings.cascade,
        )
        self.leaving_nodes = LeavingNodes(self.fleets, settings.leaving_nodes)
        self.num_restarts_requested = 0
        self.is_draining = False
        self.storage_error = ""
        self.required: dict[str, RequiredThreshold] = {}
        self.refused_workers: dict[str, WorkerRefusal] = {}

    @property
    def has_journal(self) -> bool:
        return self.options.unix_offset is not None
