"""The SDK's functions against a running service: its router over ZeroMQ, its gateway over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from cactus_actors.config import GatewaySettings, RouterSettings, WorkerSettings
from cactus_actors.gateway.server import GatewayServer
from cactus_actors.models.catalog import resolve_model
from cactus_actors.router.actor import RouterActor
from cactus_actors.sdk import (
    CactusModel,
    CallFailed,
    cactus_complete,
    cactus_destroy,
    cactus_embed,
    cactus_get_last_error,
    cactus_init,
    cactus_rag_query,
    cactus_score_window,
    cactus_stop,
    cactus_tokenize,
)
from cactus_actors.text import load_text_model
from cactus_actors.workers.actor import WorkerActor
from tests.support.http.trust_nobody import TRUST_NOBODY
from tests.support.router.scripted_router import until

QUESTION = [{"role": "user", "content": "What is 2+2?"}]
STORY = [{"role": "user", "content": "Tell me a short story about a fox."}]
GREEDY = {"temperature": 0}


class Service(NamedTuple):
    jobs: str
    stream: str
    http: str


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    any_port = "tcp://127.0.0.1:*"
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "harbour.md").write_text("Ferries moor at the harbour.")
    router = RouterActor(RouterSettings(jobs_endpoint=any_port, stream_endpoint=any_port, corpus=str(corpus)))
    endpoints = router.start()
    worker = WorkerActor(WorkerSettings(worker_id="w1"))
    settings = GatewaySettings(listen="127.0.0.1:0", state_dir=str(tmp_path_factory.mktemp("state")))
    gateway = GatewayServer(settings, load_text_model(resolve_model("cactus-sprout")))
    threads = [
        threading.Thread(target=router.run),
        threading.Thread(target=worker.run, args=(endpoints.workers,)),
        threading.Thread(target=gateway.run, args=(endpoints.jobs, endpoints.stream)),
    ]
    for thread in threads:
        thread.start()
    url = f"http://{gateway.address}"
    until(lambda: httpx.get(f"{url}/readyz", verify=TRUST_NOBODY).is_success, 120.0)  # the first test that needs it
    yield Service(endpoints.jobs, endpoints.stream, url)
    for actor in (gateway, worker, router):
        actor.stop()
    for thread in threads:
        thread.join(60)


@pytest.fixture(params=["tcp", "http"])
def model(service: Service, request: pytest.FixtureRequest) -> Iterator[CactusModel]:
    if request.param == "tcp":
        model = cactus_init(service.jobs, None, False, stream_endpoint=service.stream)
    else:
        model = cactus_init(service.http, None, False)
    yield model
    cactus_destroy(model)


def answer(model: CactusModel, messages: Any, options: Any, **more: Any) -> dict[str, Any]:
    return json.loads(cactus_complete(model, messages, options, **more))


def test_a_service_answers_like_this_process(model: CactusModel, shared_model: CactusModel) -> None:
    pieces: list[str] = []
    there = answer(model, STORY, {"seed": 5}, callback=lambda text, _: pieces.append(text))
    here = answer(shared_model, STORY, {"seed": 5})
    assert there["success"] is True
    assert there["response"] == here["response"] == "".join(pieces)
    assert there["completion_tokens"] == here["completion_tokens"] > 10
    assert there["seed"] == 5
    assert there.keys() == here.keys()


def test_other_functions_of_a_service_answer_like_this_process(model: CactusModel, shared_model: CactusModel) -> None:
    tokens = cactus_tokenize(model, "The quick brown fox.")
    assert tokens == cactus_tokenize(shared_model, "The quick brown fox.")
    there, here = (cactus_score_window(handle, tokens, 1, 4, 4) for handle in (model, shared_model))
    assert json.loads(there)["logprob"] == pytest.approx(json.loads(here)["logprob"])
    assert cactus_embed(model, "The sea.", False) == pytest.approx(cactus_embed(shared_model, "The sea.", False))


def test_a_refused_request_returns_an_answer(model: CactusModel) -> None:
    refused = answer(model, QUESTION, {"temperature": 7})
    assert refused["success"] is False
    assert refused["error_param"] == "temperature"


def test_tools_are_called(model: CactusModel) -> None:
    tool = {"name": "ping", "description": "Ping", "parameters": {"type": "object", "properties": {}}}
    result = answer(model, QUESTION, {**GREEDY, "force_tools": True, "max_tokens": 60}, tools=[tool])
    assert result["tool_calls"] == [{"name": "ping", "arguments": {}}]
    assert result["stop_reason"] == "tool_call"


def test_stop_ends_the_generation(model: CactusModel) -> None:
    options = {**GREEDY, "ignore_eos": True, "max_tokens": 900}
    result = answer(model, STORY, options, callback=lambda *_: cactus_stop(model))
    assert result["stop_reason"] == "cancelled"
    assert result["completion_tokens"] < 900


def test_an_exception_of_the_callback_ends_the_generation(model: CactusModel) -> None:
    def on_token(text: str, token_id: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        cactus_complete(model, STORY, {"max_tokens": 900, "ignore_eos": True}, None, on_token)
    assert answer(model, QUESTION, GREEDY)["success"] is True


def test_documents_of_the_caller_are_in_the_prompt(service: Service, tmp_path: Path) -> None:
    (tmp_path / "ferry.md").write_text("The ferry leaves at nine.")
    model = cactus_init(service.http, tmp_path, False)
    assert json.loads(cactus_rag_query(model, "ferry", 1))["chunks"][0]["source"] == "ferry.md"
    result = answer(model, [{"role": "user", "content": "When does the ferry leave?"}], {"max_tokens": 4})
    cactus_destroy(model)
    assert [source["source"] for source in result["sources"]] == ["ferry.md", "harbour.md"]


def test_documents_of_the_service_are_in_the_prompt(model: CactusModel) -> None:
    question = [{"role": "user", "content": "Where does a ferry moor?"}]
    result = answer(model, question, {"max_tokens": 4})
    assert [source["source"] for source in result["sources"]] == ["harbour.md"]
    assert answer(model, question, {"max_tokens": 4, "tool_rag_top_k": 0})["sources"] == []


def test_a_missing_service_is_named() -> None:
    with pytest.raises(CallFailed, match=r"127\.0\.0\.1:9"):
        cactus_init("http://127.0.0.1:9", None, False)
    assert "127.0.0.1:9" in cactus_get_last_error()


LINE = "the north wind and the sun argued about who of them was stronger"


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_a_constrained_text_cut_by_max_tokens_is_marked_as_incomplete(
    service: Service, path: str, is_streamed: bool
) -> None:
    prompt = {"messages": QUESTION} if path.startswith("chat") else {"prompt": "Say:"}
    form = {"type": "json_schema", "json_schema": {"name": "line", "schema": {"const": LINE}}}
    body = {**prompt, "response_format": form, "stream": is_streamed}
    url = f"{service.http}/v1/{path}"
    text, reasons = said(url, body | {"max_tokens": 9})
    assert reasons == ["length"]
    assert 0 < len(text) < len(LINE)
    assert json.dumps(LINE).startswith(text)
    assert said(url, body | {"max_tokens": 200}) == (json.dumps(LINE), ["stop"])


def said(url: str, body: dict[str, Any]) -> tuple[str, list[str]]:
    """The text of an answer, and all its finish reasons."""
    answered = httpx.post(url, json=body, timeout=30, verify=TRUST_NOBODY).raise_for_status().text
    if not body["stream"]:
        events = [answered]
    else:
        *events, end = [line.removeprefix("data: ") for line in answered.splitlines() if "data: " in line]
        assert end == "[DONE]"
    text, reasons = "", []
    for event in events:
        for choice in json.loads(event)["choices"]:
            message = choice.get("delta") or choice.get("message") or choice
            text += message.get("text") or message.get("content") or ""
            reasons += [choice["finish_reason"]] * (choice["finish_reason"] is not None)
    return text, reasons
