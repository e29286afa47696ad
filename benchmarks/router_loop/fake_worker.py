"""A worker that computes nothing: it takes dispatches and generates one token per step for each running one."""

from __future__ import annotations

from collections.abc import Sequence

from cactus_actors.protocol.worker_messages import (
    Abort,
    Dispatch,
    Finish,
    Hello,
    Report,
    RouterCommand,
    SequenceDelta,
)

BLOCK_SIZE = 16
BLOCKS_PER_SLOT = 64
MAX_CONTEXT = BLOCKS_PER_SLOT * BLOCK_SIZE
MODEL = "fake"


class _Sequence:
    """One dispatch: its number of tokens so far, and its limit."""

    __slots__ = ("dispatch_id", "length", "num_known", "num_prompt_tokens")

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch_id = dispatch.dispatch_id
        self.num_prompt_tokens = len(dispatch.prompt_ids)
        self.num_known = len(dispatch.emitted_ids)
        self.length = dispatch.params.max_tokens

    @property
    def num_blocks(self) -> int:
        return (self.num_prompt_tokens + self.num_known) // BLOCK_SIZE + 1


def spread_ages(num_workers: int, num_slots: int) -> list[list[float]]:
    """The progress of the first jobs of each worker, spread so that jobs end one by one, not all in one step."""
    num_jobs = num_workers * num_slots
    return [[number / num_jobs for number in range(worker, num_jobs, num_workers)] for worker in range(num_workers)]


class FakeWorker:
    """Takes commands and returns one report per step by the rules of a real worker; no sockets and no clock.

    The first `num_slots` dispatches run, the others wait on deck. A job ends at its `max_tokens`. `ages` are the
    shares of their tokens that the first dispatches have had before, so that they do not all end in one step.
    """

    def __init__(
        self, worker_id: str, num_slots: int, *, ages: Sequence[float] = (), max_reports_ahead: int = 0
    ) -> None:
        num_blocks = (num_slots + 1) * BLOCKS_PER_SLOT
        self.hello = Hello(
            worker_id,
            "local",
            MODEL,
            num_slots,
            num_blocks,
            BLOCK_SIZE,
            MAX_CONTEXT,
            "here",
            1,
            max_reports_ahead=max_reports_ahead,
        )
        self._ages = ages
        self._sequences: dict[int, _Sequence] = {}
        self._num_accepted = 0
        self._num_tokens = 0

    def take(self, command: RouterCommand) -> None:
        """Take a command of the router."""
        match command:
            case Dispatch():
                sequence = self._sequences[command.dispatch_id] = _Sequence(command)
                if self._num_accepted < len(self._ages):
                    share = self._ages[self._num_accepted]
                    sequence.length -= int(share * (sequence.length - sequence.num_known))
                self._num_accepted += 1
            case Abort(dispatch_id):
                self._sequences.pop(dispatch_id, None)

    @property
    def num_running(self) -> int:
        return min(len(self._sequences), self.hello.num_slots)

    def step(self, text: str = " word") -> list[SequenceDelta]:
        """Generate one token with this text for each running sequence."""
        running = list(self._sequences.values())[: self.hello.num_slots]
        return [self._token_of(sequence, text) for sequence in running]

    def report(self, deltas: list[SequenceDelta], num_taken: int | None = None) -> Report:
        """A report of these tokens and of the worker's state; without tokens it is a heartbeat."""
        held = list(self._sequences.values())
        return Report(
            num_accepted=self._num_accepted,
            free_slots=self.hello.num_slots - len(held),
            free_blocks=self.hello.num_blocks - sum(sequence.num_blocks for sequence in held[: self.hello.num_slots]),
            num_running=self.num_running,
            deltas=deltas,
            tokens_generated=self._num_tokens,
            num_taken=num_taken,
        )

    def _token_of(self, sequence: _Sequence, text: str) -> SequenceDelta:
        position = sequence.num_known
        sequence.num_known += 1
        self._num_tokens += 1
        is_last = sequence.num_known >= sequence.length
        if is_last:
            del self._sequences[sequence.dispatch_id]
        return SequenceDelta(
            sequence.dispatch_id,
            position,
            [1000 + position],
            text,
            [0.1],
            [-0.1],
            finish=Finish("length") if is_last else None,
        )
