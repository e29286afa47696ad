"""The client's state of one job, and the messages that complete it. No I/O."""

from __future__ import annotations

from collections import deque

import msgspec

from cactus_actors.client.submit import EncodedSubmit
from cactus_actors.protocol.errors import (
    CactusError,
    JobConflict,
    JobNotFound,
    Overloaded,
    ServerFailure,
    Unavailable,
    error_from_info,
)
from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    ClientMessage,
    Delta,
    Fetch,
    Finished,
    Pending,
    Progress,
    Rejected,
    Replay,
    Resume,
    RouterReply,
    Submit,
)
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES

RESEND_AFTER_S = 1.0  # an unanswered first message is sent again; it is idempotent
UPLOAD_BYTES_PER_S = 1_000_000  # the slowest link on which a large message is answered in time
SMALL_BYTES = 64 << 10
STREAM_SILENCE_S = 2.0  # the stream of a running job has a Progress every second
RESULT_SILENCE_S = 5.0  # default of Timeouts.result_silence_s
REORDER_S = 0.25  # Finished on the job socket may overtake the last deltas on the stream socket
CLOSE_S = 5.0  # default of Timeouts.close_s: a cancelled job ends immediately
RESUME_CREDIT = 1024
DEFAULT_RETRY_S = 1.0
MAX_STREAM_ITEMS = MAX_MESSAGE_BYTES  # a result is one message, and each item takes a byte of it


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds without a message before a job is given up or requested again; `endpoint` is for error messages.

    `first_reply_s` applies until the first reply, `reconnect_s` after it: long enough for a restart of the router.
    `result_silence_s` is the silence after which a job without a stream is requested again: silence is normal
    there, but the router may have been restarted. `close_s` is how long the result of a cancelled job may take.
    """

    first_reply_s: float = 10.0
    reconnect_s: float = 60.0
    result_silence_s: float = RESULT_SILENCE_S
    close_s: float = CLOSE_S
    endpoint: str = ""

    def exhausted(self, seconds: float) -> Unavailable:
        """The error raised after `seconds` without a reply."""
        return Unavailable(f"no answer from {self.endpoint} for {seconds:g} s; is `cactus serve` running?")


class JobFollower:
    """Follows one job to its end: feed it messages and ticks, send its `outbox`, deliver its `deltas`.

    Invariant: all `deltas` emitted so far join to items 0..next_index-1 without a gap or a repeat, and their text
    joins to a prefix of the text of the job's stream. `outcome` is set once, when no more messages will follow.
    Without `submit` another client submitted the job, and it cannot be submitted again; nor can it with
    `is_cancelled`. With `is_abandoned` only the result is awaited, and no deltas.
    """

    def __init__(
        self, job_id: str, submit: Submit | EncodedSubmit | None, *, streamed: bool, timeouts: Timeouts, now: float
    ) -> None:
        self.job_id = job_id
        self.streamed = streamed
        self.deltas: deque[Delta] = deque()
        self.outcome: Result | CactusError | None = None
        self.accepted: Accepted | None = None
        self._submit = submit
        self._timeouts = timeouts
        self._next_index = 0
        self._num_characters = 0
        self._num_reasoning_characters = 0
        self._out_of_order: dict[int, Delta] = {}
        self._epoch: int | None = None
        self._finished: Finished | None = None
        self._complete_at = 0.0
        self._last_reply_at = now
        self._has_reply = False
        self.is_cancelled = False
        self.is_abandoned = False
        self._resume_pending = False
        # Fetch is answered when the job ends. The Resume sent with it is answered immediately and shows that the job is
        # known. It requests no items: text that was never shown may still be replaced by a handoff.
        self._opening: list[ClientMessage | EncodedSubmit] = (
            [submit] if submit else [Fetch(job_id=job_id), Resume(job_id=job_id, credit=0)]
        )
        self.outbox = list(self._opening)
        self._last_request_at = now
        num_bytes = submit.num_bytes if isinstance(submit, EncodedSubmit) else 0
        self._upload_s = max(0, num_bytes - SMALL_BYTES) / UPLOAD_BYTES_PER_S
        self._reopen_at: float | None = now + RESEND_AFTER_S + self._upload_s

    def fail(self, error: CactusError) -> None:
        """End following with an error from outside this job."""
        if self.outcome is None:
            self.outcome = error

    def abandon(self) -> None:
        """Wait only for the result of a job that is being cancelled."""
        self.is_cancelled = self.is_abandoned = True
        self.streamed = False

    def on_message(self, message: RouterReply | Progress, now: float, *, from_stream: bool = False) -> None:
        """Handle one message about this job."""
        if self.outcome is not None:
            return
        self._last_reply_at = now
        self._has_reply = True
        match message:
            case Accepted():
                self.accepted = message
                self._epoch = message.epoch
                self._reopen_at = None
                if self._finished is not None:
                    self._complete(self._finished)
            case Delta():
                self._on_delta(message, now)
            case Progress():
                self._on_epoch(message.epoch, now)
                self._resume_if_behind(message.length, now)
            case Replay():
                self._reopen_at = None
                self._on_epoch(message.epoch, now)
                self._on_replay(message, now)
            case Finished():
                self._on_finished(message, now, is_last=from_stream)
            case Rejected():
                self._on_rejected(message, now)
            case Pending():
                self._reopen_at = None
            case _:
                pass

    def on_tick(self, now: float) -> None:
        """Detect missing replies; called several times a second."""
        if self.outcome is not None:
            return
        if self._finished is not None:
            if now >= self._complete_at:
                self._complete(self._finished)
            return
        timeouts = self._timeouts.reconnect_s if self._has_reply else self._timeouts.first_reply_s + self._upload_s
        if now - self._last_reply_at >= timeouts:
            self.outcome = self._timeouts.exhausted(timeouts)
        elif self._reopen_at is not None:
            if now >= self._reopen_at:
                self._reopen(now)
        elif now - max(self._last_reply_at, self._last_request_at) >= (
            STREAM_SILENCE_S if self.streamed else self._timeouts.result_silence_s
        ):
            self._resume_pending = False
            self._resume(now)

    def on_reconnected(self, now: float) -> None:
        """Handle a replaced connection: requests and replies in flight may be lost."""
        if self.outcome is not None:
            return
        if self._reopen_at is not None:
            self._reopen(now)
        else:
            self._resume_pending = False
            self._resume(now)

    def _on_delta(self, delta: Delta, now: float) -> None:
        if not self.streamed or delta.index < self._next_index:
            if self.streamed and delta.index + len(delta.token_ids) > self._next_index:
                self._resume(now)  # its text cannot be split at next_index; a replay starts there
            return
        self._out_of_order[delta.index] = delta
        self._deliver_in_order()
        if self._out_of_order:
            self._resume(now)

    def _deliver_in_order(self) -> None:
        while (delta := self._out_of_order.pop(self._next_index, None)) is not None:
            # Text without tokens has no index to detect a repeat by; the end of the result contains it.
            if not delta.token_ids:
                continue
            self._emit(delta)
        if self._finished is not None and self._next_index >= self._finished.length and not self._awaits_acceptance:
            self._complete(self._finished)

    def _emit(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self._next_index += len(delta.token_ids)
        self._num_characters += len(delta.text)
        self._num_reasoning_characters += len(delta.reasoning_content)

    def _on_replay(self, replay: Replay, now: float) -> None:
        self._resume_pending = False
        if self.streamed:
            for delta in replay.deltas:
                if delta.index >= self._next_index:
                    self._out_of_order[delta.index] = delta
            self._deliver_in_order()
            self._out_of_order = {
                index: delta for index, delta in self._out_of_order.items() if index > self._next_index
            }
        if replay.finished is not None:
            self._on_finished(replay.finished, now, is_last=True)
        elif replay.deltas:
            self._resume_if_behind(replay.length, now)

    def _resume_if_behind(self, length: int, now: float) -> None:
        if self.streamed and length > self._next_index:
            self._resume(now)

    def _resume(self, now: float) -> None:
        if self._resume_pending or self._finished is not None:
            return
        self._resume_pending = True
        self._last_request_at = now
        if self.is_abandoned:
            self.outbox.append(Cancel(job_id=self.job_id))  # the first Cancel had no effect
        if not self.streamed:  # the result is sent once, over a connection that may be closed by then
            self.outbox.append(Fetch(job_id=self.job_id))
        credit = RESUME_CREDIT if self.streamed else 0
        self.outbox.append(Resume(job_id=self.job_id, next_index=self._next_index, credit=credit))

    def _on_epoch(self, epoch: int, now: float) -> None:
        """Submit the job again if the epoch has changed: a restarted router may not have it."""
        if self._epoch is not None and epoch != self._epoch:
            self._reopen(now)
        else:
            self._epoch = epoch

    def _reopen(self, now: float) -> None:
        if self.is_cancelled and self._submit is not None:
            self.outbox.append(Cancel(job_id=self.job_id))  # the restarted router may know the job nevertheless
            self.outcome = Result(finish_reason="cancelled")
            return
        self._epoch = None
        self._resume_pending = False
        self._reopen_at = now + RESEND_AFTER_S + self._upload_s
        self.outbox += self._opening

    def _on_rejected(self, message: Rejected, now: float) -> None:
        error = error_from_info(message.error)
        if isinstance(error, JobNotFound) and self.is_cancelled:
            self.outcome = Result(finish_reason="cancelled", text="")
        elif isinstance(error, JobNotFound) and self._submit is not None:
            if self._reopen_at is None:
                self._reopen(now)
        elif isinstance(error, JobConflict) and self.accepted is not None:
            return  # another client used the same id
        elif isinstance(error, Overloaded | Unavailable) and self.accepted is not None:
            self._reopen_at = now + (error.retry_after or DEFAULT_RETRY_S)
        else:
            self.outcome = error

    def _on_finished(self, finished: Finished, now: float, *, is_last: bool) -> None:
        if self._finished is None:
            self._finished = finished
            self._complete_at = now + REORDER_S
        is_whole = is_last or not self.streamed or self._next_index >= finished.length
        if is_whole and not self._awaits_acceptance:
            self._complete(finished)

    @property
    def _awaits_acceptance(self) -> bool:
        """True while the acceptance may be on its way: the stream socket may be faster than the job socket."""
        return self.streamed and self._submit is not None and self.accepted is None and self._reopen_at is not None

    def _complete(self, finished: Finished) -> None:
        """Emit the part that the stream has lost from the whole result, and end."""
        result = finished.result
        if finished.length > MAX_STREAM_ITEMS:
            self.fail(ServerFailure(f"the router reports a stream of {finished.length} items"))
            return
        missing = max(0, finished.length - self._next_index)
        written = result.text if result.stream_text is None else result.stream_text
        text = written[self._num_characters :]
        reasoning = (result.reasoning_content or "")[self._num_reasoning_characters :]
        if self.streamed and (missing or text or reasoning):
            of_stream = len(result.token_ids) == finished.length
            token_ids = result.token_ids[self._next_index :] if of_stream else [0] * missing
            logprobs = result.logprobs[self._next_index :] if of_stream and result.logprobs else None
            self._emit(
                Delta(
                    job_id=self.job_id,
                    index=self._next_index,
                    token_ids=token_ids,
                    text=text,
                    logprobs=logprobs,
                    prompt_logprobs=None if self._next_index else result.prompt_logprobs,
                    reasoning_content=reasoning,
                    model=result.handoff.model or None,
                )
            )
        if result.success:
            self.outcome = result
            return
        error = (
            CactusError("the job failed without a reason") if result.error is None else error_from_info(result.error)
        )
        error.result = result
        self.outcome = error
