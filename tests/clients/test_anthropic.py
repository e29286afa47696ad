"""The `anthropic` package: messages, streams, tools and counts, in its own types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.router.scripted_router import until
from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import CAPITAL, MODEL, PLACE, STORY, WEATHER, check_place, check_weather

anthropic = pytest.importorskip("anthropic", reason="the extra `clients` is not installed")

FUNCTION = WEATHER["function"]
TOOL = {"name": FUNCTION["name"], "description": FUNCTION["description"], "input_schema": FUNCTION["parameters"]}
FORCED = {"type": "tool", "name": FUNCTION["name"], "disable_parallel_tool_use": True}


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=service.url, api_key="no-key", max_retries=0, timeout=60) as client:
        yield client


def asked(temperature: float = 0, seed: int = 1, **options: Any) -> dict[str, Any]:
    """The arguments of a call; its types have neither temperature nor seed."""
    extra = {"temperature": temperature, "seed": seed}
    return {"model": MODEL, "messages": CAPITAL, "max_tokens": 60, "extra_body": extra} | options


def test_a_message(client: anthropic.Anthropic) -> None:
    message = client.messages.create(**asked())
    [block] = message.content
    assert (block.type, block.text) == ("text", "The capital of France is Paris.")
    assert (message.role, message.stop_reason) == ("assistant", "end_turn")
    assert message.usage.output_tokens > 0


async def test_the_asynchronous_client(service: RealService) -> None:
    async with anthropic.AsyncAnthropic(base_url=service.url, api_key="no-key", timeout=60) as client:
        message = await client.messages.create(**asked())
    assert message.content[0].text == "The capital of France is Paris."


def test_a_stream_equals_the_whole_message(client: anthropic.Anthropic) -> None:
    options = asked(messages=STORY, temperature=0.7, seed=3)
    whole = client.messages.create(**options)
    with client.messages.stream(**options) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == whole.content[0].text == final.content[0].text
    assert final.stop_reason == whole.stop_reason
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_a_forced_call_and_its_result(client: anthropic.Anthropic) -> None:
    options = asked(tools=[TOOL], tool_choice=FORCED, messages=STORY, seed=2)
    message = client.messages.create(**options)
    [call] = message.content
    assert (message.stop_reason, call.type) == ("tool_use", "tool_use")
    check_weather(call.name, json.dumps(call.input))
    with client.messages.stream(**options) as stream:
        [streamed] = stream.get_final_message().content
    assert (streamed.name, streamed.input, bool(streamed.id)) == (call.name, call.input, True)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain, 9 degrees"}
    turns = [*STORY, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(**asked(messages=turns, tools=[TOOL])).usage.output_tokens > 0


def test_an_answer_obeys_a_schema(client: anthropic.Anthropic) -> None:
    config = {"format": {"type": "json_schema", "schema": PLACE}}
    message = client.messages.create(**asked(messages=STORY, output_config=config, max_tokens=120))
    check_place(message.content[0].text)


def test_an_answer_continues_what_the_assistant_began(client: anthropic.Anthropic) -> None:
    begun = [*CAPITAL, {"role": "assistant", "content": "The capital of"}]
    message = client.messages.create(**asked(messages=begun))
    assert message.content[0].text == " France is Paris."


def test_stop_sequences(client: anthropic.Anthropic) -> None:
    message = client.messages.create(**asked(stop_sequences=[" is"]))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", " is")
    assert message.content[0].text == "The capital of France"


def test_tokens_are_counted_before_a_message(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model=MODEL, messages=CAPITAL, system="Be brief.")
    usage = client.messages.create(**asked(system="Be brief.")).usage
    assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens


def test_a_batch_of_messages(client: anthropic.Anthropic) -> None:
    params = {"model": MODEL, "messages": CAPITAL, "max_tokens": 60, "temperature": 0}
    wrong = params | {"temperature": 9}
    requests = [{"custom_id": "right", "params": params}, {"custom_id": "wrong", "params": wrong}]
    batch = client.messages.batches.create(requests=requests)
    until(lambda: client.messages.batches.retrieve(batch.id).processing_status == "ended", 60)
    results = {result.custom_id: result.result for result in client.messages.batches.results(batch.id)}
    assert results["right"].message.content[0].text == "The capital of France is Paris."
    assert results["wrong"].error.error.type == "invalid_request_error"
    assert batch.id in [listed.id for listed in client.messages.batches.list(limit=1)]
    client.messages.batches.delete(batch.id)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.cancel(batch.id)


def test_failures_are_of_its_classes(client: anthropic.Anthropic, guarded_url: str, empty_url: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match="temperature"):
        client.messages.create(**asked(temperature=9))
    with (
        anthropic.Anthropic(base_url=guarded_url, api_key="wrong", max_retries=0) as stranger,
        pytest.raises(anthropic.AuthenticationError),
    ):
        stranger.messages.create(**asked())
    with anthropic.Anthropic(base_url=guarded_url, api_key=KEY, max_retries=0) as known:
        assert known.messages.create(**asked()).stop_reason == "end_turn"
    with (
        anthropic.Anthropic(base_url=empty_url, api_key="no-key", max_retries=0) as early,
        pytest.raises(anthropic.InternalServerError),
    ):
        early.messages.create(**asked())
