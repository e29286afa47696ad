"""A router and a worker connected by function calls: a service in one thread, without sockets."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence

from cactus_actors.config import HandoffSettings, RouterSettings, WorkerSettings
from cactus_actors.config_models import WeightFormat
from cactus_actors.handoff.cloud_access import read_cloud_access
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.confidence_fits import check_gate, fits_for, gate_probe
from cactus_actors.protocol.errors import CactusError, error_from_info
from cactus_actors.protocol.messages import Cancel, Delta, Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.wire import MSGPACK, decode_submit
from cactus_actors.protocol.worker_messages import WorkerMessage
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, Publish, SendClient, SendWorker
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.router_state import RouterOptions
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.service_facts import ServiceFacts
from cactus_actors.sdk.backend import OnDelta
from cactus_actors.sdk.cloud_link import CloudLink
from cactus_actors.text import load_text_model
from cactus_actors.workers.actor import hello_message, load_engine_from
from cactus_actors.workers.session import WorkerSession

MAX_CACHE_TOKENS = 32_768
BLOCK_SIZE = 16

CLOUD_WAIT_S = 0.02

_CLIENT, _WORKER, _CLOUD = b"client", b"worker", b"cloud"


class LocalBackend:
    """The model of a path or name in this process.

    The router's core and the worker's core are those of the service, so jobs behave as there. The cloud is added
    with the first job that may be handed off. Raises ModelFileInvalid and ConfigurationInvalid.
    """

    def __init__(self, name_or_path: str, *, weights: WeightFormat, threads: int, handoff: HandoffSettings) -> None:
        path = resolve_model(name_or_path)
        text = load_text_model(path)
        self._text = text
        settings = WorkerSettings(
            worker_id="local",
            model=text.name,
            weights=weights,
            threads=threads,
            max_sequences=1,
            cache_tokens=min(math.ceil(text.max_context / BLOCK_SIZE) * BLOCK_SIZE, MAX_CACHE_TOKENS),
            block_size=BLOCK_SIZE,
        )
        self._loaded = load_engine_from(path, text, settings)
        hello = hello_message(settings, self._loaded)
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
        self._worker = WorkerSession(self._loaded.engine, hello)
        self._handoff = handoff
        self._cloud: CloudLink | None = None
        self._must_stop = threading.Event()
        self._on_delta: OnDelta | None = None
        self._answer: Finished | Rejected | None = None
        self._handle_messages(self._worker.begin(now), now)

    @property
    def model(self) -> str:
        return self._text.name

    def run(self, submit: Submit, on_delta: OnDelta | None) -> Result:
        self._must_stop.clear()
        self._answer, self._on_delta = None, on_delta
        now = time.monotonic()
        if _may_go_to_cloud(submit.options):
            self._join_cloud(now)
        if on_delta is not None:
            self._perform(self._core.on_subscribed(submit.job_id, now)[1], now)
        try:
            self._perform(self._core.on_client(_CLIENT, submit, MSGPACK, now), now)
            answer = self._run_until_answered(submit.job_id)
        except BaseException as error:  # from on_delta, or an interrupt
            self._on_delta = None
            self._cancel(submit.job_id)
            if not isinstance(error, Exception):
                # It may have interrupted a step: reset the worker.
                self._handle_messages(self._worker.begin(now), now)
            raise
        finally:
            self._core.on_unsubscribed(submit.job_id)
        if isinstance(answer, Rejected):
            raise error_from_info(answer.error)
        return answer.result

    def stop(self) -> None:
        self._must_stop.set()

    def encode(self, text: str) -> list[int]:
        return self._text.tokenizer.encode(text, add_special=False)

    def close(self) -> None:
        if self._cloud is not None:
            self._cloud.close()
        self._loaded.close()

    def _join_cloud(self, now: float) -> None:
        """Make the cloud one of the router's workers, if there is a key for it."""
        if self._cloud is None and read_cloud_access(self._handoff, os.environ).refusal is None:
            self._cloud = CloudLink(self._handoff, os.environ)
            self._perform(self._core.on_worker(_CLOUD, self._cloud.hello, now), now)

    def _run_until_answered(self, job_id: str) -> Finished | Rejected:
        """Run worker and router alternately until the job has an answer."""
        while (answer := self._answer) is None:
            if self._must_stop.is_set():
                self._cancel(job_id)
                continue
            self._handle_messages(self._worker.on_tick(time.monotonic()), time.monotonic())
            now = time.monotonic()
            if self._cloud is not None:
                self._handle_cloud_messages(self._cloud, now)
            self._perform(self._core.on_tick(now), now)
        return answer

    def _handle_cloud_messages(self, cloud: CloudLink, now: float) -> None:
        for report in cloud.reports(0.0 if self._worker.has_work else CLOUD_WAIT_S):
            self._perform(self._core.on_worker(_CLOUD, report, now), now)
        if not cloud.is_alive:
            self._cloud = None
            self._perform(self._core.on_worker_lost(cloud.hello.worker_id, now), now)

    def _cancel(self, job_id: str) -> None:
        now = time.monotonic()
        self._perform(self._core.on_client(_CLIENT, Cancel(job_id=job_id), MSGPACK, now), now)

    def _handle_messages(self, messages: Sequence[WorkerMessage], now: float) -> None:
        for message in messages:
            self._perform(self._core.on_worker(_WORKER, message, now), now)

    def _prepared(self, submit: Submit) -> PreparedRequest | CactusError:
        try:
            return prepare(submit, self._text)
        except CactusError as error:
            return error

    def _perform(self, effects: Sequence[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case SendWorker(identity, command) if identity == _WORKER:
                    self._handle_messages(self._worker.on_command(command, now), now)
                case SendWorker(_, command) if self._cloud is not None:
                    self._cloud.send(command)
                case Publish(_, Delta() as delta) if self._on_delta is not None:
                    self._on_delta(delta)
                case PrepareRequest(job_id, content):
                    self._perform(self._core.on_prepared(job_id, self._prepared(decode_submit(content)), now), now)
                case SendClient(_, Finished() | Rejected() as answer):
                    self._answer = answer


def _may_go_to_cloud(options: Options) -> bool:
    return options.allow_cloud is not False and bool(options.cloud_handoff_threshold or options.max_entropy)
