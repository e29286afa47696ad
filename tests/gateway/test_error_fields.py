"""Errors name fields as the client wrote them, on every surface, before and after the router has the request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cactus_actors.api.field_names import OPTION_ALIASES
from cactus_actors.gateway.routes.llama_cpp import ALIASES as LLAMA_CPP_ALIASES
from tests.support.services.fake_worker_service import FakeWorkerService, fake_worker_service

CHAT, TEXT, NATIVE = "/v1/chat/completions", "/v1/completions", "/completion"
ASKED: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "hi"}]},
    TEXT: {"prompt": "hi"},
    NATIVE: {"prompt": "hi"},
    "/v1/embeddings": {},
}
WRONG_OPTIONS: dict[str, Any] = {
    "max_completion_tokens": -2,
    "random_seed": -2,
    "repetition_penalty": 1000.0,
    "safe_mode": "no",
    "stop_sequences": [""],
}
WRONG_LLAMA_CPP_FIELDS: dict[str, Any] = {"n_predict": -2, "n_probs": 1000, "t_max_predict_ms": -1}
WRONG_REASONING: list[tuple[dict[str, Any], str, str]] = [
    ({"reasoning": {"effort": "some"}}, "reasoning.effort", "reasoning_effort"),
    ({"reasoning": {"max_tokens": -2}}, "reasoning.max_tokens", "thinking_budget"),
    ({"thinking": {"type": "enabled", "budget_tokens": -2}}, "thinking.budget_tokens", "thinking_budget"),
    (
        {"reasoning": {"enabled": False}, "thinking": {"type": "enabled"}},
        "thinking.type",
        "enable_thinking",
    ),
    (
        {"chat_template_kwargs": {"reasoning_effort": "some"}},
        "chat_template_kwargs.reasoning_effort",
        "reasoning_effort",
    ),
    ({"chat_template_kwargs": {"thinking_budget": -2}}, "chat_template_kwargs.thinking_budget", "thinking_budget"),
]


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeWorkerService]:
    with fake_worker_service(tmp_path_factory.mktemp("state"), gateway={"chat_profile": "mistral"}) as service:
        yield service


def refused(http: httpx.Client, path: str, body: dict[str, Any]) -> tuple[str, str]:
    response = http.post(path, json=ASKED[path] | body)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    return error["param"], error["message"]


def names(message: str, field: str) -> bool:
    """True if a message names a field by itself, not as a part of another name."""
    return re.search(rf"(?<![\w.]){re.escape(field)}(?!\w)", message) is not None


def test_the_tables_of_this_file_are_complete() -> None:
    assert WRONG_OPTIONS.keys() == OPTION_ALIASES.keys()
    assert WRONG_LLAMA_CPP_FIELDS.keys() == LLAMA_CPP_ALIASES.keys()


@pytest.mark.parametrize("path", [CHAT, TEXT, NATIVE])
@pytest.mark.parametrize("alias", WRONG_OPTIONS)
def test_an_alias_of_an_option_is_named(http: httpx.Client, path: str, alias: str) -> None:
    param, message = refused(http, path, {alias: WRONG_OPTIONS[alias]})
    assert param == alias
    assert names(message, alias)
    assert not names(message, OPTION_ALIASES[alias])


@pytest.mark.parametrize("alias", WRONG_LLAMA_CPP_FIELDS)
@pytest.mark.parametrize("wrong", ["value", "type"])
def test_llama_cpps_name_of_a_field_is_named(http: httpx.Client, alias: str, wrong: str) -> None:
    value = WRONG_LLAMA_CPP_FIELDS[alias] if wrong == "value" else {}
    param, message = refused(http, NATIVE, {alias: value})
    assert param == alias
    assert names(message, alias)
    assert not names(message, LLAMA_CPP_ALIASES[alias])


@pytest.mark.parametrize(("body", "path", "option"), WRONG_REASONING)
def test_the_path_of_a_reasoning_field_is_named(
    http: httpx.Client, body: dict[str, Any], path: str, option: str
) -> None:
    param, message = refused(http, CHAT, body)
    assert param == path
    assert names(message, path)
    assert not names(message, option)


def test_a_field_given_under_both_names_keeps_them(http: httpx.Client) -> None:
    param, message = refused(http, CHAT, {"max_tokens": 1, "max_completion_tokens": 2})
    assert param == "max_completion_tokens"
    assert names(message, "max_tokens")
    assert names(message, "max_completion_tokens")


def test_another_field_of_the_message_is_named_as_given_too(http: httpx.Client) -> None:
    param, message = refused(http, CHAT, {"min_tokens": 5, "max_completion_tokens": 2})
    assert param == "min_tokens"
    assert message == "min_tokens 5 is above max_completion_tokens 2"


@pytest.mark.parametrize("value", [None, [], 5, ["a", 5.5], "word " * 20_000])
def test_the_input_of_an_embedding_is_named(http: httpx.Client, value: Any) -> None:
    param, message = refused(http, "/v1/embeddings", {"input": value})
    assert param == "input"
    assert names(message, "input")
    assert not names(message, "prompt")


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_of_the_router_names_the_alias(mistral: FakeWorkerService, stream: bool) -> None:
    with mistral.http() as http:
        param, message = refused(http, CHAT, {"max_completion_tokens": 10**6, "stream": stream})
    assert param == "max_completion_tokens"
    assert message.startswith("max_completion_tokens is 1000000 and the context has room for")


@pytest.mark.parametrize("stream", [False, True])
def test_a_deadline_names_llama_cpps_field(
    service: FakeWorkerService, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(service.worker, "is_held", True)
    body = ASKED[NATIVE] | {"t_max_predict_ms": 50, "stream": stream}
    with service.http() as http:
        response = http.post(NATIVE, json=body)
    text = response.text.removeprefix("data: ").partition("\n")[0]
    assert json.loads(text)["error"]["param"] == "t_max_predict_ms"
