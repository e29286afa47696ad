"""On a machine with hardly any free processor time the service is slow, ends no process, and answers correctly."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client import Client
from tests.support.processes.serve_command import Serving, below, is_called, serving
from tests.support.processes.spinning import spinning

ACTORS = ("RouterActor", "WorkerActor", "HandoffActor", "GatewayActor", "cactus_actors.router.edge.edge_child")
OPTIONS: dict[str, Any] = {"max_tokens": 40, "ignore_eos": True, "temperature": 0.9}
NUM_CLIENTS = 3
PATIENCE_S = 300.0


@pytest.mark.parametrize(
    ("count", "seconds"),
    [
        pytest.param(24, 10.0, marks=pytest.mark.slow),  # it would starve the tests that run at the same time, too
        pytest.param(100, 300.0, marks=pytest.mark.chaos),
    ],
)
def test_a_starved_machine_ends_no_actor_and_changes_no_result(tmp_path: Path, count: int, seconds: float) -> None:
    with serving(tmp_path, "--workers", "2") as service:
        with Client(service.jobs, service.stream, timeout=PATIENCE_S) as client:
            expected = [complete(client, seed) for seed in range(NUM_CLIENTS)]
        before = actors(service)
        assert {kind for kind, _ in before} == set(ACTORS)
        with spinning(count), ThreadPoolExecutor(NUM_CLIENTS + 1) as threads:
            until = time.monotonic() + seconds
            answering = [threads.submit(answers, service, seed, until) for seed in range(NUM_CLIENTS)]
            over_http = threads.submit(http_answers, service, until)
            for seed, found in enumerate(answering):
                assert all(tokens == expected[seed] for tokens in found.result())
            refused = [text for status, text in over_http.result() if status != 200]
        assert not any("Loading" in text for text in refused), refused
        assert actors(service) == before
        assert not service.said("does not answer")
        with Client(service.jobs, service.stream, timeout=PATIENCE_S) as client:
            jobs = client.status().jobs
        print(f"{jobs.finished} jobs, {jobs.redispatched} went on at another worker, {len(refused)} refused")
        assert (jobs.failed, jobs.cancelled) == (0, 0)


def actors(service: Serving) -> set[tuple[str, int]]:
    """The process of every actor: its kind and process id."""
    return {
        (kind, pid)
        for pid, command in below(service.process.pid).items()
        for kind in ACTORS
        if is_called(command, kind)
    }


def complete(client: Client, seed: int) -> list[int]:
    return client.complete("Tell me a story about a fox.", seed=seed, **OPTIONS).token_ids


def answers(service: Serving, seed: int, until: float) -> list[list[int]]:
    """The tokens of jobs that run one after the other; there is at least one."""
    with Client(service.jobs, service.stream, timeout=PATIENCE_S) as client:
        found = [complete(client, seed)]
        while time.monotonic() < until:
            found.append(complete(client, seed))
    return found


def http_answers(service: Serving, until: float) -> list[tuple[int, str]]:
    """Status and body of requests that are sent one after the other."""
    found = []
    with httpx.Client(base_url=service.http or "", timeout=PATIENCE_S) as http:
        while time.monotonic() < until:
            response = http.post("/v1/completions", json={"prompt": "Hello", "max_tokens": 4, "seed": 1})
            found.append((response.status_code, response.text))
    return found
