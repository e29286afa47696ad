"""How much a connection may say."""

from __future__ import annotations

from cactus_actors.router.auth.rate_limiter import RateLimit, TokenBuckets


def test_a_connection_may_say_so_much_at_once_and_so_much_a_second() -> None:
    meter = TokenBuckets(RateLimit(rate=10.0, burst=5.0))
    assert [meter.is_exceeded("a", 0.0) for _ in range(6)] == [False] * 5 + [True]
    assert not meter.is_exceeded("b", 0.0)
    assert not meter.is_exceeded("a", 1.0)
    steady = [meter.is_exceeded("c", step * 0.1) for step in range(100)]
    assert steady == [False] * 100


def test_what_costs_more_counts_for_more() -> None:
    meter = TokenBuckets(RateLimit(rate=10.0, burst=5.0))
    assert [meter.is_exceeded("a", 0.0, cost=2.0) for _ in range(3)] == [False, False, True]
