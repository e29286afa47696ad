"""The router examines each object for cycles once, and all of them only in a rest."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from cactus_actors.router.process.garbage_collection import ShortCollections


class Node:
    """An object that may refer to itself."""

    def __init__(self) -> None:
        self.other: Node | None = None


@pytest.fixture
def collections() -> Iterator[ShortCollections]:
    with ShortCollections(max_busy_ticks=2) as collections:
        yield collections


def is_examined(node: Node) -> bool:
    return any(node is known for known in gc.get_objects())


def work(collections: ShortCollections, num_ticks: int) -> None:
    for _ in range(num_ticks):
        collections.on_tick(is_at_rest=False)


def test_objects_are_examined_at_one_tick_alone(collections: ShortCollections) -> None:
    node = Node()
    assert is_examined(node)
    work(collections, 1)
    assert not is_examined(node)


def test_cycles_are_collected_at_the_next_tick(collections: ShortCollections) -> None:
    node = Node()
    node.other = node
    freed = weakref.ref(node)
    del node
    assert freed() is not None
    work(collections, 1)
    assert freed() is None


def test_older_cycles_are_collected_in_a_rest_after_much_work(collections: ShortCollections) -> None:
    node = Node()
    node.other = node
    freed = weakref.ref(node)
    work(collections, 2)
    del node
    collections.on_tick(is_at_rest=True)
    assert freed() is not None, "it was not much work"
    work(collections, 1)
    assert freed() is not None
    collections.on_tick(is_at_rest=True)
    assert freed() is None


def test_the_collector_of_the_process_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    gc.unfreeze()
    try:
        node = Node()
        with ShortCollections():
            assert gc.get_threshold()[0] == 0
            assert not is_examined(node)
        assert gc.get_threshold() == before
        assert is_examined(node)
    finally:
        gc.freeze()  # as the tests' own plugin left it


def test_objects_that_were_exempt_before_stay_so() -> None:
    node = Node()
    gc.freeze()
    with ShortCollections():
        pass
    assert not is_examined(node)
