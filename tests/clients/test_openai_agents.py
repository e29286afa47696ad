"""The `openai-agents` package: an agent with a tool, whose runs are responses."""

from __future__ import annotations

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import MODEL

agents = pytest.importorskip("agents", reason="the extra `clients` is not installed")
openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")


class Weather(pydantic.BaseModel):
    """What an agent says about the weather."""

    is_wet: bool
    degrees: int = pydantic.Field(ge=-99, le=99)


async def test_an_agent_calls_its_tool_and_answers(service: RealService) -> None:
    asked_for: list[str] = []

    @agents.function_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        asked_for.append(city)
        return "rain, 9 degrees"

    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="no-key", timeout=60) as client:
        agent = agents.Agent(
            name="guide",
            instructions="Answer about the weather.",
            model=agents.OpenAIResponsesModel(MODEL, openai_client=client),
            model_settings=agents.ModelSettings(
                temperature=0, max_tokens=80, tool_choice="required", parallel_tool_calls=False
            ),
            tools=[get_weather],
        )
        config = agents.RunConfig(tracing_disabled=True)
        whole = await agents.Runner.run(agent, "Weather in Rome?", run_config=config)
        streamed = agents.Runner.run_streamed(agent, "Weather in Rome?", run_config=config)
        kinds = [event.data.type async for event in streamed.stream_events() if event.type == "raw_response_event"]
        structured = agent.clone(output_type=Weather)
        typed = await agents.Runner.run(structured, "Weather in Rome?", run_config=config)
    assert isinstance(typed.final_output, Weather)
    assert asked_for
    assert whole.final_output == streamed.final_output != ""
    assert kinds[0] == "response.created"
    assert kinds.count("response.completed") == len(streamed.raw_responses) >= 2
