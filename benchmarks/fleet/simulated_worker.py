"""A worker whose steps take virtual time: its scheduler and prefix cache are real, its model is not."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.protocol.block_hashes import BLOCK_SIZE, short_hash
from cactus_actors.protocol.worker_messages import (
    Abort,
    Dispatch,
    Finish,
    Hello,
    Report,
    RouterCommand,
    SequenceDelta,
)
from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.scheduler import Counters, Schedule, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk

MAX_CONTEXT = 8192
TOKEN_BUDGET = 256


@dataclass(frozen=True)
class Speed:
    """Seconds of a step, and of each token in it; the defaults are those of 135 million weights on two threads."""

    step_s: float = 0.0055
    token_s: float = 0.0004


class _NoText:
    def token_bytes(self, _: int) -> bytes:
        return b""


class SimulatedWorker:
    """Takes commands; `begin_step` returns the duration of a step, `end_step` its deltas."""

    def __init__(self, worker_id: str, *, num_slots: int, num_blocks: int, speed: Speed) -> None:
        self.hello = Hello(worker_id, "local", "simulated", num_slots, num_blocks, BLOCK_SIZE, MAX_CONTEXT, "here", 1)
        self._speed = speed
        self._pool = BlockPool(num_blocks)
        self.counters = Counters()
        self._scheduler = Scheduler(self._pool, self.counters, max_sequences=num_slots, token_budget=TOKEN_BUDGET)
        self._sequences: dict[int, Sequence] = {}
        self._num_accepted = 0
        self._schedule: Schedule | None = None
        self.held: set[int] = set()
        """Short hashes of the blocks in the prefix cache, as reported so far."""

    @property
    def num_sequences(self) -> int:
        return len(self._sequences)

    @property
    def is_computing(self) -> bool:
        return self._schedule is not None

    def take(self, command: RouterCommand) -> None:
        """Take a command of the router."""
        match command:
            case Dispatch():
                self._num_accepted += 1
                sequence = Sequence(
                    command,
                    Detokenizer(_NoText(), command.params),
                    max_context=MAX_CONTEXT,
                    block_size=BLOCK_SIZE,
                )
                self._sequences[command.dispatch_id] = sequence
                self._scheduler.add(sequence)
            case Abort(dispatch_id) if dispatch_id in self._sequences:
                self._scheduler.remove(self._sequences.pop(dispatch_id))

    def begin_step(self) -> float | None:
        """Return the seconds that the next step takes, or None without work."""
        if not self._sequences:
            return None
        self._schedule = self._scheduler.schedule()
        assert not self._schedule.too_large
        num_tokens = sum(chunk.num_tokens for chunk in self._schedule.chunks)
        return self._speed.step_s + num_tokens * self._speed.token_s

    def end_step(self) -> Report:
        """Return the output of the step, without sequences that were aborted in the meantime."""
        assert self._schedule is not None
        chunks, self._schedule = self._schedule.chunks, None
        deltas = [self._commit(chunk) for chunk in chunks if chunk.sequence.dispatch_id in self._sequences]
        news = self._pool.take_events()
        stored = [short_hash(block) for block in news.stored]
        evicted = [short_hash(block) for block in news.evicted]
        self.held.update(stored)
        self.held.difference_update(evicted)
        return Report(
            num_accepted=self._num_accepted,
            free_slots=self.hello.num_slots - len(self._sequences),
            free_blocks=self._scheduler.spare_blocks,
            num_running=len(self._scheduler.running),
            deltas=[delta for delta in deltas if delta is not None],
            stored=stored,
            evicted=evicted,
        )

    def _commit(self, chunk: SequenceChunk) -> SequenceDelta | None:
        sequence, position = chunk.sequence, chunk.sequence.num_completion_tokens
        if not chunk.num_rows:
            self._scheduler.commit(chunk)
            return None
        token_id = 1 + (sequence.params.seed + 7919 * position) % 50_000
        sequence.append(token_id)
        self._scheduler.commit(chunk)
        is_last = sequence.num_tokens_left == 0
        if is_last:
            self._scheduler.remove(self._sequences.pop(sequence.dispatch_id))
        return SequenceDelta(
            sequence.dispatch_id,
            position,
            [token_id],
            "",
            [0.1],
            [-0.1],
            cached_tokens=sequence.num_cached_prompt_tokens or 0,
            finish=Finish("length") if is_last else None,
        )
