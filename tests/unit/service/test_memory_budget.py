"""Which models have workers when a service starts with a memory budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.config import ServeConfig
from cactus_actors.config_models import ModelMemory
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.service.actor_settings import ServiceModel
from cactus_actors.service.memory_budget import models_without_room
from cactus_actors.service.service import Service


def model(name: str, weight_bytes: int, workers: int = 1) -> ServiceModel:
    memory = ModelMemory(weight_bytes=weight_bytes, cache_bytes=10)
    return ServiceModel(
        name=name, aliases=(), config=ServeConfig(workers=workers), model=name, mmproj=None, memory=memory
    )


def test_the_first_models_that_fit_have_workers_at_the_start() -> None:
    models = [model("a", 40), model("b", 60), model("c", 20), model("off", 1000, workers=0), model("d", 10, workers=2)]
    assert list(models_without_room(models, 100)) == ["b", "d"]
    assert list(models_without_room(models, None)) == []


def test_a_model_that_does_not_fit_alone_is_refused_with_its_sizes() -> None:
    message = (
        "max_model_bytes is 99, but b alone takes 100: 80 for its weights and 10 for the cache of each worker, "
        "of which there are 2"
    )
    with pytest.raises(ConfigurationInvalid, match=message):
        list(models_without_room([model("a", 40), model("b", 80, workers=2)], 99))


def test_a_service_computes_the_sizes_before_anything_starts(tmp_path: Path) -> None:
    service = Service(
        ServeConfig(
            max_model_bytes=1000,
            jobs_endpoint="tcp://127.0.0.1:*",
            stream_endpoint="tcp://127.0.0.1:*",
            state_dir=tmp_path,
            http="",
        )
    )
    with pytest.raises(ConfigurationInvalid, match=r"max_model_bytes is 1000, but .* alone takes [1-9]\d{6}") as caught:
        service.start()
    assert caught.value.param == "max_model_bytes"
