"""The real router and the real gateway in threads, with a fake worker that the test controls."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import httpx
import msgspec
import zmq

from cactus_actors.client import Client
from cactus_actors.config import GatewaySettings, RouterSettings
from cactus_actors.gateway.http.timeouts import DEFAULT_TIMEOUTS, GatewayTimeouts
from cactus_actors.gateway.server import GatewayServer
from cactus_actors.models.catalog import list_models, resolve_model
from cactus_actors.process.health import Endpoints
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.model_overrides import ModelOverrides
from cactus_actors.protocol.wire import encode, router_command_decoder
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish, Report, SequenceDelta, Welcome
from cactus_actors.router.actor import RouterActor
from cactus_actors.text import TextModel, load_text_model
from tests.support.http.trust_nobody import TRUST_NOBODY
from tests.support.router.letter_model import LetterModel
from tests.support.router.scripted_router import until
from tests.support.router.standing_objects import exempt_standing_objects
from tests.support.router.worker_messages import make_delta, make_hello

NUM_SLOTS = 8
COMPILED_WITHIN_S = 600.0
"""The timeout if a real worker takes the place of the fake one: the machine may be busy."""
ANY_PORT = "tcp://127.0.0.1:*"
STORY = (" in", " a", " small")
JSON = {"content-type": "application/json"}


@dataclass
class FakeWorker:
    """Answers every prompt with `words`, one per step; the token id of a word is its index.

    `max_tokens` ends it early, `failure` in place of its last word; with `is_held` it generates nothing,
    and at most `pauses_at` words of an answer while that is a number. With `is_absent` it never connects.
    """

    endpoint: str
    words: tuple[str, ...] = STORY
    step_s: float = 0.03
    failure: ErrorInfo | None = None
    is_held: bool = False
    pauses_at: int | None = None
    is_absent: bool = False
    fingerprint: str = ""
    weights: str = ""
    kernels: str = ""
    dispatches: list[Dispatch] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._running: dict[int, tuple[Dispatch, int]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if not self.is_absent:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if not self.is_absent:
            self._thread.join(60)

    @property
    def num_running(self) -> int:
        return len(self._running)

    def _run(self) -> None:
        hello = msgspec.structs.replace(
            make_hello("fake", num_slots=NUM_SLOTS),
            fingerprint=self.fingerprint,
            weights=self.weights,
            kernels=self.kernels,
        )
        decoder = router_command_decoder()
        num_accepted, epoch = 0, None
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.connect(self.endpoint)
            socket.send_multipart(encode(hello))
            while not self._stop.wait(self.step_s):
                while socket.poll(0):
                    match decoder.decode(socket.recv_multipart()):
                        case Welcome() as welcome:
                            self._running.clear()
                            num_accepted = 0
                            if epoch not in (None, welcome.epoch):
                                socket.send_multipart(encode(hello))
                            epoch = welcome.epoch
                        case Dispatch() as dispatch:
                            num_accepted += 1
                            self.dispatches.append(dispatch)
                            self._running[dispatch.dispatch_id] = (dispatch, len(dispatch.emitted_ids))
                        case Abort(dispatch_id):
                            if (aborted := self._running.pop(dispatch_id, None)) is not None:
                                self.aborted.append(aborted[0].job_id)
                deltas = [self._step(dispatch_id) for dispatch_id in [*self._running] if self._may_step(dispatch_id)]
                free = NUM_SLOTS - len(self._running)
                socket.send_multipart(encode(Report(num_accepted, free, 64, len(self._running), deltas)))

    def _may_step(self, dispatch_id: int) -> bool:
        pauses_at = 0 if self.is_held else self.pauses_at
        return pauses_at is None or self._running[dispatch_id][1] < pauses_at

    def _step(self, dispatch_id: int) -> SequenceDelta:
        dispatch, position = self._running[dispatch_id]
        self._running[dispatch_id] = (dispatch, position + 1)
        last = min(len(self.words), dispatch.params.max_tokens) - 1
        finish = None
        if position >= last:
            del self._running[dispatch_id]
            finish = Finish("length" if last + 1 < len(self.words) else "stop")
            if self.failure is not None:
                return make_delta(dispatch_id, position, "", token_ids=[], finish=Finish("error", error=self.failure))
        return make_delta(dispatch_id, position, self.words[position], token_ids=[position], finish=finish)


@dataclass
class FakeWorkerService:
    """A running service; `http` calls its gateway, `client` its router."""

    router: RouterActor
    endpoints: Endpoints
    worker: FakeWorker
    settings: GatewaySettings
    text: TextModel
    gateway: GatewayServer | None = None
    verify: ssl.SSLContext = TRUST_NOBODY
    timeouts: GatewayTimeouts = DEFAULT_TIMEOUTS
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        assert self.gateway is not None
        scheme = "http" if self.settings.tls_cert is None else "https"
        return f"{scheme}://{self.gateway.address}"

    def start_gateway(self) -> None:
        self.gateway = GatewayServer(self.settings, self.text, self.timeouts)
        self._thread = threading.Thread(
            target=self.gateway.run, args=(self.endpoints.jobs, self.endpoints.stream), daemon=True
        )
        self._thread.start()
        expected = 503 if self.worker.is_absent else 200
        until(lambda: self._health() == expected, COMPILED_WITHIN_S)

    def _health(self) -> int:
        return httpx.get(f"{self.url}/health", verify=self.verify, timeout=60).status_code

    def stop_gateway(self) -> None:
        assert self.gateway is not None
        assert self._thread is not None
        self.gateway.stop()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def http(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, verify=self.verify, **options)

    def client(self) -> Client:
        return Client(self.endpoints.jobs, self.endpoints.stream, timeout=60)


def _text(model: str, overrides: ModelOverrides) -> TextModel:
    return load_text_model(resolve_model(model), overrides)


_embedded_text = cache(_text)
"""Embedded models do not change; loading one takes longer than the rest of a start."""


@contextmanager
def fake_worker_service(
    state_dir: Path,
    *,
    gateway: dict[str, Any] | None = None,
    router_settings: dict[str, Any] | None = None,
    listen: str = "127.0.0.1:0",
    verify: ssl.SSLContext = TRUST_NOBODY,
    timeouts: GatewayTimeouts = DEFAULT_TIMEOUTS,
    **worker: Any,
) -> Iterator[FakeWorkerService]:
    """Run a service whose worker is a FakeWorker made with `worker`."""
    settings = RouterSettings(jobs_endpoint=ANY_PORT, stream_endpoint=ANY_PORT, **(router_settings or {}))
    asked = GatewaySettings(listen=listen, state_dir=str(state_dir), **(gateway or {}))
    text = (_embedded_text if asked.model in list_models() else _text)(asked.model, asked.overrides)
    model = LetterModel()
    model.fingerprint = text.fingerprint
    router = RouterActor(settings, model)
    exempt_standing_objects()
    endpoints = router.start()
    routing = threading.Thread(target=router.run, daemon=True)
    routing.start()
    try:
        with FakeWorker(endpoints.workers, fingerprint=text.fingerprint, **worker) as fake:
            service = FakeWorkerService(router, endpoints, fake, asked, text, verify=verify, timeouts=timeouts)
            service.start_gateway()
            try:
                yield service
            finally:
                service.stop_gateway()
    finally:
        router.stop()
        routing.join(60)
