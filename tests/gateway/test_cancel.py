"""Cancellation: fast, once, and with the same outcome for all clients, even at the end of the job."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.http.raw_http import connection, post
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service

STEP_S = 0.004
WORDS = STORY * 4
NUM_RACES = 30
ABORTED_WITHIN_S = 0.25
NUM_LEAVING = 10


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    with fake_worker_service(tmp_path_factory.mktemp("state"), words=WORDS, step_s=STEP_S) as service:
        yield service


def test_a_race_of_cancel_and_finish_has_one_outcome_for_all_clients(service: FakeWorkerService) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    winners: Counter[str] = Counter()
    usual_s = STEP_S * len(WORDS)  # the duration of a job, adjusted by the winner of the race
    with service.http() as http, service.client() as client, ThreadPoolExecutor(4) as threads:
        for number in range(NUM_RACES):
            headers = {"idempotency-key": f"race-{number}"}
            body = {"prompt": "a", "stream": True, "seed": number}
            reading = threads.submit(http.post, "/v1/completions", json=body, headers=headers)
            until(lambda before=number: len(service.worker.dispatches) > before)  # type: ignore[misc]
            job_id = service.worker.dispatches[-1].job_id
            waiting = threads.submit(client.result, job_id)
            time.sleep(chance.uniform(0.7, 1.3) * usual_s)
            states = http.delete(f"/v1/requests/{job_id[:24]}").json()["states"]
            seen = http.get(f"/v1/requests/{job_id[:24]}").json()["choices"][0]["result"]
            winner = seen["finish_reason"]
            winners[winner] += 1
            usual_s *= 1.3 if winner == "cancelled" else 0.8
            assert waiting.result(60).finish_reason == client.result(job_id).finish_reason == winner
            assert states == ["cancelled" if winner == "cancelled" else "finished"]
            assert http.delete(f"/v1/requests/{job_id[:24]}").json()["states"] == states
            text, reason = read(reading.result(60))
            assert reason == winner
            assert text == seen["text"]
            assert text == "".join(WORDS) if winner == "stop" else "".join(WORDS).startswith(text)
        jobs = client.status().jobs
    assert set(winners) == {"cancelled", "stop"}, winners
    assert (jobs.finished, jobs.cancelled) == (winners["stop"], winners["cancelled"])


def read(response: httpx.Response) -> tuple[str, str]:
    """The text of a stream, and its only finish reason; nothing follows that."""
    *frames, done = response.text.strip().split("\n\n")
    assert done == "data: [DONE]"
    lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
    choices: list[dict[str, Any]] = [json.loads(line[6:])["choices"][0] for line in lines]
    reasons = [choice["finish_reason"] for choice in choices]
    assert set(reasons[:-1]) <= {None}
    return "".join(choice["text"] for choice in choices), reasons[-1]


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_disconnected_client_is_detected_at_once(service: FakeWorkerService, is_streamed: bool) -> None:
    """The machine may be busy: the fastest of several tries counts."""
    service.worker.words = ("x",) * 100_000
    body = json.dumps({"prompt": "a", "stream": is_streamed}).encode()
    seconds: list[float] = []
    try:
        for _ in range(NUM_LEAVING):
            num_before = len(service.worker.aborted)
            with connection(service.url) as opened:
                opened.sendall(post(body=body))
                until(lambda: service.worker.num_running == 1)
            left_at = time.monotonic()
            until(lambda before=num_before: len(service.worker.aborted) > before)  # type: ignore[misc]
            seconds.append(time.monotonic() - left_at)
    finally:
        service.worker.words = WORDS
    assert min(seconds) < ABORTED_WITHIN_S
