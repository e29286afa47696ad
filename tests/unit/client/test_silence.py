"""When a client takes a silent service's connection for dead."""

from __future__ import annotations

from cactus_actors.client.reply_watchdog import PATIENCE_S, SLOWEST_LINK_BYTES_S, Silence


def test_who_asks_nothing_misses_nothing() -> None:
    silence = Silence()
    assert not silence.is_too_long(1e9)
    silence.on_asked(10, 5.0)
    silence.on_nothing_awaited()
    assert not silence.is_too_long(1e9)


def test_silence_counts_from_the_first_question_and_ends_with_any_answer() -> None:
    silence = Silence()
    silence.on_asked(0, 5.0)
    silence.on_asked(0, 8.0)
    assert not silence.is_too_long(5.0 + PATIENCE_S)
    assert silence.is_too_long(5.1 + PATIENCE_S)
    silence.on_heard()
    assert not silence.is_too_long(1e9)
    silence.on_asked(0, 20.0)
    assert not silence.is_too_long(20.0 + PATIENCE_S)


def test_a_slow_link_has_the_time_that_it_needs() -> None:
    silence = Silence()
    silence.on_asked(10 * SLOWEST_LINK_BYTES_S, 0.0)
    assert not silence.is_too_long(PATIENCE_S + 10.0)
    assert silence.is_too_long(PATIENCE_S + 10.1)


def test_each_time_in_vain_is_waited_for_twice_as_long_until_there_is_an_answer() -> None:
    silence, now, waits = Silence(), 0.0, []
    silence.on_asked(0, now)
    for _ in range(3):
        asked_at = now
        while not silence.is_too_long(now):
            now += 0.125
        silence.on_connected_anew(now)
        waits.append(round(now - asked_at))
    assert waits == [PATIENCE_S, 2 * PATIENCE_S, 4 * PATIENCE_S]
    silence.on_heard()
    silence.on_asked(0, now)
    assert silence.is_too_long(now + PATIENCE_S + 0.1)
