"""Cores are given to one worker at a time, of one NUMA node if possible, and to one service of the machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from cactus_actors.placement.local.core_pool import CorePool, cpus_of
from cactus_actors.process.cpu_cores import Core


def cores(first: int, *counts: int) -> list[Core]:
    """Cores of one CPU each, `counts` of them on each node, whose numbers no machine has."""
    nodes = [node for node, count in enumerate(counts) for _ in range(count)]
    return [Core(node, frozenset({100_000 + first + index})) for index, node in enumerate(nodes)]


@contextmanager
def pool_of(given: list[Core], size: int) -> Iterator[CorePool]:
    with contextlib.closing(CorePool(given, size)) as pool:
        yield pool


def test_each_worker_has_cores_of_its_own_until_it_ends() -> None:
    given = cores(0, 6)
    with pool_of(given, 4) as pool:
        first, second = pool.take(2), pool.take(2)
        assert [*first, *second] == given[:4]
        assert pool.other_cpus == cpus_of(given[4:])
        assert pool.take(1) == []
        pool.give_back(first)
        assert pool.take(2) == first


def test_a_worker_has_the_cores_of_one_node_while_one_has_enough() -> None:
    given = cores(10, 3, 5)
    with pool_of(given, 6) as pool:
        assert [core.node for core in pool.take(3)] == [0, 0, 0]
        assert [core.node for core in pool.take(2)] == [1, 1]
        assert pool.cpus_near(given[:1]) == cpus_of(given[:3])
    with pool_of(given, 6) as pool:
        assert [core.node for core in pool.take(2)] == [0, 0]
        assert [core.node for core in pool.take(2)] == [1, 1]
        assert [core.node for core in pool.take(2)] == [0, 1]


def test_the_smallest_node_that_is_wide_enough_is_taken_first() -> None:
    with pool_of(cores(20, 4, 2, 2), 6) as pool:
        assert [core.node for core in pool.take(2)] == [1, 1]


def test_nothing_is_pinned_where_router_and_gateway_would_have_no_cores() -> None:
    given = cores(30, 4)
    for size in (0, 3, 4, 5):
        with pool_of(given, size) as pool:
            assert pool.other_cpus == []
            assert pool.take(1) == []


def test_two_services_share_no_core() -> None:
    given = cores(40, 8)
    with pool_of(given, 3) as first, pool_of(given, 3) as second, pool_of(given, 3) as third:
        assert not {*first.take(3)} & {*second.take(3)}
        assert third.other_cpus == []
    with pool_of(given, 6) as later:
        assert len(later.take(6)) == 6


def test_near_means_nothing_on_a_machine_of_one_node() -> None:
    given = cores(50, 4)
    with pool_of(given, 2) as pool:
        assert pool.cpus_near(pool.take(1)) == []
