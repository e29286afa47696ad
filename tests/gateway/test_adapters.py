"""Adapters over HTTP: in the list of models, named by requests, loaded and unloaded as with vLLM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cactus_actors.config_models import AdapterSetting
from cactus_actors.gateway.http.api_keys import digest_of, read_keys
from cactus_actors.protocol.errors import ConfigurationInvalid
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

OPERATOR, USER = "operator-0123456789", "user-0123456789abc"


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    settings = {"adapters": [AdapterSetting(name="poems", path="/a/poems")], "alias": "mine"}
    gateway = {"alias": "mine"}
    with fake_worker_service(tmp_path_factory.mktemp("state"), router_settings=settings, gateway=gateway) as service:
        yield service


@pytest.fixture
def http(adapted: FakeWorkerService) -> Iterator[httpx.Client]:
    with adapted.http() as client:
        yield client


def test_models_list_adapters_after_the_model(http: httpx.Client) -> None:
    model, adapter = http.get("/v1/models").json()["data"]
    assert model["id"] == "mine"
    assert "parent" not in model
    assert (adapter["id"], adapter["root"], adapter["parent"]) == ("poems", "poems", "mine")
    for name in ("poems", "mine:poems"):
        assert http.get(f"/v1/models/{name}").json()["id"] == "poems"
    assert http.get("/v1/models/prose").status_code == 404


@pytest.mark.parametrize(
    ("body", "is_adapted"),
    [
        ({}, False),
        ({"model": "gpt-4"}, False),
        ({"model": "poems"}, True),
        ({"model": "mine:poems"}, True),
        ({"lora": "poems"}, True),
        ({"model": "poems", "lora": ""}, False),
    ],
)
def test_a_request_names_an_adapter(
    adapted: FakeWorkerService, http: httpx.Client, body: dict[str, str], is_adapted: bool
) -> None:
    messages = [{"role": "user", "content": "a"}]
    bodies = {
        "/v1/chat/completions": {"messages": messages},
        "/v1/completions": {"prompt": "a"},
        "/completion": {"prompt": "a"},
    }
    for path, asked in bodies.items():
        response = http.post(path, json=asked | body)
        assert response.status_code == 200, response.text
        assert (adapted.worker.dispatches[-1].adapter != "") == is_adapted
        assert response.json()["model"] == body.get("model", "mine")


def test_an_unknown_adapter_is_answered_with_404(http: httpx.Client) -> None:
    for body in ({"model": "mine:prose"}, {"lora": "prose"}):
        response = http.post("/v1/completions", json={"prompt": "a"} | body)
        assert response.status_code == 404
        error = response.json()["error"]
        assert error["message"] == "no adapter 'prose'; adapters of this service: poems"
        assert error["param"] == next(iter(body))


def test_invalid_adapter_requests_are_refused(http: httpx.Client) -> None:
    for path, body, status in (
        ("load", {"lora_name": "a b", "lora_path": "/a"}, 400),
        ("load", {"lora_name": "a", "lora_path": "a"}, 400),
        ("load", {"lora_name": "poems", "lora_path": "/a/other"}, 400),
        ("load", {"lora_name": "a"}, 400),
        ("unload", {"lora_name": "prose"}, 404),
    ):
        assert http.post(f"/v1/{path}_lora_adapter", json=body).status_code == status
    loaded = http.post("/v1/load_lora_adapter", json={"lora_name": "poems", "lora_path": "/a/poems"})
    assert loaded.json() == {"lora_name": "poems", "num_workers": 1}


def test_only_an_operator_s_key_loads_adapters(tmp_path: Path) -> None:
    keys = [digest_of(key) for key in (OPERATOR, USER)]
    gateway = {"key_digests": keys, "operator_digests": keys[:1]}
    settings = {"adapters": [AdapterSetting(name="poems", path="/a/poems")]}
    with fake_worker_service(tmp_path, gateway=gateway, router_settings=settings) as service, service.http() as http:
        for path in ("/v1/unload_lora_adapter", "/v1/load_lora_adapter"):
            body = {"lora_name": "poems", "lora_path": "/a/poems"}
            refused = http.post(path, json=body, headers={"authorization": f"Bearer {USER}"})
            assert refused.status_code == 403
        operator = {"authorization": f"Bearer {OPERATOR}"}
        assert http.post("/v1/unload_lora_adapter", json={"lora_name": "poems"}, headers=operator).status_code == 200
        assert len(http.get("/v1/models", headers=operator).json()["data"]) == 1


def test_a_key_file_marks_keys_of_operators() -> None:
    grants = read_keys(None, {"CACTUS_API_KEYS": f"{OPERATOR} weight=2 role=operator, {USER}"})
    assert grants[digest_of(OPERATOR)].is_operator
    assert grants[digest_of(OPERATOR)].weight == 2
    assert not grants[digest_of(USER)].is_operator
    with pytest.raises(ConfigurationInvalid, match="role=operator, or is left out"):
        read_keys(None, {"CACTUS_API_KEYS": f"{USER} role=client"})
