"""A router and a worker connected by function calls: a service in one thread, without sockets."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence

from cactus_actors.config import HandoffSettings, RouterSettings, WorkerSettings
from cactus_actors.handoff.cloud_access import read_cloud_access
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import check_gate, fits_for, gate_probe
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import ClientMessage, Delta, Finished, Rejected, Status
from cactus_actors.protocol.wire import MSGPACK, decode_submit
from cactus_actors.protocol.worker_messages import WorkerMessage
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, Publish, SendClient, SendWorker
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.router_state import RouterOptions
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.service_facts import ServiceFacts
from cactus_actors.sdk.cloud_link import CloudLink
from cactus_actors.sdk.engine_choice import EngineChoice
from cactus_actors.text import load_text_model
from cactus_actors.workers.actor import hello_message, load_engine_from
from cactus_actors.workers.session import WorkerSession

MAX_CACHE_TOKENS = 32_768
BLOCK_SIZE = 16

CLOUD_WAIT_S = 0.02
TICK_S = 0.05
"""Seconds between two ticks of the router, while the worker has steps to run."""

_CLIENT, _WORKER, _CLOUD = b"client", b"worker", b"cloud"

OnMessage = Callable[[Delta | Finished | Rejected], None]


class LocalService:
    """The router's core and the worker's core are those of the service, so jobs behave as there.

    It does nothing by itself: `step` runs it. `on_message` gets what is published and answered. A cloud joins by
    `join_cloud`. The router may hear of up to `steps_together` steps of the worker at once; so its times of tokens are
    later by as many. Raises ModelFileInvalid and ConfigurationInvalid.
    """

    def __init__(
        self, choice: EngineChoice, handoff: HandoffSettings, on_message: OnMessage, steps_together: int = 1
    ) -> None:
        path = resolve_model(choice.model)
        self.text = text = load_text_model(path)
        settings = WorkerSettings(
            worker_id="local",
            model=text.name,
            weights=choice.weights,
            threads=choice.threads,
            max_sequences=choice.max_sequences,
            cache_tokens=_cache_tokens(text.max_context, choice.max_sequences),
            block_size=BLOCK_SIZE,
        )
        self.loaded = load_engine_from(path, text, settings)
        hello = hello_message(settings, self.loaded)
        self.max_context = hello.max_context
        now = time.monotonic()
        prompt_probe = gate_probe(handoff.gate, path, text.fingerprint, handoff.prompt_probe_file)
        check_gate(handoff.gate, [prompt_probe])
        served = ServedModel(
            own_name=text.name,
            fingerprint=text.fingerprint,
            tokens=text.tokenizer,
            fits=fits_for(handoff.confidence_signal, path, handoff.probe_file, handoff.probability_file),
            prompt_probe=prompt_probe,
        )
        self._core = RouterCore(
            # the worker cannot be lost, and ended jobs are not fetched
            RouterSettings(
                worker_timeout_s=math.inf,
                retention_s=0.0,
                confidence_signal=handoff.confidence_signal,
                first_gate_tokens=handoff.first_gate_tokens,
                gate=handoff.gate,
                prompt_threshold=handoff.prompt_threshold,
                max_handoff_share=handoff.max_share,
                max_handoff_wait_s=handoff.max_wait_s,
            ),
            ServiceFacts(epoch=1, started_at=now),
            RouterOptions(models=(served,)),
        )
        self._worker = WorkerSession(self.loaded.engine, hello, steps_together=steps_together)
        self._handoff = handoff
        self._cloud: CloudLink | None = None
        self._on_message = on_message
        self._next_tick_at = 0.0
        self.restart_worker()

    @property
    def has_work(self) -> bool:
        """True if a step would compute something."""
        return self._worker.has_work

    def status(self) -> Status:
        """The state of this service."""
        return self._core.status(time.monotonic())

    def send(self, message: ClientMessage, pictures: Sequence[bytes] = ()) -> None:
        """Handle a message of the client, with the pictures that follow it."""
        now = time.monotonic()
        self._perform(self._core.on_client(_CLIENT, message, MSGPACK, now, frames=pictures), now)

    def subscribe(self, job_id: str) -> None:
        """Publish the stream of a job."""
        now = time.monotonic()
        self._perform(self._core.on_subscribed(job_id, now)[1], now)

    def unsubscribe(self, job_id: str) -> None:
        """End that."""
        self._core.on_unsubscribed(job_id)

    def restart_worker(self) -> None:
        """Begin the worker's session anew: at the start, and after an interrupt of a step."""
        now = time.monotonic()
        self._handle_messages(self._worker.begin(now), now)

    def join_cloud(self) -> None:
        """Make the cloud one of the router's workers, if there is a key for it."""
        if self._cloud is None and read_cloud_access(self._handoff, os.environ).refusal is None:
            now = time.monotonic()
            self._cloud = CloudLink(self._handoff, os.environ)
            self._perform(self._core.on_worker(_CLOUD, self._cloud.hello, now), now)

    def step(self) -> None:
        """Run a step of the worker, if it has work, then the router."""
        self._handle_messages(self._worker.on_tick(time.monotonic()), time.monotonic())
        now = time.monotonic()
        if self._cloud is not None:
            self._handle_cloud_messages(self._cloud, now)
        if now >= self._next_tick_at or not self.has_work:
            self._next_tick_at = now + TICK_S
            self._perform(self._core.on_tick(now), now)

    def close(self) -> None:
        """Free the model, and end the cloud's requests."""
        if self._cloud is not None:
            self._cloud.close()
        self.loaded.close()

    def _handle_cloud_messages(self, cloud: CloudLink, now: float) -> None:
        for report in cloud.reports(0.0 if self._worker.has_work else CLOUD_WAIT_S):
            self._perform(self._core.on_worker(_CLOUD, report, now), now)
        if not cloud.is_alive:
            self._cloud = None
            self._perform(self._core.on_worker_lost(cloud.hello.worker_id, now), now)

    def _handle_messages(self, messages: Sequence[WorkerMessage], now: float) -> None:
        for message in messages:
            self._perform(self._core.on_worker(_WORKER, message, now), now)

    def _prepared(self, request: PrepareRequest) -> PreparedRequest | CactusError:
        try:
            return prepare(decode_submit(request.content), self.text, PictureContents(frames=request.frames))
        except CactusError as error:
            return error

    def _perform(self, effects: Sequence[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case SendWorker(identity, command) if identity == _WORKER:
                    self._handle_messages(self._worker.on_command(command, now), now)
                case SendWorker(_, command) if self._cloud is not None:
                    self._cloud.send(command)
                case Publish(_, Delta() as delta):
                    self._on_message(delta)
                case PrepareRequest():
                    self._perform(self._core.on_prepared(effect.job_id, self._prepared(effect), now), now)
                case SendClient(_, Finished() | Rejected() as answer):
                    self._on_message(answer)


def _cache_tokens(max_context: int, max_sequences: int | None) -> int:
    if max_sequences is None:
        return MAX_CACHE_TOKENS
    return min(math.ceil(max_context / BLOCK_SIZE) * BLOCK_SIZE * max_sequences, MAX_CACHE_TOKENS)
