"""A pool starts and drains workers, and says when a model cannot be loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from cactus_actors.fleet.worker_pool import WorkerPool
from cactus_actors.fleet.worker_pools import WorkerPools
from cactus_actors.placement.interface import ActorExit, ActorLost
from cactus_actors.process.health import WorkerHealth
from cactus_actors.protocol.errors import ModelFileInvalid

LOST = ActorExit("killed", ActorLost("killed"))
DAMAGED = ActorExit("model.safetensors is truncated", ModelFileInvalid("model.safetensors is truncated"))


@dataclass
class FakeActor:
    """A process that is ready, or has ended, when the test says so."""

    worker_id: str
    is_ready: bool = False
    ended: ActorExit | None = None
    told: list[str] = field(default_factory=list)
    is_placed = True
    pid = None

    def ask(self, method: str) -> FakeActor:
        return self

    def done(self) -> bool:
        return True

    def result(self, _: float) -> WorkerHealth:
        state: Any = "ready" if self.is_ready else "loading"
        return WorkerHealth(worker_id=self.worker_id, pid=1, state=state, last_tick_s=0.0)

    def notify(self, method: str) -> None:
        self.told.append(method)
        self.ended = ActorExit("drained")

    def exit_info(self) -> ActorExit | None:
        return self.ended

    def terminate(self) -> None:
        pass


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
