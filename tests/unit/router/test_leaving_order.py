"""Workers leave so that nodes become free, one after the other."""

from __future__ import annotations

from collections import Counter

from cactus_actors.router.scheduling.leaving_order import Leaver, leaving_order
from tests.support.router.core_harness import RouterHarness


def order(*workers: tuple[str, str, int], others: str = "", home: str = "home") -> str:
    """The order in which workers, each a letter with its node and its jobs, leave; `others` are nodes of others."""
    leavers = [Leaver(*worker) for worker in workers]
    return "".join(leaving_order(leavers, Counter([it.node for it in leavers] + list(others)), home))


def test_a_node_empties_before_the_next_one_begins_to() -> None:
    assert order(("a", "x", 1), ("b", "y", 0), ("c", "x", 1), ("d", "y", 0), ("e", "z", 9)) == "edbca"


def test_among_nodes_of_as_many_workers_the_one_with_least_to_do_is_first() -> None:
    assert order(("a", "x", 3), ("b", "y", 2), ("c", "x", 0), ("d", "y", 2)) == "cadb"
    assert order(("a", "x", 3), ("b", "y", 2), ("c", "x", 0), ("d", "y", 0)) == "dbca"


def test_a_node_with_workers_of_other_models_is_not_the_emptiest() -> None:
    assert order(("a", "x", 0), ("b", "y", 0), ("c", "y", 0)) == "acb"
    assert order(("a", "x", 0), ("b", "y", 0), ("c", "y", 0), others="xx") == "cba"


def test_the_node_of_the_service_itself_is_last() -> None:
    assert order(("a", "home", 0), ("b", "x", 4), ("c", "x", 5)) == "bca"


def test_the_youngest_of_equal_workers_leaves_first() -> None:
    assert order(("a", "x", 0), ("b", "x", 0), ("c", "x", 0)) == "cba"


def test_nodes_of_one_host_name_differ_by_their_ids() -> None:
    router = RouterHarness(desired_workers=3)
    for name, node_id in (("a", "1"), ("b", "2"), ("c", "1")):
        router.connect(name, node="host", node_id=node_id)
    assert router.core.ready_workers == ("a", "c", "b")
