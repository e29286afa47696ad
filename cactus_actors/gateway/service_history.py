"""An hour of the service in numbers, for its page: sampled from the status that metrics have too."""

from __future__ import annotations

import asyncio
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cactus_actors.gateway.status_watcher import StatusWatcher
from cactus_actors.protocol.messages import Status

HISTORY_S = 3600.0
MAX_DECISIONS = 50
FIELDS: tuple[str, ...] = (
    *("at", "queued", "running", "workers", "desired_workers", "generated_tokens", "prompt_tokens"),
    *("kv_usage", "prefix_queries", "prefix_hits", "ended", "failed", "handed_off"),
)
"""Of a sample: Unix seconds, numbers at that moment, and (from `generated_tokens` on, but `kv_usage`) totals."""


class ScalingDecision(NamedTuple):
    """When the desired number of a model's workers changed, and why."""

    at: float
    model: str
    num_workers: int
    reason: str


class ServiceHistory:
    """Samples of one hour, in bounded memory; belongs to one event loop."""

    def __init__(self, watcher: StatusWatcher, interval_s: float, clock: Callable[[], float] = time.time) -> None:
        self._watcher = watcher
        self._interval_s = interval_s
        self._clock = clock
        self._samples: deque[array[float]] = deque(maxlen=max(2, round(HISTORY_S / self._interval_s)))
        self._desired: dict[str, int] = {}
        self._changed = asyncio.Event()
        self.decisions: deque[ScalingDecision] = deque(maxlen=MAX_DECISIONS)
        self.newest: Status | None = None

    @property
    def samples(self) -> list[list[float]]:
        """All samples, the oldest first, each with a number for each of FIELDS."""
        return [sample.tolist() for sample in self._samples]

    async def run(self) -> None:
        """Take samples until cancelled."""
        while True:
            self.add(await self._watcher.with_totals())
            await asyncio.sleep(self._interval_s)

    async def next(self) -> None:
        """Return after the next sample, also if the service did not answer."""
        await self._changed.wait()

    def add(self, status: Status | None) -> None:
        """Take a sample; a service that does not answer leaves a gap."""
        self.newest = status
        if status is not None:
            now = self._clock()
            self._note_decisions(status, now)
            self._samples.append(array("d", _sample(status, now)))
        self._changed.set()
        self._changed = asyncio.Event()

    def _note_decisions(self, status: Status, now: float) -> None:
        rows = [(it.name, it.desired_workers, it.scaling) for it in status.models]
        for name, num_workers, scaling in rows or [(status.model, status.desired_workers, status.scaling)]:
            if self._desired.setdefault(name, num_workers) != num_workers:
                reason = "set by an operator" if scaling is None or scaling.is_fixed else scaling.reason
                self.decisions.append(ScalingDecision(now, name, num_workers, reason))
            self._desired[name] = num_workers


def _sample(status: Status, now: float) -> Sequence[float]:
    local = [worker for worker in status.workers if worker.kind == "local"]
    num_blocks = sum(worker.num_blocks for worker in local)
    num_free = sum(worker.free_blocks for worker in local)
    totals, jobs = status.totals, status.jobs
    return (
        now,
        jobs.queued + status.held.arrivals,
        jobs.running,
        sum(worker.state == "ready" for worker in local),
        status.desired_workers,
        0 if totals is None else totals.generated_tokens,
        0 if totals is None else totals.prompt_tokens_done,
        (num_blocks - num_free) / num_blocks if num_blocks else 0.0,
        sum(worker.queried_prompt_tokens for worker in local),
        sum(worker.cached_prompt_tokens for worker in local),
        jobs.finished + jobs.failed + jobs.cancelled,
        jobs.failed,
        jobs.handoffs_completed,
    )
