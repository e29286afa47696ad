"""A RouterCore with a clock that the test moves, and helpers that build its input messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.confidence import NO_FITS, SignalFits
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Delta, Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.protocol.results import Result, Source
from cactus_actors.protocol.wire import decode_submit
from cactus_actors.protocol.worker_messages import (
    Abort,
    Adapters,
    AskBatch,
    Audit,
    Dispatch,
    Finish,
    Goodbye,
    SequenceDelta,
    SequenceExtras,
)
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import (
    Effect,
    LoadResult,
    LogWarning,
    PrepareRequest,
    Publish,
    ReportJob,
    SendClient,
    SendWorker,
    WriteJournal,
)
from cactus_actors.router.preparation.documented_requests import Find, no_documents, prepare_with_documents
from cactus_actors.router.preparation.loaded_models import LoadedModel
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepared_tiers import prepare_tiers
from cactus_actors.router.router_state import LOAD_LIMITS, RouterOptions
from cactus_actors.router.state.caller import ANONYMOUS, Caller
from cactus_actors.router.state.deferred_messages import DeferralLimits
from cactus_actors.router.state.ended_jobs import MAX_ENDED_JOBS
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.router.state.journal_records import WriteEnded
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.served_model import ServedModel
from cactus_actors.router.state.service_facts import ServiceFacts
from tests.support.router.letter_model import LetterModel
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import SURE, Worker, make_delta, make_hello

CLIENT = b"client"


def job_id(number: int) -> str:
    return f"{number:032x}"


class RouterHarness:
    """Feeds a core and sorts its effects: the dispatches of each worker, replies to clients, publications."""

    def __init__(
        self,
        *,
        disk: Disk | None = None,
        unix_offset: float = 1_000_000.0,
        fits: SignalFits = NO_FITS,
        prompt_probe: PromptProbe | None = None,
        find: Find = no_documents,
        fingerprint: str = "",
        load_limits: DeferralLimits = LOAD_LIMITS,
        max_ended_jobs: int = MAX_ENDED_JOBS,
        max_context: int = LetterModel.max_context,
        model: LetterModel | None = None,
        models: tuple[ServedModel, ...] = (),
        **settings: Any,
    ) -> None:
        self.now = 100.0
        self.disk = disk
        self.model = model or LetterModel()
        self.model.max_context = max_context
        self._find = find
        own = RouterSettings(**{"confidence_signal": "entropy", **settings})
        only = LoadedModel(self.model, None, own.served[0], fits, prompt_probe).served
        self.core = RouterCore(
            own,
            ServiceFacts(epoch=7, started_at=self.now),
            RouterOptions(
                unix_offset=None if disk is None else unix_offset,
                load_limits=load_limits,
                max_ended_jobs=max_ended_jobs,
                models=models or (replace(only, fingerprint=fingerprint),),
            ),
        )
        self.workers: dict[bytes, Worker] = {}
        self.replies: list[tuple[bytes, Any]] = []
        self.published: list[Any] = []
        self.recalled: list[str] = []
        self.reports: list[JobReport] = []
        self.warnings: list[str] = []
        self.num_dispatches = {"local": 0, "cloud": 0}
        self._num_workers = 0
        if disk is not None:
            self._take(self.core.recover(disk.recovered(), self.now))

    # external events

    def connect(self, worker_id: str = "w1", **hello: Any) -> Worker:
        self._num_workers += 1
        worker = Worker(f"identity-{self._num_workers}".encode(), make_hello(worker_id, **hello))
        self.workers = {
            identity: other for identity, other in self.workers.items() if other.hello.worker_id != worker_id
        }
        self.workers[worker.identity] = worker
        self.hear(worker.identity, worker.hello)
        return worker

    def client(
        self, message: Any, identity: bytes = CLIENT, caller: Caller = ANONYMOUS, frames: Sequence[bytes] = ()
    ) -> list[Any]:
        """Send a client's message; returns the replies to that client."""
        before = len(self.replies)
        self._take(self.core.on_client(identity, message, "m", self.now, caller, frames))
        return [reply for receiver, reply in self.replies[before:] if receiver == identity]

    def submit(self, number: int, prompt: Any = "hello", identity: bytes = CLIENT, **options: Any) -> Any:
        options.setdefault("seed", 3)
        [first, *_] = self.client(Submit(job_id=job_id(number), prompt=prompt, options=Options(**options)), identity)
        return first

    def report(self, worker: Worker, *deltas: SequenceDelta, unavailable: str | None = None) -> None:
        self.say(worker, worker.report(*deltas, unavailable=unavailable))

    def say(self, worker: Worker, message: Any) -> None:
        if isinstance(message, Goodbye):
            del self.workers[worker.identity]
        self.hear(worker.identity, message)

    def hear(self, identity: bytes, message: Any) -> None:
        """Deliver a message of a worker, which may be lost already."""
        self._take(self.core.on_worker(identity, message, self.now))

    def generate(
        self,
        number: int,
        text: str,
        *,
        entropy: float | None = SURE,
        finish: Finish | None = None,
        kind: str = "local",
        extras: SequenceExtras | None = None,
    ) -> None:
        """The worker of this job reports `text`, continuing after the dispatch's tokens."""
        worker, dispatch = self.running(number, kind)
        position = len(dispatch.emitted_ids)
        token_ids = [0] if kind == "cloud" and text else None
        delta = make_delta(
            dispatch.dispatch_id,
            position,
            text,
            entropy=entropy,
            finish=finish,
            token_ids=token_ids,
            extras=extras,
        )
        if dispatch.dispatch_id in worker.dispatches:
            emitted = dispatch.emitted_ids + delta.token_ids
            worker.dispatches[dispatch.dispatch_id] = msgspec.structs.replace(dispatch, emitted_ids=emitted)
        self.report(worker, delta)

    def subscribe(self, number: int) -> None:
        is_taken, effects = self.core.on_subscribed(job_id(number), self.now)
        assert is_taken
        self._take(effects)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock in ticks, with every worker alive and idle."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.5)
            for worker in list(self.workers.values()):
                self.report(worker)
            self.tick()

    def tick(self) -> None:
        self._take(self.core.on_tick(self.now))

    def pass_silence(self, seconds: float) -> None:
        """Advance the clock without messages of workers."""
        self.now += seconds
        self.tick()

    def lose(self, worker: Worker) -> None:
        """End a worker's process; the supervisor reports it."""
        del self.workers[worker.identity]
        self._take(self.core.on_worker_lost(worker.hello.worker_id, self.now))

    def fail_to_load(self, model: str, reason: str) -> None:
        """The supervisor reports that no worker of a model starts."""
        self._take(self.core.on_load_failed(model, reason, self.now))

    def write_to_disk(self) -> None:
        """Report that the journal has written all its entries."""
        assert self.disk is not None
        ended = [entry.job_id for entry in self.disk.waiting if isinstance(entry, WriteEnded)]
        self._take(self.core.on_journaled(self.disk.write(), self.now))
        self.core.on_results_written(ended)

    def fail_to_write(self, reason: str) -> None:
        assert self.disk is not None
        self._take(self.core.on_journal_failed(self.disk.refuse(), reason, self.now))

    def stop(self, *, leaves_jobs: bool = False) -> None:
        self._take(self.core.on_stop(self.now, leaves_jobs=leaves_jobs))

    # observations

    def running(self, number: int, kind: str = "local") -> tuple[Worker, Dispatch]:
        [found] = [
            (worker, dispatch)
            for worker in self.workers.values()
            for dispatch in worker.dispatches.values()
            if dispatch.job_id == job_id(number) and worker.hello.kind == kind
        ]
        return found

    def is_running(self, number: int, kind: str = "local") -> bool:
        return any(
            dispatch.job_id == job_id(number)
            for worker in self.workers.values()
            if worker.hello.kind == kind
            for dispatch in worker.dispatches.values()
        )

    def finished(self, number: int, identity: bytes = CLIENT) -> list[Finished]:
        return [
            reply
            for receiver, reply in self.replies
            if receiver == identity and isinstance(reply, Finished) and reply.job_id == job_id(number)
        ]

    def result(self, number: int) -> Result:
        [finished] = self.finished(number)
        return finished.result

    def deltas(self, number: int) -> list[Delta]:
        return [
            message for message in self.published if isinstance(message, Delta) and message.job_id == job_id(number)
        ]

    def streamed_text(self, number: int) -> str:
        """The published text; fails on a gap or a repeat."""
        deltas = self.deltas(number)
        expected = 0
        for delta in deltas:
            assert delta.index == expected
            expected += len(delta.token_ids)
        return "".join(delta.text for delta in deltas)

    def _take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendClient(identity, message, _):
                    self.replies.append((identity, message))
                case Publish(_, message, _):
                    self.published.append(message)
                case SendWorker(identity, message):
                    self._deliver(identity, message)
                case PrepareRequest() as request:
                    self._take(self.core.on_prepared(request.job_id, self._outcome(request), self.now))
                case WriteJournal(entry):
                    assert self.disk is not None
                    self.disk.waiting.append(entry)
                case LoadResult(job_id):
                    self._recall(job_id)
                case ReportJob(report):
                    self.reports.append(report)
                case LogWarning(text):
                    self.warnings.append(text)

    def _recall(self, job_id: str) -> None:
        assert self.disk is not None
        self.recalled.append(job_id)
        self._take(self.core.on_result_loaded(job_id, self.disk.read(job_id), self.now))

    def _outcome(self, request: PrepareRequest) -> Any:
        try:
            frames = request.frames or (self.disk.load(request.kept) if self.disk else ())
            contents = PictureContents(frames=frames, keeps=self.disk is not None)
            submit, cascade = decode_submit(request.content), self.core.state.settings.cascade
            if cascade.is_named_by(request.model):
                return prepare_tiers(cascade.models, submit, request.sources, self._prepared_for)
            return prepare_with_documents(submit, request.sources, self.model, self._find, contents)
        except CactusError as error:
            return error

    def _prepared_for(self, _: str, submit: Submit, sources: Sequence[Source] | None) -> PreparedRequest:
        return prepare_with_documents(submit, sources, self.model, self._find)

    def _deliver(self, identity: bytes, message: Any) -> None:
        if isinstance(message, Dispatch):
            self.num_dispatches["local" if message.request is None else "cloud"] += 1
        worker = self.workers.get(identity)
        if worker is None:
            return
        if isinstance(message, Dispatch):
            assert message.dispatch_id not in worker.dispatches
            worker.dispatches[message.dispatch_id] = message
            worker.num_accepted += 1
        elif isinstance(message, Audit):
            worker.audits.append(message)
        elif isinstance(message, AskBatch):
            worker.batches.append(message)
        elif isinstance(message, Adapters):
            worker.adapters = {files.key: files.path for files in message.adapters}
        elif isinstance(message, Abort):
            worker.dispatches.pop(message.dispatch_id, None)
            worker.aborted.append(message.dispatch_id)


STOP = Finish("stop", stop_match=2)


def error_of(reply: object) -> ErrorInfo:
    assert isinstance(reply, Rejected)
    return reply.error
