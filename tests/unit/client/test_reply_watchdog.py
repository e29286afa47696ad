"""The timeout after which a client treats the connection of a silent service as dead."""

from __future__ import annotations

from cactus_actors.client.reply_watchdog import MIN_LINK_BYTES_PER_S, REPLY_TIMEOUT_S, ReplyWatchdog


def test_without_requests_there_is_no_timeout() -> None:
    watchdog = ReplyWatchdog()
    assert not watchdog.has_expired(1e9)
    watchdog.on_sent(10, 5.0)
    watchdog.on_idle()
    assert not watchdog.has_expired(1e9)


def test_the_timeout_counts_from_the_first_request_and_ends_with_any_reply() -> None:
    watchdog = ReplyWatchdog()
    watchdog.on_sent(0, 5.0)
    watchdog.on_sent(0, 8.0)
    assert not watchdog.has_expired(5.0 + REPLY_TIMEOUT_S)
    assert watchdog.has_expired(5.1 + REPLY_TIMEOUT_S)
    watchdog.on_reply()
    assert not watchdog.has_expired(1e9)
    watchdog.on_sent(0, 20.0)
    assert not watchdog.has_expired(20.0 + REPLY_TIMEOUT_S)


def test_a_slow_link_gets_more_time() -> None:
    watchdog = ReplyWatchdog()
    watchdog.on_sent(10 * MIN_LINK_BYTES_PER_S, 0.0)
    assert not watchdog.has_expired(REPLY_TIMEOUT_S + 10.0)
    assert watchdog.has_expired(REPLY_TIMEOUT_S + 10.1)


def test_the_timeout_doubles_after_each_reconnection() -> None:
    watchdog, now, waits = ReplyWatchdog(), 0.0, []
    watchdog.on_sent(0, now)
    for _ in range(3):
        requested_at = now
        while not watchdog.has_expired(now):
            now += 0.125
        watchdog.on_reconnected(now)
        waits.append(round(now - requested_at))
    assert waits == [REPLY_TIMEOUT_S, 2 * REPLY_TIMEOUT_S, 4 * REPLY_TIMEOUT_S]
    watchdog.on_reply()
    watchdog.on_sent(0, now)
    assert watchdog.has_expired(now + REPLY_TIMEOUT_S + 0.1)
