"""Token buckets: the burst and the rate."""

from __future__ import annotations

from cactus_actors.router.auth.token_buckets import MAX_BUCKETS, RateLimit, TokenBuckets

LIMIT = RateLimit(rate=10.0, burst=5.0)


def is_exceeded(buckets: TokenBuckets, name: str, now: float, cost: float = 1.0) -> bool:
    """Take this amount; True if the bucket held less."""
    bucket = buckets.filled(name, LIMIT, now)
    bucket.left -= cost
    return bucket.left < 0.0


def test_a_connection_has_a_burst_and_a_rate() -> None:
    meter = TokenBuckets()
    assert [is_exceeded(meter, "a", 0.0) for _ in range(6)] == [False] * 5 + [True]
    assert not is_exceeded(meter, "b", 0.0)
    assert not is_exceeded(meter, "a", 1.0)
    steady = [is_exceeded(meter, "c", step * 0.1) for step in range(100)]
    assert steady == [False] * 100


def test_costs_are_weighted() -> None:
    meter = TokenBuckets()
    assert [is_exceeded(meter, "a", 0.0, cost=2.0) for _ in range(3)] == [False, False, True]


def test_the_time_until_enough_tokens_is_returned() -> None:
    bucket = TokenBuckets().filled("a", LIMIT, 0.0)
    bucket.left -= 4.0
    assert [bucket.seconds_until(amount) for amount in (1.0, 3.0)] == [0.0, 0.2]


def test_empty_buckets_are_kept_and_full_ones_forgotten() -> None:
    buckets = TokenBuckets()
    buckets.filled("flooder", LIMIT, 0.0).left -= 1e6
    for number in range(2 * MAX_BUCKETS):
        assert not is_exceeded(buckets, f"connection {number}", 0.11 * number)
        assert len(buckets) <= MAX_BUCKETS
    assert buckets.filled("flooder", LIMIT, 0.22 * MAX_BUCKETS).left < 0.0


def test_the_number_of_buckets_is_bounded() -> None:
    buckets = TokenBuckets()
    for number in range(MAX_BUCKETS + 1):
        assert not is_exceeded(buckets, f"connection {number}", 0.0)
    assert len(buckets) == 1
