"""Replays: items of a stream that a client requests again."""

from __future__ import annotations

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Delta, Replay, Resume
from cactus_actors.router.router_state import RouterState
from cactus_actors.router.state.ended_jobs import EndedJob
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.journal_records import EndedRecord

REPLAY_CHUNK = 256
MAX_CREDIT = 2048
"""The most items of one replay, counting the alternatives of each, so that no replay delays other requests."""


class Replays:
    """Makes a replay from the log of a live job, or from the stored result of an ended one."""

    def __init__(self, state: RouterState) -> None:
        self._state = state
        self._epoch = state.facts.epoch

    def replay(self, request: Resume, tenant: str) -> Replay:
        """The requested items; raises InvalidRequest for an impossible index, JobNotFound."""
        job = self._state.jobs.find(request.job_id, tenant)
        if isinstance(job, EndedJob):
            return self._of_ended(request, self._state.results.result_of(request.job_id).ended)
        return self._of_live(request, job)

    def _of_live(self, request: Resume, job: Job) -> Replay:
        """Future items may be requested: after a restart of the router a client is ahead of its job."""
        length, stream = job.length, job.stream
        stop = _stop(request, length, max(length, job.max_tokens), job.prepared.params.num_logprobs)
        deltas = [
            stream.delta(job.job_id, index, min(stop, index + REPLAY_CHUNK))
            for index in range(request.next_index, stop, REPLAY_CHUNK)
        ]
        publication = job.publication
        is_gap = publication.is_seen and request.next_index < publication.num_items
        self._state.counters.on_replay(max(0, stop - request.next_index), is_gap=is_gap)
        publication.is_seen = publication.is_seen or bool(deltas)
        return Replay(job_id=job.job_id, epoch=self._epoch, deltas=deltas, length=length)

    def _of_ended(self, request: Resume, ended: EndedRecord) -> Replay:
        """The items, and after the last one the job's end."""
        length = ended.finished.length
        stop = _stop(request, length, length, _num_alternatives(ended))
        self._state.counters.on_replay(max(0, stop - request.next_index), is_gap=False)
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


def _stop(request: Resume, length: int, limit: int, num_alternatives: int) -> int:
    """The index after the last item to send; each item has `num_alternatives` likely tokens."""
    if not 0 <= request.next_index <= limit:
        raise InvalidRequest(
            f"next_index {request.next_index} is outside the stream of {length} items", param="next_index"
        )
    if request.credit < 0:
        raise InvalidRequest(f"credit must not be negative, got {request.credit}", param="credit")
    max_items = MAX_CREDIT // (1 + max(0, num_alternatives))
    return min(length, request.next_index + min(request.credit, max_items))


def _num_alternatives(ended: EndedRecord) -> int:
    """The number of alternatives of each item."""
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
