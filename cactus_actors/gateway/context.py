"""State that all request handlers share: settings, router client, tokenizer and templates, files, metrics."""

from __future__ import annotations

import asyncio
import math
import time

from cactus_actors.client import AsyncClient
from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.background_tasks import BackgroundTasks
from cactus_actors.gateway.files.batch_queue import BatchQueue
from cactus_actors.gateway.files.file_store import FileStore
from cactus_actors.gateway.files.stored_responses import StoredResponses
from cactus_actors.gateway.http.api_keys import ApiKeys
from cactus_actors.gateway.http.recent_errors import RecentErrors
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.gateway.metrics.gateway_metrics import Metrics
from cactus_actors.gateway.served_texts import ServedTexts
from cactus_actors.gateway.service_history import ServiceHistory
from cactus_actors.gateway.status_watcher import StatusWatcher
from cactus_actors.gateway.text_queue import TextQueue
from cactus_actors.protocol.errors import PermissionDenied, StorageFailure, Unavailable
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.system_fingerprint import system_fingerprint
from cactus_actors.text import TextModel

MAX_BODIES_OF_ONE = 256
"""Large bodies of one caller that wait to be decoded; their memory is bounded separately."""


class GatewayContext:
    """Belongs to one event loop. `stopped` is done when waiting requests get no answer from this gateway any more."""

    def __init__(
        self,
        settings: GatewaySettings,
        client: AsyncClient,
        texts: ServedTexts,
        files: FileStore,
        batches: BatchQueue,
        responses: StoredResponses,
        timeouts: GatewayTimeouts,
    ) -> None:
        self.settings = settings
        self.client = client
        self.texts = texts
        self.keys = ApiKeys(settings.key_digests)
        self.files = files
        self.batches = batches
        self.responses = responses
        self.timeouts = timeouts
        self.metrics = Metrics()
        self.text_queue = TextQueue()
        self.body_queue = TextQueue(MAX_BODIES_OF_ONE, None)
        self.tasks = BackgroundTasks()
        self.status = StatusWatcher(client, self.tasks, timeouts)
        self.history = ServiceHistory(self.status, timeouts.sample_interval_s) if self.has_page else None
        self.errors = RecentErrors()
        self.created = int(time.time())
        self.is_draining = False
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._storage_failed_at = -math.inf
        self._has_served = False

    @property
    def model(self) -> str:
        """The name that the default model is served under."""
        return self.texts.first

    def text_of(self, model: str | None) -> TextModel:
        """The text side of the model that a request names, by default the first; raises ModelNotFound."""
        status = self.status.newest
        return self.texts.of(model, [] if status is None else status.adapters)

    @property
    def has_page(self) -> bool:
        """True if browsers get the page for people."""
        return self.settings.page == "on"

    @property
    def is_mistral(self) -> bool:
        """True if a surface has Mistral's profile; errors then have its fields too."""
        return "mistral" in (self.settings.chat_profile, self.settings.completions_profile)

    def fingerprint_of(self, model: str | None) -> str | None:
        """The system's fingerprint for what a request names as its model; None while it is unknown."""
        status = self.status.newest
        return None if status is None else system_fingerprint(status, model)

    async def check_serves(self) -> None:
        """Raise Unavailable while no worker could answer."""
        try:
            self._check(self.status.newest)
        except Unavailable:  # the newest status may be out of date
            self._check(await self.status.fresh())

    async def check_ready(self) -> None:
        """Raise Unavailable for new jobs if no worker can answer or the journal cannot be written."""
        await self.check_serves()
        # A status requested before the router refused a job does not show the refusal.
        has_failed_since = self._storage_failed_at >= self.status.requested_at
        status = self.status.newest
        if has_failed_since or (status is not None and status.storage_error):
            raise Unavailable("the journal cannot be written", retry_after=5.0)

    def note_failure(self, error: BaseException) -> None:
        """Record a refusal by the router: a StorageFailure ends readiness until a later status."""
        if isinstance(error, StorageFailure):
            self._storage_failed_at = time.monotonic()

    def stop(self) -> None:
        """End all waits for answers."""
        self.is_draining = True
        if not self.stopped.done():
            self.stopped.set_result(None)

    def _check(self, status: Status | None) -> None:
        if self.is_draining or (status is not None and status.draining):
            raise stopping_error()
        if status is None:
            raise Unavailable("the service does not answer", retry_after=1.0)
        # A worker that reports late is ready as long as the router considers it ready.
        if status.loads_on_demand or any(
            worker.kind == "local" and worker.state == "ready" for worker in status.workers
        ):
            self._has_served = True
            return
        raise Unavailable(self._why_no_worker(status), retry_after=1.0)

    def _why_no_worker(self, status: Status) -> str:
        if status.desired_workers == 0:
            return "the service has no model workers at the moment"
        if self._has_served or status.jobs.finished:
            return "no model worker answers at the moment; a lost one is replaced"
        return "Loading model"


def stopping_error() -> Unavailable:
    """The error for new and waiting requests while the service stops."""
    return Unavailable("the service is draining: it takes no new work and stops soon", retry_after=5.0)


def gateway_of(request: HttpRequest) -> GatewayContext:
    """The context of a request's handler."""
    gateway: GatewayContext = request.app.state.gateway
    return gateway


def is_operator(request: HttpRequest) -> bool:
    """True for a caller with an operator's API key, and for every caller where no keys are needed."""
    tenant: bytes = request.scope["state"]["tenant"]
    return not tenant or tenant.hex() in gateway_of(request).settings.operator_digests


def operators_gateway_of(request: HttpRequest, action: str) -> GatewayContext:
    """As `gateway_of`, for an operator; raises PermissionDenied, which names the action, for others."""
    if not is_operator(request):
        raise PermissionDenied(f"only an API key with role=operator may {action}")
    return gateway_of(request)
