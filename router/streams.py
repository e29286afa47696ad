"""What leaves on the stream socket, and replays of it: the job's log is the truth, publishing is a hint."""

from __future__ import annotations

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Delta, Finished, Progress, Replay, Resume
from router.effects import Outbox
from router.job import EndedJob, Job
from router.tally import Tally
from router.token_log import TokenLog
from router.topics import Topics

REPLAY_CHUNK = 256
MAX_CREDIT = 8192
PROGRESS_INTERVAL_S = 1.0


class Streams:
    """Publishes open streams to those who listen."""

    def __init__(self, outbox: Outbox, topics: Topics, tally: Tally, epoch: int) -> None:
        self._outbox = outbox
        self._topics = topics
        self._tally = tally
        self._epoch = epoch

    def advance(self, job: Job, now: float) -> None:
        """Publish what the open stream gained; without a subscriber it is passed over."""
        if not job.is_open:
            return
        log = job.stream
        length = len(log)
        if length > job.num_published and job.job_id in self._topics:
            self._outbox.publish(job.job_id, log.delta(job.job_id, job.num_published, length), job.encoding)
            job.is_seen = True
            job.last_published_at = now
        job.num_published = length

    def progress(self, job: Job, now: float) -> None:
        """Tell the stream's length to those who listen."""
        message = Progress(job_id=job.job_id, epoch=self._epoch, length=job.length)
        self._outbox.publish(job.job_id, message, job.encoding)
        job.last_published_at = now

    def finish(self, job: Job, finished: Finished) -> None:
        """Publish the end of the stream."""
        if job.job_id not in self._topics:
            return
        if job.stream.tail:
            self._outbox.publish(job.job_id, job.stream.tail_delta(job.job_id), job.encoding)
        self._outbox.publish(job.job_id, finished, job.encoding)

    def replay(self, request: Resume, found: Job | EndedJob) -> Replay:
        """The items that `request` asks for; raises InvalidRequest on an index that cannot be.

        A live job may be asked for items that are yet to come: after a restart of the router, a client is
        ahead of its job for a while.
        """
        if isinstance(found, Job):
            length, stream = found.length, found.stream
            limit = max(length, found.prepared.params.max_tokens)
        else:
            length, stream, limit = found.finished.length, found.stream, found.finished.length
        if not 0 <= request.next_index <= limit:
            raise InvalidRequest(
                f"next_index {request.next_index} is outside the stream of {length} items", param="next_index"
            )
        if request.credit < 0:
            raise InvalidRequest(f"credit must not be negative, got {request.credit}", param="credit")

        stop = min(length, request.next_index + min(request.credit, MAX_CREDIT))
        deltas = _chunks(request.job_id, stream, request.next_index, stop)
        finished = None
        is_gap = isinstance(found, Job) and found.is_seen and request.next_index < found.num_published
        self._tally.on_replay(max(0, stop - request.next_index), is_gap=is_gap)
        if isinstance(found, Job):
            found.is_seen = found.is_seen or bool(deltas)
        elif stop >= length:
            finished = found.finished
            if stream.tail:
                deltas.append(stream.tail_delta(request.job_id))
        return Replay(
            job_id=request.job_id, epoch=self._epoch, deltas=deltas, length=length, finished=finished
        )


def _chunks(job_id: str, log: TokenLog, start: int, stop: int) -> list[Delta]:
    return [
        log.delta(job_id, index, min(stop, index + REPLAY_CHUNK))
        for index in range(start, stop, REPLAY_CHUNK)
    ]
