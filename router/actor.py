"""The router actor: the workers' socket, the edge process for clients, and one loop around the core."""

from __future__ import annotations

import importlib.metadata
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import zmq

from cactus_actors.config import RouterSettings
from cactus_actors.keys.exposure import check_exposure
from cactus_actors.keys.key_store import KeyStore
from cactus_actors.process.health import Endpoints, RouterHealth
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.process.resident_memory import return_large_blocks
from cactus_actors.process.throttled_log import ThrottledLog
from cactus_actors.protocol.errors import InvalidMessage
from cactus_actors.protocol.wire import encode, encode_published, worker_message_decoder
from cactus_actors.protocol.worker_messages import WorkerMessage
from cactus_actors.router.auth import bound_sockets as sockets
from cactus_actors.router.auth.accepted_keys import AcceptedKeys
from cactus_actors.router.auth.authenticator import Authenticator, CurveAuthenticator, OpenAuthenticator
from cactus_actors.router.auth.fd_pressure import FdPressure
from cactus_actors.router.auth.unfinished_messages import UnfinishedMessages
from cactus_actors.router.core import RouterCore
from cactus_actors.router.edge.client_traffic import ClientTraffic
from cactus_actors.router.edge.edge_link import READABLE
from cactus_actors.router.edge.edge_messages import BindSockets, JobOwner
from cactus_actors.router.edge.edge_process import EdgeLimits, EdgeProcess
from cactus_actors.router.effects import (
    Effect,
    LoadResult,
    LogWarning,
    PrepareRequest,
    Publish,
    ReportJob,
    SendWorker,
    SetJobOwner,
    WriteJournal,
)
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.journal.journal_reader import JournalReader
from cactus_actors.router.preparation.loaded_models import LoadedModel, load_models
from cactus_actors.router.preparation.preparation_pool import PreparationPool, Prepared
from cactus_actors.router.preparation.preparers import preparers_of
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.process.garbage_collection import ShortCollections
from cactus_actors.router.process.loop_delay import LoopDelay
from cactus_actors.router.process.loop_mailbox import LoopMailbox
from cactus_actors.router.process.memory_limit import limit_memory, out_of_memory
from cactus_actors.router.process.source_poller import SourcePoller
from cactus_actors.router.router_state import RouterOptions, plain_cache_salt
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.state.journal_records import StoredResult
from cactus_actors.router.state.service_facts import ServiceFacts
from cactus_actors.router.telemetry.job_reporter import JobReporter, job_reporter_of

TICK_S, REST_TICK_S = 0.05, 0.25
"""Seconds between two ticks of the core, while it has work and at rest."""
EARLY_S = 0.02
"""How much earlier a tick may be that needs no turn of the loop of its own."""
CHECK_S = 0.09
"""The least seconds between two examinations of the process itself."""
MAX_WORKER_MESSAGES = 256
"""The most worker messages between two polls of the clients; tokens of one job in them are published together."""
EDGE_MEMORY_BYTES = 512 << 20
"""The memory that clients may take in the edge process."""

Observer = Callable[[JobReport], None]

_log = logging.getLogger(__name__)
_bad_frames_log = ThrottledLog(_log)


class RouterActor:
    """Owns the sockets; `run` is the only thread that touches them or the core.

    Other threads may call the other methods, which read published state or post a call to the loop. `text_model`
    replaces the model's own. The loop calls each of `observers` with the report of an ended job: they must neither
    block nor raise.
    """

    def __init__(
        self,
        settings: RouterSettings,
        text_model: PromptModel | None = None,
        observers: Sequence[Observer] = (),
        edge_limits: EdgeLimits | None = None,
    ) -> None:
        self._settings = settings
        self._edge_limits = edge_limits or EdgeLimits()
        self._text_model = text_model
        self._observers = list(observers)
        self._job_reporter: JobReporter | None = None
        self._reader: JournalReader | None = None
        self._decode_worker = worker_message_decoder().decode
        self._mailbox = LoopMailbox()
        self._is_stopping = False
        self._leaves_jobs = False
        self._drained = threading.Event()
        self._health = RouterHealth(0, settings.desired_by_model, (), 0, 0)
        self._ticked_at, self._planned_s, self._checked_at = 0.0, TICK_S, 0.0
        self._loop_delay = LoopDelay(TICK_S)

    def start(self) -> Endpoints:
        """Load the model's text side, recover the journal's jobs and bind.

        Raises ConfigurationInvalid naming the fault.
        """
        keys, corpus = _keys_of(self._settings), _corpus_of(self._settings)
        models = load_models(self._settings, self._text_model)
        epoch = time.time_ns() // 1_000_000
        self._health = RouterHealth(epoch, self._settings.desired_by_model, (), 0, 0)
        self._job_reporter = job_reporter_of(self._settings, _version())
        if self._job_reporter is not None:
            self._observers.append(self._job_reporter.observe)
        self._journal = _journal_of(self._settings)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        refused: Counter[str] = Counter()
        self._authenticator: Authenticator = (
            OpenAuthenticator(refused) if keys is None else CurveAuthenticator(self._context, keys, refused)
        )
        facts = ServiceFacts(epoch=epoch, started_at=time.monotonic(), version=_version())
        options = RouterOptions(
            unix_offset=None if self._journal is None else self._journal.unix_offset,
            models=tuple(model.served for model in models),
            cache_salt=plain_cache_salt if keys is None else keys.salt,
            refused=refused,
        )
        self.core = RouterCore(self._settings, facts, options)
        self._workers = sockets.workers_socket(self._context)
        self._authenticator.guard(self._workers, "workers")
        self._fd_pressure = FdPressure(self._authenticator.connections.has_sent, refused)
        self._unfinished = UnfinishedMessages(self._authenticator.connections, refused)
        self._preparation_pool = self._start_preparing(models, corpus)
        bind_request = _bind_request_of(self._settings, self._edge_limits)
        self._edge = EdgeProcess(bind_request, self.core.owners, self._on_edge_lost, self._edge_limits)
        self._traffic = ClientTraffic(self._edge, self.core, refused, self._perform)
        try:
            self._edge.begin()
            if self._journal is not None:
                settings = self._settings
                jobs = self._journal.recover(max(settings.retention_s, settings.keyed_retention_s))
                self._perform(self.core.recover(jobs, time.monotonic()))
                self._journal.start(self.on_journaled, self.on_journal_failed, self._on_results_written)
                assert self._settings.journal_dir is not None
                self._reader = JournalReader(
                    Path(self._settings.journal_dir), self._on_result_loaded, self._journal.shared
                )
            workers = sockets.bind(self._workers, self._settings.workers_endpoint)
            listening = self._edge.listening()
            self._fd_pressure.watch([workers])
            self._unfinished.watch([workers])
            if self._settings.max_memory_bytes is not None:
                limit_memory(self._settings.max_memory_bytes)
            return Endpoints(listening.jobs, listening.stream, workers)
        except BaseException:
            self._close()
            raise

    def run(self) -> str:
        """Serve until `stop`; returns the reason of the end."""
        return_large_blocks()
        poller = SourcePoller((self._mailbox, *self._authenticator.sources))
        try:
            with ShortCollections() as self._collections:
                self._serve(poller)
            self._perform(self.core.on_stop(time.monotonic(), leaves_jobs=self._leaves_jobs))
        except MemoryError:
            if self._settings.max_memory_bytes is not None:
                out_of_memory()
            raise
        finally:
            self._close()
        return "stopped"

    def _serve(self, poller: SourcePoller) -> None:
        self._traffic.handle_requests()  # those that came during the start wake no poll
        while not self._is_stopping:
            ready = self._wait(poller)
            if not ready.keys().isdisjoint(self._authenticator.sources):
                self._process_auth_events()
            if self._edge.fileno() in ready:
                self._traffic.handle_requests()
            self._traffic.answer()
            if self._workers in ready:
                self._take_worker_messages()  # before the tick, which looks for silent workers
            self._mailbox.run_pending()
            self._tick()
            self._edge.flush()

    def health(self) -> RouterHealth:
        return self._health

    def worker_lost(self, worker_id: str) -> None:
        """Continue the jobs of that worker, whose process has ended, elsewhere immediately."""
        self._mailbox.post(lambda: self._perform(self.core.on_worker_lost(worker_id, time.monotonic())))

    def follow_nodes(self, taken: Sequence[LeavingNode], gone: Sequence[str]) -> None:
        """Replace the workers of nodes that the cluster takes, and forget the nodes of these ids."""
        self._mailbox.post(lambda: self.core.follow_nodes(taken, gone))

    def load_failed(self, model: str, reason: str) -> None:
        """End the jobs that wait for the workers of a model: these do not start."""
        self._mailbox.post(lambda: self._perform(self.core.on_load_failed(model, reason, time.monotonic())))

    def drain(self, timeout_s: float) -> bool:
        """Refuse new jobs and wait until the accepted ones have ended; False if some have not in time."""
        self._mailbox.post(self.core.close_admission)
        return self._drained.wait(timeout_s)

    def stop(self, leaves_jobs: bool = False) -> None:
        """Let `run` end; jobs that are left end with an error, or are left to the journal's next reader."""
        self._leaves_jobs = leaves_jobs
        self._mailbox.post(self._set_stopping)

    def _on_prepared(self, outcomes: Sequence[Prepared]) -> None:
        self._mailbox.post(lambda: self._perform(self.core.on_prepared_together(outcomes, time.monotonic())))

    def on_journaled(self, job_ids: Sequence[str]) -> None:
        """Record, in the journal's thread, that the journal holds these jobs."""
        self._mailbox.post(lambda: self._perform(self.core.on_journaled(job_ids, time.monotonic())))

    def on_journal_failed(self, job_ids: Sequence[str], reason: str) -> None:
        """Record, in the journal's thread, that these jobs could not be written."""
        self._mailbox.post(lambda: self._perform(self.core.on_journal_failed(job_ids, reason, time.monotonic())))

    def _on_results_written(self, job_ids: Sequence[str]) -> None:
        self._mailbox.post(lambda: self.core.on_results_written(job_ids), wakes=False)

    def _on_result_loaded(self, job_id: str, found: StoredResult | None) -> None:
        self._mailbox.post(lambda: self._perform(self.core.on_result_loaded(job_id, found, time.monotonic())))

    def _on_edge_lost(self) -> None:
        self._traffic.on_edge_lost()

    def _set_stopping(self) -> None:
        self._is_stopping = True

    def _process_auth_events(self) -> None:
        for revoked in self._authenticator.process_events():
            self._perform(self.core.on_revoked(revoked, time.monotonic()))

    def _wait(self, poller: SourcePoller) -> dict[Any, int]:
        """The ready sources, at the next tick at the latest; sources without room for their messages are not polled."""
        poller.watch(self._edge, self._edge.events)
        poller.watch(self._workers, 0 if self._edge.is_congested else READABLE)
        left_s = 0.0 if self._traffic.has_waiting else self._next_tick_at - time.monotonic()
        return poller.wait(left_s)

    @property
    def _next_tick_at(self) -> float:
        return self._ticked_at + (self._planned_s if self.core.is_at_rest else TICK_S)

    def _take_worker_messages(self) -> None:
        messages: list[tuple[bytes, WorkerMessage]] = []
        for caller, (identity, *frames) in self._authenticator.received(self._workers, MAX_WORKER_MESSAGES):
            if caller is None:
                continue  # the tick finds it silent, and its jobs run elsewhere
            try:
                messages.append((identity, self._decode_worker(frames)))
            except InvalidMessage as error:
                _bad_frames_log.warning("a frame on the worker socket is not a worker's message: %s", error)
                self.core.on_bad_worker_frames()
        if messages:
            self._perform(self.core.on_workers(messages, time.monotonic()))

    def _tick(self) -> None:
        now = time.monotonic()
        if now < self._next_tick_at - EARLY_S:
            return
        if excused_s := self._loop_delay.excused_s(now, self._planned_s):
            self.core.on_loop_delayed(excused_s, now)
        self._edge.on_tick(now)
        self._perform(self.core.on_tick(now))
        self._health = RouterHealth(
            self._health.epoch,
            self.core.state.fleets.desired_by_model,
            self.core.ready_workers,
            self.core.num_queued,
            self.core.num_unfinished,
            self.core.state.num_restarts_requested,
            self.core.state.fleets.unloaded,
            self.core.state.fleets.fixed,
            self.core.state.leaving_nodes.nodes,
        )
        if self.core.is_drained:
            self._drained.set()
        self._ticked_at, self._planned_s = now, TICK_S
        if now - self._checked_at >= CHECK_S:
            self._check(now)

    def _check(self, now: float) -> None:
        """Examine the connections and the memory of the process."""
        self._checked_at = now
        self._fd_pressure.on_tick(now)
        is_alarmed = self._unfinished.on_tick(now)
        self._process_auth_events()
        may_rest = self.core.is_at_rest and self._edge.pid is not None and not is_alarmed
        self._collections.on_tick(is_at_rest=may_rest)
        if may_rest:
            self._planned_s = REST_TICK_S

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Publish):
                self._edge.publish(encode_published(effect.topic, effect.message, effect.encoding))
            elif isinstance(effect, SendWorker):
                if not sockets.send_to_peer(self._workers, [effect.identity, *encode(effect.message)]):
                    now = time.monotonic()
                    self._perform(self.core.on_worker_unreachable(effect.identity, now))
            elif isinstance(effect, PrepareRequest):
                self._preparation_pool.add(effect)
            elif isinstance(effect, SetJobOwner):
                self._edge.put(JobOwner(effect.job_id, effect.tenant))
            elif isinstance(effect, WriteJournal):
                assert self._journal is not None
                self._journal.add(effect.entry)
            elif isinstance(effect, LogWarning):
                _log.warning(effect.text)
            elif isinstance(effect, LoadResult):
                assert self._reader is not None
                self._reader.ask(effect.job_id)
            elif isinstance(effect, ReportJob):
                for observe in self._observers:
                    observe(effect.report)
            else:
                self._edge.reply(effect.identity, encode(effect.message, effect.encoding))

    def _start_preparing(self, models: Sequence[LoadedModel], corpus: Path | None) -> PreparationPool:
        self._preparers = preparers_of(self._settings, models, corpus)
        load = list if self._journal is None else self._journal.pictures
        return PreparationPool(*self._preparers, self._on_prepared, load=load)

    def _close(self) -> None:
        for preparer in self._preparers:
            preparer.close()
        self._preparation_pool.close()
        self._edge.close()
        self._authenticator.close()
        self._workers.close()
        self._context.term()
        if self._reader is not None:
            self._reader.close()
        if self._journal is not None:
            self._journal.close()
        if self._job_reporter is not None:
            self._job_reporter.close()
        self._mailbox.close()


def _bind_request_of(settings: RouterSettings, limits: EdgeLimits) -> BindSockets:
    return BindSockets(
        settings.jobs_endpoint,
        settings.stream_endpoint,
        settings.keys_dir,
        limits.max_unread,
        limits.send_buffer,
        EDGE_MEMORY_BYTES,
    )


def _keys_of(settings: RouterSettings) -> AcceptedKeys | None:
    """The accepted keys; raises ConfigurationInvalid if others could connect without one."""
    endpoints = (settings.jobs_endpoint, settings.stream_endpoint, settings.workers_endpoint)
    check_exposure(endpoints, has_keys=settings.keys_dir is not None)
    return None if settings.keys_dir is None else AcceptedKeys(KeyStore(Path(settings.keys_dir)))


def _corpus_of(settings: RouterSettings) -> Path | None:
    """The directory of the documents; raises ConfigurationInvalid if it is not a directory."""
    if settings.corpus is None:
        return None
    from cactus_actors.retrieval.corpus import corpus_directory

    return corpus_directory(Path(settings.corpus))


def _journal_of(settings: RouterSettings) -> JobJournal | None:
    return None if settings.journal_dir is None else JobJournal(Path(settings.journal_dir))


def _version() -> str:
    try:
        return importlib.metadata.version("cactus-actors")
    except importlib.metadata.PackageNotFoundError:
        return ""
