"""Admission by deadline: jobs that cannot end in time are refused at once, and accepted ones end in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.deadline_simulation import (
    NUM_SLOTS,
    Request,
    Simulation,
    forced_requests,
    requests_of,
    simulated,
    simulated_capacity,
)
from cactus_actors.protocol.errors import DeadlineExceeded, Overloaded
from cactus_actors.router.scheduling.backlog import Backlog
from cactus_actors.router.scheduling.forecast import Forecast
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation

TIMEOUT_S = 30.0
REQUESTS = requests_of(None, 1000, seed=2)


@pytest.fixture(scope="module")
def capacity() -> float:
    return simulated_capacity(REQUESTS, 200)


@pytest.mark.parametrize("num_users", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_goodput_does_not_fall_under_overload(capacity: float, num_users: int) -> None:
    """In virtual time: at 10 times the capacity as many requests end in time as at the capacity."""
    usual, outcome = (simulated(REQUESTS, load, capacity, 45.0, TIMEOUT_S, num_users) for load in (1.0, 10.0))
    assert not usual.refusal_s
    assert outcome.num_in_time >= 0.95 * usual.num_in_time
    assert outcome.num_too_late <= 0.03 * outcome.num_in_time
    assert outcome.num_in_time + outcome.num_too_late + len(outcome.refusal_s) == outcome.num_sent


def reserved(user: str, weight: int, work: float, *, is_background: bool = False) -> Reservation:
    return Reservation(user, weight, QueueLoad(1), work, is_background)


def test_without_a_deadline_nothing_is_refused(capacity: float) -> None:
    simulation = Simulation(None)
    simulation.run(
        [(number / (5 * capacity), request) for number, request in enumerate(REQUESTS[:300])], 500 / capacity
    )
    assert len(simulation.finished) == 300
    assert not simulation.refused


def test_a_user_without_waiting_jobs_is_accepted_during_a_flood() -> None:
    simulation = Simulation(TIMEOUT_S, num_users=1)
    requests = [Request(100, 200, 200)] * 2000
    simulation.run([(number / 100, request) for number, request in enumerate(requests)], 18.9)
    assert simulation.refused
    forecast = simulation.core.state.fleets.first.dispatcher.forecast
    with pytest.raises(Overloaded) as caught:
        forecast.check(reserved("user 0", 1, 226.0), TIMEOUT_S)
    assert caught.value.param == "timeout_ms"
    assert 0 < (caught.value.retry_after or 0) <= 60
    forecast.check(reserved("somebody else", 1, 226.0), TIMEOUT_S)


def test_a_job_with_min_tokens_is_forecast_by_its_own_length() -> None:
    simulation = Simulation(TIMEOUT_S, num_users=7)
    usual = [(number / 100, Request(50, 10, 512)) for number in range(1000)]
    long = [(20.0 + number / 1e4, Request(50, 2000, 2500, min_tokens=2000)) for number in range(400)]
    simulation.run([*usual, *long], 200.0)
    ends = {number: is_in_time for number, is_in_time, _ in simulation.finished}
    too_late = [number for number, is_in_time in ends.items() if not is_in_time]
    assert len(ends) + len(simulation.refused) == 1400
    assert all(ends[number] for number in range(1000))
    assert len(simulation.refused) >= 300
    assert len(too_late) <= NUM_SLOTS  # those that did not have to wait


@pytest.mark.parametrize("num_users", [pytest.param(1, marks=pytest.mark.slow), 7])
@pytest.mark.parametrize("pause_s", [0.0001, 0.05])
def test_running_jobs_delay_new_jobs(num_users: int, pause_s: float) -> None:
    """400 jobs, each of which needs more than half of its timeout, and 16 slots."""
    simulation = Simulation(5.0, num_users)
    usual = [(number / 50, Request(50, 40, 40, 40)) for number in range(300)]
    long = [(20.0 + pause_s * number, Request(50, 300, 300, 300)) for number in range(400)]
    simulation.run([*usual, *long], 60.0)
    ends = [is_in_time for number, is_in_time, _ in simulation.finished if number >= len(usual)]
    num_rounds = 1 + int(400 * pause_s / 4)
    assert ends.count(False) <= 0.02 * len(ends)
    assert ends.count(True) >= 0.95 * num_rounds * NUM_SLOTS
    assert len(ends) + sum(number >= len(usual) for number in simulation.refused) == 400


def test_short_and_long_jobs_of_several_users_end_in_time() -> None:
    """A user with more waiting jobs than others also waits for the later jobs of those."""
    requests = forced_requests([50, 100, 300], 500, seed=5)
    outcome = simulated(requests, 3.0, simulated_capacity(requests, 200), 20.0, 5.0, num_users=7)
    assert outcome.num_too_late <= 0.03 * outcome.num_in_time
    assert outcome.refusal_s


def test_jobs_end_in_time_although_more_slots_are_free_than_their_deadlines_allow() -> None:
    """A step of all 64 slots is too slow for every one of these deadlines."""
    requests = forced_requests([50, 64, 80], 200, seed=5)
    outcome = simulated(requests, 2.0, 20.0, 4.0, 2.0, 7, num_slots=64)
    assert outcome.refusal_s
    assert outcome.num_in_time >= 80
    assert outcome.num_too_late <= 0.02 * outcome.num_in_time


def test_without_deadlines_all_slots_are_used() -> None:
    simulation = Simulation(None, num_slots=64)
    simulation.run([(0.0, Request(50, 100, 100, 100))] * 200, 4.0)
    forecast = simulation.core.state.fleets.first.dispatcher.forecast
    assert forecast.usable_slots == 64
    assert forecast.num_running == 65  # one on deck


def test_a_job_with_little_time_waits_until_fewer_run() -> None:
    """Jobs without a deadline use all slots; one that would be late among them is refused, one with time begins."""
    simulation = Simulation(None, num_slots=64)
    request = Request(50, 100, 100, 100)
    simulation.run([*[(0.0, request)] * 40, *[(3.0, request)] * 100], 6.0)
    forecast = simulation.core.state.fleets.first.dispatcher.forecast
    assert forecast.num_running == 65
    alone, among_all = forecast.pace.seconds_per_work(1), forecast.pace.seconds_per_work(64)
    assert alone
    assert among_all
    assert among_all == pytest.approx(alone * (8 + 64) / 9)
    with pytest.raises(Overloaded):
        forecast.check(reserved("b", 1, 100.0), 100 * among_all)
    forecast.check(reserved("b", 1, 100.0), 300 * among_all)


def forecast_of(pace: float) -> Forecast:
    forecast = Forecast(UserJobs())
    forecast.update_slots(NUM_SLOTS, 1, 0.0)
    forecast.pace.on_ended(pace, 1.0, NUM_SLOTS)
    return forecast


def add_jobs(forecast: Forecast, count: int) -> None:
    for _ in range(count):
        forecast.backlog.add(reserved("a", 1, 100.0))


def test_a_deadline_shorter_than_the_expected_wait_is_refused() -> None:
    forecast = forecast_of(pace=0.01)
    for timeout_s in (None, 10.0):
        forecast.check(reserved("a", 1, 100.0), timeout_s)
    add_jobs(forecast, 160)  # 10 s
    forecast.check(reserved("a", 1, 100.0), None)
    forecast.check(reserved("a", 1, 100.0), 13.3)
    with pytest.raises(Overloaded, match="may take 13"):
        forecast.check(reserved("a", 1, 100.0), 13.1)
    forecast.check(reserved("b", 1, 100.0), 5.0)
    with pytest.raises(Overloaded):
        forecast.check(reserved("b", 1, 100.0, is_background=True), 13.1)


def test_a_deadline_shorter_than_the_job_itself_is_refused() -> None:
    """The same error code with a backlog and without: an idle service refuses such a job before it runs."""
    forecast = forecast_of(pace=0.01)
    for num_jobs in (160, 10_000):
        add_jobs(forecast, num_jobs)
        for timeout_s in (0.001, 0.29):  # alone it takes 0.375 s
            with pytest.raises(DeadlineExceeded) as refused:
                forecast.check(reserved("a", 1, 100.0), timeout_s)
            assert refused.value.param == "timeout_ms"
            assert refused.value.retry_after is None


def test_a_deadline_that_only_the_load_exceeds_is_an_overload() -> None:
    forecast = forecast_of(pace=0.01)
    add_jobs(forecast, 160)
    with pytest.raises(Overloaded):
        forecast.check(reserved("a", 1, 100.0), 0.31)


def test_without_measurements_nothing_is_refused() -> None:
    forecast = Forecast(UserJobs())
    forecast.backlog.add(reserved("a", 1, 1e9))
    forecast.check(reserved("a", 1, 1e6), 0.001)


def test_weights_shorten_the_wait() -> None:
    backlog = Backlog()
    for user, weight in (("light", 1), ("heavy", 3)):
        backlog.add(reserved(user, weight, 100.0))
    assert backlog.ahead_of(reserved("light", 1, 50.0)) == 100 + 150 * 3
    assert backlog.ahead_of(reserved("heavy", 3, 50.0)) == 100 + 150 / 3
    assert backlog.ahead_of(reserved("new", 1, 50.0)) == 50 * 4
    assert backlog.ahead_of(reserved("new", 1, 50.0, is_background=True)) == 200
    assert backlog.mean == 100


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(1, 1e5), st.booleans()), max_size=40), st.data())
def test_the_backlog_is_the_sum_of_added_and_not_removed_jobs(
    work: list[tuple[str, float, bool]], data: st.DataObject
) -> None:
    weights = {"a": 1, "b": 2, "c": 5}
    backlog = Backlog()
    waiting: list[tuple[str, float, bool]] = []
    for item in work:
        backlog.add(reserved(item[0], weights[item[0]], item[1], is_background=item[2]))
        waiting.append(item)
        if data.draw(st.booleans()):
            user, cost, is_background = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            backlog.remove(reserved(user, weights[user], cost, is_background=is_background))
    foreground = [(user, cost) for user, cost, is_background in waiting if not is_background]
    everything = sum(cost for _, cost, _ in waiting)
    assert backlog.ahead_of(reserved("x", 1, 1.0, is_background=True)) == pytest.approx(everything, abs=1e-3)
    waits = {user for user, _ in foreground}
    for user, weight in weights.items():
        own = sum(cost for one, cost in foreground if one == user)
        others = sum(weights[one] for one in waits - {user})
        expected = own + (own + 7.0) * others / weight
        assert backlog.ahead_of(reserved(user, weight, 7.0)) == pytest.approx(expected, abs=1e-3)


def test_an_idle_service_does_not_refuse_by_the_pace_of_a_past_load() -> None:
    simulation = Simulation(5.0, num_users=1)
    crowd = [(number / 100, Request(50, 100, 100, 100)) for number in range(1000)]
    later = [(60.0 + 20.0 * number, Request(50, 500, 500, 500)) for number in range(5)]
    simulation.run([*crowd, *later], 200.0)
    assert simulation.refused
    in_time = {number for number, is_in_time, _ in simulation.finished if is_in_time}
    assert in_time >= set(range(1000, 1005))


def test_a_just_started_service_accepts_no_more_than_its_capacity() -> None:
    simulation = Simulation(10.0, num_users=1)
    simulation.run([(number / 200, Request(50, 300, 300, 300)) for number in range(1000)], 60.0)
    ends = [is_in_time for _, is_in_time, _ in simulation.finished]
    assert len(ends) + len(simulation.refused) == 1000
    assert ends.count(True) >= 2 * NUM_SLOTS
    assert ends.count(False) <= 0.05 * len(ends)
