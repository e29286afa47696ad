"""The scheduler with a fake cache: every token reads the entries that its own sequence wrote."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.block_pool import BlockPool
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.scheduler import Counters, Scheduler
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.step_batch import SequenceChunk
from tests.support.fuzzing.judging import fuzzed
from tests.support.models.sampler_cases import NoBytes

BLOCK_SIZE = 4
MAX_CONTEXT = 40
MAX_SEQUENCES = 3
TOKEN_BUDGET = 9
COMMON = (2, 1, 0, 0, 1, 2, 2, 0, 1, 1, 0, 2)  # beginnings of prompts
SALTS = ("", "left", "right")


def next_token(history: list[int]) -> int:
    """The model's output: a small set of words that repeat, so that drafts are often right."""
    return (len(history) * 7 + history[0]) % 3


class MemoryMachine(RuleBasedStateMachine):
    """Sequences of tenants arrive, run, draft, are preempted, cancelled and end."""

    @initialize(num_blocks=st.integers(4, 9), max_drafts=st.sampled_from([0, 3]))
    def start(self, num_blocks: int, max_drafts: int) -> None:
        self.max_drafts = max_drafts
        self.pool = BlockPool(num_blocks)
        self.scheduler = Scheduler(
            self.pool,
            Counters(),
            max_sequences=MAX_SEQUENCES,
            token_budget=TOKEN_BUDGET,
            max_drafts=max_drafts,
        )
        self.memory: dict[tuple[int, int], tuple[str, int, int]] = {}  # (block, offset): (salt, position, token)
        self.alive: dict[int, Sequence] = {}
        self.salts: dict[int, str] = {}
        self.first_runs: list[int] = []
        self.num_added = 0

    @rule(
        prompt=st.builds(
            lambda length, end: [*COMMON[:length], *end],
            st.integers(0, 12),
            st.lists(st.integers(0, 2), min_size=1, max_size=3),
        ),
        max_tokens=st.integers(0, 10),
        salt=st.sampled_from(SALTS),
        cache_prompt=st.sampled_from([True, True, False]),
    )
    def add(self, prompt: list[int], max_tokens: int, salt: str, cache_prompt: bool) -> None:
        self.num_added += 1
        params = SamplingParams(max_tokens=max_tokens, cache_prompt=cache_prompt)
        dispatch = Dispatch(self.num_added, "0" * 32, prompt, [], params, cache_salt=salt)
        sequence = Sequence(
            dispatch,
            Detokenizer(NoBytes(), params),
            max_context=MAX_CONTEXT,
            block_size=BLOCK_SIZE,
            max_drafts=self.max_drafts,
        )
        self.scheduler.add(sequence)
        self.alive[self.num_added] = sequence
        self.salts[self.num_added] = salt

    @precondition(lambda self: self.alive)
    @rule()
    def step(self) -> None:
        started = {each.dispatch_id for each in self.scheduler.running}
        schedule = self.scheduler.schedule()
        for sequence in schedule.too_large:
            assert sequence.num_blocks_needed > self.pool.num_blocks
            del self.alive[sequence.dispatch_id]
        assert schedule.chunks or not self.alive, "work that fits goes on"
        assert sum(chunk.num_tokens + chunk.num_drafts for chunk in schedule.chunks) <= TOKEN_BUDGET
        assert len({id(chunk.sequence) for chunk in schedule.chunks}) == len(schedule.chunks)
        newcomers = [each.dispatch_id for each in self.scheduler.running if each.dispatch_id not in started]
        self.first_runs += [one for one in newcomers if one not in self.first_runs]
        for chunk in schedule.chunks:
            self.write(chunk)
        for chunk in schedule.chunks:
            self.read(chunk)
        for chunk in schedule.chunks:
            self.commit(chunk)

    def write(self, chunk: SequenceChunk) -> None:
        sequence, first = chunk.sequence, chunk.sequence.num_computed_tokens
        tokens = sequence.span(first, first + chunk.num_tokens + chunk.num_drafts).tolist()
        for position, token in enumerate(tokens, first):
            block = sequence.block_table[position // BLOCK_SIZE]
            holders = [each for each in self.scheduler.running if block in each.block_table]
            assert holders == [sequence], "a block that others read is written"
            salt = self.salts[sequence.dispatch_id]
            self.memory[block, position % BLOCK_SIZE] = (salt, position, token)

    def read(self, chunk: SequenceChunk) -> None:
        """Each token attends to all before it: they must belong to its sequence and its tenant."""
        sequence = chunk.sequence
        end = sequence.num_computed_tokens + chunk.num_tokens + chunk.num_drafts
        salt = self.salts[sequence.dispatch_id]
        for position, token in enumerate(sequence.span(0, end).tolist()):
            block = sequence.block_table[position // BLOCK_SIZE]
            assert self.memory[block, position % BLOCK_SIZE] == (salt, position, token)

    def commit(self, chunk: SequenceChunk) -> None:
        sequence = chunk.sequence
        drafts = sequence.span(sequence.num_tokens, sequence.num_tokens + chunk.num_drafts).tolist()
        if not chunk.num_rows:
            self.scheduler.commit(chunk)
        else:
            num_right = 0
            for draft in [*drafts, None]:
                token = next_token(sequence.token_ids.tolist())
                sequence.append(token)
                num_right += token == draft
                if token != draft:
                    break
            self.scheduler.commit(chunk, num_right)
        if sequence.num_tokens_left == 0 and (chunk.num_rows or sequence.num_uncomputed_tokens == 0):
            self.remove(sequence.dispatch_id)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.remove(data.draw(st.sampled_from(sorted(self.alive))))

    def remove(self, number: int) -> None:
        self.scheduler.remove(self.alive.pop(number))

    @invariant()
    def blocks_are_held_by_those_who_run(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        held = {block for sequence in self.scheduler.running for block in sequence.block_table}
        assert self.pool.num_free == self.pool.num_blocks - len(held)
        assert all(not sequence.block_table for sequence in self.scheduler.waiting)
        assert len(self.scheduler.running) <= MAX_SEQUENCES
        places = {*self.scheduler.running, *self.scheduler.waiting}
        assert places == set(self.alive.values())

    @invariant()
    def who_came_first_ran_first(self) -> None:
        if hasattr(self, "scheduler"):
            assert self.first_runs == sorted(self.first_runs)

    def teardown(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        for _ in range(1000):
            if not self.alive:
                break
            self.step()
        assert not self.alive, "every sequence ends"
        assert self.pool.num_free == self.pool.num_blocks


MemoryMachine.TestCase.settings = fuzzed(30)
TestMemoryMachine = MemoryMachine.TestCase
