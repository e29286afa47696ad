"""A flood of warnings becomes one line a second, which counts the others."""

from __future__ import annotations

import logging

import pytest

from cactus_actors.process.throttled_log import ThrottledLog


def test_a_flood_of_warnings_is_one_line_per_second_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    log = ThrottledLog(logging.getLogger("throttled"), 1.0, clock=lambda: now)
    for number in range(5):
        log.warning("closed connection %d", number)
    now += 1.0
    log.warning("closed connection %d", 5)
    now += 1.0
    log.warning("closed connection %d", 6)
    assert caplog.messages == [
        "closed connection 0",
        "closed connection 5 (4 similar messages before it were left out)",
        "closed connection 6",
    ]
