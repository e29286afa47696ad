"""A wall clock that is set by days while jobs run: no deadline, no retention and no token moves."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import DeadlineExceeded
from tests.chaos.processes import ROUTER, Processes
from tests.chaos.stage import staged
from tests.chaos.watching import once_after

pytestmark = pytest.mark.chaos

TWO_DAYS_S = 2 * 86_400.0

# Python's own view of the wall clock, which is the only one that the router has, behind what a file says.
SET_CLOCK = """
import time
seconds, nanoseconds = time.time, time.time_ns
def shift():
    with open({path!r}) as file:
        return float(file.read())
time.time = lambda: seconds() + shift()
time.time_ns = lambda: nanoseconds() + int(shift() * 1e9)
"""


@pytest.mark.parametrize("shift_s", [TWO_DAYS_S, -TWO_DAYS_S])
async def test_a_clock_that_is_set_moves_log_times_and_nothing_else(tmp_path: Path, shift_s: float) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    processes = Processes(tmp_path, router_program=SET_CLOCK.format(path=str(clock)) + ROUTER)
    try:
        async with staged(tmp_path, processes.jobs, processes.stream) as stage:
            for number in range(4):
                await stage.reference.complete(number)
            ended = await stage.operator.submit("hello", max_tokens=4, seed=1)
            result = await stage.operator.result(ended)
            set_once = once_after(20, lambda: clock.write_text(str(shift_s)) and None)
            patient = stage.operator.submit("hello", max_tokens=4, timeout_ms=600_000)
            await asyncio.gather(*(stage.reference.stream(number, set_once) for number in range(4)), patient)

            asked_at = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                await stage.operator.complete("hello", max_tokens=900, ignore_eos=True, timeout_ms=100)
            assert 0.1 <= time.monotonic() - asked_at < 5.0
            assert await stage.operator.result(ended) == result

            # The next router on the same journal knows what the last one knew.
            left = await stage.operator.submit(
                "Tell me.", max_tokens=400, ignore_eos=True, timeout_ms=600_000
            )
            await asyncio.to_thread(processes.kill_router)
            assert len((await stage.operator.result(left)).token_ids) == 400
            assert await stage.operator.result(ended) == result
            await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            status = await stage.judge()
            assert status.jobs.failed == 1  # the one whose time was over
    finally:
        processes.stop()
