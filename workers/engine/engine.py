"""The engine: schedule, forward, sample, commit."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import CactusError, ContextExceeded, ModelFailure
from cactus_actors.protocol.worker_messages import Dispatch, Finish, SequenceDelta, SequenceExtras
from cactus_actors.workers.engine.adapter_table import AdapterTable
from cactus_actors.workers.engine.block_pool import BlockPool, CacheEvents
from cactus_actors.workers.engine.detokenizer import TextDelta
from cactus_actors.workers.engine.head_drafter import HeadDrafter
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.picture_queue import PictureQueue
from cactus_actors.workers.engine.prompt_states import take_prompt_states
from cactus_actors.workers.engine.sampler import Sample, Sampler, Samples
from cactus_actors.workers.engine.scheduler import MAX_DRAFTED_ROWS, Counters, Schedule, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.sequence_deltas import (
    empty_final_delta,
    error_finish,
    extras_for,
    final_delta,
    prompt_logprobs,
    sequence_delta,
)
from cactus_actors.workers.engine.sequence_factory import SequenceFactory
from cactus_actors.workers.engine.state_pool import StateLimits, StatePool
from cactus_actors.workers.engine.step_batch import Batch, SequenceChunk
from cactus_actors.workers.engine.step_time_limiter import StepTimeLimiter
from cactus_actors.workers.engine.stop_conditions import StopConditions, length_finish

Commit = Callable[[], list[SequenceDelta]]
"""Updates the sequences of a computed step and returns their deltas."""


class Engine:
    """Runs the sequences of many dispatches together, one step at a time; not thread-safe.

    On one machine and model, the deltas of a dispatch depend on its prompt, parameters, seed and choice alone:
    not on other sequences, chunked prefill, prefix cache, drafts, or the token at which an earlier dispatch
    of the job ended. Drafts change only the number of tokens in a delta.
    """

    def __init__(
        self,
        model: Model,
        text: TextOptions,
        limits: EngineLimits,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._model = model
        self._clock = clock
        self._stop_conditions = StopConditions(text.eos_ids)
        self.adapters = AdapterTable(model.remove_adapter)
        self._sequence_factory = SequenceFactory(text, limits, self._stop_conditions, model, self.adapters)
        self.max_sequences = limits.max_sequences
        has_states = model.slot_size > 0
        num_slots = limits.num_states if has_states else 0
        self._cache = model.new_cache(limits.cache_blocks, limits.block_size, num_slots)
        self._block_pool = BlockPool(limits.cache_blocks, needs_checkpoints=has_states)
        state_limits = StateLimits(num_slots=num_slots, checkpoint_tokens=limits.checkpoint_distance)
        self.counters = Counters()
        self._pictures: PictureQueue | None = None
        if model.encoder is not None:
            self._pictures = PictureQueue(model.encoder, limits.embedding_bytes, self.counters, clock)
        self._step_time_limiter = StepTimeLimiter(limits.token_budget, model.num_weights, limits.max_step_s)
        self._scheduler = Scheduler(
            self._block_pool,
            self.counters,
            max_sequences=limits.max_sequences,
            token_budget=self._step_time_limiter.token_budget,
            max_drafts=limits.max_drafts,
            state_pool=StatePool(state_limits, self._block_pool) if has_states else None,
            head_drafter=self._new_head_drafter(model, limits),
        )
        self._sampler = Sampler(self._stop_conditions.eos_ids)
        self._sequences: dict[int, Sequence] = {}
        self._ended: list[SequenceDelta] = []  # of dispatches that ended before they ran

    @property
    def has_work(self) -> bool:
        """True if a step would do anything."""
        return bool(self._sequences or self._ended)

    @property
    def num_sequences(self) -> int:
        """Sequences, running or waiting."""
        return len(self._sequences)

    @property
    def num_running(self) -> int:
        """Sequences in the running batch."""
        return len(self._scheduler.running)

    @property
    def free_slots(self) -> int:
        """Slots left in the running batch; negative while sequences wait."""
        return self.max_sequences - len(self._sequences)

    @property
    def free_blocks(self) -> int:
        """Cache blocks not held by any sequence."""
        return self._block_pool.num_free

    @property
    def spare_blocks(self) -> int:
        """Cache blocks that no sequence holds or is expected to need."""
        return self._scheduler.spare_blocks

    @property
    def cache_sizes(self) -> tuple[int, int]:
        """Number of blocks of the cache, and of slots for recurrent states."""
        return self._cache.num_blocks, self._cache.num_states

    def take_cache_events(self) -> CacheEvents:
        """Blocks stored in and evicted from the prefix cache since the last call."""
        return self._block_pool.take_events()

    def republish_cache_events(self) -> None:
        """Make the next events list all blocks of the prefix cache."""
        self._block_pool.republish()

    def add(self, dispatch: Dispatch) -> None:
        """Add a dispatch; the next step answers one that cannot run, one already held is ignored."""
        if dispatch.dispatch_id in self._sequences:
            return
        try:
            sequence = self._sequence_factory.create(dispatch)
            finish = self._finish_before(sequence)
        except Exception as error:
            finish = error_finish(error)
        if finish is not None:
            self._ended.append(empty_final_delta(dispatch.dispatch_id, len(dispatch.emitted_ids), finish))
            return
        self._sequences[dispatch.dispatch_id] = sequence
        self.adapters.hold(sequence.adapter)
        if sequence.pictures is None or not self._waits_for_pictures(sequence):
            self._scheduler.add(sequence)

    def abort(self, dispatch_id: int) -> None:
        """Forget a dispatch; it gets no more deltas."""
        self._ended = [delta for delta in self._ended if delta.dispatch_id != dispatch_id]
        if dispatch_id in self._sequences:
            self._remove(self._sequences[dispatch_id])

    def abort_all(self) -> None:
        """Forget every dispatch; cached prefixes stay."""
        self._ended.clear()
        for sequence in list(self._sequences.values()):
            self._remove(sequence)

    def step(self) -> list[SequenceDelta]:
        """Compute the next tokens of the running batch; returns the deltas of its sequences.

        A failed step is computed again one sequence at a time: a sequence that fails alone ends with an error.
        """
        deltas = [] if self._pictures is None else self._encode(self._pictures)
        started = self._clock()
        schedule = self._scheduler.schedule()
        deltas += self._take_ended(schedule)
        chunks = sorted(schedule.chunks, key=attrgetter("sequence.adapter_slot"))  # adjacent rows are faster
        generating = [chunk for chunk in chunks if chunk.sequence.pooler is None]
        deltas += self._compute(generating, self._generate)
        if len(generating) < len(chunks):
            deltas += self._compute([chunk for chunk in chunks if chunk.sequence.pooler is not None], self._embed)
        seconds = self._clock() - started
        self.counters.step_seconds += seconds
        self._scheduler.on_step(schedule, seconds)
        if self._pictures is not None:
            self._pictures.on_step(seconds)
        return deltas

    def _new_head_drafter(self, model: Model, limits: EngineLimits) -> HeadDrafter | None:
        if model.draft_head is None or not limits.max_drafts:
            return None
        return HeadDrafter(
            model.draft_head,
            self._cache,
            MAX_DRAFTED_ROWS,
            self._clock,
            recomputes_accepted=model.slot_size > 0,
        )

    def _waits_for_pictures(self, sequence: Sequence) -> bool:
        """Let a sequence wait until its pictures are encoded, unless they are."""
        assert self._pictures is not None, "a model without an encoder has no sequence with pictures"
        return self._pictures.add(sequence)

    def _encode(self, pictures: PictureQueue) -> list[SequenceDelta]:
        """Encode pictures for a part of the step; sequences that have all of theirs can run."""
        started = self._clock()
        try:
            ready = pictures.advance(is_alone=not self._scheduler.has_sequences)
        except Exception as error:  # a picture that cannot be encoded must not end the worker
            finish = error_finish(error, "a picture could not be encoded")
            failed = pictures.fail_current()
            for sequence in failed:
                self._forget(sequence)
            return [final_delta(sequence, finish) for sequence in failed]
        finally:
            seconds = self._clock() - started
            self.counters.step_seconds += seconds
            self.counters.kernel_seconds += seconds
        for sequence in ready:
            self._scheduler.add(sequence)
        return []

    def _compute(
        self, chunks: list[SequenceChunk], run: Callable[[list[SequenceChunk], Batch], Commit]
    ) -> list[SequenceDelta]:
        """Run the forward pass and sampling or pooling, then commit."""
        if not chunks:
            return []
        try:
            batch = Batch.of(chunks)
            started = self._clock()
            commit = run(chunks, batch)
        except Exception as error:  # a failed step must not end the worker
            if len(chunks) > 1:
                return [delta for chunk in chunks for delta in self._compute([chunk], run)]
            return [self._end(chunks[0].sequence, error_finish(error, "a step failed"))]
        seconds = self._clock() - started
        self.counters.kernel_seconds += seconds
        self._step_time_limiter.on_step(len(batch.token_ids), seconds)
        self._scheduler.token_budget = self._step_time_limiter.token_budget
        return commit()

    def _generate(self, chunks: list[SequenceChunk], batch: Batch) -> Commit:
        logits = self._model.forward(batch, self._cache)
        if batch.tapped_layers:
            take_prompt_states(self._model, chunks, len(logits))
        logit_stats = self._model.logit_stats(len(logits))
        hidden = None if self._model.draft_head is None else self._model.last_hidden(len(logits))
        try:
            samples = self._sampler.sample(logits, chunks, logit_stats)
        except Exception:  # recurrent states have advanced: only sampling can be done again
            return lambda: self._commit_one_by_one(chunks, logits, logit_stats, hidden)
        return lambda: self._commit(chunks, samples, hidden)

    def _commit_one_by_one(
        self,
        chunks: list[SequenceChunk],
        logits: NDArray[np.float32],
        logit_stats: NDArray[np.float32] | None,
        hidden: NDArray[np.float32] | None,
    ) -> list[SequenceDelta]:
        """Sample and commit each chunk alone; one that cannot be sampled ends with an error."""
        deltas = []
        first_row = 0
        for chunk in chunks:
            rows = slice(first_row, first_row + len(chunk.prompt_rows) + chunk.num_rows)
            first_row = rows.stop
            try:
                samples = self._sampler.sample(
                    logits[rows], [chunk], None if logit_stats is None else logit_stats[rows]
                )
            except Exception as error:
                deltas.append(self._end(chunk.sequence, error_finish(error, "a step failed")))
            else:
                deltas += self._commit([chunk], samples, None if hidden is None else hidden[rows])
        return deltas

    def _embed(self, chunks: list[SequenceChunk], batch: Batch) -> Commit:
        hidden = self._model.hidden_states(batch, self._cache)
        return lambda: self._commit_hidden(chunks, hidden)

    def _commit_hidden(self, chunks: list[SequenceChunk], hidden: NDArray[np.float32]) -> list[SequenceDelta]:
        """Pool the hidden states of each chunk; the embedding is reported when the prompt is complete."""
        deltas = []
        first_row = 0
        for chunk in chunks:
            sequence, pooler = chunk.sequence, chunk.sequence.pooler
            assert pooler is not None, "the chunks of _embed have a pooler"
            if sequence.num_computed_tokens == 0:
                pooler.restart()
            pooler.add(hidden[first_row : first_row + len(chunk.prompt_rows)])
            first_row += len(chunk.prompt_rows)
            self._scheduler.commit(chunk)
            if sequence.num_uncomputed_tokens == 0:
                try:
                    embedding, length = pooler.embedding()
                    extras = SequenceExtras(embedding=embedding, embedding_length=length)
                    deltas.append(self._end(sequence, Finish("stop"), extras))
                except CactusError as error:
                    deltas.append(self._end(sequence, error_finish(error)))
        return deltas

    def _finish_before(self, sequence: Sequence) -> Finish | None:
        """The finish of a sequence that ended in an earlier dispatch, or None."""
        if sequence.pooler is not None or sequence.num_completion_tokens == 0:
            return None
        return self._stop_conditions.finish_for(sequence, int(sequence.token_ids[-1]))

    def _commit(
        self, chunks: list[SequenceChunk], samples: Samples, hidden: NDArray[np.float32] | None
    ) -> list[SequenceDelta]:
        """Turn samples into deltas; end complete sequences. The head for drafts needs the hidden states of the rows."""
        deltas = []
        first_row = 0
        for chunk in chunks:
            sequence, position = chunk.sequence, chunk.sequence.num_completion_tokens
            try:
                delta = self._commit_chunk(chunk, samples, first_row)
            except Exception as error:  # for example a token unknown to the tokenizer
                self._remove(sequence)
                finish = error_finish(error, "a token could not be processed")
                delta = empty_final_delta(sequence.dispatch_id, position, finish)
            if delta is not None:
                deltas.append(delta)
            if hidden is not None and delta is not None and delta.token_ids:
                last_row = first_row + len(chunk.prompt_rows) + len(delta.token_ids) - 1
                sequence.hidden = hidden[last_row].copy()
            first_row += len(chunk.prompt_rows) + chunk.num_rows
        return deltas

    def _commit_chunk(self, chunk: SequenceChunk, samples: Samples, first_row: int) -> SequenceDelta | None:
        sequence = chunk.sequence
        prompt_extras = prompt_logprobs(chunk, samples, first_row)
        if chunk.num_rows:
            return self._extend(chunk, samples, first_row + len(chunk.prompt_rows), prompt_extras)
        self._scheduler.commit(chunk)
        if sequence.num_uncomputed_tokens == 0:  # the request was for the prefill only
            return self._end(sequence, length_finish(sequence), prompt_extras)
        if prompt_extras is None:
            return None
        return sequence_delta(sequence, sequence.num_completion_tokens, [], [], None, prompt_extras)

    def _extend(
        self, chunk: SequenceChunk, samples: Samples, first_row: int, prompt_extras: SequenceExtras | None
    ) -> SequenceDelta:
        """Append the sampled tokens up to the first that differs from its draft; end the sequence if complete."""
        sequence, position = chunk.sequence, chunk.sequence.num_completion_tokens
        drafts: list[int] = []
        if chunk.num_drafts:
            drafts = sequence.span(sequence.num_tokens, sequence.num_tokens + chunk.num_drafts).tolist()
        tokens: list[Sample] = []
        texts: list[TextDelta] = []
        finish, is_drafted = None, False
        for sample in samples.of(first_row, chunk.num_rows):
            if not sample.is_finite:
                finish = error_finish(ModelFailure("the logits are not finite"))
                break
            token_id = sample.token_id
            is_drafted = len(tokens) < len(drafts) and token_id == drafts[len(tokens)]
            sequence.append(token_id)
            sequence.mirostat_mu = sample.mu
            texts.append(self._stop_conditions.advance(sequence, token_id))
            tokens.append(sample)
            finish = self._stop_conditions.finish_for(sequence, token_id)
            if finish is not None or not is_drafted:
                break
        if num_tokens := len(tokens):
            self._scheduler.commit(chunk, num_tokens if is_drafted else num_tokens - 1)
            self.counters.tokens_generated += num_tokens
        if finish is not None:
            texts.append(sequence.detokenizer.flush())
            self._remove(sequence)
        extras = extras_for(sequence, samples, range(first_row, first_row + num_tokens), prompt_extras)
        return sequence_delta(sequence, position, tokens, texts, finish, extras)

    def _take_ended(self, schedule: Schedule) -> list[SequenceDelta]:
        """The final deltas of dispatches that never ran: invalid ones, and those larger than the cache."""
        ended, self._ended = self._ended, []
        for sequence in schedule.too_large:  # the scheduler has removed it already
            self._forget(sequence)
            error = ContextExceeded(
                f"{sequence.num_tokens} tokens need {sequence.num_blocks_needed} cache blocks, "
                f"this worker has {self._block_pool.num_blocks}",
                param="prompt",
            )
            ended.append(final_delta(sequence, error_finish(error)))
        return ended

    def _end(self, sequence: Sequence, finish: Finish, extras: SequenceExtras | None = None) -> SequenceDelta:
        """Remove a sequence that ends without a new token; returns its final delta."""
        self._remove(sequence)
        return final_delta(sequence, finish, extras)

    def _remove(self, sequence: Sequence) -> None:
        if self._pictures is None or not self._pictures.remove(sequence):
            self._scheduler.remove(sequence)
        self._forget(sequence)

    def _forget(self, sequence: Sequence) -> None:
        del self._sequences[sequence.dispatch_id]
        self.adapters.release(sequence.adapter)
