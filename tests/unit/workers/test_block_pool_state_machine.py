"""The block pool compared with a model that predicts exactly which block comes next."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cactus_actors.workers.engine.block_pool import BlockPool
from tests.support.fuzzing.judging import fuzzed

NUM_BLOCKS = 4
NAMES = st.integers(0, 3).map(lambda number: bytes([number]))


class ExactPoolMachine(RuleBasedStateMachine):
    """`free` is the list of free blocks in the order of reuse, `content` the prefix that each block holds."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(NUM_BLOCKS)
        self.free = list(range(NUM_BLOCKS))
        self.content: dict[int, bytes] = {}
        self.tables: list[list[int]] = []
        self.told: set[bytes] = set()

    def num_holders(self, block: int) -> int:
        return sum(table.count(block) for table in self.tables)

    @rule(num_blocks=st.integers(1, 3), names=st.lists(NAMES, max_size=2))
    def allocate(self, num_blocks: int, names: list[bytes]) -> None:
        if num_blocks > len(self.free):
            return
        expected, self.free = self.free[:num_blocks], self.free[num_blocks:]
        assert self.pool.allocate(num_blocks) == expected
        for block in expected:
            self.content.pop(block, None)
        self.tables.append(expected)
        for block, name in zip(expected, names, strict=False):
            self.say(block, name)

    @precondition(lambda self: any(self.tables))
    @rule(data=st.data(), name=NAMES)
    def publish(self, data: st.DataObject, name: bytes) -> None:
        self.say(data.draw(st.sampled_from([block for table in self.tables for block in table])), name)

    def say(self, block: int, name: bytes) -> None:
        self.pool.publish(block, name)
        if block not in self.content and name not in self.content.values():
            self.content[block] = name

    @rule(names=st.lists(NAMES, min_size=1, max_size=3, unique=True))
    def hold_a_known_prefix(self, names: list[bytes]) -> None:
        block_of = {name: block for block, name in self.content.items()}
        expected: list[int] = []
        for name in names:
            if name not in block_of:
                break
            expected.append(block_of[name])
        found = self.pool.find_prefix(names)
        assert found == expected
        assert self.pool.num_free_among(found) == len(set(found) & set(self.free))
        self.pool.hold(found)
        self.free = [block for block in self.free if block not in found]
        self.tables.append(found)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        table = self.tables.pop(data.draw(st.integers(0, len(self.tables) - 1)))
        self.pool.release(table)
        for block in reversed(table):  # the end of a prefix is reused before its beginning
            if self.num_holders(block) == 0 and block not in self.free:
                place = len(self.free) if block in self.content else 0
                self.free.insert(place, block)

    @invariant()
    def no_block_is_lost_or_held_and_free(self) -> None:
        assert self.pool.num_free == len(self.free)
        held = {block for table in self.tables for block in table}
        assert held.isdisjoint(self.free)
        assert held | set(self.free) == set(range(NUM_BLOCKS))

    @rule()
    def tell(self) -> None:
        """The stored and evicted events add up to the blocks that can be found."""
        news = self.pool.take_events()
        assert self.told.isdisjoint(news.stored)
        assert self.told.issuperset(news.evicted)
        self.told = (self.told | set(news.stored)) - set(news.evicted)
        assert self.told == set(self.content.values())
        assert self.pool.take_events() == ([], [])

    @rule()
    def tell_somebody_new(self) -> None:
        self.told = set()
        self.pool.republish()

    def teardown(self) -> None:
        for table in self.tables:
            self.pool.release(table)
        assert self.pool.num_free == NUM_BLOCKS


ExactPoolMachine.TestCase.settings = fuzzed(20)
TestExactPoolMachine = ExactPoolMachine.TestCase
