"""Adapters in a running service: chosen by each job, loaded and unloaded while jobs run, in workers that come later."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors import Client
from cactus_actors.config import ServeConfig
from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import ConfigurationInvalid, InvalidRequest, ModelNotFound
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.random_weights import random_adapter
from tests.support.models.written_adapters import write_peft
from tests.support.services.running_service import Running, running_service, wait_until

OPTIONS: dict[str, Any] = {"max_tokens": 24, "ignore_eos": True, "temperature": 0.0, "cloud_handoff_threshold": 0.0}
PROMPT = "Tell me a story about a fox."


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two adapters of the embedded model."""
    config = read_model(resolve_model("cactus-sprout")).config
    directory = tmp_path_factory.mktemp("adapters")
    return {
        name: write_peft(directory / name, random_adapter(config, seed, rank=4, targets=["q_proj", "down_proj"]))
        for seed, name in enumerate(("one", "two"))
    }


@pytest.fixture
def config(adapters: dict[str, Path], tmp_path: Path) -> ServeConfig:
    return ServeConfig(
        placement="local",
        workers=1,
        lora=[f"one={adapters['one']}"],
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        state_dir=tmp_path,
        http="",
    )


@pytest.fixture
def service(config: ServeConfig) -> Iterator[Running]:
    with running_service(config) as service:
        yield service


def answer(client: Client, **asked: Any) -> list[int]:
    return client.complete(PROMPT, **OPTIONS, **asked).token_ids


def lora(service: Running, *words: str) -> Any:
    """The JSON output of `cactus lora`."""
    command = [sys.executable, "-m", "cactus_actors.cli.main", "lora", *words, "--json"]
    ended = subprocess.run(
        [*command, "--endpoint", service.endpoints.jobs], capture_output=True, text=True, check=False, timeout=120
    )
    return json.loads(ended.stdout) if ended.returncode == 0 else ended.stderr


def test_adapters_are_loaded_and_unloaded_while_jobs_run(service: Running, adapters: dict[str, Path]) -> None:
    client = service.client
    base, one = answer(client), answer(client, lora="one")
    assert base != one
    assert answer(client, model="one") == one
    with pytest.raises(ModelNotFound, match="adapters of this service: one"):
        answer(client, lora="two")

    running = client.stream(PROMPT, **OPTIONS | {"max_tokens": 400}, lora="one")
    next(iter(running))
    assert lora(service, "load", "two", str(adapters["two"])) == {"name": "two", "num_workers": 1}
    two = answer(client, lora="two")
    assert two not in (base, one)
    assert [each["name"] for each in lora(service, "list")["adapters"]] == ["one", "two"]
    assert lora(service, "unload", "one") == {"name": "one"}
    with pytest.raises(ModelNotFound, match="adapters of this service: two"):
        answer(client, lora="one")
    for _ in running:
        pass
    result = running.result()
    assert result.token_ids[: len(one)] == one
    assert len(result.token_ids) == 400
    with pytest.raises(InvalidRequest, match=r"adapter_config\.json"):
        client.load_adapter("three", str(adapters["two"].parent))

    [former] = client.status().workers
    client.restart_workers()
    wait_until(client, lambda status: former.pid not in [worker.pid for worker in status.workers])
    assert answer(client, lora="two") == two
    assert answer(client) == base


def test_a_start_with_an_incompatible_adapter_fails(config: ServeConfig, adapters: dict[str, Path]) -> None:
    described = json.loads((adapters["one"] / "adapter_config.json").read_text())
    path = adapters["one"].parent / "dora"
    path.mkdir(exist_ok=True)
    (path / "adapter_config.json").write_text(json.dumps(described | {"use_dora": True}))
    for lora, words in (([f"dora={path}"], "use_dora True is not supported"), (["one"], "is not NAME=PATH")):
        with (
            pytest.raises(ConfigurationInvalid, match=words),
            running_service(msgspec.structs.replace(config, lora=lora)),
        ):
            pass
