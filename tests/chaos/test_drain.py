"""Signals to `cactus serve` under load: short jobs end, the other ones continue in the next service."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client import Client
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.results import Result
from tests.support.http.batches import COMPLETIONS, begun, texts_of
from tests.support.http.event_reader import EventReader
from tests.support.processes.restartable_service import RestartableService
from tests.support.router.scripted_router import until

pytestmark = pytest.mark.chaos

UNREADY_S = 3.0
"""A tenth of a second was measured; the rest is allowance for a busy machine."""
OPTIONS: dict[str, Any] = {"ignore_eos": True, "temperature": 0.9}
SHORT, LONG, NUM_LINES = 20, 1000, 40
"""Tokens of jobs that end within the grace period, and of jobs that together do not."""
MAX_LONG = 44
MAX_DRAIN_S = 5.0

CONFIG = """
max_sequences = 48
cache_tokens = 57344
"""


class Draining(RestartableService):
    """A service with a grace period in which a third of `num_long` long jobs ends."""

    def __init__(self, state_dir: Path, tokens_per_s: float) -> None:
        long_per_s = tokens_per_s / LONG
        drain_s = min(MAX_DRAIN_S, MAX_LONG / long_per_s / 3)
        self.num_long = max(3, min(MAX_LONG, round(3 * drain_s * long_per_s)))
        print(f"{tokens_per_s:.0f} tokens/s: {self.num_long} long jobs, {drain_s:.1f} s")
        super().__init__(state_dir, "--drain-timeout", f"{drain_s:.2f}", "--config", str(config(state_dir)))


def config(state_dir: Path) -> Path:
    path = state_dir / "config.toml"
    path.write_text(CONFIG)
    return path


def tokens_per_second(state_dir: Path) -> float:
    """The rate of a full batch on this machine, under its present load."""
    state_dir.mkdir()
    service = RestartableService(state_dir, "--config", str(config(state_dir)))
    service.start()
    try:
        with service.client() as client:
            client.complete(prompt(0), max_tokens=LONG, **OPTIONS)
            started = time.monotonic()
            jobs = [client.submit(prompt(0), max_tokens=200, **OPTIONS) for _ in range(MAX_LONG)]
            for job_id in jobs:
                client.result(job_id)
            return MAX_LONG * 200 / (time.monotonic() - started)
    finally:
        service.stop()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Draining]:
    service = Draining(tmp_path, tokens_per_second(tmp_path / "measured"))
    service.start()
    yield service
    service.stop()


def prompt(number: int) -> str:
    return f"Tell me story number {number} about a fox."


LINES = [{"prompt": prompt(number), "seed": number, "max_tokens": 60, **OPTIONS} for number in range(NUM_LINES)]


def completed(service: RestartableService, number: int, max_tokens: int) -> Result:
    with service.client() as client:
        return client.complete(prompt(number), seed=number, max_tokens=max_tokens, **OPTIONS)


def seconds_until_unready(service: RestartableService, number: signal.Signals) -> float:
    """The time from the signal to 503 of /readyz, less the present latency of any reply."""

    def seconds_of_an_answer(status: int) -> float:
        requested_at = time.monotonic()
        return (http.get("/readyz").status_code == status) * (time.monotonic() - requested_at)

    with service.http() as http:
        answers = [seconds_of_an_answer(200) for _ in range(20)]
        assert all(answers)
        os.kill(service.process.pid, number)
        told_at = time.monotonic()
        while not seconds_of_an_answer(503):
            pass
        return time.monotonic() - told_at - max(answers)


def num_begun(client: Client) -> int:
    jobs = client.status().jobs
    return jobs.running + jobs.finished


def test_short_jobs_end_and_long_jobs_continue_in_the_next_service(service: Draining) -> None:
    num_long = service.num_long
    short, long = completed(service, 1, SHORT), completed(service, 2, LONG)
    body = {"prompt": prompt(2), "seed": 2, "max_tokens": LONG, **OPTIONS}
    with service.http() as http:
        long_text = http.post(COMPLETIONS, json=body).json()["choices"][0]["text"]
        undisturbed = texts_of(http, begun(http, LINES))
        batch_id = begun(http, LINES)
    reader = EventReader(service.url + COMPLETIONS, body, "long")
    with ThreadPoolExecutor() as threads, service.client() as following, service.client() as leaving:
        num_before = leaving.status().jobs.finished
        kept = [leaving.submit(prompt(2), seed=2, max_tokens=LONG, **OPTIONS) for _ in range(num_long)]
        followed = following.stream(prompt(2), seed=2, max_tokens=LONG, **OPTIONS)
        tokens = list(next(followed).token_ids)
        read = threads.submit(reader.read)
        until(lambda: reader.text != "")
        until(lambda: num_begun(leaving) >= num_before + num_long + 2)
        ending = leaving.submit(prompt(1), seed=1, max_tokens=SHORT, **OPTIONS)

        assert seconds_until_unready(service, signal.SIGTERM) < UNREADY_S
        with service.http() as http:
            assert http.get("/healthz").status_code == 200
            refused = http.post(COMPLETIONS, json={"prompt": "a"})
            assert (refused.status_code, refused.json()["error"]["type"]) == (503, "unavailable_error")
        with service.client() as late, pytest.raises(Unavailable, match="draining"):
            late.complete("a")
        assert leaving.result(ending).token_ids == short.token_ids
        with pytest.raises(httpx.HTTPError, match="draining"):
            read.result(60)
        status, printed = service.ended()
        assert status == 0
        assert "work left" in printed

        service.start()
        reader.read()
        assert reader.is_done
        assert reader.text == long_text
        for delta in followed:
            tokens += delta.token_ids
        assert tokens == followed.result().token_ids == long.token_ids
        with service.client() as client:
            assert all(client.result(job_id).token_ids == long.token_ids for job_id in kept)
            assert client.status().jobs.failed == 0
    with service.http() as http:
        assert texts_of(http, batch_id) == undisturbed

    with service.client() as client:  # killed while it drains
        kept = [client.submit(prompt(2), seed=2, max_tokens=LONG, **OPTIONS) for _ in range(num_long)]
        os.kill(service.process.pid, signal.SIGTERM)
        time.sleep(0.5)
        os.kill(service.process.pid, signal.SIGKILL)
        service.ended()
    until(lambda: service.pids() == {})
    service.interrupt_start(signal.SIGTERM)
    until(lambda: service.pids() == {})
    service.start()
    with service.client() as client:
        assert all(client.result(job_id).token_ids == long.token_ids for job_id in kept)

        for number in range(num_long):
            client.submit(prompt(number), max_tokens=LONG, **OPTIONS)
        os.kill(service.process.pid, signal.SIGTERM)
        assert service.process.stdout is not None
        assert "stopping" in service.process.stdout.readline()
        os.kill(service.process.pid, signal.SIGTERM)
        assert service.process.wait(timeout=30) == 128 + signal.SIGTERM  # it does not wait for its jobs
    until(lambda: service.pids() == {})
