"""Responses through the `openai` package: bodies and events of its types, streams, tools, structured answers, state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.router.scripted_router import until
from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import CLOCK, MODEL, PLACE, WEATHER, check_place, check_weather

openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")
pydantic = pytest.importorskip("pydantic")

from tests.clients.openai_types import check_event, check_response, check_typed  # noqa: E402

QUESTION = "What is the capital of France?"
TALE = "Tell me a short story about a fox."
TOOL = {"type": "function", **WEATHER["function"], "strict": True}
OTHER = {"type": "function", **CLOCK["function"]}
FORCED = {"type": "function", "name": "get_weather"}


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="no-key", max_retries=0, timeout=60) as client:
        yield client


def asked(seed: int = 1, **options: Any) -> dict[str, Any]:
    """The arguments of a call; its types have no seed."""
    given = {"model": MODEL, "input": QUESTION, "temperature": 0, "max_output_tokens": 60}
    return given | {"extra_body": {"seed": seed}} | options


def raw_events(service: RealService, **body: Any) -> list[dict[str, Any]]:
    """The events of a stream as they are sent."""
    body = {"model": MODEL, "seed": 2, "max_output_tokens": 60, "stream": True} | body
    text = httpx.post(f"{service.url}/v1/responses", json=body, timeout=60).text
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]


@pytest.mark.parametrize(
    "body",
    [
        {"input": QUESTION, "instructions": "Be brief.", "metadata": {"a": "b"}, "user": "someone"},
        {"input": TALE, "tools": [TOOL, OTHER], "tool_choice": FORCED},
        {"input": TALE, "tools": [TOOL], "tool_choice": "required", "max_output_tokens": 9, "background": True},
        {"input": TALE, "text": {"format": {"type": "json_schema", "name": "place", "schema": PLACE}}},
        {"input": TALE, "include": ["message.output_text.logprobs"], "top_logprobs": 2, "max_output_tokens": 5},
        {"input": TALE, "reasoning": {"effort": "low", "summary": "auto"}, "max_output_tokens": 5},
    ],
)
def test_bodies_and_events_have_the_fields_of_the_types(service: RealService, body: dict[str, Any]) -> None:
    events = raw_events(service, **body)
    for event in events:
        check_event(event)
    ended = events[-1]["response"]
    check_response(ended)
    url = f"{service.url}/v1/responses/{ended['id']}"
    assert httpx.get(url).json() == ended
    items = httpx.get(f"{url}/input_items").json()
    check_typed(items, openai.types.responses.ResponseItemList)


def test_a_response(client: openai.OpenAI) -> None:
    response = client.responses.create(**asked())
    assert (response.output_text, response.status) == ("The capital of France is Paris.", "completed")
    assert response.usage.output_tokens > 0
    assert client.responses.retrieve(response.id) == response
    [item] = client.responses.input_items.list(response.id)
    assert item.content[0].text == QUESTION


async def test_the_asynchronous_client(service: RealService) -> None:
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="no-key", timeout=60) as client:
        response = await client.responses.create(**asked())
    assert response.output_text == "The capital of France is Paris."


def test_a_stream_equals_the_whole_response(client: openai.OpenAI) -> None:
    options = asked(input=TALE, temperature=0.7, seed=3)
    whole = client.responses.create(**options)
    with client.responses.stream(**options) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == whole.output_text == final.output_text
    assert final.usage.output_tokens == whole.usage.output_tokens
    with client.responses.stream(response_id=final.id, starting_after=5) as stream:
        [first, *_] = stream
        assert first.sequence_number == 6
        assert stream.get_final_response().output_text == text


def test_a_conversation_is_continued_by_its_id_or_its_items(client: openai.OpenAI) -> None:
    first = client.responses.create(**asked())
    more = "And the capital of Italy?"
    by_id = client.responses.create(**asked(input=more, previous_response_id=first.id))
    turns = [{"role": "user", "content": QUESTION}, *first.output, {"role": "user", "content": more}]
    by_items = client.responses.create(**asked(input=turns, store=False))
    assert by_id.output_text == by_items.output_text
    assert by_id.usage.input_tokens == by_items.usage.input_tokens
    counted = client.responses.input_tokens.count(model=MODEL, input=turns)
    assert counted.input_tokens == by_items.usage.input_tokens
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(by_items.id)


def test_a_forced_call_and_its_result(client: openai.OpenAI) -> None:
    options = asked(tools=[TOOL, OTHER], tool_choice=FORCED, parallel_tool_calls=False, input=TALE, seed=2)
    response = client.responses.create(**options)
    [call] = response.output
    check_weather(call.name, call.arguments)
    with client.responses.stream(**options) as stream:
        pieces = [event.delta for event in stream if event.type == "response.function_call_arguments.delta"]
        [streamed] = stream.get_final_response().output
    assert "".join(pieces) == streamed.arguments == call.arguments
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain, 9 degrees"}
    ended = client.responses.create(**asked(input=[result], previous_response_id=response.id, tools=[TOOL]))
    assert ended.usage.output_tokens > 0


def test_an_answer_is_parsed(client: openai.OpenAI) -> None:
    class Place(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=12)
        people: int = pydantic.Field(ge=0, le=99)

    response = client.responses.parse(**asked(input=TALE, text_format=Place, max_output_tokens=120))
    assert isinstance(response.output_parsed, Place)
    form = {"type": "json_schema", "name": "place", "schema": PLACE, "strict": True}
    check_place(client.responses.create(**asked(input=TALE, text={"format": form}, max_output_tokens=120)).output_text)


def test_an_answer_with_a_schema_may_be_a_call_instead(client: openai.OpenAI) -> None:
    form = {"format": {"type": "json_schema", "name": "place", "schema": PLACE, "strict": True}}
    kinds = set()
    for seed in range(6):
        options = asked(seed, input=TALE, text=form, tools=[TOOL], temperature=1.5, max_output_tokens=120)
        for item in client.responses.create(**options, parallel_tool_calls=False).output:
            kinds.add(item.type)
            if item.type == "message":
                check_place(item.content[0].text)
            else:
                check_weather(item.name, item.arguments)
    assert kinds <= {"message", "function_call"}


def test_log_probabilities(client: openai.OpenAI) -> None:
    options = asked(include=["message.output_text.logprobs"], top_logprobs=2)
    [message] = client.responses.create(**options).output
    [part] = message.content
    assert b"".join(bytes(one.bytes) for one in part.logprobs).decode().strip().startswith(part.text)
    assert all(len(one.top_logprobs) == 2 for one in part.logprobs)


def test_a_response_in_the_background(client: openai.OpenAI) -> None:
    options = asked(input=TALE, background=True, temperature=0.7, seed=3)
    response = client.responses.create(**options)
    assert (response.status, response.output) == ("queued", [])
    until(lambda: client.responses.retrieve(response.id).status == "completed")
    whole = client.responses.create(**options | {"background": False})
    assert client.responses.retrieve(response.id).output_text == whole.output_text
    endless = {"extra_body": {"seed": 1, "ignore_eos": True}, "max_output_tokens": 900}
    running = client.responses.create(**options | endless)
    assert client.responses.cancel(running.id).status == "cancelled"
    client.responses.delete(running.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(running.id)


def test_failures_are_of_its_classes(client: openai.OpenAI, guarded_url: str, empty_url: str) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature") as caught:
        client.responses.create(**asked(temperature=9))
    assert caught.value.param == "temperature"
    with pytest.raises(openai.BadRequestError, match="web_search"):
        client.responses.create(**asked(tools=[{"type": "web_search"}]))
    with (
        openai.OpenAI(base_url=f"{guarded_url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.responses.create(**asked())
    with openai.OpenAI(base_url=f"{guarded_url}/v1", api_key=KEY, max_retries=0) as known:
        assert known.responses.create(**asked()).status == "completed"
    with (
        openai.OpenAI(base_url=f"{empty_url}/v1", api_key="no-key", max_retries=0) as early,
        pytest.raises(openai.InternalServerError),
    ):
        early.responses.create(**asked())
