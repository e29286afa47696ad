"""Frameworks that call `/v1/responses` by themselves: what they make of answers, streams, tools and structures."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import MODEL, WEATHER

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch a price list when it is imported
pydantic = pytest.importorskip("pydantic", reason="the extra `clients` is not installed")
openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # their own warnings

QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
TALE = "Tell me a short story about a fox."


class Place(pydantic.BaseModel):
    """A place."""

    name: str = pydantic.Field(max_length=12)
    people: int = pydantic.Field(ge=0, le=99)


def test_litellm(service: RealService) -> None:
    litellm = pytest.importorskip("litellm", reason="the extra `clients` is not installed")
    asked: dict[str, Any] = {"api_base": f"{service.url}/v1", "api_key": "no-key", "temperature": 0, "timeout": 60}
    model = f"openai/{MODEL}"
    whole = litellm.responses(model=model, input=QUESTION, **asked)
    assert whole.output[0].content[0].text == ANSWER
    events = [*litellm.responses(model=model, input=QUESTION, stream=True, **asked)]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ANSWER
    assert events[-1].type == "response.completed"


async def test_pydantic_ai(service: RealService) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra `clients` is not installed")
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="no-key", timeout=60) as client:
        model = OpenAIResponsesModel(MODEL, provider=OpenAIProvider(openai_client=client))
        settings: Any = {"temperature": 0, "max_tokens": 120}
        agent = Agent(model, model_settings=settings)
        assert (await agent.run(QUESTION)).output == ANSWER
        async with agent.run_stream(QUESTION) as stream:
            assert await stream.get_output() == ANSWER
        structured = Agent(model, output_type=Place, model_settings=settings)
        assert isinstance((await structured.run(TALE)).output, Place)


def test_langchain(service: RealService) -> None:
    langchain_openai = pytest.importorskip("langchain_openai", reason="the extra `clients` is not installed")
    asked = {"model": MODEL, "base_url": f"{service.url}/v1", "api_key": "no-key", "temperature": 0, "max_tokens": 120}
    chat = langchain_openai.ChatOpenAI(use_responses_api=True, output_version="responses/v1", **asked)
    assert chat.invoke(QUESTION).text == ANSWER
    assert "".join(chunk.text for chunk in chat.stream(QUESTION)) == ANSWER
    call, *_ = chat.bind_tools([WEATHER], tool_choice="get_weather").invoke(TALE).tool_calls
    assert call["name"] == "get_weather"
    assert isinstance(chat.with_structured_output(Place, method="json_schema").invoke(TALE), Place)


def test_dspy(service: RealService) -> None:
    dspy = pytest.importorskip("dspy", reason="the extra `clients` is not installed")
    model = dspy.LM(
        f"openai/{MODEL}",
        api_base=f"{service.url}/v1",
        api_key="no-key",
        model_type="responses",
        temperature=0.0,
        max_tokens=60,
        cache=False,
    )
    [answer] = model(messages=[{"role": "user", "content": QUESTION}])
    assert (answer["text"] if isinstance(answer, dict) else answer) == ANSWER
