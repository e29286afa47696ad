"""Blocks: exact ids for the rules of reuse."""

from __future__ import annotations

import pytest

from cactus_actors.workers.engine.block_pool import BlockPool


def test_empty_blocks_are_allocated_before_cached_ones() -> None:
    pool = BlockPool(4)
    table = pool.allocate(3)
    assert table == [0, 1, 2]
    pool.publish(0, b"a")
    pool.publish(1, b"ab")
    pool.release(table)
    assert pool.allocate(2) == [2, 3]
    assert pool.find_prefix([b"a", b"ab", b"abc"]) == [0, 1]


def test_the_end_of_a_prefix_is_evicted_before_its_beginning() -> None:
    pool = BlockPool(2)
    table = pool.allocate(2)
    pool.publish(0, b"a")
    pool.publish(1, b"ab")
    pool.release(table)
    assert pool.allocate(1) == [1]
    assert pool.find_prefix([b"a", b"ab"]) == [0]


def test_the_least_recently_released_prefix_is_evicted_first() -> None:
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


def test_a_shared_block_is_kept_until_its_last_reference_is_released() -> None:
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


def test_invalid_use_raises_an_assertion() -> None:
    pool = BlockPool(1)
    with pytest.raises(AssertionError):
        pool.allocate(2)
    with pytest.raises(AssertionError):
        pool.publish(0, b"a")
    with pytest.raises(AssertionError):
        pool.release([0])
