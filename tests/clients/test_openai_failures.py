"""Refusals, deadlines and streams that are not read to their end, with the `openai` package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.router.scripted_router import until
from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import CAPITAL, MODEL

openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")

ENDLESS = {"model": MODEL, "prompt": "Once", "max_tokens": 900, "extra_body": {"ignore_eos": True}}


def connect(url: str, **options: Any) -> openai.OpenAI:
    options = {"api_key": "no-key", "max_retries": 0, "timeout": 60} | options
    return openai.OpenAI(base_url=f"{url}/v1", **options)


def ask(client: openai.OpenAI, **options: Any) -> Any:
    return client.chat.completions.create(**{"model": MODEL, "messages": CAPITAL, "temperature": 0} | options)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"temperature": 9}, "temperature"),
        ({"n": 0}, "n"),
        ({"messages": []}, "messages"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format"),
        ({"messages": [{"role": "user", "content": "word " * 5000}]}, "messages"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": 2**70}]}]}, "messages"),
    ],
)
def test_a_bad_request_names_its_field(service: RealService, options: dict[str, Any], param: str) -> None:
    for stream in (False, True):
        with connect(service.url) as client, pytest.raises(openai.BadRequestError) as refused:
            ask(client, **options, stream=stream)
        assert (refused.value.status_code, str(refused.value.code)) == (400, "400")
        assert (refused.value.param or "").startswith(param)
        assert refused.value.request_id


def test_a_missing_key_is_an_authentication_error(guarded_url: str) -> None:
    with connect(guarded_url, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
        ask(client)
    with connect(guarded_url, api_key=KEY) as client:
        assert ask(client).choices[0].finish_reason == "stop"


def test_missing_objects_and_endpoints_are_not_found(service: RealService) -> None:
    with connect(service.url) as client:
        for missing in (
            lambda: client.models.retrieve("other"),
            lambda: client.files.retrieve("file-0"),
            lambda: client.batches.retrieve("batch_0"),
        ):
            with pytest.raises(openai.NotFoundError):
                missing()
        with pytest.raises(openai.NotFoundError):
            client.conversations.create()  # an endpoint that is not here


def test_a_full_service_is_a_rate_limit(full_url: str) -> None:
    with connect(full_url) as client, pytest.raises(openai.RateLimitError) as refused:
        ask(client)
    assert int(refused.value.response.headers["retry-after"]) >= 1


def test_the_package_retries_after_a_refusal(narrow_url: str) -> None:
    with connect(narrow_url) as client, connect(narrow_url, max_retries=4) as patient:
        stream = client.completions.create(**ENDLESS, stream=True)
        until_refused(lambda: ask(client))
        stream.close()
        assert ask(patient).choices[0].message.content == "The capital of France is Paris."


def test_a_service_without_workers_is_unavailable(empty_url: str) -> None:
    with connect(empty_url) as client, pytest.raises(openai.InternalServerError) as refused:
        ask(client)
    assert refused.value.status_code == 503
    assert int(refused.value.response.headers["retry-after"]) >= 1


def test_a_deadline_in_the_request(service: RealService) -> None:
    with connect(service.url) as client:
        with pytest.raises(openai.InternalServerError) as refused:
            client.completions.create(
                model=MODEL, prompt="Once", max_tokens=900, extra_body={"ignore_eos": True, "timeout_ms": 50}
            )
        assert refused.value.status_code == 504

        def read() -> None:  # a busy machine refuses it before the stream begins
            extra = {"ignore_eos": True, "timeout_ms": 300}
            list(client.completions.create(model=MODEL, prompt="Once", max_tokens=900, stream=True, extra_body=extra))

        with pytest.raises(openai.APIError, match=r"timeout of 0\.3 s"):
            read()
    service.becomes_idle()


def test_the_package_s_own_timeout_leaves_nothing_behind(service: RealService) -> None:
    with connect(service.url, timeout=0.3) as client, pytest.raises(openai.APITimeoutError):
        client.completions.create(**ENDLESS)
    service.becomes_idle()


def test_a_closed_stream_leaves_nothing_behind(service: RealService) -> None:
    with connect(service.url) as client:
        stream = client.completions.create(**ENDLESS, n=4, stream=True)
        next(stream)
        until(lambda: service.client.status().jobs.running == 4)
        stream.close()
        service.becomes_idle()
        with client.completions.create(**ENDLESS, stream=True) as left_early:
            for _ in left_early:
                break
        service.becomes_idle()


def until_refused(call: Callable[[], Any]) -> None:
    def is_refused() -> bool:
        try:
            call()
        except openai.RateLimitError:
            return True
        return False

    until(is_refused)
