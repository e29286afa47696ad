"""The circuit breaker opens on consecutive failures, probes one at a time, and ignores old outcomes."""

from __future__ import annotations

from cactus_actors.handoff.circuit_breaker import BreakerOutcome, CircuitBreaker


def make_breaker() -> CircuitBreaker:
    return CircuitBreaker(max_failures=5, open_s=30.0)


def attempt(breaker: CircuitBreaker, outcome: BreakerOutcome, now: float) -> None:
    permit = breaker.admit(now)
    assert permit is not None
    breaker.record(permit, outcome, now)


def opened(now: float = 0.0) -> CircuitBreaker:
    breaker = make_breaker()
    for _ in range(5):
        attempt(breaker, "failure", now)
    return breaker


def test_it_opens_at_the_fifth_failure_in_a_row_and_not_before() -> None:
    breaker = make_breaker()
    for _ in range(4):
        attempt(breaker, "failure", 0.0)
    attempt(breaker, "success", 0.0)
    for _ in range(4):
        attempt(breaker, "failure", 0.0)
    assert breaker.state(0.0) == "closed"
    attempt(breaker, "failure", 0.0)
    assert breaker.state(0.0) == "open"
    assert breaker.admit(29.9) is None


def test_neutral_outcomes_neither_open_it_nor_excuse_failures() -> None:
    breaker = make_breaker()
    for _ in range(100):
        attempt(breaker, "neutral", 0.0)
    assert breaker.state(0.0) == "closed"
    for _ in range(4):
        attempt(breaker, "failure", 0.0)
    attempt(breaker, "neutral", 0.0)
    attempt(breaker, "failure", 0.0)
    assert breaker.state(0.0) == "open"


def test_half_open_lets_one_probe_through_and_two_successes_close_it() -> None:
    breaker = opened()
    assert breaker.state(30.0) == "half_open"
    probe = breaker.admit(30.0)
    assert probe is not None
    assert breaker.admit(30.0) is None
    breaker.record(probe, "success", 31.0)
    assert breaker.state(31.0) == "half_open"
    attempt(breaker, "success", 31.0)
    assert breaker.state(31.0) == "closed"


def test_a_failed_probe_opens_it_again_for_the_whole_time() -> None:
    breaker = opened()
    attempt(breaker, "failure", 40.0)
    assert breaker.state(69.9) == "open"
    assert breaker.state(70.0) == "half_open"


def test_a_neutral_probe_makes_room_for_the_next() -> None:
    breaker = opened()
    attempt(breaker, "neutral", 30.0)
    assert breaker.state(30.0) == "half_open"
    assert breaker.admits(30.0)


def test_an_outcome_from_before_the_opening_says_nothing_about_after() -> None:
    breaker = make_breaker()
    old = [breaker.admit(0.0) for _ in range(3)]
    for _ in range(5):
        attempt(breaker, "failure", 0.0)
    probe = breaker.admit(30.0)
    assert probe is not None
    for permit, outcome in zip(old, ("success", "failure", "success"), strict=True):
        assert permit is not None
        breaker.record(permit, outcome, 30.0)  # type: ignore[arg-type]
    assert breaker.state(30.0) == "half_open"
    assert not breaker.admits(30.0)  # the probe has no result yet
