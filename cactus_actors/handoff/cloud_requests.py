"""The jobs of the handoff actor: starts requests that budget and breaker allow, and collects their answers."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import get_args

import msgspec

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.answer_reader import AnswerPiece
from cactus_actors.handoff.circuit_breaker import CircuitBreaker
from cactus_actors.handoff.cloud_access import CloudAccess, read_cloud_access
from cactus_actors.handoff.cloud_client import CloudClient
from cactus_actors.handoff.cloud_failures import CloudFailure, FailureKind
from cactus_actors.handoff.cloud_job import CloudJob
from cactus_actors.handoff.metering import Meter, Prices
from cactus_actors.handoff.request_budget import RequestBudget
from cactus_actors.handoff.spending import spending_of
from cactus_actors.protocol.errors import CactusError, ServerFailure
from cactus_actors.protocol.totals import BreakerState, CloudSpending
from cactus_actors.protocol.worker_messages import Dispatch, Finish, Hello

ACCESS_LIFETIME_S = 1.0
NO_CONTEXT_LIMIT = 2**31 - 1
LOG = logging.getLogger(__name__)


class CloudRequests:
    """Used on one event loop only; `wake` is called when a job has something to report."""

    def __init__(self, settings: HandoffSettings, environment: Mapping[str, str], wake: Callable[[], None]) -> None:
        self._settings = settings
        self._environment = environment
        self._wake = wake
        self._breaker = CircuitBreaker(max_failures=settings.breaker_failures, open_s=settings.breaker_open_s)
        self.budget = RequestBudget(max_concurrent=settings.max_concurrent, max_requests=settings.max_requests)
        self._prices = Prices.of(settings)
        self.spending = spending_of(settings.budgets, settings.spending_file)
        self._cloud = CloudClient(settings, self._breaker, self.budget)
        self._access = CloudAccess(refusal="not started")
        self._access_read_at = -math.inf
        self._requests: set[asyncio.Task[None]] = set()
        self.jobs: dict[int, CloudJob] = {}
        self.num_completion_tokens = 0
        self.num_answered = 0
        self.num_failed: dict[FailureKind, int] = dict.fromkeys(get_args(FailureKind), 0)

    def hello(self) -> Hello:
        """The message with which this worker introduces itself to the router."""
        return Hello(
            worker_id=self._settings.worker_id,
            kind="cloud",
            model=self._settings.model,
            num_slots=self._settings.max_concurrent,
            num_blocks=0,
            block_size=0,
            max_context=NO_CONTEXT_LIMIT,
            node=socket.gethostname(),
            pid=os.getpid(),
        )

    def breaker_state(self) -> BreakerState:
        return self._breaker.state(time.monotonic())

    def unavailable(self) -> str | None:
        """The reason why no job can be sent now; None if it can."""
        if self._access.refusal is not None:
            return self._access.refusal
        if self.budget.is_spent:
            return "budget spent"
        return self.spending.refusal() or ("breaker open" if self.breaker_state() == "open" else None)

    def spent(self) -> list[CloudSpending]:
        return self.spending.report(self._settings.currency)

    def free_slots(self) -> int:
        """The number of further jobs that could start now."""
        if self.unavailable() is not None:
            return 0
        return max(0, self._startable() - len(self._waiting()))

    @property
    def access(self) -> CloudAccess:
        """The present access to the cloud."""
        return self._access

    @property
    def has_room(self) -> bool:
        """True if an audit is in no one's way: no job waits, and fewer than the most that may run at once do.

        Through a half-open breaker too: its next probe may come hours later.
        """
        return not self._waiting() and self.breaker_state() != "open" and self.budget.has_room

    @property
    def has_updates(self) -> bool:
        """True if any job has something to report."""
        return any(job.has_updates for job in self.jobs.values())

    @property
    def num_running(self) -> int:
        """Number of jobs that have not ended."""
        return sum(job.finish is None for job in self.jobs.values())

    def refresh_access(self, now: float) -> None:
        """Read environment and key file again, once a second: `cactus auth` needs no restart."""
        if now - self._access_read_at >= ACCESS_LIFETIME_S:
            self._access_read_at = now
            self._access = read_cloud_access(self._settings, self._environment)

    def take(self, dispatch: Dispatch) -> None:
        """Add a job; `start_waiting` starts it."""
        ends_at = None if dispatch.timeout_s is None else time.monotonic() + dispatch.timeout_s
        job = self.jobs[dispatch.dispatch_id] = CloudJob(dispatch, ends_at)
        if dispatch.request is None:
            self._fail(job, CloudFailure("cloud_rejected", "a job of token ids cannot go to a cloud"))
        elif dispatch.emitted_ids:
            self._fail(job, CloudFailure("cloud_rejected", "a cloud cannot continue a begun answer"))

    def start_waiting(self) -> None:
        """Start waiting jobs in free slots, oldest first; refuse them all if the cloud cannot be used."""
        for job in self._waiting():
            spent = self.spending.refusal(job.dispatch.tenant)
            refusal = self.unavailable() or spent
            if refusal is not None:
                is_spent = self.budget.is_spent or spent is not None
                kind: FailureKind = "cloud_budget_spent" if is_spent else "cloud_unavailable"
                self._fail(job, CloudFailure(kind, refusal, is_refused=True))
            elif self._startable():
                self._start(job)

    def abort(self, dispatch_id: int) -> None:
        """Forget a job and cancel its request; unknown ids belong to ended jobs."""
        job = self.jobs.pop(dispatch_id, None)
        if job is not None and job.task is not None:
            job.task.cancel()

    def abort_all(self) -> None:
        """Forget every job."""
        for dispatch_id in list(self.jobs):
            self.abort(dispatch_id)

    def updates(self, max_characters: float = math.inf) -> list[CloudJob]:
        """Jobs with something to report, up to `max_characters` of text in total."""
        reported: list[CloudJob] = []
        size = 0
        for job in self.jobs.values():
            if job.has_updates and size < max_characters:
                reported.append(job)
                size += sum(len(text) for piece in job.chunks for text in piece)
        return reported

    def delivered(self, reported: list[CloudJob]) -> None:
        """Record that the reports of these jobs were sent; ended jobs are forgotten."""
        for job in reported:
            job.delivered()
            if job.finish is not None:
                del self.jobs[job.dispatch.dispatch_id]

    async def aclose(self) -> None:
        """Cancel running requests and close every connection."""
        self.abort_all()
        await asyncio.gather(*self._requests, return_exceptions=True)
        await self._cloud.aclose()

    def _waiting(self) -> list[CloudJob]:
        return [job for job in self.jobs.values() if job.task is None and job.finish is None]

    def _startable(self) -> int:
        """The number of jobs that may start; one at a time through a half-open breaker."""
        free = self.budget.free_slots
        if self.breaker_state() == "closed":
            return free
        return min(free, 1) if self._breaker.admits(time.monotonic()) else 0

    def _start(self, job: CloudJob) -> None:
        self.budget.start()
        job.task = asyncio.create_task(self._ask(job))
        self._requests.add(job.task)
        # a callback, because a task that is cancelled before its first step runs no finally
        job.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._requests.discard(task)
        self.budget.end()
        self._wake()

    async def _ask(self, job: CloudJob) -> None:
        def forward(piece: AnswerPiece) -> None:
            job.chunks.append(piece)
            self._wake()

        assert job.dispatch.request is not None
        meter = Meter(self.spending, job.dispatch.tenant, job.dispatch.num_prompt_tokens)
        try:
            answer = await self._cloud.answer(
                job.dispatch.request,
                job.dispatch.params,
                key=self._access.key,
                job_ends_at=job.ends_at,
                forward=forward,
                meter=meter,
            )
        except asyncio.CancelledError:
            meter.settle(self._prices)
            raise
        except CloudFailure as failure:
            self._fail(job, failure, meter)
        except Exception as error:  # an unexpected error must still end the job
            LOG.error("cloud request failed unexpectedly: %s", type(error).__name__)
            self._fail(job, ServerFailure(f"the handoff failed unexpectedly ({type(error).__name__})"), meter)
        else:
            self.num_answered += 1
            self.num_completion_tokens += answer.usage.completion_tokens if answer.usage else 0
            job.finish = self._with_cost(Finish(answer.finish_reason), meter)

    def _fail(self, job: CloudJob, error: CactusError, meter: Meter | None = None) -> None:
        finish = Finish("error", error=error.info())
        if isinstance(error, CloudFailure):
            self.num_failed[error.kind] += 1
            finish = msgspec.structs.replace(finish, is_refused=error.is_refused)
        job.finish = self._with_cost(finish, meter)
        self._wake()

    def _with_cost(self, finish: Finish, meter: Meter | None) -> Finish:
        """`finish` with provider, usage and cost."""
        cost = None if meter is None else meter.settle(self._prices)
        return msgspec.structs.replace(
            finish,
            provider=self._cloud.provider,
            usage=None if meter is None else meter.counted(),
            is_estimated=meter is not None and meter.has_begun and meter.usage is None,
            cost=cost,
            currency=None if cost is None else self._settings.currency,
        )
