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


def test_the_breaker_opens_at_the_fifth_consecutive_failure() -> None:
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


def test_neutral_outcomes_do_not_change_the_number_of_failures() -> None:
    breaker = make_breaker()
    for _ in range(100):
        attempt(breaker, "neutral", 0.0)
    assert breaker.state(0.0) == "closed"
    for _ in range(4):
        attempt(breaker, "failure", 0.0)
    attempt(breaker, "neutral", 0.0)
    attempt(breaker, "failure", 0.0)
    assert breaker.state(0.0) == "open"


def test_a_half_open_breaker_admits_one_probe_and_closes_after_two_successes() -> None:
    breaker = opened()
    assert breaker.state(30.0) == "half_open"
    probe = breaker.admit(30.0)
    assert probe is not None
    assert breaker.admit(30.0) is None
    breaker.record(probe, "success", 31.0)
    assert breaker.state(31.0) == "half_open"
    attempt(breaker, "success", 31.0)
    assert breaker.state(31.0) == "closed"


def test_a_failed_probe_opens_the_breaker_for_its_whole_time() -> None:
    breaker = opened()
    attempt(breaker, "failure", 40.0)
    assert breaker.state(69.9) == "open"
    assert breaker.state(70.0) == "half_open"


def test_a_neutral_probe_admits_the_next() -> None:
    breaker = opened()
    attempt(breaker, "neutral", 30.0)
    assert breaker.state(30.0) == "half_open"
    assert breaker.admits(30.0)


def test_outcomes_of_requests_before_the_opening_do_not_count() -> None:
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
