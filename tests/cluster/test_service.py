"""The whole service on either placement: both protocols, scaling, dying workers and routers, with real tokens."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client import Client
from cactus_actors.config import ServeConfig
from cactus_actors.fleet.start_phases import StartPhase
from cactus_actors.protocol.errors import ModelFileInvalid, Unavailable
from cactus_actors.service.service import Service
from tests.support.http.trust_nobody import TRUST_NOBODY
from tests.support.processes.open_sockets import parent_of, pid_of_router
from tests.support.services.running_service import (
    OPTIONS,
    STORY,
    Running,
    Serve,
    local_workers,
    wait_until,
)

LONG = {**OPTIONS, "max_tokens": 300, "ignore_eos": True}


def test_http_and_zeromq_give_the_same_answer(two_workers: Running) -> None:
    chat = {"messages": [{"role": "user", "content": "What is 2+2?"}], "seed": 1, "temperature": 0}
    with httpx.Client(base_url=f"http://{two_workers.http}", timeout=60, verify=TRUST_NOBODY) as http:
        answer = http.post("/v1/chat/completions", json=chat).json()
        result = two_workers.client.complete(**chat)
        assert answer["choices"][0]["message"]["content"] == result.text
        assert answer["usage"]["completion_tokens"] == result.usage.completion_tokens
        scored = {"prompt": "Once upon", "echo": True, "max_tokens": 0, "logprobs": 2}
        logprobs = http.post("/v1/completions", json=scored).json()["choices"][0]["logprobs"]
        assert logprobs["token_logprobs"][0] is None
        assert all(value <= 0 for value in logprobs["token_logprobs"][1:])
        [vector] = http.post("/v1/embeddings", json={"input": "hello"}).json()["data"]
        assert abs(sum(value * value for value in vector["embedding"]) - 1) < 1e-3
        assert http.get("/health").json() == {"status": "ok"}
        (worker, _) = local_workers(two_workers.client.status())
        assert f'cactus_worker_slots{{kind="local",worker="{worker}"}}' in http.get("/metrics").text


@pytest.mark.slow
@pytest.mark.parametrize("place", ["ray"], indirect=True)
def test_workers_spread_over_the_nodes_and_answer(serve: Serve) -> None:
    with serve(workers=2) as running:
        status = running.client.status()
        raylets = {parent_of(worker.pid) for worker in status.workers if worker.kind == "local"}
        assert len(raylets) == 2  # each node of the cluster on this machine is one raylet
        results = [running.client.complete(prompt=STORY, **OPTIONS) for _ in range(2)]
        assert results[0].token_ids == results[1].token_ids
        assert len(results[0].token_ids) == OPTIONS["max_tokens"]


def test_a_killed_worker_is_replaced_and_its_stream_continues(two_workers: Running) -> None:
    client = two_workers.client
    undisturbed = client.complete(prompt=STORY, **LONG)
    before = client.status()
    job_ids = [client.submit(prompt=STORY, **LONG) for _ in range(4)]
    stream = client.stream(prompt=STORY, **LONG)
    seen: list[int] = []
    text = ""
    for delta in stream:
        assert delta.index == len(seen)
        if not seen:
            busiest = max(client.status().workers, key=lambda worker: worker.num_running)
            os.kill(busiest.pid, signal.SIGKILL)
        seen += delta.token_ids
        text += delta.text
    assert seen == undisturbed.token_ids
    assert text == undisturbed.text
    results = [client.result(job_id) for job_id in job_ids]
    assert all(result.token_ids == undisturbed.token_ids for result in results)
    after = wait_until(client, lambda status: len(local_workers(status)) == 2)
    assert set(local_workers(after)) != set(local_workers(before))
    assert after.jobs.redispatched >= 1
    assert after.jobs.failed == 0


def test_the_next_router_finishes_accepted_jobs_without_a_new_submission(two_workers: Running) -> None:
    ended, left = "1" * 32, "2" * 32
    client, endpoints = two_workers.client, two_workers.endpoints
    undisturbed = client.complete(prompt=STORY, job_id=ended, **OPTIONS)
    before = client.status()
    with Client(endpoints.jobs, endpoints.stream, timeout=60.0) as leaving:
        leaving.submit(prompt=STORY, job_id=left, **OPTIONS)
    os.kill(pid_of_router(endpoints.jobs), signal.SIGKILL)
    assert client.result(left).token_ids == undisturbed.token_ids
    assert client.result(ended) == undisturbed
    assert client.status().epoch != before.epoch


@pytest.mark.chaos
def test_a_hung_worker_is_replaced_and_its_stream_continues(serve: Serve) -> None:
    with serve(workers=1) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        (hung,) = (worker for worker in running.client.status().workers if worker.kind == "local")
        stream = running.client.stream(prompt=STORY, **OPTIONS)
        seen: list[int] = []
        for delta in stream:
            if not seen:
                os.kill(hung.pid, signal.SIGSTOP)
            seen += delta.token_ids
        with contextlib.suppress(ProcessLookupError):  # the fleet may have been faster
            os.kill(hung.pid, signal.SIGKILL)
        assert seen == undisturbed.token_ids
        assert local_workers(running.client.status()) != [hung.worker_id]


@pytest.mark.chaos
def test_scaling_while_jobs_run_loses_none(serve: Serve) -> None:
    with serve(workers=1) as running:
        undisturbed = running.client.complete(prompt=STORY, **OPTIONS)
        job_ids = [running.client.submit(prompt=STORY, **OPTIONS) for _ in range(24)]
        running.client.scale(3)
        wait_until(running.client, lambda status: len(local_workers(status)) == 3)
        job_ids += [running.client.submit(prompt=STORY, **OPTIONS) for _ in range(24)]
        running.client.scale(1)
        results = [running.client.result(job_id) for job_id in job_ids]
        assert all(result.token_ids == undisturbed.token_ids for result in results)
        status = wait_until(running.client, lambda status: len(local_workers(status)) == 1)
        assert status.jobs.accepted == status.jobs.finished == len(job_ids) + 1


@pytest.mark.chaos
def test_a_dead_router_restarts_on_its_endpoints_and_clients_continue(serve: Serve) -> None:
    with serve(workers=1) as running:
        undisturbed = running.client.complete(prompt=STORY, **LONG)
        before = running.client.status()
        stream = running.client.stream(prompt=STORY, **LONG)
        seen: list[int] = []
        for delta in stream:
            if not seen:
                os.kill(pid_of_router(running.endpoints.jobs), signal.SIGKILL)
            seen += delta.token_ids
        assert seen == undisturbed.token_ids
        assert running.client.status().epoch != before.epoch


@pytest.mark.chaos
def test_replacing_workers_under_load_fails_no_job_and_changes_no_token(serve: Serve) -> None:
    with serve(workers=2) as running:
        client = running.client
        undisturbed = client.complete(prompt=STORY, **OPTIONS)
        before = set(local_workers(client.status()))
        jobs = [client.submit(prompt=STORY, **OPTIONS) for _ in range(24)]
        assert client.restart_workers() == 2
        while before & set(local_workers(client.status())):
            jobs.append(client.submit(prompt=STORY, **OPTIONS))
            assert len(jobs) < 2000
            time.sleep(0.05)
        for job_id in jobs:
            assert client.result(job_id).token_ids == undisturbed.token_ids
        status = wait_until(client, lambda status: len(local_workers(status)) == 2)
        assert status.jobs.failed == status.jobs.redispatched == 0


def test_an_unloadable_model_is_one_clear_error(place: dict[str, Any], tmp_path: Path) -> None:
    any_port = "tcp://127.0.0.1:*"
    config = ServeConfig(
        model="/no/such/model", jobs_endpoint=any_port, stream_endpoint=any_port, http="", state_dir=tmp_path, **place
    )
    with pytest.raises(ModelFileInvalid, match="/no/such/model"):
        Service(config).start()


def test_a_start_that_times_out_names_the_missing_parts(place: dict[str, Any], tmp_path: Path) -> None:
    config = ServeConfig(
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        http="",
        state_dir=tmp_path,
        ready_timeout_s=0.01,
        **place,
    )
    with pytest.raises(Unavailable, match=r"no progress for 0.01 s: the router starts \(--ready-timeout"):
        Service(config).start()


def test_each_phase_of_a_start_prints_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACTUS_CACHE_DIR", str(tmp_path / "cache"))  # nothing is packed there
    lines: list[str] = []
    config = ServeConfig(
        jobs_endpoint="tcp://127.0.0.1:*", stream_endpoint="tcp://127.0.0.1:*", http="", state_dir=tmp_path
    )
    phases: list[StartPhase] = []
    service = Service(config, announce=lines.append, show_phase=phases.append)
    service.start()
    service.stop()
    assert lines[:2] == ["placing: actors are processes of this machine", "worker-1 starts"]
    assert {phase.who for phase in phases} == {"worker-1"}
    assert {"loading"} <= {phase.name for phase in phases} <= {"placing", "loading", "packing", "compiling"}
