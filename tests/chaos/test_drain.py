"""Signals to `cactus serve` under load: what runs may end, what is left goes on in the next service."""

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

from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.results import Result
from tests.chaos.event_reader import EventReader
from tests.chaos.http_batches import COMPLETIONS, begun, texts_of
from tests.chaos.restartable import RestartableService
from tests.scripted_router import until

pytestmark = pytest.mark.chaos

UNREADY_S = 0.1
AT_ONCE_S = 2.0
OPTIONS: dict[str, Any] = {"ignore_eos": True, "temperature": 0.9}
SHORT, LONG, NUM_LONG, NUM_LINES = 20, 1000, 40, 40
"""Tokens of jobs that end in the time which the service is given, and of so many that together do not."""

CONFIG = """
max_sequences = 48
cache_tokens = 57344
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RestartableService]:
    config = tmp_path / "config.toml"
    config.write_text(CONFIG)
    service = RestartableService(tmp_path, "--drain-timeout", "1", "--config", str(config))
    service.start()
    yield service
    service.stop()


def prompt(number: int) -> str:
    return f"Tell me story number {number} about a fox."


LINES = [
    {"prompt": prompt(number), "seed": number, "max_tokens": 60, **OPTIONS} for number in range(NUM_LINES)
]


def completed(service: RestartableService, number: int, max_tokens: int) -> Result:
    with service.client() as client:
        return client.complete(prompt(number), seed=number, max_tokens=max_tokens, **OPTIONS)


def seconds_until_unready(service: RestartableService, number: signal.Signals) -> float:
    """How long after the signal /readyz says 503, less what any answer takes just then."""

    def seconds_of_an_answer(status: int) -> float:
        asked_at = time.monotonic()
        return (http.get("/readyz").status_code == status) * (time.monotonic() - asked_at)

    with service.http() as http:
        answers = [seconds_of_an_answer(200) for _ in range(20)]
        assert all(answers)
        os.kill(service.process.pid, number)
        told_at = time.monotonic()
        while not seconds_of_an_answer(503):
            pass
        return time.monotonic() - told_at - max(answers)


def test_what_is_short_ends_and_what_is_long_goes_on_in_the_next_service(service: RestartableService) -> None:
    short, long = completed(service, 1, SHORT), completed(service, 2, LONG)
    body = {"prompt": prompt(2), "seed": 2, "max_tokens": LONG, **OPTIONS}
    with service.http() as http:
        long_text = http.post(COMPLETIONS, json=body).json()["choices"][0]["text"]
        undisturbed = texts_of(http, begun(http, LINES))
        batch_id = begun(http, LINES)
    reader = EventReader(service.url + COMPLETIONS, body, "long")
    with ThreadPoolExecutor() as threads, service.client() as following, service.client() as leaving:
        kept = [leaving.submit(prompt(2), seed=2, max_tokens=LONG, **OPTIONS) for _ in range(NUM_LONG)]
        followed = following.stream(prompt(2), seed=2, max_tokens=LONG, **OPTIONS)
        tokens = list(next(followed).token_ids)
        read = threads.submit(reader.read)
        until(lambda: reader.text != "")
        until(lambda: leaving.status().jobs.running >= NUM_LONG + 2)
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
        kept = [client.submit(prompt(2), seed=2, max_tokens=LONG, **OPTIONS) for _ in range(NUM_LONG)]
        os.kill(service.process.pid, signal.SIGTERM)
        time.sleep(0.5)
        os.kill(service.process.pid, signal.SIGKILL)
        service.ended()
    until(lambda: service.pids() == {}, 10)
    service.interrupt_start(signal.SIGTERM)
    until(lambda: service.pids() == {}, 10)
    service.start()
    with service.client() as client:
        assert all(client.result(job_id).token_ids == long.token_ids for job_id in kept)

        for number in range(NUM_LONG):
            client.submit(prompt(number), max_tokens=LONG, **OPTIONS)
        os.kill(service.process.pid, signal.SIGTERM)
        assert service.process.stdout is not None
        assert "stopping" in service.process.stdout.readline()
        os.kill(service.process.pid, signal.SIGTERM)
        told_at = time.monotonic()
        assert service.process.wait(timeout=30) == 128 + signal.SIGTERM
        assert time.monotonic() - told_at < AT_ONCE_S
    until(lambda: service.pids() == {}, 10)
