"""Sequences are admitted if those that run will fit the cache, by the lengths of those that have ended."""

from __future__ import annotations

import pytest

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.scheduler import Counters, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from tests.support.models.scheduled_sequences import make_sequence


class Stream:
    """A scheduler whose waiting queue never ends; a sequence of number n generates `lengths[n % len(lengths)]`."""

    def __init__(self, num_blocks: int, lengths: list[int], max_tokens: int) -> None:
        self.pool = BlockPool(num_blocks)
        self.counters = Counters()
        self.scheduler = Scheduler(self.pool, self.counters, max_sequences=32, token_budget=64)
        self.num_added = self.num_ended = self.num_steps = self.sum_running = 0
        self._lengths, self._max_tokens = lengths, max_tokens

    def run(self, num_ended: int) -> None:
        while self.num_ended < num_ended:
            while len(self.scheduler.waiting) < 2:
                self.num_added += 1
                prompt = [self.num_added % 50, self.num_added // 50, 3, 4]
                self.scheduler.add(make_sequence(self.num_added, prompt, max_tokens=self._max_tokens))
            self._step()

    def _step(self) -> None:
        schedule = self.scheduler.schedule()
        self.num_steps += 1
        self.sum_running += len(self.scheduler.running)
        for chunk in schedule.chunks:
            sequence = chunk.sequence
            self.scheduler.commit(chunk)
            if chunk.num_rows:
                sequence.append(7)
            length = self._lengths[sequence.dispatch_id % len(self._lengths)]
            if sequence.num_completion_tokens >= min(length, self._max_tokens):
                self.scheduler.remove(sequence)
                self.num_ended += 1

    @property
    def mean_running(self) -> float:
        return self.sum_running / self.num_steps


def test_sequences_that_use_all_their_tokens_are_never_preempted_once_one_has_ended() -> None:
    stream = Stream(100, [60], max_tokens=60)  # 16 blocks at the end
    stream.run(20)
    before = stream.counters.preemptions
    stream.run(200)
    assert stream.counters.preemptions == before
    assert stream.mean_running > 6


@pytest.mark.parametrize("lengths", [[10, 20, 30, 60], [5, 5, 5, 80]])
def test_few_are_preempted_where_lengths_differ_and_the_cache_is_used(lengths: list[int]) -> None:
    stream = Stream(100, lengths, max_tokens=190)
    stream.run(40)
    before = stream.counters.preemptions
    stream.run(400)
    assert stream.counters.preemptions - before <= 18  # one of twenty
    mean_blocks = sum((4 + length / 2) * length for length in lengths) / sum(lengths) / 4
    assert stream.mean_running * mean_blocks > 45


def test_spare_blocks_are_those_that_nobody_holds_or_will_need() -> None:
    pool, counters = BlockPool(40), Counters()
    scheduler = Scheduler(pool, counters, max_sequences=8, token_budget=64)
    assert scheduler.spare_blocks == 40
    ended = make_sequence(1, [1] * 4, max_tokens=32)
    scheduler.add(ended)
    run(scheduler, 32)
    scheduler.remove(ended)
    assert scheduler.spare_blocks == pool.num_free == 40
    running = make_sequence(2, [2] * 8, max_tokens=24)
    scheduler.add(running)
    run(scheduler, 1)
    assert (pool.num_free, scheduler.spare_blocks) == (38, 40 - 8)
    scheduler.add(make_sequence(3, [3] * 12, max_tokens=100))  # 32 more, and a margin of 8
    assert scheduler.spare_blocks == 40 - max((8 + 24 + 12 + 24) // 4, (12 + 40) // 4)


def test_a_shared_prefix_counts_once() -> None:
    pool = BlockPool(40)
    scheduler = Scheduler(pool, Counters(), max_sequences=8, token_budget=200)
    prompt = list(range(100))  # 25 blocks
    first = make_sequence(1, prompt, max_tokens=8)
    scheduler.add(first)
    run(scheduler, 1)
    for number in range(2, 6):
        scheduler.add(make_sequence(number, [*prompt, number], max_tokens=4))
    run(scheduler, 1)
    assert len(scheduler.running) == 5
    scheduler.remove(first)
    assert len({block for each in scheduler.running for block in each.block_table}) == 25 + 4
    assert scheduler.spare_blocks == 40 - 25 - 4 - 4  # of each a block, for its tokens and those in the next step


def run(scheduler: Scheduler, num_steps: int) -> list[Sequence]:
    for _ in range(num_steps):
        for chunk in scheduler.schedule().chunks:
            scheduler.commit(chunk)
            if chunk.num_rows and chunk.sequence.num_tokens_left:
                chunk.sequence.append(7)
    return scheduler.running
