"""The `openai` package: every endpoint that it has a method for, with typical calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import CAPITAL, MODEL, PLACE_FORMAT, STORY, check_place
from tests.support.text.documents import page

openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")

PAGE = page("reference/http.md")


@pytest.fixture(scope="module")
def client(service: RealService) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="no-key", max_retries=0, timeout=60) as client:
        yield client


def test_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="any/name", messages=CAPITAL, temperature=0)
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "The capital of France is Paris.")
    assert (choice.finish_reason, answer.object, answer.model) == ("stop", "chat.completion", "any/name")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.system_fingerprint.startswith("cactus")
    assert 0.9 < answer.confidence <= 1  # an extension, which the package keeps


def test_a_chat_continues_after_the_last_answer(client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model=MODEL, messages=CAPITAL, temperature=0)
    said = first.choices[0].message.model_dump()
    again = [*CAPITAL, said, {"role": "user", "content": "What is 2+2?"}]
    answer = client.chat.completions.create(model=MODEL, messages=again, temperature=0)
    assert answer.usage.prompt_tokens > first.usage.total_tokens
    assert answer.choices[0].message.content


def test_a_chat_streams_the_same_text(client: openai.OpenAI) -> None:
    asked = {"model": MODEL, "messages": STORY, "seed": 3, "max_tokens": 60}
    whole = client.chat.completions.create(**asked)
    stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    *chunks, last = stream
    assert {chunk.id for chunk in chunks} == {last.id}
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason
    assert (last.choices, last.usage.completion_tokens) == ([], whole.usage.completion_tokens)


def test_the_packages_own_stream_helper_collects_an_answer(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=CAPITAL, temperature=0) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content == "The capital of France is Paris."


async def test_the_asynchronous_client(service: RealService) -> None:
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="no-key", timeout=60) as client:
        stream = await client.chat.completions.create(model=MODEL, messages=CAPITAL, temperature=0, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert text == "The capital of France is Paris."


def test_several_choices_of_a_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=STORY, n=3, seed=5, max_tokens=20)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in answer.choices}) == 3
    assert answer.usage.completion_tokens <= 60


def test_logprobs_of_a_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=CAPITAL, temperature=0, logprobs=True, top_logprobs=2)
    tokens = answer.choices[0].logprobs.content
    assert len(tokens) == answer.usage.completion_tokens
    text = b"".join(bytes(token.bytes or b"") for token in tokens)
    assert text.decode().startswith("The capital of France is Paris.")
    for token in tokens:
        assert len(token.top_logprobs) == 2
        assert token.top_logprobs[0].logprob == pytest.approx(token.logprob)  # greedy


def test_logit_bias_and_stop(client: openai.OpenAI) -> None:
    asked = {"model": MODEL, "messages": CAPITAL, "temperature": 0}
    stopped = client.chat.completions.create(**asked, stop=[" France"])
    assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == (
        "The capital of",
        "stop",
    )
    probed = client.chat.completions.create(**asked, logprobs=True, extra_body={"return_raw_tokens": True})
    first = probed.choices[0].tokens[0]
    other = client.chat.completions.create(**asked, logit_bias={str(first): -100})
    assert not other.choices[0].message.content.startswith("The")


def test_completions_of_many_prompts(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt=["Once upon", "The sea"], n=2, seed=1, max_tokens=8, echo=True
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    beginnings = [choice.text[:7] for choice in answer.choices]
    assert beginnings == ["Once up", "Once up", "The sea", "The sea"]
    assert answer.object == "text_completion"


def test_a_completion_of_token_ids_streams(client: openai.OpenAI) -> None:
    asked = {"model": MODEL, "prompt": [300, 301, 302], "seed": 4, "max_tokens": 16}
    whole = client.completions.create(**asked)
    *chunks, last = client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert last.usage == whole.usage


def test_a_prompt_is_scored(client: openai.OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=0, echo=True, logprobs=2)
    [choice] = answer.choices
    scores = choice.logprobs
    assert choice.text == "Once upon a time"
    assert "".join(scores.tokens).endswith("Once upon a time")
    assert scores.token_logprobs[0] is None
    assert len(scores.tokens) == len(scores.token_logprobs) == len(scores.text_offset)
    assert all(value <= 0 for value in scores.token_logprobs[1:])


def test_a_response_format_is_obeyed(client: openai.OpenAI) -> None:
    for seed in range(3):
        answer = client.chat.completions.create(
            model=MODEL, messages=STORY, response_format=PLACE_FORMAT, seed=seed, temperature=1.5
        )
        check_place(answer.choices[0].message.content)
    loose = client.chat.completions.create(
        model=MODEL, messages=STORY, response_format={"type": "json_object"}, seed=1, max_tokens=600
    )
    if loose.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(loose.choices[0].message.content), dict)
    else:
        assert loose.choices[0].message.content.lstrip().startswith("{")


def test_a_response_format_streams(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model=MODEL, messages=STORY, response_format=PLACE_FORMAT, seed=2, stream=True
    )
    check_place("".join(chunk.choices[0].delta.content or "" for chunk in stream))


def test_parse_makes_a_pydantic_model(client: openai.OpenAI) -> None:
    from typing import Literal

    from pydantic import BaseModel, Field

    class Place(BaseModel):
        name: str = Field(max_length=12)
        kind: Literal["city", "river"]
        people: int = Field(ge=0, le=99)

    answer = client.chat.completions.parse(model=MODEL, messages=STORY, response_format=Place, seed=2)
    place = answer.choices[0].message.parsed
    assert isinstance(place, Place)
    with client.chat.completions.stream(model=MODEL, messages=STORY, response_format=Place, seed=2) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == place


def test_fields_beyond_the_openai_api_are_sent_in_extra_body(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt="I am", max_tokens=20, extra_body={"regex": "[0-9]{4}", "top_k": 5, "min_p": 0.01}
    )
    assert len(answer.choices[0].text) == 4
    assert answer.choices[0].text.isdigit()


def test_embeddings_in_both_encodings(client: openai.OpenAI) -> None:
    asked = {"model": MODEL, "input": ["The sea.", "A fox."]}
    as_base64 = client.embeddings.create(**asked)  # the encoding that the package requests and decodes itself
    as_floats = client.embeddings.create(**asked, encoding_format="float")
    for one, other in zip(as_base64.data, as_floats.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding)
        assert sum(value * value for value in one.embedding) == pytest.approx(1, abs=1e-3)
    assert as_base64.usage.total_tokens > 0


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "cactus"
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("other")
    assert refused.value.param == "model"


def test_the_documented_python_runs(service: RealService, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    printed = []
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S):
        exec(compile(block.replace("http://127.0.0.1:8080", service.url), "http.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    chat, response = printed
    assert re.fullmatch(r"The capital of France is Paris\.\n\d{4}", chat)
    assert re.fullmatch(r"resp_[0-9a-f]{24} The capital of France is Paris\.\n", response)


def test_a_batch_runs_from_its_file_to_its_answers(client: openai.OpenAI) -> None:
    lines = [
        {
            "custom_id": f"q{number}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": MODEL, "messages": CAPITAL, "temperature": temperature},
        }
        for number, temperature in enumerate([0, 0, 7])
    ]
    written = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client.files.create(file=("questions.jsonl", written), purpose="batch")
    assert (file.bytes, file.filename, file.status) == (len(written), "questions.jsonl", "processed")
    assert client.files.content(file.id).read() == written
    assert file.id in [one.id for one in client.files.list()]
    batch = client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"asked": "twice"},
    )
    batch = ended(client, batch.id)
    assert (batch.status, batch.metadata) == ("completed", {"asked": "twice"})
    assert (batch.request_counts.total, batch.request_counts.completed, batch.request_counts.failed) == (*(3, 2, 1),)
    answers = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    assert {answer["custom_id"] for answer in answers} == {"q0", "q1"}
    for answer in answers:
        said = openai.types.chat.ChatCompletion.model_validate(answer["response"]["body"])
        assert said.choices[0].message.content == "The capital of France is Paris."
    [failure] = [json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines()]
    assert (failure["custom_id"], failure["response"]["status_code"]) == ("q2", 400)
    assert batch.id in [one.id for one in client.batches.list()]
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)


def test_a_batch_is_cancelled(client: openai.OpenAI) -> None:
    line = {
        "method": "POST",
        "url": "/v1/completions",
        "body": {"prompt": "Once", "max_tokens": 900, "ignore_eos": True},
    }
    written = "".join(json.dumps(line | {"custom_id": str(number)}) + "\n" for number in range(50))
    file = client.files.create(file=("long.jsonl", written.encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/completions", completion_window="24h")
    client.batches.cancel(batch.id)
    batch = ended(client, batch.id)
    assert batch.status == "cancelled"
    assert batch.request_counts.completed < 50


def ended(client: openai.OpenAI, batch_id: str) -> openai.types.Batch:
    from tests.support.router.scripted_router import until

    until(
        lambda: client.batches.retrieve(batch_id).status in ("completed", "failed", "cancelled", "expired"),
        60,
    )
    return client.batches.retrieve(batch_id)
