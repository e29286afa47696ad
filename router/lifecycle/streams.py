"""What leaves on the stream socket, and replays of it: the job's log is the truth, publishing is a hint."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterator, Mapping

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Delta, Finished, Progress, Replay, Resume
from cactus_actors.router.effects import Outbox
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.journal_records import EndedRecord
from cactus_actors.router.state.topics import Topics
from cactus_actors.router.telemetry.counters import RouterCounters

REPLAY_CHUNK = 256
MAX_CREDIT = 2048
"""Items of one replay, with the likely tokens that are told of them: none holds up what others ask."""
PROGRESS_INTERVAL_S = 1.0


class Streams:
    """Publishes open streams to those who listen."""

    def __init__(self, outbox: Outbox, topics: Topics, counters: RouterCounters, epoch: int) -> None:
        self._outbox = outbox
        self._topics = topics
        self._counters = counters
        self._epoch = epoch
        self._is_gathering = False
        self._gathered: dict[str, Job] = {}
        self._followed: list[tuple[float, str]] = []  # a heap: when to look at a stream again, and which

    def advance(self, job: Job, now: float) -> None:
        """Publish what the open stream gained, now or with what it gains next."""
        if not job.stream_released:
            return
        if self._is_gathering and job.cloud is None and not job.is_gated:
            self._gathered[job.job_id] = job
        else:
            self._publish_new(job, now)

    @contextlib.contextmanager
    def gathering(self, now: float) -> Iterator[None]:
        """What a stream gains meanwhile is published at the end, in one message.

        Not so where a job may be handed off: what was shown of it decides about that.
        """
        self._is_gathering = True
        try:
            yield
        finally:
            self._is_gathering = False
            for job in self._gathered.values():
                self._publish_new(job, now)
            self._gathered.clear()

    def progress(self, job: Job, now: float) -> None:
        """Tell the stream's length to those who listen."""
        message = Progress(job_id=job.job_id, epoch=self._epoch, length=job.length)
        self._outbox.publish(job.job_id, message, job.encoding)
        job.last_published_at = now

    def follow(self, job: Job, now: float) -> None:
        """From now on tell who listens to a job how long its stream is while that is quiet."""
        if not job.is_followed and job.job_id in self._topics:
            job.is_followed = True
            heapq.heappush(self._followed, (now + PROGRESS_INTERVAL_S, job.job_id))

    def on_tick(self, live: Mapping[str, Job], now: float) -> None:
        """Tell the lengths of streams that have been quiet for PROGRESS_INTERVAL_S."""
        while self._followed and self._followed[0][0] <= now:
            _, job_id = heapq.heappop(self._followed)
            job = live.get(job_id)
            if job is None:
                continue
            job.is_followed = False
            if job.job_id in self._topics and now - job.last_published_at >= PROGRESS_INTERVAL_S:
                self.progress(job, now)
            self.follow(job, job.last_published_at)

    def finish(self, job: Job, finished: Finished, now: float) -> None:
        """Publish the end of the stream."""
        if self._gathered.pop(job.job_id, None) is not None:
            self._publish_new(job, now)
        if job.job_id not in self._topics:
            return
        if job.stream.has_tail:
            self._outbox.publish(job.job_id, job.stream.tail_delta(job.job_id), job.encoding)
        self._outbox.publish(job.job_id, finished, job.encoding)

    def _publish_new(self, job: Job, now: float) -> None:
        """Publish what is not yet; without a subscriber it is passed over."""
        log = job.stream if job.cloud is not None else job.local
        length = len(log.token_ids)
        if length > job.num_published and job.job_id in self._topics.listened:
            self._outbox.publish(job.job_id, log.delta(job.job_id, job.num_published, length), job.encoding)
            job.is_seen = True
            job.last_published_at = now
        job.num_published = length

    def replay(self, request: Resume, job: Job) -> Replay:
        """The items that `request` asks for; raises InvalidRequest on an index that cannot be.

        It may ask for items that are yet to come: after a restart of the router, a client is ahead of its job
        for a while.
        """
        length, stream = job.length, job.stream
        params = job.prepared.params
        stop = _stop(request, length, max(length, params.max_tokens), params.num_logprobs)
        deltas = [
            stream.delta(job.job_id, index, min(stop, index + REPLAY_CHUNK))
            for index in range(request.next_index, stop, REPLAY_CHUNK)
        ]
        is_gap = job.is_seen and request.next_index < job.num_published
        self._counters.on_replay(max(0, stop - request.next_index), is_gap=is_gap)
        job.is_seen = job.is_seen or bool(deltas)
        return Replay(job_id=job.job_id, epoch=self._epoch, deltas=deltas, length=length)

    def replay_ended(self, request: Resume, ended: EndedRecord) -> Replay:
        """The same of a job that has ended, and its end behind the last item."""
        length = ended.finished.length
        stop = _stop(request, length, length, _num_likely(ended))
        self._counters.on_replay(max(0, stop - request.next_index), is_gap=False)
        deltas = [
            _delta_of(ended, index, min(stop, index + REPLAY_CHUNK))
            for index in range(request.next_index, stop, REPLAY_CHUNK)
        ]
        if stop >= length and (ended.tail or ended.reasoning_tail):
            deltas.append(
                Delta(
                    job_id=request.job_id,
                    index=length,
                    token_ids=[],
                    text=ended.tail,
                    reasoning_content=ended.reasoning_tail,
                    model=ended.finished.result.handoff.model or None,
                )
            )
        return Replay(
            job_id=request.job_id,
            epoch=self._epoch,
            deltas=deltas,
            length=length,
            finished=ended.finished if stop >= length else None,
        )


def _stop(request: Resume, length: int, limit: int, num_likely: int) -> int:
    """Where the items end that are told of those asked for, with so many likely tokens each."""
    if not 0 <= request.next_index <= limit:
        raise InvalidRequest(
            f"next_index {request.next_index} is outside the stream of {length} items", param="next_index"
        )
    if request.credit < 0:
        raise InvalidRequest(f"credit must not be negative, got {request.credit}", param="credit")
    max_items = MAX_CREDIT // (1 + max(0, num_likely))
    return min(length, request.next_index + min(request.credit, max_items))


def _num_likely(ended: EndedRecord) -> int:
    """How many likely tokens are told of each item."""
    logprobs = ended.finished.result.logprobs
    return len(logprobs[0].top) if logprobs else 0


def _delta_of(ended: EndedRecord, start: int, stop: int) -> Delta:
    result = ended.finished.result
    return Delta(
        job_id=ended.finished.job_id,
        index=start,
        token_ids=ended.token_ids[start:stop],
        text="".join(ended.texts[start:stop]),
        logprobs=None if result.logprobs is None else result.logprobs[start:stop],
        prompt_logprobs=None if start else result.prompt_logprobs,
        reasoning_content="".join(ended.reasonings[start:stop]),
        model=result.handoff.model or None,
    )
