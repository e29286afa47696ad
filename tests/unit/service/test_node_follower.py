"""The service asks for nodes, avoids those that end, and remembers them after a restart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from cactus_actors.fleet.worker_pools import WorkerPools
from cactus_actors.placement.interface import NodeStates
from cactus_actors.process.leaving_node import LeavingNode
from cactus_actors.service.node_follower import FILE_NAME, STOP_BEFORE_S, NodeFollower

A, B = LeavingNode(node_id="a", node="x"), LeavingNode(node_id="b", node="y", ends_at=100.0)


class Cluster:
    """The nodes `a`, `b` and `c`; it records what it is asked."""

    def __init__(self, taken: tuple[LeavingNode, ...] = ()) -> None:
        self.states: NodeStates | None = NodeStates(frozenset("abc"), taken)
        self.avoided: Collection[str] = ()
        self.asked: Sequence[int] = ()

    def avoid(self, node_ids: Collection[str]) -> None:
        self.avoided = set(node_ids)

    def ask_for(self, cpus: Sequence[int], beside: Collection[str] = ()) -> None:
        assert not beside, "no worker runs anywhere"
        self.asked = cpus


class Workers(WorkerPools):
    """No workers, and the nodes that they are told to leave."""

    ending: dict[str, bool]

    def leave(self, ending: dict[str, bool]) -> None:  # type: ignore[override]
        self.ending = ending


class Stage:
    """A follower, and what it tells the router and the operator."""

    def __init__(self, state_dir: Path) -> None:
        self.workers = Workers({})
        self.told: list[tuple[Sequence[LeavingNode], Sequence[str]]] = []
        self.lines: list[str] = []
        self.follower = NodeFollower(self.workers, lambda *told: self.told.append(told), self.lines.append)
        self.follower.open(state_dir)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_desired_workers_are_asked_for_and_nodes_that_the_cluster_takes_are_told_once(stage: Stage) -> None:
    cluster = Cluster(taken=(B,))
    stage.follower.follow(cluster, [2, 2, 1], 10.0)
    assert cluster.asked == [2, 2, 1]
    assert stage.told == [([B], [])]
    stage.follower.update((B,))
    stage.follower.follow(cluster, [2], 11.0)
    assert len(stage.told) == 1
    assert cluster.avoided == {"b"}
    assert stage.workers.ending == {"b": False}
    assert stage.lines == ["the workers of y leave it"]


def test_workers_stop_shortly_before_the_end_of_their_node(stage: Stage) -> None:
    stage.follower.update((A, B))
    stage.follower.follow(Cluster(), [], 100.0 - STOP_BEFORE_S + 0.5)
    assert stage.workers.ending == {"a": False, "b": True}


def test_the_router_forgets_nodes_that_the_cluster_no_longer_has(stage: Stage) -> None:
    cluster = Cluster()
    stage.follower.update((LeavingNode(node_id="gone", node="z"), A))
    cluster.states = None
    stage.follower.follow(cluster, [], 1.0)
    assert stage.told == [], "the cluster has said nothing yet"
    cluster.states = NodeStates(frozenset("abc"), ())
    stage.follower.follow(cluster, [], 2.0)
    assert stage.told == [([], ["gone"])]


def test_drained_nodes_are_known_after_a_restart(stage: Stage, tmp_path: Path) -> None:
    stage.follower.update((A, B))
    again = Stage(tmp_path)
    assert again.follower.leaving == (A, LeavingNode(node_id="b", node="y"))
    again.follower.update(())
    assert Stage(tmp_path).follower.leaving == ()


def test_a_damaged_record_of_drained_nodes_is_announced(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{")
    stage = Stage(tmp_path)
    assert stage.follower.leaving == ()
    assert "cannot be read" in stage.lines[0]
