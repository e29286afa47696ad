"""Schedules the tokens of the next step.

There is no prefill phase and no decode phase: every sequence has known tokens and computed tokens, and each
step computes more of them under a token budget, oldest sequence first. A sequence is admitted when blocks are free for
all its known tokens, and for those that it and the running sequences are expected to generate (see `CacheForecast`).
When a running sequence needs a block and none is free, the youngest sequence is preempted: it loses its blocks and is
computed again later.

Beside sequences that generate, a step has few tokens of prompts (see `tokens_beside_answers`). Without any, prompts
have all of the token budget, at which they take least time.

Drafts come last: they use remaining rows and blocks; blocks of rejected drafts are free again before the next
step is scheduled.

Where the tokens of a picture's tile attend to each other, a step has the whole tile, whatever the budget. A cached
prefix may end within a tile: its keys and values were computed with all of the tile.

With recurrences, a sequence also needs a slot for its state, which the known tokens of a step advance, not its
drafts: accepted drafts are known tokens of the next step. The state is saved as a checkpoint on its way through
the known tokens, at most once a step.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import chain, islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.cache_forecast import CacheForecast
from cactus_actors.workers.engine.head_drafter import HeadDrafter, HeadSlot
from cactus_actors.workers.engine.prompt_share import tokens_beside_answers
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.speculation import DraftSlot, StepCost, propose
from cactus_actors.workers.engine.state_pool import StatePool
from cactus_actors.workers.engine.step_batch import SequenceChunk
from cactus_actors.workers.engine.whole_tiles import WholeTiles

MAX_DRAFTED_ROWS = 8
"""Kernels multiply up to 8 rows at once: in larger steps each row costs time, drafted or not."""

MAX_PROMPT_ROWS = 64
"""Prompt tokens with logits in a step: each row is as large as the vocabulary."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The chunks of one step, and the sequences that do not fit the whole cache."""

    chunks: list[SequenceChunk] = field(default_factory=list)
    too_large: list[Sequence] = field(default_factory=list)


class Counters(msgspec.Struct):
    """Totals of a worker; recomputed tokens of a preempted prompt count again.

    `kernel_seconds` is the part of `step_seconds` inside compiled code: the forward pass and sampling.
    Of `draft_tokens`, `accepted_draft_tokens` were right. Of `queried_prompt_tokens`, `cached_prompt_tokens`
    were found in the prefix cache. Each content of `encoded_pictures` counts once for all sequences that wait for it;
    `cached_pictures` are those of sequences that an earlier one had encoded.
    """

    tokens_generated: int = 0
    prompt_tokens_computed: int = 0
    cached_prompt_tokens: int = 0
    preemptions: int = 0
    step_seconds: float = 0.0
    kernel_seconds: float = 0.0
    draft_tokens: int = 0
    accepted_draft_tokens: int = 0
    queried_prompt_tokens: int = 0
    encoded_pictures: int = 0
    cached_pictures: int = 0

    def reset(self) -> None:
        for name, value in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            setattr(self, name, value)


class Scheduler:
    """Owns the running and waiting sequences and their blocks; `token_budget` is that of the next step."""

    def __init__(
        self,
        block_pool: BlockPool,
        counters: Counters,
        *,
        max_sequences: int,
        token_budget: int,
        max_drafts: int = 0,
        state_pool: StatePool | None = None,
        head_drafter: HeadDrafter | None = None,
    ) -> None:
        self._block_pool = block_pool
        self._cache_forecast = CacheForecast(block_pool)
        self._state_pool = state_pool
        self._counters = counters
        self._max_sequences = max_sequences
        self._max_drafts = max_drafts
        self._head_drafter = head_drafter
        self.step_cost = StepCost(MAX_DRAFTED_ROWS)
        self.token_budget = token_budget
        self.running: list[Sequence] = []  # by time of admission, oldest first
        self.waiting: deque[Sequence] = deque()

    @property
    def has_sequences(self) -> bool:
        """True if a sequence runs or waits."""
        return bool(self.running or self.waiting)

    @property
    def spare_blocks(self) -> int:
        """Blocks that no sequence here holds or is expected to need."""
        return self._cache_forecast.num_spare(self.running, self.waiting)

    def add(self, sequence: Sequence) -> None:
        self.waiting.append(sequence)

    def schedule(self) -> Schedule:
        """Schedule the next step; afterwards every running sequence has blocks for all its known tokens."""
        schedule = Schedule()
        if self._head_drafter is not None:
            self._head_drafter.begin_step()
        preempted = self._grow_running(schedule)
        budget = of_prompts = self.token_budget
        catching_up = [self._catches_up(sequence) for sequence in self.running]
        num_answers = catching_up.count(False)
        if num_answers and (self.waiting or num_answers < len(self.running)):
            of_prompts = min(budget, tokens_beside_answers(num_answers, self._num_waiting_tokens()))
        for sequence, catches_up in zip(self.running, catching_up, strict=True):
            num_tokens = self._schedule_tokens(sequence, min(budget, of_prompts) if catches_up else budget, schedule)
            budget -= num_tokens
            of_prompts -= num_tokens if catches_up else 0
        while min(budget, of_prompts) > 0 and not preempted and self._admit_next(schedule):
            num_tokens = self._schedule_tokens(self.running[-1], min(budget, of_prompts), schedule)
            budget, of_prompts = budget - num_tokens, of_prompts - num_tokens
        self._add_drafts(schedule)
        return schedule

    def on_step(self, schedule: Schedule, seconds: float) -> None:
        """Record that a step with this schedule took `seconds`, with drafts from texts but not those of a head."""
        if not self._max_drafts:
            return
        num_rows = sum(chunk.num_in_step for chunk in schedule.chunks)
        if 0 < num_rows <= MAX_DRAFTED_ROWS:
            seconds_of_head = 0.0 if self._head_drafter is None else self._head_drafter.seconds
            self.step_cost.on_step(num_rows, seconds - seconds_of_head)

    def commit(self, chunk: SequenceChunk, num_accepted: int = 0) -> None:
        """Publish the blocks that a chunk filled: its keys and values are in the cache.

        The first `num_accepted` drafts are tokens of the sequence now; the others are dropped. Accepted drafts of
        a model with recurrences are computed again.
        """
        sequence, first, num_kept = chunk.sequence, chunk.sequence.num_computed_tokens, num_accepted
        if first < sequence.num_prompt_tokens:
            self._counters.prompt_tokens_computed += min(chunk.num_tokens, sequence.num_prompt_tokens - first)
        if self._state_pool is not None:
            assert sequence.state is not None, "it runs"
            num_saved, num_kept = (first + chunk.save_after) // sequence.block_size, 0
            self._state_pool.commit(sequence.state, sequence.block_hashes(num_saved) if chunk.save_after else ())
        sequence.num_computed_tokens = first + chunk.num_tokens + num_kept
        first_full, num_full = first // sequence.block_size, sequence.num_computed_tokens // sequence.block_size
        if num_full > first_full and sequence.params.cache_prompt:
            hashes = sequence.block_hashes(num_full)
            for index in range(first_full, num_full):
                self._block_pool.publish(sequence.block_table[index], hashes[index])
        if chunk.num_drafts:
            self._block_pool.release(sequence.block_table[sequence.num_blocks_needed :])
            del sequence.block_table[sequence.num_blocks_needed :]
            self._counters.draft_tokens += chunk.num_drafts
            self._counters.accepted_draft_tokens += num_accepted
            sequence.drafter.on_result(chunk.num_drafts, num_accepted)

    def remove(self, sequence: Sequence) -> None:
        """Forget a sequence and release its blocks."""
        if sequence in self.running:
            self.running.remove(sequence)
            self._cache_forecast.on_ended(sequence)
        else:
            self.waiting.remove(sequence)
        self._release(sequence)

    def _catches_up(self, sequence: Sequence) -> bool:
        """True if more than the last token is to be computed, and the drafts before it that were accepted."""
        return sequence.num_uncomputed_tokens > 1 + self._max_drafts

    def _num_waiting_tokens(self) -> int:
        """Tokens of prompts to be computed, of sequences that run or for which there is a place."""
        catching_up = filter(self._catches_up, self.running)
        newcomers = islice(self.waiting, max(0, self._max_sequences - len(self.running)))
        return sum(sequence.num_uncomputed_tokens for sequence in chain(catching_up, newcomers))

    def _schedule_tokens(self, sequence: Sequence, budget: int, schedule: Schedule) -> int:
        max_tokens = max_rows = sequence.num_uncomputed_tokens
        if sequence.num_computed_tokens < sequence.num_prompt_tokens and sequence.prompt_rows and not sequence.pooler:
            num_prompt_rows = sum(len(chunk.prompt_rows) for chunk in schedule.chunks if not chunk.sequence.pooler)
            max_rows = min(max_tokens, MAX_PROMPT_ROWS - num_prompt_rows)
        max_tokens = min(max_tokens, budget)
        if min(max_tokens, max_rows) <= 0:
            return 0
        chunk = SequenceChunk(sequence, min(max_tokens, max_rows))
        if sequence.whole_tiles is not None:
            chunk = _with_whole_tiles(sequence, sequence.whole_tiles, max_tokens, max_rows)
        elif self._state_pool is not None:
            chunk = self._with_save(chunk, self._state_pool)
        schedule.chunks.append(chunk)
        return chunk.num_in_step

    def _with_save(self, chunk: SequenceChunk, state_pool: StatePool) -> SequenceChunk:
        """The chunk with a save at its first checkpoint; without what follows if there is a second one."""
        sequence = chunk.sequence
        assert sequence.state is not None, "it runs"
        first = sequence.num_computed_tokens
        end, saved = first + chunk.num_tokens, first
        while sequence.params.cache_prompt and (saved := self._checkpoint_after(sequence, saved, state_pool)) <= end:
            (*_, block_hash) = sequence.block_hashes(saved // sequence.block_size)
            if state_pool.has_checkpoint(block_hash):
                continue
            if not state_pool.begin_save(sequence.state):
                break
            is_last = self._checkpoint_after(sequence, saved, state_pool) > end
            return SequenceChunk(sequence, chunk.num_tokens if is_last else saved - first, save_after=saved - first)
        return chunk

    def _checkpoint_after(self, sequence: Sequence, position: int, state_pool: StatePool) -> int:
        """The next position of a checkpoint: at a multiple of its distance, or the last one for the same prompt."""
        at_distance = (position // state_pool.checkpoint_tokens + 1) * state_pool.checkpoint_tokens
        of_prompt = (sequence.num_prompt_tokens - 1) // sequence.block_size * sequence.block_size
        return min(at_distance, of_prompt) if of_prompt > position else at_distance

    def _add_drafts(self, schedule: Schedule) -> None:
        """Add drafts to sequences that sample, as far as rows, budget and blocks remain."""
        if not self._max_drafts:
            return
        num_rows = sum(chunk.num_in_step for chunk in schedule.chunks)
        num_left = min(self.token_budget, MAX_DRAFTED_ROWS) - num_rows
        if num_left <= 0:
            return
        indices = [
            index for index, chunk in enumerate(schedule.chunks) if chunk.num_rows and chunk.sequence.can_speculate
        ]
        if self._head_drafter is not None:
            self._add_drafts_of_head(self._head_drafter, schedule, indices, num_rows, num_left)
            return
        sequences = [schedule.chunks[index].sequence for index in indices]
        places = [DraftSlot(each.drafter, each.token_ids, self._num_drafts_that_fit(each)) for each in sequences]
        proposals = propose(places, num_rows, num_left, self.step_cost)
        for index, sequence, drafts in zip(indices, sequences, proposals, strict=True):
            if drafts.size:  # a sequence before this one may have taken blocks
                drafts = drafts[: self._num_drafts_that_fit(sequence)]
                self._allocate_for(sequence, drafts.size)
                schedule.chunks[index] = _drafted(schedule.chunks[index], drafts)

    def _add_drafts_of_head(
        self, head: HeadDrafter, schedule: Schedule, indices: list[int], num_rows: int, num_left: int
    ) -> None:
        """Add drafts of the head to sequences whose hidden state is known, at most `num_left` in all."""
        indices = [index for index in indices if schedule.chunks[index].sequence.hidden is not None]
        sequences = [schedule.chunks[index].sequence for index in indices]
        rooms = [min(each.drafter.max_drafts, self._num_drafts_that_fit(each)) for each in sequences]
        slots = [HeadSlot(each.drafter, each.num_tokens, room) for each, room in zip(sequences, rooms, strict=True)]
        counts = head.draft_counts(slots, num_rows, num_left, self.step_cost)
        for place, sequence in enumerate(sequences):  # a sequence before this one may have taken blocks
            counts[place] = max(0, min(counts[place], self._num_drafts_that_fit(sequence)))
            self._allocate_for(sequence, counts[place])
        for index, drafts in zip(indices, head.propose(sequences, counts), strict=True):
            if drafts.size:
                schedule.chunks[index] = _drafted(schedule.chunks[index], drafts)

    def _num_drafts_that_fit(self, sequence: Sequence) -> int:
        """Number of drafts that fit the free blocks and the sequence's token limit."""
        num_blocks = len(sequence.block_table) + self._block_pool.num_free
        return min(num_blocks * sequence.block_size - sequence.num_tokens, sequence.num_tokens_left - 1)

    def _allocate_for(self, sequence: Sequence, num_drafts: int) -> None:
        """Allocate the missing blocks for that many drafts, which fit."""
        num_blocks = -(-(sequence.num_tokens + num_drafts) // sequence.block_size)
        sequence.block_table.extend(self._block_pool.allocate(num_blocks - len(sequence.block_table)))

    def _grow_running(self, schedule: Schedule) -> bool:
        """Allocate missing blocks of running sequences, oldest first; returns True if one was preempted."""
        preempted = False
        index = 0
        while index < len(self.running):
            sequence = self.running[index]
            num_missing = sequence.num_blocks_needed - len(sequence.block_table)
            if num_missing <= 0:
                index += 1
            elif num_missing <= self._block_pool.num_free:
                sequence.block_table.extend(self._block_pool.allocate(num_missing))
                index += 1
            elif len(self.running) > 1:
                self._preempt(self.running[-1])
                preempted = True
            else:
                self.remove(sequence)
                schedule.too_large.append(sequence)
        return preempted

    def _preempt(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._release(sequence)
        self.waiting.appendleft(sequence)
        self._counters.preemptions += 1

    def _admit_next(self, schedule: Schedule) -> bool:
        """Admit the first waiting sequence that fits the whole cache, if it fits now."""
        while self.waiting and self.waiting[0].num_blocks_needed > self._block_pool.num_blocks:
            schedule.too_large.append(self.waiting.popleft())
        if not self.waiting or len(self.running) >= self._max_sequences:
            return False
        sequence = self.waiting[0]
        cached = self._cached_prefix(sequence)
        if not self._cache_forecast.has_room(self.running, sequence, cached):
            return False
        if self._state_pool is not None:
            last = sequence.block_hashes(len(cached))[-1] if cached else None
            sequence.state = self._state_pool.start(last)
            if sequence.state is None:
                return False
        self.waiting.popleft()
        self._block_pool.hold(cached)
        sequence.block_table.extend(cached + self._block_pool.allocate(sequence.num_blocks_needed - len(cached)))
        sequence.num_reused_blocks = len(cached)
        sequence.num_computed_tokens = len(cached) * sequence.block_size
        if sequence.num_cached_prompt_tokens is None:
            sequence.num_cached_prompt_tokens = min(sequence.num_computed_tokens, sequence.num_prompt_tokens)
            self._counters.cached_prompt_tokens += sequence.num_cached_prompt_tokens
            if sequence.can_reuse_prefix:
                self._counters.queried_prompt_tokens += sequence.num_prompt_tokens
        self.running.append(sequence)
        return True

    def _cached_prefix(self, sequence: Sequence) -> list[int]:
        if not sequence.can_reuse_prefix:
            return []
        # The last known token is always computed, because its logits are needed.
        num_full = (sequence.num_tokens - 1) // sequence.block_size
        hashes = sequence.block_hashes(num_full)
        cached = self._block_pool.find_prefix(hashes)
        if self._state_pool is None:
            return cached
        return cached[: self._state_pool.num_reusable(hashes[: len(cached)])]

    def _release(self, sequence: Sequence) -> None:
        self._block_pool.release(sequence.block_table)
        if sequence.state is not None:
            assert self._state_pool is not None, "it gave the state"
            self._state_pool.release(sequence.state)
            sequence.state = None
        del sequence.block_table[:]
        sequence.num_reused_blocks = 0
        sequence.hidden = None
        sequence.num_computed_tokens = 0


def _with_whole_tiles(sequence: Sequence, tiles: WholeTiles, max_tokens: int, max_rows: int) -> SequenceChunk:
    """The next chunk of at most so many tokens, or of the rest of a tile; the step divides no tile."""
    first = sequence.num_computed_tokens
    end, end_in_step = tiles.cut(first, first + max_tokens, first + max_rows)
    return SequenceChunk(sequence, end - first, num_ahead=end_in_step - end)


def _drafted(chunk: SequenceChunk, drafts: NDArray[np.int32]) -> SequenceChunk:
    """The chunk with drafts after it, for which its sequence has blocks."""
    chunk.sequence.draft(drafts)
    return SequenceChunk(chunk.sequence, chunk.num_tokens, int(drafts.size), chunk.save_after)
