"""The wall clock is set by days while jobs run: no deadline, retention or token changes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from cactus_actors.protocol.errors import DeadlineExceeded
from tests.chaos.soak.stage import staged
from tests.support.http.batches import begun, texts_of
from tests.support.processes.restartable_service import CACTUS, RestartableService
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import once_after
from tests.support.router.scripted_router import until

pytestmark = pytest.mark.chaos

TWO_DAYS_S = 2 * 86_400.0
TIMEOUT_MS = 1000

# Python's own view of the wall clock, the only one that actors use, offset by the number in a file.
SET_CLOCK = """
import time
seconds, nanoseconds = time.time, time.time_ns
def shift():
    with open({path!r}) as file:
        return float(file.read())
time.time = lambda: seconds() + shift()
time.time_ns = lambda: nanoseconds() + int(shift() * 1e9)
"""


class Clock:
    """The wall clock of all processes whose command begins with `prefix`, and of their descendants."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "clock"
        self.set(0.0)
        customizing = directory / "customizing"
        customizing.mkdir()
        (customizing / "sitecustomize.py").write_text(SET_CLOCK.format(path=str(self._path)))
        path = os.pathsep.join(filter(None, (str(customizing), os.environ.get("PYTHONPATH"))))
        self.prefix = ("env", f"PYTHONPATH={path}")

    def set(self, shift_s: float) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(str(shift_s))
        part.replace(self._path)


@pytest.mark.parametrize("shift_s", [TWO_DAYS_S, -TWO_DAYS_S])
async def test_setting_the_clock_changes_log_times_only(tmp_path: Path, shift_s: float) -> None:
    clock = Clock(tmp_path)
    processes = Processes(tmp_path, router_prefix=clock.prefix, worker_prefix=clock.prefix)
    try:
        async with staged(tmp_path, processes.jobs, processes.stream) as stage:
            for number in range(4):
                await stage.reference.complete(number)
            ended = await stage.operator.submit("hello", max_tokens=4, seed=1)
            result = await stage.operator.result(ended)
            set_once = once_after(20, lambda: clock.set(shift_s))
            patient = stage.operator.submit("hello", max_tokens=4, timeout_ms=600_000)
            await asyncio.gather(*(stage.reference.stream(number, set_once) for number in range(4)), patient)

            processes.workers[0].send_signal(signal.SIGSTOP)  # the rest cannot end in time
            requested_at = time.monotonic()
            with pytest.raises(DeadlineExceeded):
                await stage.operator.complete("hello", max_tokens=4, timeout_ms=TIMEOUT_MS)
            assert TIMEOUT_MS / 1000 <= time.monotonic() - requested_at < 60.0
            processes.workers[0].send_signal(signal.SIGCONT)
            assert await stage.operator.result(ended) == result

            # The next router on the same journal has the state of the last one.
            left = await stage.operator.submit("Tell me.", max_tokens=400, ignore_eos=True, timeout_ms=600_000)
            await asyncio.to_thread(processes.kill_router)
            assert len((await stage.operator.result(left)).token_ids) == 400
            assert await stage.operator.result(ended) == result
            await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            status = await stage.judge()
            assert status.jobs.failed == 1  # the one whose time was over
    finally:
        processes.stop()


NUM_LINES = 300
OPTIONS = {"max_tokens": 60, "ignore_eos": True}


def test_setting_the_clock_ends_no_batch_and_no_prompt_file_run(tmp_path: Path) -> None:
    """This also holds when gateway and router are killed and start again on another date."""
    shift_s = TWO_DAYS_S  # the test of the gateway alone covers a clock that is set back
    clock = Clock(tmp_path)
    state = tmp_path / "state"
    state.mkdir()
    service = RestartableService(state, prefix=clock.prefix)
    service.start()
    running = None
    try:
        with service.client() as client, service.http() as http:
            ended = client.submit("hello", seed=1, **OPTIONS)
            result = client.result(ended)
            running = subprocess.Popen(prompt_file(tmp_path, service, clock))
            partial = tmp_path / "out.jsonl.partial"
            until(lambda: partial.exists() and partial.stat().st_size > 0, 60)
            batch_id = begun(http, [{"prompt": f"Tell {n}.", "seed": n, **OPTIONS} for n in range(NUM_LINES)])
            until(lambda: http.get(f"/v1/batches/{batch_id}").json()["request_counts"]["completed"], 60)
            clock.set(shift_s)
            batch = http.get(f"/v1/batches/{batch_id}").json()
            assert (batch["status"], running.poll()) == ("in_progress", None)
            for actor in ("GatewayActor", "RouterActor"):
                os.kill(service.pid_of(actor), signal.SIGKILL)
                until(lambda: is_ready(service), 60)
            later = begun(http, [{"prompt": "hello", **OPTIONS}])
            told_later = http.get(f"/v1/batches/{later}").json()["created_at"] - batch["created_at"]
            assert abs(told_later - shift_s) < 120
            assert len(texts_of(http, batch_id)) == len(texts_of(http, later)) * NUM_LINES == NUM_LINES
            assert running.wait(120) == 0
            assert len((tmp_path / "out.jsonl").read_text().splitlines()) == NUM_LINES
            assert client.result(ended) == result
    finally:
        if running is not None:
            running.kill()
            running.wait()
        service.stop()


def prompt_file(directory: Path, service: RestartableService, clock: Clock) -> list[str]:
    """The command that runs a prompt file."""
    source = directory / "prompts.jsonl"
    source.write_text("".join(json.dumps(f"Tell {number}.") + "\n" for number in range(NUM_LINES)))
    command = [*clock.prefix, *CACTUS, "batch", str(source), "-o", str(directory / "out.jsonl")]
    command += ["--max-in-flight", "2", "--max-tokens", "60"]
    return [*command, "--endpoint", service.jobs, "--stream-endpoint", service.stream]


def is_ready(service: RestartableService) -> bool:
    try:
        return httpx.get(f"{service.url}/readyz", timeout=30.0).status_code == 200
    except httpx.HTTPError:
        return False
