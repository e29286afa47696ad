"""The schedule of a step: the sequences that run, their numbers of tokens, and their blocks."""

from __future__ import annotations

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.scheduler import Counters, Schedule, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from tests.support.models.scheduled_sequences import make_sequence, sizes


class Bench:
    """A scheduler over a small pool, and a model that always generates token 7."""

    def __init__(self, *, blocks: int = 8, max_sequences: int = 4, token_budget: int = 16) -> None:
        self.pool = BlockPool(blocks)
        self.counters = Counters()
        self.scheduler = Scheduler(self.pool, self.counters, max_sequences=max_sequences, token_budget=token_budget)

    def add(self, *sequences: Sequence) -> None:
        for sequence in sequences:
            self.scheduler.add(sequence)

    def step(self) -> Schedule:
        schedule = self.scheduler.schedule()
        sampled = [chunk for chunk in schedule.chunks if chunk.num_rows]
        for chunk in schedule.chunks:
            self.scheduler.commit(chunk)
        for chunk in sampled:
            chunk.sequence.append(7)
        return schedule

    def steps(self, num_steps: int) -> list[list[tuple[int, int]]]:
        """(dispatch id, number of tokens) of every chunk of the next steps."""
        return [sizes(self.step()) for _ in range(num_steps)]


def test_long_prompts_are_chunked_and_decoding_continues() -> None:
    bench = Bench(blocks=20, token_budget=6)
    bench.add(make_sequence(1, [1] * 3), make_sequence(2, [2] * 10))
    assert bench.steps(3) == [[(1, 3), (2, 3)], [(1, 1), (2, 5)], [(1, 1), (2, 2)]]
    assert bench.steps(1) == [[(1, 1), (2, 1)]]


def test_prompts_have_the_whole_step_alone_and_a_part_of_it_beside_answers() -> None:
    bench = Bench(blocks=200, token_budget=160)
    bench.add(make_sequence(1, [1] * 150), make_sequence(2, [2] * 150), make_sequence(3, [3] * 180))
    assert bench.steps(1) == [[(1, 150), (2, 10)]]
    assert bench.steps(6) == [[(1, 1), (2, 23)]] * 6
    assert bench.steps(1) == [[(1, 1), (2, 2), (3, 21)]]
    assert bench.steps(1) == [[(1, 1), (2, 1), (3, 22)]]


def test_only_prompts_with_a_place_make_the_others_faster() -> None:
    for max_sequences, expected in ((2, 23), (4, 31)):
        bench = Bench(blocks=500, max_sequences=max_sequences, token_budget=160)
        bench.add(make_sequence(1, [1]))
        bench.steps(1)
        bench.add(*(make_sequence(number, [number] * 190) for number in (2, 3, 4)))
        assert bench.steps(1) == [[(1, 1), (2, expected)]]


def test_slots_are_limited_and_taken_in_order() -> None:
    bench = Bench(max_sequences=1)
    first = make_sequence(1, [1, 2])
    bench.add(first, make_sequence(2, [3, 4]))
    assert bench.steps(2) == [[(1, 2)], [(1, 1)]]
    bench.scheduler.remove(first)
    assert bench.steps(1) == [[(2, 2)]]


def test_blocks_are_allocated_with_the_tokens_and_freed_at_the_end() -> None:
    bench = Bench()
    sequence = make_sequence(1, [1, 2, 3])
    bench.add(sequence)
    bench.steps(2)
    assert sequence.block_table.tolist() == [0]
    bench.steps(1)
    assert sequence.block_table.tolist() == [0, 1]
    bench.scheduler.remove(sequence)
    assert bench.pool.num_free == 8


def test_a_cached_prefix_is_shared_in_full_blocks_and_the_last_token_is_computed() -> None:
    bench = Bench()
    prompt = list(range(8))
    first, second = make_sequence(1, prompt), make_sequence(2, prompt)
    bench.add(first)
    bench.steps(1)
    bench.add(second)
    assert bench.steps(1) == [[(1, 1), (2, 4)]]  # of two full blocks one is reused: token 8 is needed
    assert second.block_table[0] == first.block_table[0]
    assert second.block_table[1] not in first.block_table
    assert second.num_cached_prompt_tokens == 4
    assert bench.counters.cached_prompt_tokens == 4
    assert bench.counters.prompt_tokens_computed == 12


def test_a_block_after_other_tokens_is_another_prefix() -> None:
    bench = Bench()
    bench.add(make_sequence(1, [0, 0, 0, 0, 5, 5, 5, 5, 1]))
    bench.steps(1)
    bench.add(make_sequence(2, [9, 9, 9, 9, 5, 5, 5, 5, 1]))
    assert (2, 9) in bench.steps(1)[0]


def test_cache_prompt_false_neither_reads_nor_writes() -> None:
    bench = Bench(blocks=20)
    prompt = [3] * 9
    bench.add(make_sequence(1, prompt, cache_prompt=False))
    bench.steps(1)
    bench.add(make_sequence(2, prompt))
    assert (2, 9) in bench.steps(1)[0]
    bench.add(make_sequence(3, prompt, cache_prompt=False))
    assert (3, 9) in bench.steps(1)[0]


def test_generated_tokens_are_reusable() -> None:
    bench = Bench(blocks=20)
    first = make_sequence(1, [1, 2, 3])
    bench.add(first)
    bench.steps(6)  # computes 1 2 3 7 7 7 7 7
    bench.add(make_sequence(2, [1, 2, 3, 7, 7, 7, 7, 7, 4]))
    assert (2, 1) in bench.steps(1)[0]


def test_emitted_tokens_are_computed_with_the_prompt() -> None:
    bench = Bench()
    sequence = make_sequence(1, [1, 2], emitted_ids=(7, 7, 7))
    bench.add(sequence)
    assert sequence.num_completion_tokens == 3
    assert bench.steps(1) == [[(1, 5)]]
    assert sequence.num_completion_tokens == 4


def test_the_youngest_sequence_is_preempted_and_resumed_first() -> None:
    bench = Bench(blocks=4, token_budget=32)
    old, young = make_sequence(1, [1] * 4, cache_prompt=False), make_sequence(2, [2] * 3, cache_prompt=False)
    bench.add(old, young)
    third = make_sequence(3, [3] * 2)
    bench.steps(5)  # old holds 3 blocks; young wants a second one that is there, then a third that is not
    bench.add(third)
    while not bench.counters.preemptions:
        bench.step()
    assert bench.scheduler.running == [old]
    assert list(bench.scheduler.waiting) == [young, third]
    assert young.num_computed_tokens == 0
    assert not young.block_table
    bench.scheduler.remove(old)
    num_known = young.num_tokens
    assert bench.steps(1)[0][0] == (2, num_known)


def test_a_preempted_sequence_reuses_its_own_blocks() -> None:
    bench = Bench(blocks=4, token_budget=32)
    old, young = make_sequence(1, [1] * 4), make_sequence(2, [2] * 7)
    bench.add(old, young)
    while not bench.counters.preemptions:
        bench.step()
    bench.scheduler.remove(old)
    assert young.num_tokens == 9
    assert bench.steps(1) == [[(2, 1)]]  # its two full blocks were still there
    assert young.num_cached_prompt_tokens == 0  # it paid for them itself


def test_a_prompt_larger_than_the_cache_is_refused_and_blocks_no_other() -> None:
    bench = Bench(blocks=2)
    large = make_sequence(1, [1] * 9)
    bench.add(large, make_sequence(2, [2] * 3))
    schedule = bench.step()
    assert schedule.too_large == [large]
    assert sizes(schedule) == [(2, 3)]


def test_the_only_sequence_is_not_preempted_but_ends_when_it_outgrows_the_cache() -> None:
    bench = Bench(blocks=2)
    sequence = make_sequence(1, [1] * 6)
    bench.add(sequence)
    for _ in range(3):
        assert bench.step().too_large == []
    schedule = bench.step()
    assert schedule.too_large == [sequence]
    assert schedule.chunks == []
    assert bench.counters.preemptions == 0
    assert bench.pool.num_free == 2


def test_a_new_sequence_leaves_room_for_running_ones() -> None:
    bench = Bench(blocks=4)
    bench.add(make_sequence(1, [1] * 8), make_sequence(2, [2] * 8))
    assert bench.steps(1) == [[(1, 8)]]


def test_prefill_only_samples_nothing() -> None:
    bench = Bench()
    bench.add(make_sequence(1, [1, 2], max_tokens=0))
    schedule = bench.step()
    assert sizes(schedule) == [(1, 2)]
    assert schedule.chunks[0].num_rows == 0
