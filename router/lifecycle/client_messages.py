"""What clients ask, each answered: with what they asked for, or with why not."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable

import msgspec

from cactus_actors.protocol.errors import CactusError, InvalidRequest, JobConflict, PermissionDenied
from cactus_actors.protocol.messages import (
    Cancel,
    ClientMessage,
    Fetch,
    Pending,
    Restart,
    Restarting,
    Resume,
    Scale,
    Scaling,
    Status,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.wire import Concerns, Encoding
from cactus_actors.router.auth.request_rate_limits import RequestRateLimits
from cactus_actors.router.effects import Outbox
from cactus_actors.router.lifecycle.admission import Admission
from cactus_actors.router.lifecycle.job_finisher import JobFinisher
from cactus_actors.router.lifecycle.result_loader import ResultLoader
from cactus_actors.router.lifecycle.service_status import without_tenants
from cactus_actors.router.lifecycle.streams import Streams
from cactus_actors.router.state.caller import Caller, requester_of
from cactus_actors.router.state.job import EndedJob, JobEnding
from cactus_actors.router.state.job_table import JobTable
from cactus_actors.router.state.topics import Topics
from cactus_actors.router.telemetry.counters import RouterCounters

MAX_WORKERS = 256

ReadStatus = Callable[[StatusRequest, float], Status]


class ClientMessages:
    """Answers clients; what concerns a job that is being prepared or read back waits for that.

    `desired_workers` and `num_restarts_requested` are what operators asked for so far; `refused` counts, by
    reason, what callers had no right to.
    """

    def __init__(
        self,
        table: JobTable,
        admission: Admission,
        topics: Topics,
        streams: Streams,
        finisher: JobFinisher,
        result_loader: ResultLoader,
        outbox: Outbox,
        counters: RouterCounters,
        refused: Counter[str],
        read_status: ReadStatus,
        desired_workers: int,
    ) -> None:
        self.desired_workers = desired_workers
        self.num_restarts_requested = 0
        self._table = table
        self._admission = admission
        self._topics = topics
        self._streams = streams
        self._finisher = finisher
        self._result_loader = result_loader
        self._outbox = outbox
        self._counters = counters
        self._refused = refused
        self._read_status = read_status
        self._rates = RequestRateLimits()

    def receive(self, identity: bytes, message: ClientMessage, encoding: Encoding, now: float, caller: Caller) -> None:
        """Answer now or later, if the client does not ask too often."""
        try:
            self._rates.check(requester_of(caller, identity), message, now)
        except CactusError as error:
            self._reject(identity, error, encoding, _concerns(message))
        else:
            self.handle(identity, message, encoding, now, caller)

    def handle(self, identity: bytes, message: ClientMessage, encoding: Encoding, now: float, caller: Caller) -> None:
        """Answer now or later; whatever is wrong with a request is answered with Rejected."""

        def hear_again(then: float) -> None:
            self.handle(identity, message, encoding, then, caller)

        arrival = None
        if isinstance(message, Cancel | Resume | Fetch):
            arrival = self._admission.pending.of(message.job_id, caller)
        try:
            if arrival is not None:  # it will be known when it is prepared
                arrival.defer(identity, hear_again)
            elif isinstance(message, Submit | Resume | Fetch) and self._must_load_result(message.job_id, caller):
                requester = requester_of(caller, identity)
                self._result_loader.ask(message.job_id, requester, _question(identity, message), hear_again)
            else:
                self._answer(identity, message, encoding, now, caller)
        except CactusError as error:
            self._reject(identity, error, encoding, _concerns(message))

    def refuse_frames(self, identity: bytes, error: CactusError, encoding: Encoding, concerns: Concerns) -> None:
        """Answer frames that are not a message, or that are not read from this client."""
        self._counters.bad_frames[error.type] += 1
        self._reject(identity, error, encoding, concerns)

    def _reject(self, identity: bytes, error: CactusError, encoding: Encoding, concerns: Concerns) -> None:
        self._table.count("rejected")
        self._counters.rejected[error.type] += 1
        job_id = concerns.job_id and concerns.job_id[:64]
        self._outbox.reject(identity, error, encoding, job_id=job_id, request_id=concerns.request_id)

    def _must_load_result(self, job_id: str, caller: Caller) -> bool:
        """Whether an answer about this job needs a result that lies in the journal."""
        ended = self._table.ended.get(job_id)
        return ended is not None and ended.tenant == caller.tenant and self._result_loader.must_load(job_id)

    def _answer(self, identity: bytes, message: ClientMessage, encoding: Encoding, now: float, caller: Caller) -> None:
        if isinstance(message, Scale | Restart) and caller.role != "operator":
            self._refused["wrong_role"] += 1
            raise PermissionDenied(
                "only an operator's key may size the service or restart workers"
                "; make one: cactus keys new NAME --role operator"
            )
        match message:
            case Submit():
                if not self._may_submit(message.job_id, caller.tenant):
                    raise JobConflict("this job_id is in use", param="job_id")
                self._admission.submit(identity, message, encoding, now, caller)
            case Cancel():
                self._cancel(identity, message.job_id, encoding, now, caller)
            case Resume():
                self._resume(identity, message, encoding, caller)
            case Fetch():
                self._fetch(identity, message, encoding, caller)
            case StatusRequest():
                status = self._read_status(message, now)
                told = status if caller.role == "operator" else without_tenants(status)
                self._outbox.reply(identity, told, encoding)
            case Scale():
                self._scale(identity, message, encoding)
            case Restart():
                self.num_restarts_requested += 1
                restarting = Restarting(num_workers=self.desired_workers, request_id=message.request_id)
                self._outbox.reply(identity, restarting, encoding)

    def _may_submit(self, job_id: str, tenant: str) -> bool:
        """Whether nobody else would hear the job; one that is known already is not run again."""
        known = self._table.get(job_id)
        is_own = known is not None and known.tenant == tenant
        return is_own or self._topics.is_free(job_id, tenant)

    def _cancel(self, identity: bytes, job_id: str, encoding: Encoding, now: float, caller: Caller) -> None:
        job = self._table.find(job_id, caller.tenant)
        ended = job if isinstance(job, EndedJob) else self._finisher.finish(job, JobEnding("cancelled"), now)
        pending = Pending(job_id=job_id, state=ended.state, length=ended.length)
        self._outbox.reply(identity, pending, encoding)

    def _resume(self, identity: bytes, resume: Resume, encoding: Encoding, caller: Caller) -> None:
        job = self._table.find(resume.job_id, caller.tenant)
        if isinstance(job, EndedJob):
            replay = self._streams.replay_ended(resume, self._result_loader.result_of(resume.job_id).ended)
        else:
            replay = self._streams.replay(resume, job)
        self._outbox.reply(identity, replay, encoding)

    def _fetch(self, identity: bytes, fetch: Fetch, encoding: Encoding, caller: Caller) -> None:
        job = self._table.find(fetch.job_id, caller.tenant)
        if isinstance(job, EndedJob):
            self._outbox.reply(identity, self._result_loader.result_of(fetch.job_id).ended.finished, encoding)
        elif fetch.wait:
            job.attach(identity, encoding)
        else:
            pending = Pending(job_id=job.job_id, state=job.state, length=job.length)
            self._outbox.reply(identity, pending, encoding)

    def _scale(self, identity: bytes, scale: Scale, encoding: Encoding) -> None:
        if not 0 <= scale.num_workers <= MAX_WORKERS:
            raise InvalidRequest(f"num_workers must be between 0 and {MAX_WORKERS}", param="num_workers")
        self.desired_workers = scale.num_workers
        scaling = Scaling(num_workers=scale.num_workers, request_id=scale.request_id)
        self._outbox.reply(identity, scaling, encoding)


def _question(identity: bytes, message: ClientMessage) -> Hashable:
    """The same for a question that a connection asks again by the letter."""
    content = msgspec.msgpack.encode(message)
    return identity, hashlib.blake2b(content, digest_size=16).digest()


def _concerns(message: ClientMessage) -> Concerns:
    if isinstance(message, StatusRequest | Scale | Restart):
        return Concerns(request_id=message.request_id)
    return Concerns(job_id=message.job_id)
