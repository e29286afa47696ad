"""The other endpoints: models, tokenization, health, metrics, documents, llama.cpp's shapes."""

from __future__ import annotations

import json
import re
import shutil
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest

from cactus_actors.client.router_connection import RouterConnection
from cactus_actors.gateway.app import PARTS
from cactus_actors.gateway.http.timeouts import GatewayTimeouts
from cactus_actors.gateway.openapi import pages
from cactus_actors.gateway.openapi.document import OPERATIONS, document
from cactus_actors.gateway.page import responses as page_files
from cactus_actors.gateway.page import service_events
from cactus_actors.gateway.routes.infill import ExtraFile, InfillBody, infill_ids
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.fingerprint import model_fingerprint
from cactus_actors.protocol.errors import StorageFailure
from tests.support.http.raw_http import connection, request
from tests.support.router.scripted_router import until
from tests.support.services.fake_worker_service import STORY, FakeWorkerService, fake_worker_service
from tests.support.text.read_integers import inexact_integers

TEXT = "".join(STORY)
MESSAGES = [{"role": "user", "content": "What is 2+2?"}]


def test_the_model_is_listed_by_its_name(http: httpx.Client) -> None:
    [card] = http.get("/v1/models").json()["data"]
    assert (card["id"], card["object"], card["meta"]["n_ctx"]) == ("cactus-sprout", "model", 1024)
    assert card["aliases"] == []
    assert http.get("/v1/models/cactus-sprout").json() == card
    missing = http.get("/v1/models/" + "m" * 1000)
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "model_not_found")
    assert len(missing.json()["error"]["message"]) < 200


def test_the_model_has_an_alias(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"alias": "team/model"}) as service, service.http() as http:
        [card] = http.get("/v1/models").json()["data"]
        assert (card["id"], card["aliases"]) == ("team/model", ["cactus-sprout"])
        assert card["capabilities"]["function_calling"]
        assert http.get("/v1/models/team/model").json() == card
        asked = {"prompt": "a", "input": "a"}
        for path in ("/v1/completions", "/completion", "/v1/embeddings"):
            answer = http.post(path, json=asked)
            told = http.get(f"/v1/requests/{answer.headers['x-request-id']}").json()
            assert answer.json()["model"] == "team/model"
            assert told["choices"][0]["result"]["model"] == "team/model"
        assert 'cactus_info{model="team/model"' in http.get("/metrics").text


def test_a_model_whose_template_has_no_tools_does_not_claim_them(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"model": "cactus-bloom"}) as service, service.http() as http:
        [card] = http.get("/v1/models").json()["data"]
        able = {"completion_chat": True, "function_calling": False, "vision": True}
        assert card["capabilities"] == card["capabilities"] | able
        shown = http.post("/api/show", json={"model": "cactus-bloom"}).json()
        assert "vision" in shown["capabilities"]
        assert "tools" not in shown["capabilities"]


def test_answers_name_their_model(tmp_path: Path) -> None:
    place = tmp_path / "changed"
    shutil.copytree(resolve_model("cactus-sprout"), place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(config))  # another layout of the same file
    told = []
    for number, model in enumerate(("cactus-sprout", str(place), "cactus-sprout")):
        settings = {"gateway": {"model": model}, "weights": "int8", "kernels": "avx2"}
        with fake_worker_service(tmp_path / str(number), **settings) as service, service.http() as http:
            whole = http.post("/v1/chat/completions", json={"messages": MESSAGES}).json()
            stream = http.post("/v1/chat/completions", json={"messages": MESSAGES, "stream": True}).text
        frames = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
        assert {frame["system_fingerprint"] for frame in frames} == {whole["system_fingerprint"]}
        told.append(whole["system_fingerprint"])
    assert told[0] == told[2] != told[1]
    assert model_fingerprint(resolve_model("cactus-sprout")) in told[0]
    assert told[0].endswith("_int8-avx2")


def test_the_path_of_a_model_is_not_its_name(tmp_path: Path) -> None:
    place = tmp_path / "private" / "Small-1B"
    shutil.copytree(resolve_model("cactus-sprout"), place)
    bodies = {
        "/v1/chat/completions": {"messages": MESSAGES},
        "/v1/completions": {"prompt": "a", "stream": True},
        "/completion": {"prompt": "a"},
        "/infill": {"input_prefix": "a"},
        "/apply-template": {"messages": MESSAGES},
    }
    with fake_worker_service(tmp_path, gateway={"model": str(place)}) as service, service.http() as http:
        assert http.get("/v1/models").json()["data"][0]["id"] == "Small-1B"
        answers = [http.post(path, json=body).text for path, body in bodies.items()]
        answers += [http.get(path).text for path in ("/", "/v1/models", "/metrics", "/props", "/docs")]
    assert "Small-1B" in answers[0]
    assert not [answer for answer in answers if "private" in answer]


def test_every_integer_is_exact_for_readers_of_float64(tmp_path: Path) -> None:
    """JavaScript reads 2**53 + 1 as another number: no answer has it, except for a seed with a text copy."""
    line = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "a"}}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {"messages": MESSAGES, "n": 2, "logprobs": True, "top_logprobs": 2}),
        ("/v1/completions", {"prompt": ["a", "b"], "logprobs": 1, "echo": True}),
        ("/v1/embeddings", {"input": "a"}),
        ("/completion", {"prompt": "a", "n_probs": 2, "return_tokens": True}),
        ("/tokenize", {"content": "a", "with_pieces": True}),
        ("/apply-template", {"messages": MESSAGES}),
    ]
    with fake_worker_service(tmp_path) as service, service.http() as http:
        answers = [http.post(path, json=body) for path, body in bodies]
        answers += [http.get(f"/v1/requests/{answer.headers['x-request-id']}") for answer in answers[:4]]
        upload = {"file": ("in.jsonl", json.dumps(line).encode())}
        kept = http.post("/v1/files", files=upload, data={"purpose": "batch"}).json()
        asked = {"input_file_id": kept["id"], "endpoint": "/v1/completions", "completion_window": "24h"}
        batch = http.post("/v1/batches", json=asked).json()["id"]
        until(lambda: http.get(f"/v1/batches/{batch}").json()["status"] == "completed")
        output = http.get(f"/v1/batches/{batch}").json()["output_file_id"]
        answers += [http.get(f"/v1/files/{output}/content")]
        answers += [http.get(path) for path in ("/v1/models", "/v1/files", "/v1/batches", "/openapi.json")]
        large = http.post("/completion", json={"prompt": "a", "seed": str(2**64 - 1)}).json()
    assert {answer.status_code for answer in answers} == {200}
    assert [found for answer in answers for found in inexact_integers(answer.text)] == []
    assert (large["seed"], large["seed_text"]) == (2**64 - 1, str(2**64 - 1))
    assert large["generation_settings"]["seed_text"] == large["seed_text"]


def test_defaults_follow_the_profile_of_the_api(tmp_path: Path, service: FakeWorkerService, http: httpx.Client) -> None:
    chat = {"messages": MESSAGES}
    http.post("/v1/chat/completions", json=chat)
    assert service.worker.dispatches[-1].params.max_tokens == 512
    http.post("/v1/completions", json={"prompt": "a"})
    params = service.worker.dispatches[-1].params
    assert (params.temperature, params.top_k, params.min_p, params.repeat_penalty) == (0.8, 40, 0.05, 1.1)
    profiles = {"chat_profile": "mistral", "completions_profile": "cerebras"}
    with fake_worker_service(tmp_path, gateway=profiles) as other, other.http() as asked:
        asked.post("/v1/chat/completions", json=chat)
        assert other.worker.dispatches[-1].params.top_p == 1.0
        asked.post("/v1/completions", json={"prompt": "a"})
        assert other.worker.dispatches[-1].params.temperature == 1.0


def test_a_strict_service_refuses_unknown_fields(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, gateway={"strict": True}) as service, service.http() as http:
        response = http.post("/v1/completions", json={"prompt": "a", "trace": 1})
        assert (response.status_code, response.json()["error"]["param"]) == (400, "trace")


def test_text_is_tokenized_and_detokenized(http: httpx.Client) -> None:
    ids = http.post("/tokenize", json={"content": "hello world"}).json()["tokens"]
    assert http.post("/detokenize", json={"tokens": ids}).json() == {"content": "hello world"}
    pieces = http.post("/tokenize", json={"content": "é🌵", "with_pieces": True}).json()["tokens"]
    written = b"".join(
        piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"]) for piece in pieces
    )
    assert written.decode() == "é🌵"
    with_special = http.post("/tokenize", json={"content": "<|im_end|>"}).json()["tokens"]
    as_text = http.post("/tokenize", json={"content": "<|im_end|>", "parse_special": False}).json()["tokens"]
    assert len(with_special) == 1 < len(as_text)
    long = "many words " * 20_000
    ids = http.post("/tokenize", json={"content": long}).json()["tokens"]
    assert http.post("/detokenize", json={"tokens": ids}).json()["content"] == long
    for wrong in (
        {"tokens": [-1]},
        {"tokens": [10**6]},
        {"tokens": [10**400]},
        {"tokens": ["a"]},
        {"tokens": 7},
        {},
    ):
        assert http.post("/detokenize", json=wrong).status_code == 400


def test_a_conversation_is_rendered_as_a_prompt(http: httpx.Client) -> None:
    prompt = http.post("/apply-template", json={"messages": MESSAGES}).json()["prompt"]
    assert prompt == "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
    assert http.post("/apply-template", json={"messages": []}).status_code == 400


def test_without_a_worker_the_service_is_not_ready(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path) as service, service.http() as http:
        service.worker.__exit__()
        service.router.worker_lost("fake")  # the length of its silence depends on the machine
        until(lambda: http.get("/readyz").status_code == 503)
        response = http.post("/v1/completions", json={"prompt": "a"})
        assert response.status_code == 503
        assert response.json()["error"]["message"] == "no model worker answers at the moment; a lost one is replaced"
        with service.client() as client:
            client.scale(0)
        until(lambda: "no model workers" in http.get("/readyz").text)


@pytest.mark.parametrize("stream", [False, True])
def test_after_a_507_the_service_is_not_ready_until_a_later_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise StorageFailure("the journal cannot be written")

    timeouts = GatewayTimeouts(status_interval_s=3600.0, status_valid_s=5.0)
    with fake_worker_service(tmp_path, timeouts=timeouts) as service, service.http() as http:
        paths = ("/health", "/readyz")
        assert [http.get(path).status_code for path in paths] == [200, 200]
        monkeypatch.setattr(RouterConnection, "follow", refuse)
        refused = http.post("/v1/completions", json={"prompt": "a", "stream": stream})
        assert (refused.status_code, refused.json()["error"]["type"]) == (507, "storage_error")
        assert [http.get(path).status_code for path in paths] == [503, 503]
        until(lambda: http.get("/health").status_code == 200)  # the status is too old then, and is requested again
        assert [http.get(path).status_code for path in paths] == [200, 200]


def test_until_the_first_worker_is_ready_the_model_is_loading(tmp_path: Path) -> None:
    with fake_worker_service(tmp_path, is_absent=True) as service, service.http() as http:
        response = http.post("/v1/completions", json={"prompt": "a"})
        assert (response.status_code, response.json()["error"]["message"]) == (503, "Loading model")
        assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/health", "/readyz", "/healthz", "/v1/models", "/none"]
)
def test_head_has_the_headers_of_get_and_no_body(http: httpx.Client, path: str) -> None:
    whole, head = http.get(path), http.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    for name in ("content-type", "content-length"):
        assert head.headers[name] == whole.headers[name]


def test_head_of_a_stream_ends_at_once_and_leaves_the_connection_open(service: FakeWorkerService) -> None:
    with connection(service.url) as opened:
        for method, path in (("HEAD", "/page/service"), ("HEAD", "/v1/completions"), ("GET", "/healthz")):
            opened.sendall(request(method.encode(), path.encode()))
            answer = HTTPResponse(opened, method=method)
            answer.begin()
            assert answer.status == (405 if path == "/v1/completions" else 200)
            assert bool(answer.read()) == (method == "GET")


def test_every_route_is_documented(http: httpx.Client) -> None:
    routes = {
        (method.lower(), re.sub(r":\w+\}", "}", path))
        for module in PARTS
        if module not in (pages, page_files, service_events)
        for handler in module.HANDLERS
        for path in handler.paths
        for method in handler.http_methods
    }
    documented = {(operation.method, operation.path) for group in OPERATIONS.values() for operation in group}
    assert routes - {("post", path) for path in ("/completions", "/rerank", "/score")} == documented
    served = http.get("/openapi.json").json()
    assert served == document()
    page = http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/chat/completions" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_every_reference_in_the_document_exists() -> None:
    whole = document()

    def check(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert value["$ref"].removeprefix("#/components/schemas/") in whole["components"]["schemas"]
            for item in value.values():
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)

    check(whole)
    chat = whole["components"]["schemas"]["ChatBody"]["properties"]
    assert {"messages", "tools", "temperature", "stream", "n", "response_format"} <= chat.keys()


def test_a_completion_in_the_shape_of_llama_cpp(http: httpx.Client) -> None:
    body = {"prompt": "Once", "n_predict": 2, "return_tokens": True, "seed": 9}
    answer = http.post("/completion", json=body).json()
    assert (answer["content"], answer["tokens"]) == ("".join(STORY[:2]), [0, 1])
    assert (answer["stop"], answer["stop_type"], answer["tokens_predicted"]) == (True, "limit", 2)
    assert answer["generation_settings"]["seed"] == 9
    assert answer["timings"]["predicted_n"] == 2
    many = http.post("/completion", json={"prompt": ["a", "b"]}).json()
    assert [(one["index"], one["content"]) for one in many] == [(0, TEXT), (1, TEXT)]
    both = http.post("/completion", json={"prompt": "a", "n_predict": 2, "max_tokens": 3})
    assert (both.status_code, both.json()["error"]["param"]) == (400, "n_predict")


def test_a_model_without_infill_tokens_refuses_infill(http: httpx.Client) -> None:
    response = http.post("/infill", json={"input_prefix": "def f():", "input_suffix": "return"})
    assert (response.status_code, response.json()["error"]["type"]) == (400, "not_supported_error")


class FillTokenizer:
    """One id per character; control tokens of a repository above them."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        assert not text or not (add_special or parse_special)
        return [1] * add_special + [ord(letter) for letter in text]

    def id_of(self, token: str) -> int | None:
        return 900 + self._names.index(token) if token in self._names else None


class FillModel:
    name = "filler"
    fill_tokens = (801, 802, 803)

    def __init__(self, *names: str) -> None:
        self.tokenizer = FillTokenizer(*names)


def plain(text: str) -> list[int]:
    return [ord(letter) for letter in text]


@pytest.mark.parametrize("names", [("<|repo_name|>", "<|file_sep|>"), ("<repo_name>", "<file_sep>")])
def test_repository_files_precede_the_gap(names: tuple[str, str]) -> None:
    body = InfillBody(input_prefix="a", input_suffix="b", input_extra=[ExtraFile("text", "name")], prompt="p")
    ids = infill_ids(body, FillModel(*names))  # type: ignore[arg-type]
    assert ids == [
        *(1, 900),
        *plain("repository\n"),
        901,
        *plain("name\ntext"),
        901,
        *plain("current\n"),
        *(801, ord("a"), 802, ord("b"), 803, ord("p")),
    ]


def test_without_file_tokens_repository_files_are_text() -> None:
    body = InfillBody(input_prefix="a", input_extra=[ExtraFile("text", "name")])
    ids = infill_ids(body, FillModel())  # type: ignore[arg-type]
    assert ids == [1, *plain("text\n\n"), 801, ord("a"), 802, 803]
