"""The time at which a slot becomes free, compared with slots that are assigned one by one."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.router.scheduling.slot_releases import SlotReleases
from tests.support.router.records import make_assignment

NUM_SLOTS = 4


def places_of(left: list[float]) -> SlotReleases:
    places = SlotReleases()
    for number, work in enumerate(left):
        places.on_started(make_assignment(number, work))
    return places


def free_in_turn(left: list[float], num_ahead: int, work: float) -> float:
    """Each job in turn gets the slot that is free first."""
    free = [0.0] * (NUM_SLOTS - len(left)) + left
    heapq.heapify(free)
    for _ in range(num_ahead):
        heapq.heappushpop(free, free[0] + work)
    return free[0]


@given(st.lists(st.floats(0, 100), max_size=NUM_SLOTS), st.integers(0, 20), st.floats(100, 1000))
def test_the_forecast_is_exact_for_jobs_of_one_length(left: list[float], num_ahead: int, work: float) -> None:
    expected = free_in_turn(left, num_ahead, work)
    assert places_of(left).work_until_free(NUM_SLOTS, num_ahead, work) == pytest.approx(expected)


def test_one_long_job_does_not_delay_the_forecast_of_every_slot() -> None:
    places = places_of([1.0, 1.0, 1.0, 1000.0])
    assert places.work_until_free(NUM_SLOTS, 0, 2.0) == 1.0
    assert places.work_until_free(NUM_SLOTS, 3, 2.0) == (3 * 2.0 + 1003.0) / NUM_SLOTS


def test_jobs_that_wait_at_a_worker_run_first() -> None:
    places = places_of([3.0, 5.0, 7.0, 9.0, 20.0])
    assert places.work_until_free(NUM_SLOTS, 0, 10.0) == 5.0
    places.on_stopped(make_assignment(0, 3.0))
    places.on_stopped(make_assignment(0, 3.0))
    assert places.work_until_free(NUM_SLOTS, 0, 10.0) == 5.0
    assert places.work_until_free(NUM_SLOTS + 1, 0, 10.0) == 0.0
