"""Slots of recurrent states: their owners, the reusable prefixes, and the events for the router."""

from __future__ import annotations

from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.scheduler import Counters, Schedule, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.state_pool import StateLimits, StatePool
from tests.support.models.scheduled_sequences import make_sequence, sizes

DISTANCE = 8


class Bench:
    """A scheduler over small pools, and a model that always generates token 7."""

    def __init__(self, *, blocks: int = 40, slots: int = 12, max_sequences: int = 4, token_budget: int = 64) -> None:
        self.blocks = BlockPool(blocks, needs_checkpoints=True)
        self.states = StatePool(StateLimits(num_slots=slots, checkpoint_tokens=DISTANCE), self.blocks)
        self.num_slots = slots
        self.scheduler = Scheduler(
            self.blocks,
            Counters(),
            max_sequences=max_sequences,
            token_budget=token_budget,
            state_pool=self.states,
        )

    def step(self) -> Schedule:
        schedule = self.scheduler.schedule()
        sampled = [chunk for chunk in schedule.chunks if chunk.num_rows]
        for chunk in schedule.chunks:
            self.scheduler.commit(chunk)
        for chunk in sampled:
            chunk.sequence.append(7)
        return schedule

    def run(self, sequence: Sequence, num_steps: int) -> list[tuple[int, int]]:
        """(tokens, saved after) of the sequence's chunks; the sequence is removed at the end."""
        self.scheduler.add(sequence)
        chunks = [chunk for _ in range(num_steps) for chunk in self.step().chunks if chunk.sequence is sequence]
        self.scheduler.remove(sequence)
        return [(chunk.num_tokens, chunk.save_after) for chunk in chunks]


def test_a_prompt_is_saved_at_the_distance_and_at_its_last_reusable_block() -> None:
    bench = Bench()
    # 8 and 16 by distance, 20 at the end: one save per chunk, so that chunks end where a second one would follow
    assert bench.run(make_sequence(1, list(range(21))), 4) == [(8, 8), (8, 8), (5, 4), (1, 0)]
    assert bench.run(make_sequence(2, [1] * 6), 4) == [(6, 4), (1, 0), (1, 1), (1, 0)]


def test_a_prefix_is_reused_up_to_its_last_checkpoint() -> None:
    bench = Bench()
    bench.run(make_sequence(1, list(range(21))), 3)
    for length, num_cached in [(21, 20), (24, 20), (20, 16), (16, 8), (9, 8), (8, 0)]:
        sequence = make_sequence(2, list(range(length)))
        bench.run(sequence, 1)
        assert sequence.num_cached_prompt_tokens == num_cached


def test_stored_states_are_not_stored_again() -> None:
    bench = Bench()
    assert bench.run(make_sequence(1, list(range(19))), 2)[0] == (8, 8)
    other = [*range(16), 60, 61, 62]
    assert bench.run(make_sequence(2, other, cache_prompt=False), 1) == [(19, 0)]
    assert bench.run(make_sequence(3, other), 1) == [(3, 0)]


def test_events_list_blocks_up_to_a_checkpoint_only() -> None:
    bench = Bench(slots=2, max_sequences=1)
    first, second = make_sequence(1, list(range(12))), make_sequence(2, [5] * 6)
    bench.run(first, 2)
    assert bench.blocks.take_events() == (first.block_hashes(2), []), "the third block ends after the checkpoint"
    bench.blocks.republish()
    assert bench.blocks.take_events() == (first.block_hashes(2), [])
    bench.run(second, 1)  # takes the slot of the only checkpoint
    assert bench.blocks.take_events() == (second.block_hashes(1), first.block_hashes(2))
    third = make_sequence(3, list(range(12)))
    bench.run(third, 1)
    assert third.num_cached_prompt_tokens == 0


def test_ended_and_preempted_sequences_release_their_slots() -> None:
    bench = Bench(blocks=4, slots=4, token_budget=32)
    old, young = make_sequence(1, [1] * 4), make_sequence(2, [2] * 7)
    bench.scheduler.add(old)
    bench.scheduler.add(young)
    bench.step()
    assert bench.states.num_free == bench.num_slots - 2
    while young in bench.scheduler.running:
        bench.step()
    assert young.state is None
    assert bench.states.num_free == bench.num_slots - 1
    bench.scheduler.remove(old)
    bench.step()
    assert young.state is not None
    assert young.num_computed_tokens == young.num_tokens - 1, "it began at a checkpoint of its own"
    bench.scheduler.remove(young)
    assert bench.states.num_free == bench.num_slots


def test_a_checkpoint_that_is_read_in_this_step_is_not_evicted() -> None:
    bench = Bench(slots=3, max_sequences=2)
    bench.run(make_sequence(1, list(range(5))), 1)
    reader, other = make_sequence(2, list(range(7))), make_sequence(3, [9] * 30)
    bench.scheduler.add(reader)
    bench.scheduler.add(other)
    schedule = bench.scheduler.schedule()
    assert sizes(schedule) == [(2, 3), (3, 30)]
    assert [chunk.save_after for chunk in schedule.chunks] == [0, 0], "no slot is left to save in"
    assert reader.state is not None
    assert other.state is not None
    assert len({reader.state.source, reader.state.slot, other.state.slot}) == 3


def test_a_new_sequence_waits_when_every_slot_is_in_use() -> None:
    bench = Bench(slots=2, max_sequences=2, token_budget=9)
    bench.scheduler.add(make_sequence(1, [1] * 9))
    bench.scheduler.add(make_sequence(2, [2] * 9))
    assert sizes(bench.step()) == [(1, 9)]  # its checkpoint takes the second slot
    assert sizes(bench.step()) == [(1, 1), (2, 8)]
