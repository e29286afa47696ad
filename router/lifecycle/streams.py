"""Publishes the streams of jobs. A job's log is authoritative; published messages are copies that may get lost."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from cactus_actors.protocol.messages import Finished, Progress
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.job import Job

PROGRESS_INTERVAL_S = 1.0


class Streams:
    """Publishes released streams to their subscribers."""

    def __init__(self, state: RouterState) -> None:
        self._publish = state.outbox.publish
        self._subscribed = state.topics.subscribed
        self._epoch = state.facts.epoch
        self._is_batching = False
        self._batch: dict[str, Job] = {}
        self._progress_times: list[tuple[float, str]] = []  # a heap of (next check, job id)

    def advance(self, job: Job, now: float) -> None:
        """Publish the new items of a released stream, now or at the end of the batch."""
        if not job.publication.is_open:
            return
        if self._is_batching and job.cloud is None and not job.is_gated:
            self._batch[job.job_id] = job
        else:
            self._publish_new(job, now)

    def begin_batch(self) -> None:
        """Until `end_batch`, collect the new items of each stream for one message.

        A job that may be handed off is published immediately: a stream of which a client has seen an item is not handed
        off.
        """
        self._is_batching = True

    def end_batch(self, now: float) -> None:
        """Publish the items collected since `begin_batch`, but for those of a job that another model has now."""
        self._is_batching = False
        for job in self._batch.values():
            if job.publication.is_open:
                self._publish_new(job, now)
        self._batch.clear()

    def progress(self, job: Job, now: float) -> None:
        """Publish the length of the stream."""
        message = Progress(job_id=job.job_id, epoch=self._epoch, length=job.length)
        self._publish(job.job_id, message, job.publication.encoding)
        job.publication.last_at = now

    def schedule_progress(self, job: Job, now: float) -> None:
        """Start to publish the length of a quiet stream that has subscribers."""
        if not job.publication.has_progress_scheduled and job.job_id in self._subscribed:
            job.publication.has_progress_scheduled = True
            heapq.heappush(self._progress_times, (now + PROGRESS_INTERVAL_S, job.job_id))

    def on_tick(self, live: Mapping[str, Job], now: float) -> None:
        """Publish the lengths of streams that have been quiet for PROGRESS_INTERVAL_S."""
        while self._progress_times and self._progress_times[0][0] <= now:
            _, job_id = heapq.heappop(self._progress_times)
            job = live.get(job_id)
            if job is None:
                continue
            publication = job.publication
            publication.has_progress_scheduled = False
            if job_id in self._subscribed and now - publication.last_at >= PROGRESS_INTERVAL_S:
                self.progress(job, now)
            self.schedule_progress(job, publication.last_at)

    def finish(self, job: Job, finished: Finished, now: float) -> None:
        """Publish the end of the stream."""
        if self._batch.pop(job.job_id, None) is not None:
            self._publish_new(job, now)
        if job.job_id not in self._subscribed:
            return
        if job.stream.has_tail:
            self._publish(job.job_id, job.stream.tail_delta(job.job_id), job.publication.encoding)
        self._publish(job.job_id, finished, job.publication.encoding)

    def _publish_new(self, job: Job, now: float) -> None:
        """Publish the items since the last ones; without a subscriber they are skipped."""
        log = job.stream if job.cloud is not None else job.local.log
        length, job_id, publication = len(log.token_ids), job.job_id, job.publication
        if length > publication.num_items and job_id in self._subscribed:
            self._publish(job_id, log.delta(job_id, publication.num_items, length), publication.encoding)
            publication.is_seen = True
            publication.last_at = now
        publication.num_items = length
