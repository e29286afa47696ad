"""The fleet keeps the wanted number of workers, drains the surplus, and backs off from a crash loop."""

from __future__ import annotations

from cactus_actors.fleet.fleet import REPLACEMENT_TIMEOUT_S, DrainWorker, Fleet, StartWorker, StopWorker
from cactus_actors.process.backoff import MAX_BACKOFF_S, STABLE_AFTER_S


def test_missing_workers_are_started_once() -> None:
    fleet = Fleet(desired=2)
    assert fleet.plan(0.0) == [StartWorker("worker-1"), StartWorker("worker-2")]
    assert fleet.plan(0.1) == []


def test_scaling_down_drains_the_youngest_and_up_starts_new_names() -> None:
    fleet = Fleet(desired=3)
    fleet.plan(0.0)
    fleet.desired = 1
    assert fleet.plan(1.0) == [DrainWorker("worker-2"), DrainWorker("worker-3")]
    assert fleet.plan(1.1) == []
    fleet.desired = 2
    assert fleet.plan(1.2) == [StartWorker("worker-4")]
    fleet.on_left("worker-2")
    fleet.on_left("worker-3")
    assert sorted(fleet.members) == ["worker-1", "worker-4"]


def test_workers_that_load_and_those_that_may_leave_first_are_drained_first() -> None:
    fleet = Fleet(desired=4)
    fleet.plan(0.0)
    ready = ("worker-3", "worker-1", "worker-2")
    fleet.desired = 3
    assert fleet.plan(1.0, ready) == [DrainWorker("worker-4")]
    fleet.desired = 1
    assert fleet.plan(2.0, ready) == [DrainWorker("worker-1"), DrainWorker("worker-2")]
    fleet.replace_all()
    assert fleet.plan(3.0, ready) == [StartWorker("worker-5")]
    assert fleet.plan(4.0, ("worker-5", "worker-3")) == [DrainWorker("worker-3")]


def test_a_dead_worker_is_replaced_at_once_and_a_crash_loop_with_increasing_delays() -> None:
    fleet = Fleet(desired=1)
    fleet.plan(0.0)
    now, delays = 0.0, []
    for _ in range(8):
        (worker_id,) = fleet.members
        delay = fleet.on_died(worker_id, now)
        delays.append(delay)
        if delay:
            assert fleet.plan(now + delay - 0.01) == []
        now += delay
        assert len(fleet.plan(now)) == 1
    assert delays == [0, 1, 2, 4, 8, 16, 32, 32]
    assert delays[-1] == MAX_BACKOFF_S
    assert fleet.num_restarts == 8


def test_a_long_lived_worker_resets_the_backoff() -> None:
    fleet = Fleet(desired=1)
    fleet.plan(0.0)
    fleet.on_died("worker-1", 0.5)
    fleet.plan(0.5)
    assert fleet.on_died("worker-2", 0.6) == 1.0
    fleet.plan(2.0)
    assert fleet.on_died("worker-3", 2.0 + STABLE_AFTER_S) == 0.0


def test_a_draining_worker_that_ends_is_not_replaced() -> None:
    fleet = Fleet(desired=1)
    fleet.plan(0.0)
    fleet.desired = 0
    fleet.plan(0.0)
    fleet.on_died("worker-1", 1.0)
    assert fleet.plan(1.0) == []
    assert fleet.num_restarts == 0


def test_old_workers_are_replaced_one_at_a_time_each_after_a_new_one_is_ready() -> None:
    fleet = Fleet(desired=2)
    fleet.plan(0.0)
    fleet.replace_all()
    assert fleet.plan(1.0, ["worker-1", "worker-2"]) == [StartWorker("worker-3")]
    assert fleet.plan(2.0, ["worker-1", "worker-2"]) == []  # the new one loads its model
    [drained] = fleet.plan(3.0, ["worker-1", "worker-2", "worker-3"])
    assert drained == DrainWorker("worker-2")
    assert fleet.plan(3.1, ["worker-1", "worker-3"]) == [StartWorker("worker-4")]
    fleet.on_left("worker-2")
    assert fleet.plan(4.0, ["worker-1", "worker-3", "worker-4"]) == [DrainWorker("worker-1")]
    fleet.on_left("worker-1")
    assert fleet.plan(5.0, ["worker-3", "worker-4"]) == []
    assert sorted(fleet.members) == ["worker-3", "worker-4"]


def test_a_replacement_without_resources_gets_those_of_an_old_worker() -> None:
    fleet = Fleet(desired=1)
    fleet.plan(0.0)
    fleet.replace_all()
    assert fleet.plan(1.0, ["worker-1"]) == [StartWorker("worker-2")]
    assert fleet.plan(1.0 + REPLACEMENT_TIMEOUT_S, ["worker-1"]) == []
    assert fleet.plan(1.1 + REPLACEMENT_TIMEOUT_S, ["worker-1"]) == [DrainWorker("worker-1")]


def test_scaling_down_during_a_replacement_drains_old_workers_first() -> None:
    fleet = Fleet(desired=3)
    fleet.plan(0.0)
    fleet.replace_all()
    everyone = [f"worker-{number}" for number in range(1, 9)]
    assert fleet.plan(1.0, everyone) == [StartWorker("worker-4")]
    fleet.desired = 1
    actions = fleet.plan(2.0, everyone)
    assert sorted(action.worker_id for action in actions) == ["worker-2", "worker-3"]
    assert fleet.plan(3.0, everyone) == [DrainWorker("worker-1")]
    assert fleet.plan(4.0, everyone) == []
    assert [member.worker_id for member in fleet.members.values() if member.state == "running"] == ["worker-4"]


def test_an_old_worker_that_ends_is_replaced() -> None:
    fleet = Fleet(desired=1)
    fleet.plan(0.0)
    fleet.replace_all()
    fleet.on_died("worker-1", 0.5)
    assert fleet.plan(1.0) == [StartWorker("worker-2")]
    assert fleet.plan(2.0, ["worker-2"]) == []


def leaving_two_of_three() -> Fleet:
    """Of three workers two leave their node."""
    fleet = Fleet(desired=3)
    fleet.plan(0.0)
    fleet.leave({"worker-1": False, "worker-3": False})
    return fleet


def test_workers_that_leave_their_node_stop_one_for_each_that_is_ready_elsewhere() -> None:
    fleet = leaving_two_of_three()
    ready = ["worker-1", "worker-2", "worker-3"]
    assert fleet.plan(1.0, ready) == [StartWorker("worker-4"), StartWorker("worker-5")]
    assert fleet.plan(1000.0, ready) == [], "nothing stops as long as nothing is ready elsewhere"
    assert fleet.plan(1001.0, ["worker-2", "worker-5"]) == [StopWorker("worker-1")]
    assert fleet.plan(1002.0, ["worker-2", "worker-4", "worker-5"]) == [StopWorker("worker-3")]
    fleet.on_left("worker-1")
    fleet.on_died("worker-3", 1003.0)
    assert fleet.plan(1004.0, ["worker-2", "worker-4", "worker-5"]) == []
    assert fleet.num_restarts == 0


def test_workers_of_a_node_that_is_about_to_end_stop_without_a_replacement() -> None:
    fleet = leaving_two_of_three()
    fleet.plan(1.0)
    fleet.leave({"worker-1": True, "worker-3": True})
    assert fleet.plan(2.0, ["worker-2"]) == [StopWorker("worker-1"), StopWorker("worker-3")]
    assert fleet.plan(3.0, ["worker-2"]) == []


def test_fewer_workers_need_fewer_replacements_of_those_that_leave() -> None:
    fleet = leaving_two_of_three()
    fleet.desired = 1
    assert fleet.plan(1.0, ["worker-1", "worker-2", "worker-3"]) == [StopWorker("worker-1"), StopWorker("worker-3")]


def test_workers_that_still_take_jobs_stay_when_their_node_is_drained_no_more() -> None:
    fleet = leaving_two_of_three()
    ready = ["worker-1", "worker-2", "worker-3"]
    assert fleet.plan(1.0, ready) == [StartWorker("worker-4"), StartWorker("worker-5")]
    fleet.leave({})
    assert fleet.plan(2.0, ready) == [DrainWorker("worker-4"), DrainWorker("worker-5")]


def test_a_worker_without_more_jobs_is_not_kept_when_its_node_is_drained_no_more() -> None:
    fleet = leaving_two_of_three()
    fleet.plan(1.0)
    fleet.leave({})
    assert fleet.plan(2.0, [f"worker-{number}" for number in (2, 4, 5)]) == [
        StopWorker("worker-1"),
        StopWorker("worker-3"),
    ]
