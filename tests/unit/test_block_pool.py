"""Blocks: exact ids for the rules of reuse, and a state machine for the bookkeeping."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workers.block_pool import BlockPool


def test_blocks_without_content_are_reused_before_known_ones() -> None:
    pool = BlockPool(4)
    table = pool.allocate(3)
    assert table == [0, 1, 2]
    pool.publish(0, b"a")
    pool.publish(1, b"ab")
    pool.release(table)
    assert pool.allocate(2) == [2, 3]
    assert pool.find_prefix([b"a", b"ab", b"abc"]) == [0, 1]


def test_the_end_of_a_prefix_is_forgotten_before_its_beginning() -> None:
    pool = BlockPool(2)
    table = pool.allocate(2)
    pool.publish(0, b"a")
    pool.publish(1, b"ab")
    pool.release(table)
    assert pool.allocate(1) == [1]
    assert pool.find_prefix([b"a", b"ab"]) == [0]


def test_the_least_recently_released_prefix_is_forgotten_first() -> None:
    pool = BlockPool(2)
    first, second = pool.allocate(1), pool.allocate(1)
    pool.publish(first[0], b"a")
    pool.publish(second[0], b"b")
    pool.release(first)
    pool.release(second)
    found = pool.find_prefix([b"a"])
    pool.hold(found)
    pool.release(found)  # used again, so "b" is now the older one
    pool.allocate(1)
    assert pool.find_prefix([b"b"]) == []
    assert pool.find_prefix([b"a"]) == first


def test_a_shared_block_stays_until_its_last_holder_leaves() -> None:
    pool = BlockPool(1)
    table = pool.allocate(1)
    pool.publish(0, b"a")
    assert pool.num_free_among(table) == 0
    pool.hold(pool.find_prefix([b"a"]))
    pool.release(table)
    assert pool.num_free == 0
    pool.release(table)
    assert pool.num_free == 1
    assert pool.num_free_among(table) == 1


def test_misuse_is_an_assertion() -> None:
    pool = BlockPool(1)
    with pytest.raises(AssertionError):
        pool.allocate(2)
    with pytest.raises(AssertionError):
        pool.publish(0, b"a")
    with pytest.raises(AssertionError):
        pool.release([0])


class PoolMachine(RuleBasedStateMachine):
    """Tables hold and release at random; a model of plain sets says what must be true."""

    NUM_BLOCKS = 6

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(self.NUM_BLOCKS)
        self.tables: list[list[int]] = []
        self.content: dict[int, bytes] = {}  # what each block was last said to contain

    @rule(num_blocks=st.integers(0, 4))
    def allocate(self, num_blocks: int) -> None:
        if num_blocks <= self.pool.num_free:
            held = {block for table in self.tables for block in table}
            table = self.pool.allocate(num_blocks)
            assert len(set(table)) == num_blocks
            assert not held & set(table)
            for block in table:
                self.content.pop(block, None)
            self.tables.append(table)

    @precondition(lambda self: any(self.tables))
    @rule(data=st.data(), name=st.integers(0, 4))
    def publish(self, data: st.DataObject, name: int) -> None:
        block = data.draw(st.sampled_from([block for table in self.tables for block in table]))
        block_hash = bytes([name])
        if block not in self.content and block_hash not in self.content.values():
            self.content[block] = block_hash
        self.pool.publish(block, block_hash)

    @rule(name=st.integers(0, 4))
    def hold_known(self, name: int) -> None:
        found = self.pool.find_prefix([bytes([name])])
        assert [self.content[block] for block in found] == [bytes([name])] * len(found)
        assert bool(found) == (bytes([name]) in self.content.values())
        self.pool.hold(found)
        self.tables.append(found)

    @precondition(lambda self: self.tables)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.pool.release(self.tables.pop(data.draw(st.integers(0, len(self.tables) - 1))))

    @invariant()
    def every_block_is_held_or_free(self) -> None:
        held = {block for table in self.tables for block in table}
        assert self.pool.num_free == self.NUM_BLOCKS - len(held)
        assert self.pool.num_free_among(range(self.NUM_BLOCKS)) == self.pool.num_free


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
