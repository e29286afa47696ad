"""An idle service sleeps: no loop polls."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from cactus_actors.client import Client
from tests.support.processes.serve_command import below, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at /proc"),
]

SETTLE_S, LOOKED_AT_S = 5.0, 10.0
MOST_OF_A_THREAD, MOST_OF_ALL = 15, 90
"""Per second: 12 and 66 as measured; a thread that polls every 50 ms wakes 20 times."""

Wakes = dict[tuple[str, str], int]


def num_wakes(root: int) -> Wakes:
    """The number of voluntary context switches of each thread of a process and of its descendants so far."""
    counts = {}
    for pid in (root, *below(root)):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", (task / "status").read_text(), re.M)
            assert found is not None
            counts[str(pid), task.name] = int(found[1])
    return counts


def test_an_idle_service_does_not_poll(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        with Client(service.jobs, service.stream, timeout=60.0) as client:
            client.complete("Hello", max_tokens=4)
        time.sleep(SETTLE_S)
        before, began = num_wakes(service.process.pid), time.monotonic()
        time.sleep(LOOKED_AT_S)
        after, seconds = num_wakes(service.process.pid), time.monotonic() - began
    rates = {thread: (count - before.get(thread, 0)) / seconds for thread, count in after.items()}
    print(f"{sum(rates.values()):.0f} times a second in all, at most {max(rates.values()):.0f} a thread")
    assert max(rates.values()) < MOST_OF_A_THREAD
    assert sum(rates.values()) < MOST_OF_ALL
