"""A trace of requests on a fleet whose size changes, in virtual time."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from benchmarks.fleet.shared_worker import SharedWorker, SimulatedJob
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.traces import Request
from cactus_actors.router.scheduling.scaling_policy import WINDOW_S, FleetLoad

NUM_SLOTS = 16
START_S = 5.0
"""Seconds of a worker's start, in which it takes a place and no jobs."""
TICK_S = 1.0
MEMORY = 16
"""Ended jobs that the measured rate remembers, about."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a fleet cost, and what clients felt; times in seconds."""

    worker_seconds: float
    most_workers: int
    changes: int
    queue_p50: float
    queue_p95: float
    first_token_p50: float
    first_token_p95: float


class Sizing(Protocol):
    """Says how many workers there shall be."""

    def __call__(self, load: FleetLoad, now: float, /) -> int: ...


class ElasticFleet:
    """Runs a trace to its end; `sizing` is asked every second, `initial` workers are ready at its begin."""

    def __init__(
        self,
        requests: Sequence[Request],
        sizing: Sizing,
        *,
        initial: int,
        speed: Speed | None = None,
        start_s: float = START_S,
    ) -> None:
        self._requests = requests
        self._sizing = sizing
        self._speed = speed or Speed()
        self._start_s = start_s
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._queue: deque[SimulatedJob] = deque()
        self._workers: dict[SharedWorker, float] = {}  # with the time of its start
        self._ended: list[SimulatedJob] = []
        self._recent: deque[SimulatedJob] = deque()  # ended within WINDOW_S, with their end in `_recent_at`
        self._recent_at: deque[float] = deque()
        self._worker_seconds = 0.0
        self._most = self._num_changes = 0
        self._desired = initial
        self._mean_seconds = self._mean_work = 0.0
        for _ in range(initial):
            self._start(0.0)

    def run(self) -> Outcome:
        for request in self._requests:
            self._at(request.arrives_at, lambda request=request: self._arrive(request))  # type: ignore[misc]
        self._at(0.0, self._tick)
        while len(self._ended) < len(self._requests):
            self._now, _, event = heapq.heappop(self._events)
            event()
        self._worker_seconds += sum(self._now - started for started in self._workers.values())
        queue = sorted(job.queue_s for job in self._ended)
        first = sorted(job.first_token_s for job in self._ended)
        return Outcome(
            worker_seconds=round(self._worker_seconds, 1),
            most_workers=self._most,
            changes=self._num_changes,
            queue_p50=_share(queue, 0.5),
            queue_p95=_share(queue, 0.95),
            first_token_p50=_share(first, 0.5),
            first_token_p95=_share(first, 0.95),
        )

    def _at(self, time_s: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time_s, next(self._order), event))

    def _arrive(self, request: Request) -> None:
        self._queue.append(SimulatedJob.of(request))
        self._dispatch()

    def _dispatch(self) -> None:
        """Give the first jobs to the workers with most free slots."""
        while self._queue:
            worker = max(self._ready(), key=lambda it: it.num_free, default=None)
            if worker is None or worker.num_free <= 0:
                return
            job = self._queue.popleft()
            job.is_contended = bool(self._queue)
            worker.add(job, self._now)
            self._expect(worker)

    def _expect(self, worker: SharedWorker) -> None:
        if worker.jobs:
            version = worker.version
            self._at(worker.next_event(), lambda: self._on_event(worker, version))

    def _on_event(self, worker: SharedWorker, version: int) -> None:
        if worker.version != version:
            return
        for job in worker.advance(self._now):
            self._on_ended(job)
        self._expect(worker)
        if worker.is_draining and not worker.jobs:
            self._leave(worker)
        self._dispatch()

    def _on_ended(self, job: SimulatedJob) -> None:
        self._ended.append(job)
        self._recent.append(job)
        self._recent_at.append(self._now)
        share = 1 / MEMORY if self._mean_work else 1.0
        self._mean_seconds += (self._now - job.started_at - self._mean_seconds) * share
        self._mean_work += (job.work - self._mean_work) * share

    def _tick(self) -> None:
        desired = self._sizing(self._load(), self._now)
        self._num_changes += desired != self._desired
        self._desired = desired
        staying = [worker for worker in self._workers if not worker.is_draining]
        for _ in range(desired - len(staying)):
            self._start(self._now + self._start_s)
        for worker in sorted(staying, key=lambda it: (it.ready_at <= self._now, len(it.jobs)))[: -desired or None]:
            worker.is_draining = True
            if not worker.jobs:
                self._leave(worker)
        self._most = max(self._most, len(self._workers))
        self._at(self._now + TICK_S, self._tick)

    def _start(self, ready_at: float) -> None:
        self._workers[SharedWorker(self._speed, NUM_SLOTS, ready_at)] = self._now
        self._at(ready_at, self._dispatch)

    def _leave(self, worker: SharedWorker) -> None:
        self._worker_seconds += self._now - self._workers.pop(worker)

    def _ready(self) -> list[SharedWorker]:
        return [it for it in self._workers if it.ready_at <= self._now and not it.is_draining]

    def _load(self) -> FleetLoad:
        """The load as a router measures it; of jobs that wait the mean work is known, not their own."""
        while self._recent_at and self._recent_at[0] <= self._now - WINDOW_S:
            self._recent_at.popleft()
            self._recent.popleft()
        ready = self._ready()
        rate = self._mean_work / self._mean_seconds * NUM_SLOTS if self._mean_work else None
        queue = sorted(job.queue_s for job in self._recent)
        first = sorted(job.first_token_s for job in self._recent)
        return FleetLoad(
            ready=len(ready),
            slots=NUM_SLOTS,
            rate=rate,
            num_waiting=len(self._queue),
            num_running=sum(len(it.jobs) for it in ready),
            work=len(self._queue) * self._mean_work + sum(job.work_left for it in ready for job in it.jobs),
            queue_s=_share(queue, 0.95) if queue else None,
            first_token_s=_share(first, 0.95) if first else None,
        )


def _share(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)


def fixed(workers: int) -> Sizing:
    """Always that many workers."""
    return lambda _load, _now: workers
