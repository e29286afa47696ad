"""One service of two models: requests choose, each model has workers of its own, and losses stay within a model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.batch import BatchRequest, SecondPassReport, run_batch, run_second_pass
from cactus_actors.client import AsyncClient, Client
from cactus_actors.config import ServeConfig
from cactus_actors.config_models import CascadeSettings, CascadeTier, ModelEntry
from cactus_actors.config_scaling import ScalingSettings
from cactus_actors.protocol.errors import ModelFailure, ModelNotFound
from cactus_actors.protocol.messages import Status
from cactus_actors.service.service import Service
from tests.support.models.letter_tokenizer import write_letter_tokenizer
from tests.support.processes.open_sockets import pid_of_router
from tests.support.services.running_service import Running, running_service, wait_until

GOLDEN = Path(__file__).parent.parent / "goldens/llama3"
OPTIONS: dict[str, Any] = {"max_tokens": 24, "ignore_eos": True, "seed": 5}
LONG: dict[str, Any] = {**OPTIONS, "max_tokens": 500}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny model."""
    tiny = tmp_path_factory.mktemp("tiny")
    shutil.copytree(GOLDEN, tiny, dirs_exist_ok=True)
    vocab_size = json.loads((tiny / "config.json").read_text())["vocab_size"]
    write_letter_tokenizer(tiny, vocab_size)
    return tiny


@pytest.fixture(scope="module")
def rare(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a model that is unloaded while it has no job: those of the tiny one."""
    rare = tmp_path_factory.mktemp("rare")
    shutil.copytree(tiny, rare, dirs_exist_ok=True)
    return rare


@pytest.fixture(scope="module")
def running(tiny: Path, rare: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = ServeConfig(
        models=[
            ModelEntry(name="cactus-sprout", aliases=["small"]),
            ModelEntry(name="tiny", path=str(tiny), aliases=["big"], weights="float32"),
            ModelEntry(name="rare", path=str(rare), weights="float32", unload_after_s=0.5),
            ModelEntry(name="elastic", path=str(tiny), weights="float32", workers="0:2", max_sequences=1),
        ],
        scaling=ScalingSettings(down_after_s=2.0),
        cascade=CascadeSettings(
            name="both", tiers=[CascadeTier(model="cactus-sprout", threshold=1.0), CascadeTier(model="tiny")]
        ),
        cache_tokens=4096,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path_factory.mktemp("state"),
        http="127.0.0.1:0",
    )
    with running_service(config, cores=8) as service:
        yield service


def workers_of(status: Status, model: str) -> list[str]:
    return [worker.worker_id for worker in status.workers if worker.model == model]


def test_each_request_is_answered_by_the_model_that_it_names(running: Running) -> None:
    client = running.client
    small, tiny = (client.complete(prompt="Once", model=name, **OPTIONS) for name in ("small", "big"))
    assert (small.worker, tiny.worker) == ("cactus-sprout-1", "tiny-1")
    assert client.complete(prompt="Once", **OPTIONS).token_ids == small.token_ids
    assert client.complete(prompt="Once", **OPTIONS).model == "cactus-sprout"
    assert small.token_ids != tiny.token_ids
    assert small.usage.prompt_tokens != 0
    with pytest.raises(ModelNotFound, match="models of this service: cactus-sprout, tiny, rare, elastic, both"):
        client.complete(prompt="Once", model="medium", **OPTIONS)


def test_http_lists_the_models_and_uses_the_tokenizer_of_each(running: Running) -> None:
    with httpx.Client(base_url=f"http://{running.http}", timeout=60) as http:
        cards = http.get("/v1/models").json()["data"]
        assert [card["id"] for card in cards] == ["cactus-sprout", "tiny", "rare", "elastic", "both"]
        assert [card["aliases"] for card in cards] == [["small"], ["big"], [], [], []]
        assert http.get("/v1/models/big").json()["id"] == "tiny"
        ids = {
            name: http.post("/tokenize", json={"content": "a story", "model": name}).json()["tokens"]
            for name in ("small", "tiny")
        }
        assert ids["small"] != ids["tiny"]
        for name, prompt in ids.items():
            body = {"model": name, "prompt": "a story", "max_tokens": 4}
            answer = http.post("/v1/completions", json=body).json()
            assert answer["model"] == name
            assert len(prompt) <= answer["usage"]["prompt_tokens"] <= len(prompt) + 1  # a first token
        for path, body in (("/tokenize", {"content": "a"}), ("/v1/completions", {"prompt": "a"})):
            refused = http.post(path, json={**body, "model": "medium"})
            assert refused.status_code == 404
            assert "cactus-sprout, tiny, rare, elastic, both" in refused.json()["error"]["message"]
        metrics = http.get("/metrics").text
        for model in ("cactus-sprout", "tiny"):
            assert f'cactus_request_success_total{{finished_reason="length",model_name="{model}"}}' in metrics or (
                f'cactus_request_success_total{{model_name="{model}",finished_reason="length"}}' in metrics
            )
            assert f'cactus_model_workers_desired{{model_name="{model}"}} 1.0' in metrics


def test_a_cascade_hands_on_what_its_first_model_is_not_sure_of(running: Running) -> None:
    client = running.client
    alone = client.complete(prompt="Once", model="tiny", **OPTIONS)
    result = client.complete(prompt="Once", model="both", **OPTIONS)
    assert (result.model, result.token_ids, result.usage) == ("tiny", alone.token_ids, alone.usage)
    assert isinstance(result.handoff.path, list)
    assert [(tier.model, tier.gate) for tier in result.handoff.path] == [
        ("cactus-sprout", "first token"),
        ("tiny", None),
    ]
    stream = client.stream(prompt="Once", model="both", **OPTIONS)
    deltas = list(stream)
    assert "".join(delta.text for delta in deltas) == alone.text
    assert {delta.model for delta in deltas} == {"tiny"}
    body = {"model": "both", "prompt": "Once", "max_tokens": 8, "seed": 5}
    answer = httpx.post(f"http://{running.http}/v1/completions", json=body, timeout=60).json()
    assert (answer["model"], [tier["model"] for tier in answer["handoff"]["path"]]) == (
        "tiny",
        ["cactus-sprout", "tiny"],
    )
    told = httpx.post(f"http://{running.http}/v1/completions", json={**body, "stream": True}, timeout=60).text
    chunks = [json.loads(line.removeprefix("data: ")) for line in told.split("\n\n")[:-2]]
    assert {chunk["model"] for chunk in chunks} == {"tiny"}


def test_a_second_pass_is_answered_by_the_other_model(running: Running, tmp_path: Path) -> None:
    lines = [
        {"prompt": "Once", "custom_id": "unsure", "cloud_handoff_threshold": 1.0, **OPTIONS},
        {"prompt": "Once", "custom_id": "sure", **OPTIONS},
    ]
    source = tmp_path / "prompts.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = tmp_path / "out.jsonl"
    request = BatchRequest(source=source, output=output, second_pass=True, second_pass_model="big")

    async def both_passes() -> SecondPassReport:
        async with AsyncClient(running.endpoints.jobs, running.endpoints.stream, timeout=60.0) as client:
            await run_batch(request, client)
            return await run_second_pass(request, client)

    assert asyncio.run(both_passes()).num_completed == 1
    bodies = {line["custom_id"]: line["response"]["body"] for line in map(json.loads, output.read_text().splitlines())}
    texts = {name: running.client.complete(prompt="Once", model=name, **OPTIONS).text for name in ("small", "tiny")}
    assert bodies["sure"]["choices"][0]["text"] == texts["small"]
    assert (bodies["unsure"]["choices"][0]["text"], bodies["unsure"]["model"]) == (texts["tiny"], "tiny")
    path = bodies["unsure"]["handoff"]["path"]
    assert [(tier["model"], tier["gate"]) for tier in path] == [("cactus-sprout", "second pass"), ("tiny", None)]


def test_a_model_is_scaled_and_a_killed_worker_is_replaced_within_it(running: Running) -> None:
    client = running.client
    assert client.scale(2, "big") == 2
    status = wait_until(client, lambda status: len(workers_of(status, "tiny")) == 2)
    assert workers_of(status, "cactus-sprout") == ["cactus-sprout-1"]
    assert [model.desired_workers for model in status.models] == [1, 2, 1, 1]
    jobs = [client.submit(prompt="Once", model="tiny", **LONG) for _ in range(2)]
    victim = next(worker for worker in status.workers if worker.model == "tiny")
    os.kill(victim.pid, signal.SIGKILL)
    assert client.complete(prompt="Once", **OPTIONS).worker == "cactus-sprout-1"
    results = [client.result(job_id) for job_id in jobs]
    assert {result.worker for result in results} <= {"tiny-1", "tiny-2", "tiny-3"}
    assert results[0].token_ids == results[1].token_ids
    assert len(results[0].token_ids) == LONG["max_tokens"]
    wait_until(client, lambda status: workers_of(status, "tiny")[-1:] == ["tiny-3"])


def has_left(status: Status) -> bool:
    """True if the model `rare` has no workers."""
    return status.states["rare"] == "idle"


def test_a_model_without_jobs_gives_its_workers_up_and_a_job_brings_them_back(running: Running) -> None:
    client = running.client
    before = wait_until(client, has_left)
    with httpx.Client(base_url=f"http://{running.http}", timeout=60) as http:
        assert [http.get(f"/v1/models/{name}").json()["state"] for name in ("tiny", "rare")] == ["ready", "idle"]
        assert 'cactus_model_state{model_name="rare",state="idle"} 1.0' in http.get("/metrics").text
    stream = client.stream(prompt="Once", model="rare", **OPTIONS)
    text = "".join(delta.text for delta in stream)
    assert stream.result().worker == "rare-2"
    assert text == client.complete(prompt="Once", model="tiny", **OPTIONS).text
    assert wait_until(client, has_left).jobs.redispatched == before.jobs.redispatched


def test_jobs_of_a_model_that_cannot_be_loaded_end_with_the_reason(running: Running, rare: Path) -> None:
    client = running.client
    wait_until(client, has_left)
    hidden = rare.rename(rare.with_name("hidden"))
    try:
        with pytest.raises(ModelFailure, match=r"the model cannot be loaded: .*rare"):
            client.complete(prompt="Once", model="rare", **OPTIONS)
    finally:
        hidden.rename(rare)
    assert client.complete(prompt="Once", model="rare", **OPTIONS).finish_reason == "length"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["ray"], indirect=True)
def test_idle_models_leave_a_cluster_and_jobs_bring_them_back(place: dict[str, Any], tmp_path: Path) -> None:
    config = ServeConfig(
        models=[ModelEntry(name=name, path="cactus-sprout") for name in ("one", "two")],
        cache_tokens=4096,
        unload_after_s=0.5,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path,
        http="",
        **place,
    )
    with running_service(config) as service:
        client = service.client
        wait_until(client, lambda status: set(status.states.values()) == {"idle"})
        jobs = [client.submit(prompt="Once", model=name, **OPTIONS) for name in ("two", "one")]
        results = [client.result(job_id) for job_id in jobs]
        assert [result.worker for result in results] == ["two-2", "one-2"]
        assert results[0].token_ids == results[1].token_ids


def test_the_load_of_a_model_starts_and_ends_its_workers(running: Running) -> None:
    client = running.client
    assert client.status().states["elastic"] == "idle"
    undisturbed = client.complete(prompt="Once", model="tiny", **LONG).token_ids
    jobs = [client.submit(prompt="Once", model="elastic", **LONG) for _ in range(200)]  # the second worker finds some
    wait_until(client, lambda status: len(workers_of(status, "elastic")) == 2)
    for job_id in jobs[6:]:
        client.cancel(job_id)
    assert [client.result(job_id).token_ids for job_id in jobs[:6]] == [undisturbed] * 6
    after = wait_until(client, lambda status: status.states["elastic"] == "idle")
    [scaling] = [it.scaling for it in after.models if it.name == "elastic"]
    assert scaling is not None
    assert scaling.reason == "no job for 2 s"
    assert client.complete(prompt="Once", model="elastic", **LONG).token_ids == undisturbed
    metrics = httpx.get(f"http://{running.http}/metrics", timeout=60).text
    assert 'cactus_model_workers_max{model_name="elastic"} 2.0' in metrics


@pytest.mark.chaos
def test_jobs_of_both_models_survive_a_killed_router(running: Running) -> None:
    client = running.client
    wait_until(client, has_left)
    undisturbed = {name: client.complete(prompt="Once", model=name, **LONG).token_ids for name in ("small", "tiny")}
    jobs = {name: client.submit(prompt="Once", model=name, **LONG) for name in ("small", "tiny")}
    undisturbed["both"], jobs["both"] = undisturbed["tiny"], client.submit(prompt="Once", model="both", **LONG)
    undisturbed["rare"], jobs["rare"] = undisturbed["tiny"], client.submit(prompt="Once", model="rare", **LONG)
    before = client.status()
    os.kill(pid_of_router(running.endpoints.jobs), signal.SIGKILL)
    for name, job_id in jobs.items():
        assert client.result(job_id).token_ids == undisturbed[name]
    after = client.status()
    assert after.epoch > before.epoch
    assert [(it.name, it.desired_workers) for it in after.models] == [
        (it.name, it.desired_workers) for it in before.models
    ]


def with_memory_for_one(tiny: Path, tmp_path: Path) -> ServeConfig:
    return ServeConfig(
        models=[ModelEntry(name=name, path=str(tiny)) for name in ("one", "two")],
        weights="float32",
        cache_bytes=1 << 20,
        max_model_bytes=3 << 19,
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path,
        http="",
    )


def test_a_model_without_memory_has_no_worker_when_the_service_is_ready(tiny: Path, tmp_path: Path) -> None:
    service = Service(with_memory_for_one(tiny, tmp_path))
    service.start()
    try:
        with Client(service.endpoints.jobs, service.endpoints.stream, timeout=60.0) as client:
            assert service.num_workers == len(client.status().workers) == 1
    finally:
        service.stop()


@pytest.mark.chaos
def test_models_take_turns_in_memory_that_holds_one_of_them(tiny: Path, tmp_path: Path) -> None:
    with running_service(with_memory_for_one(tiny, tmp_path)) as service:
        client = service.client
        assert client.status().states == {"one": "ready", "two": "idle"}
        jobs = [client.submit(prompt="Once", model=name, **LONG) for name in ("one", "two", "one", "two")]
        os.kill(pid_of_router(service.endpoints.jobs), signal.SIGKILL)
        results = [client.result(job_id) for job_id in jobs]
        assert len({tuple(result.token_ids) for result in results}) == 1
        assert {result.worker.split("-")[0] for result in results} == {"one", "two"}
        assert all(len({worker.model for worker in client.status().workers}) <= 1 for _ in range(20))
