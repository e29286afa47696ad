"""A fleet grows at once, shrinks after a time of less work, and keeps its size while its load stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cactus_actors.config_scaling import ScalingSettings, WorkerRange
from cactus_actors.router.scheduling.scaling_policy import WINDOW_S, FleetLoad, ScalingPolicy

SETTINGS = ScalingSettings(queue_s=1.0, first_token_s=5.0, down_after_s=60.0)
SLOTS = 16
IDLE = FleetLoad(ready=1, slots=SLOTS, rate=1000.0)

COUNTS, SECONDS = st.integers(0, 2000), st.none() | st.floats(0, 100)
LOADS = st.builds(
    FleetLoad,
    ready=st.integers(0, 300),
    slots=st.integers(1, 64),
    rate=st.none() | st.floats(1e-6, 1e6),
    num_waiting=COUNTS,
    num_running=COUNTS,
    work=st.floats(0, 1e9),
    num_background_waiting=COUNTS,
    background_work=st.floats(0, 1e9),
    num_background_running=COUNTS,
    cache_use=st.floats(0, 1),
    queue_s=SECONDS,
    first_token_s=SECONDS,
)
RANGES = st.tuples(st.integers(0, 256), st.integers(1, 256)).filter(lambda it: it[0] <= it[1])


def policy(workers: int, low: int = 0, high: int = 16, **changes: float) -> ScalingPolicy:
    settings = ScalingSettings(**{"first_token_s": 5.0, "down_after_s": 60.0} | changes)
    return ScalingPolicy(WorkerRange(low, high), settings, workers, 0.0)


def follow(sizes: ScalingPolicy, load: FleetLoad, since: float, seconds: int) -> list[int]:
    """The sizes in that many seconds of a load; each size is there at once."""
    return [sizes.update(replace(load, ready=sizes.workers), since + second) for second in range(seconds)]


@given(RANGES, st.integers(0, 256), st.lists(st.tuples(LOADS, st.floats(0.0, 1000.0)), min_size=1, max_size=20))
def test_the_size_is_never_outside_of_its_range(
    size: tuple[int, int], workers: int, steps: list[tuple[FleetLoad, float]]
) -> None:
    sizes, now = ScalingPolicy(WorkerRange(*size), SETTINGS, workers, 0.0), 0.0
    for load, seconds in steps:
        now += seconds
        assert size[0] <= sizes.update(load, now) <= size[1]


@given(st.lists(LOADS, max_size=8), LOADS, st.integers(0, 500), st.floats(0, 1e6))
def test_more_that_waits_never_means_fewer_workers(
    earlier: list[FleetLoad], load: FleetLoad, more: int, more_work: float
) -> None:
    one, other = policy(1, high=256), policy(1, high=256)
    for second, before in enumerate(earlier):
        assert one.update(before, second) == other.update(before, second)
    longer = replace(load, num_waiting=load.num_waiting + more, work=load.work + more_work)
    assert other.update(longer, len(earlier)) >= one.update(load, len(earlier))


@settings(max_examples=25)
@given(LOADS, st.integers(1, 16))
def test_a_load_that_stays_never_makes_a_fleet_grow_and_shrink_again(load: FleetLoad, high: int) -> None:
    sizes = follow(policy(0, high=high), load, 0.0, 500)
    assert sizes == sorted(sizes)
    assert len(set(sizes[-150:])) == 1


@given(LOADS, st.integers(0, 300))
def test_the_first_job_wakes_a_fleet_of_none(load: FleetLoad, second: int) -> None:
    sizes = policy(0)
    assert set(follow(sizes, IDLE, 0.0, second)) <= {0}
    seen = sizes.update(replace(load, ready=0), second)
    assert (seen >= 1) == bool(load.num_jobs or load.num_background)


def test_a_fleet_without_work_is_ended_after_the_time_for_that_and_not_before() -> None:
    sizes = policy(4)
    assert follow(sizes, IDLE, 0.0, 60) == [4] * 60
    assert sizes.update(IDLE, 60.0) == 0
    assert sizes.reason == "no job for 60 s"


def test_a_job_now_and_then_keeps_one_worker() -> None:
    sizes = policy(1)
    for second in range(600):
        assert sizes.update(replace(IDLE, num_running=int(second % 50 == 0)), second) == 1


def test_many_jobs_start_workers_at_once() -> None:
    sizes = policy(1, low=1)
    assert sizes.update(replace(IDLE, num_waiting=200, work=40_000.0, num_running=SLOTS), 1.0) == 4
    assert sizes.reason == "waiting jobs: 200, with 40.0 s of work for a worker"


def test_what_is_done_before_a_worker_could_start_starts_none() -> None:
    sizes = policy(1, low=1)
    assert sizes.update(replace(IDLE, num_waiting=20, work=4_000.0), 1.0) == 1


def test_full_batches_start_a_worker_and_half_full_ones_do_not() -> None:
    sizes = policy(2, low=1)
    assert follow(sizes, replace(IDLE, num_running=SLOTS), 0.0, 50)[-1] == 2
    assert follow(sizes, replace(IDLE, num_running=2 * SLOTS), 50.0, 100)[-1] == 4
    assert "running jobs: 32, on " in sizes.reason


def test_a_fleet_shrinks_to_the_most_that_it_needed_in_that_time() -> None:
    sizes = policy(0)
    follow(sizes, replace(IDLE, num_running=60), 0.0, 200)
    assert sizes.workers == 7
    follow(sizes, replace(IDLE, num_running=20), 200.0, 50)
    assert sizes.workers == 7
    follow(sizes, replace(IDLE, num_running=20), 250.0, 80)
    assert sizes.workers == 3
    assert sizes.reason == "less to do for 60 s"


@pytest.mark.parametrize("slow", [{"queue_s": 1.5}, {"first_token_s": 6.0}])
def test_a_missed_target_starts_one_worker_after_the_other(slow: dict[str, float]) -> None:
    sizes, load = policy(2, low=2), replace(IDLE, num_running=SLOTS, **slow)
    follow(sizes, replace(IDLE, num_running=SLOTS), 0.0, 100)
    assert follow(sizes, load, 100.0, 1) == [3]
    assert "5 of 100 jobs wait" in sizes.reason
    assert set(follow(sizes, load, 101.0, int(WINDOW_S) - 1)) == {3}
    follow(sizes, load, 100.0 + WINDOW_S, 600)
    assert sizes.workers == 4, "more workers for so few jobs would not help"


def test_times_from_before_the_workers_were_there_do_not_count() -> None:
    sizes, load = policy(2, low=2), replace(IDLE, num_running=SLOTS, queue_s=9.0)
    assert {sizes.update(replace(load, ready=1), second) for second in range(200)} == {2}
    assert {sizes.update(replace(load, ready=2), 200 + second) for second in range(int(WINDOW_S) - 1)} == {2}
    assert sizes.update(replace(load, ready=2), 200 + WINDOW_S) == 3


def test_the_margin_is_given_up_when_clients_were_content_for_long() -> None:
    sizes = policy(2, low=1)
    follow(sizes, replace(IDLE, num_running=SLOTS), 0.0, 100)
    assert follow(sizes, replace(IDLE, num_running=SLOTS, queue_s=9.0), 100.0, 1) == [3]
    assert follow(sizes, replace(IDLE, num_running=SLOTS), 101.0, 500)[-1] == 3
    assert follow(sizes, replace(IDLE, num_running=SLOTS), 601.0, 200)[-1] == 2


def test_a_full_cache_starts_a_worker_for_jobs_that_take_few_slots() -> None:
    sizes = policy(2, low=1)
    assert sizes.update(FleetLoad(ready=2, slots=SLOTS, num_running=3, cache_use=0.95), 1.0) == 3
    assert sizes.reason == "95% of the KV cache is in use"


def test_background_work_brings_up_as_many_workers_as_it_may() -> None:
    load = replace(IDLE, num_background_waiting=5000, background_work=5e6)
    assert policy(0).update(load, 1.0) == 16
    assert policy(0, background_workers=3).update(load, 1.0) == 3
    few = replace(IDLE, num_background_waiting=10, background_work=10_000.0)
    assert policy(0).update(few, 1.0) == 1, "10 s of work are not worth a second worker"


def test_background_work_leaves_the_workers_of_other_work_alone() -> None:
    load = replace(IDLE, num_waiting=500, work=500_000.0, num_background_waiting=100, background_work=1e6)
    assert policy(0, background_workers=1).update(load, 1.0) == 16


def test_slow_starts_are_measured_and_prevent_workers_that_would_come_too_late() -> None:
    burst = replace(IDLE, num_waiting=60, work=20_000.0)
    sizes = policy(1, low=1)
    assert sizes.update(burst, 0.0) == 2
    assert {sizes.update(IDLE, second) for second in range(1, 41)} == {2}
    assert follow(sizes, IDLE, 41.0, 100)[-1] == 1
    assert sizes.update(burst, 160.0) == 1
