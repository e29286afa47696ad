"""A pool starts and drains workers, and says when a model cannot be loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from cactus_actors.config_models import ModelMemory
from cactus_actors.fleet.worker_pool import WorkerPool
from cactus_actors.fleet.worker_pools import WorkerPools
from cactus_actors.placement.interface import ActorExit, ActorLost
from cactus_actors.process.health import WorkerHealth
from cactus_actors.protocol.errors import ModelFileInvalid

LOST = ActorExit("killed", ActorLost("killed"))
DAMAGED = ActorExit("model.safetensors is truncated", ModelFileInvalid("model.safetensors is truncated"))


@dataclass
class FakeActor:
    """A process that is ready, or has ended, when the test says so; one that `takes_long` has jobs when it drains."""

    worker_id: str
    is_ready: bool = False
    ended: ActorExit | None = None
    told: list[str] = field(default_factory=list)
    takes_long: bool = False
    node: str = "here"
    node_id: str = ""
    is_terminated: bool = False
    is_placed: bool = True
    pid = None

    def ask(self, method: str) -> FakeActor:
        return self

    def done(self) -> bool:
        return True

    def result(self, _: float) -> WorkerHealth:
        state: Any = "ready" if self.is_ready else "loading"
        return WorkerHealth(
            worker_id=self.worker_id, pid=1, state=state, last_tick_s=0.0, node=self.node, node_id=self.node_id
        )

    def notify(self, method: str) -> None:
        self.told.append(method)
        if not self.takes_long:
            self.ended = ActorExit("drained")

    def exit_info(self) -> ActorExit | None:
        return self.ended

    def terminate(self) -> None:
        self.is_terminated = True


class Fleet:
    """A pool of fake workers, and the reasons that it gave for a model that cannot be loaded."""

    def __init__(self, desired: int = 1, prefix: str = "worker") -> None:
        self.started: list[FakeActor] = []
        self.reasons: list[str] = []
        self.now = 0.0
        self.pool = WorkerPool(
            desired, self._launch, lambda _: None, lambda _: None, prefix=prefix, on_load_failed=self.reasons.append
        )

    def _launch(self, worker_id: str) -> Any:
        self.started.append(FakeActor(worker_id))
        return self.started[-1]

    def pass_time(self, seconds: float = 40.0) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += 0.25
            self.pool.reconcile(self.now, ())

    @property
    def running(self) -> list[FakeActor]:
        return [actor for actor in self.started if actor.ended is None]


@pytest.mark.parametrize("is_ready", [False, True])
def test_a_worker_that_ends_with_an_error_before_it_is_ready_is_reported(is_ready: bool) -> None:
    fleet = Fleet()
    fleet.pass_time(1.0)
    fleet.running[0].is_ready = is_ready
    fleet.pass_time(1.0)
    fleet.running[0].ended = DAMAGED
    fleet.pass_time(1.0)
    assert fleet.reasons == ([] if is_ready else ["model.safetensors is truncated"])


def test_lost_workers_are_replaced_and_reported_when_two_for_each_are_lost_in_a_row() -> None:
    fleet = Fleet(desired=2)
    for number in range(3):
        fleet.pass_time()
        fleet.running[0].ended = LOST
        fleet.pass_time()
        assert (len(fleet.running), fleet.reasons) == (2, []), number
    fleet.running[0].is_ready = True
    fleet.pass_time()
    for number in range(4):
        assert fleet.reasons == [], number
        fleet.running[-1].ended = LOST
        fleet.pass_time()
    assert fleet.reasons == ["killed"]


def test_an_unloaded_model_has_no_workers_and_the_operators_number_of_them_when_it_is_loaded_again() -> None:
    rare, kept = Fleet(desired=2, prefix="rare"), Fleet(prefix="kept")
    pools = WorkerPools({"rare": rare.pool, "kept": kept.pool})
    pools.reconcile(0.0, ())
    pools.want({"rare": 3, "kept": 1}, ("rare",))
    for now in (1.0, 2.0):
        pools.reconcile(now, ())
    assert [actor.told for actor in rare.started] == [["drain"], ["drain"]]
    assert (rare.reasons, len(kept.running)) == ([], 1)
    assert (pools.desired, pools.unloaded) == ({"rare": 3, "kept": 1}, frozenset({"rare"}))
    assert [actor.worker_id for actor in pools.actors] == ["kept-1"]  # type: ignore[attr-defined]
    pools.want({"rare": 3, "kept": 1})
    pools.reconcile(3.0, ())
    assert [actor.worker_id for actor in rare.running] == ["rare-3", "rare-4", "rare-5"]


def test_workers_start_when_those_of_another_model_have_left_its_memory() -> None:
    rare, kept = Fleet(desired=2, prefix="rare"), Fleet(desired=1, prefix="kept")
    pools = WorkerPools({"rare": rare.pool, "kept": kept.pool})
    memory = ModelMemory(weight_bytes=50, cache_bytes=10)
    pools.bound({"rare": memory, "kept": memory}, 100)
    pools.want({"rare": 2, "kept": 1}, ("kept",))
    assert pools.num_wanted == 2
    pools.reconcile(0.0, ())
    assert (len(rare.running), len(kept.running)) == (2, 0)
    rare.started[0].takes_long = True
    pools.want({"rare": 2, "kept": 1}, ("rare",))
    for now in (1.0, 2.0, 3.0):
        pools.reconcile(now, ())
        assert (len(rare.running), len(kept.running)) == (1, 0)
    rare.started[0].ended = ActorExit("drained")
    for now in (4.0, 5.0):
        pools.reconcile(now, ())
    assert (len(rare.running), len(kept.running)) == (0, 1)


def test_a_full_budget_lets_a_worker_be_replaced_and_no_more_be_started() -> None:
    fleet = Fleet(desired=1)
    pools = WorkerPools({"": fleet.pool})
    pools.bound({"": ModelMemory(weight_bytes=50, cache_bytes=10)}, 60)
    pools.reconcile(0.0, ())
    pools.want({"": 3})
    pools.reconcile(1.0, ())
    assert len(fleet.running) == 1
    pools.want({"": 1})
    pools.replace_all()
    pools.reconcile(2.0, ("worker-1",))
    assert [actor.worker_id for actor in fleet.running] == ["worker-1", "worker-2"]
    pools.reconcile(3.0, ("worker-1", "worker-2"))
    assert [actor.worker_id for actor in fleet.running] == ["worker-2"]


def test_workers_fit_on_each_node_beside_those_that_run_there_wherever_they_will_be_placed() -> None:
    first, second, third = (Fleet(prefix=name) for name in ("first", "second", "third"))
    pools = WorkerPools({"first": first.pool, "second": second.pool, "third": third.pool})
    memory = ModelMemory(weight_bytes=30, cache_bytes=10)
    pools.bound({"first": memory, "second": memory, "third": memory}, 90)
    pools.want({"first": 1, "second": 1, "third": 3}, ("third",))
    pools.reconcile(0.0, ())
    for fleet, node in ((first, "here"), (second, "there")):
        fleet.started[0].node = node
    for now in (1.0, 2.0):
        pools.reconcile(now, ())
    pools.want({"first": 1, "second": 1, "third": 3})
    pools.reconcile(3.0, ())
    assert len(third.running) == 2  # 40 of 90 bytes are taken on either node
    third.started[0].node = third.started[1].node = "elsewhere"
    for now in (4.0, 5.0, 6.0, 7.0):
        pools.reconcile(now, ())
    assert len(third.running) == 3


def test_a_worker_that_waits_for_a_place_asks_for_it_no_more_when_it_is_not_needed() -> None:
    fleet = Fleet(desired=2)
    fleet.pass_time(1.0)
    placed, waits = fleet.started
    placed.is_ready, waits.is_placed = True, False
    fleet.pool.want(1)
    fleet.pass_time(1.0)
    assert (placed.is_terminated, waits.is_terminated) == (False, True)
    assert placed.told == waits.told == []
    assert fleet.pool.actors == [placed]
    assert not fleet.pool.loading
    fleet.pool.want(0)
    fleet.pass_time(1.0)
    assert placed.told == ["drain"]
    assert fleet.reasons == []


def test_workers_of_a_drained_node_stop_when_others_are_ready_elsewhere() -> None:
    fleet = Fleet(desired=1)
    fleet.pass_time(1.0)
    [old] = fleet.started
    old.is_ready, old.node_id = True, "a"
    fleet.pass_time(2.0)
    assert fleet.pool.node_ids == {"a"}
    fleet.pool.leave({"a": False, "b": False})
    fleet.pass_time(2.0)
    assert old.told == []
    [_, new] = fleet.started
    new.is_ready = True
    fleet.pool.reconcile(fleet.now, (new.worker_id,))
    assert old.told == ["stop"]
    old.ended = ActorExit("stopped")
    fleet.pass_time(1.0)
    assert fleet.pool.fleet.num_restarts == 0
    assert fleet.pool.actors == [new]


def test_workers_that_wait_for_a_place_are_launched_anew_when_the_drained_nodes_change() -> None:
    fleet = Fleet(desired=2)
    fleet.pass_time(1.0)
    placed, waits = fleet.started
    placed.is_ready, placed.node_id, waits.is_placed = True, "a", False
    fleet.pass_time(2.0)

    fleet.pool.leave({"a": False})
    assert waits.is_terminated, "it could still be placed on the drained node"
    fleet.pass_time(2.0)
    assert [it.worker_id for it in fleet.started] == ["worker-1", "worker-2", "worker-3", "worker-4"]
    avoiding = fleet.started[2:]
    for actor in avoiding:
        actor.is_placed = False
    fleet.pool.leave({"a": True})
    fleet.pool.reconcile(fleet.now, ())
    assert placed.told == ["stop"]
    assert not any(it.is_terminated for it in avoiding), "the same nodes are avoided"

    fleet.pool.leave({})
    assert all(it.is_terminated for it in avoiding), "they would avoid the node for ever"
    fleet.pass_time(2.0)
    assert [it.worker_id for it in fleet.started[4:]] == ["worker-5", "worker-6"]
    assert fleet.pool.actors == fleet.started[4:]
    assert set(fleet.pool.loading) == {"worker-5", "worker-6"}
    assert fleet.pool.fleet.num_restarts == 0


def test_workers_that_still_take_jobs_stay_on_a_node_that_is_drained_no_more() -> None:
    fleet = Fleet(desired=1)
    fleet.pass_time(1.0)
    [only] = fleet.started
    only.is_ready, only.node_id = True, "a"
    fleet.pass_time(2.0)
    fleet.pool.leave({"a": False})
    fleet.pool.reconcile(fleet.now, ("worker-1",))
    [_, waits] = fleet.started
    waits.is_placed = False
    fleet.pool.leave({})
    fleet.pool.reconcile(fleet.now, ("worker-1",))
    assert fleet.pool.actors == [only]
    assert waits.is_terminated
    assert only.told == []
