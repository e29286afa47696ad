"""Preparation of messages, tools and response formats: the effect of the options, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.router.preparation.conversation import SAFETY
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.state.prepared_request import PreparedRequest
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel
from tests.support.text.grammar_texts import accepted

USER = ChatMessage(role="user", content="what time is it")


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "description": f"tells the {name}"} for name in names]


def prepared(
    *messages: ChatMessage, tools: Any = None, submit: dict[str, Any] | None = None, **options: Any
) -> PreparedRequest:
    return prepare(
        Submit(
            job_id=job_id(1),
            messages=list(messages) or [USER],
            tools=tools,
            options=Options(**options),
            **(submit or {}),
        ),
        LetterModel(),
    )


def text_of(job: PreparedRequest) -> str:
    return LetterModel().tokenizer.decode(job.prompt_ids)


def refused(*messages: ChatMessage, kind: type[Exception] = InvalidRequest, **fields: Any) -> Any:
    with pytest.raises(kind) as caught:
        prepared(*messages, **fields)
    return caught.value


def test_parts_of_text_are_joined() -> None:
    parts = [ContentPart(type="text", text="a"), ContentPart(type="text", text="b")]
    job = prepared(ChatMessage(role="user", content=parts))
    assert text_of(job) == "ab"
    assert job.request.messages == [ChatMessage(role="user", content="ab")]


def test_a_format_beside_tools_is_for_answers_that_are_no_calls() -> None:
    asked: dict[str, Any] = {"tools": named("a"), "response_format": {"type": "json_object"}}
    either, alone = prepared(**asked), prepared(response_format=asked["response_format"])
    call = '<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>'
    assert accepted(either.grammar, ['{"b": 1}', call, "text"]) == ['{"b": 1}', call]
    assert accepted(alone.grammar, ['{"b": 1}', call]) == ['{"b": 1}']
    forced = asked | {"tool_choice": "required"}
    assert prepared(**forced).grammar == prepared(**forced | {"response_format": None}).grammar
    unused = asked | {"tool_choice": "none"}
    assert prepared(**unused).grammar == alone.grammar


@pytest.mark.parametrize(
    ("message", "param"),
    [
        (ChatMessage(role="user", content="a", images=["a.png"]), "messages[0].images"),
        (ChatMessage(role="user", content=[ContentPart(type="image_url")]), "messages[0].content"),
    ],
)
def test_an_image_is_refused_with_the_name_of_the_model(message: ChatMessage, param: str) -> None:
    error = refused(message, kind=NotSupported)
    assert "letters" in error.message
    assert (error.param, error.status) == (param, 400)


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([ChatMessage(role="user", content=[ContentPart(type="text")])], "messages[0].content"),
        ([ChatMessage(role="system", content="a")], "messages"),
        ([ChatMessage(role="user", prefix=True), USER], "messages[0].prefix"),
        ([USER, ChatMessage(role="assistant", content="a", prefix=True), USER], "messages[1].prefix"),
        ([ChatMessage(role="assistant", content="a", prefix=True)], "messages"),
        ([USER, ChatMessage(role="assistant", tool_calls=[{"id": "1"}], prefix=True)], "messages[1].prefix"),
    ],
)
def test_conversations_without_an_answer_are_refused(messages: list[ChatMessage], param: str) -> None:
    assert refused(*messages).param == param


def test_more_messages_than_tokens_cannot_fit() -> None:
    assert refused(*[USER] * 4097, kind=ContextExceeded).param == "messages"


def test_a_prefix_is_continued_and_part_of_the_reply() -> None:
    job = prepared(USER, ChatMessage(role="assistant", content="It is", prefix=True))
    assert text_of(job) == "what time is it>It is"
    assert job.prompt_text == "It is"
    assert prepared().prompt_text is None


def test_the_safety_instruction_precedes_the_system_message() -> None:
    alone = prepared(USER, safe_prompt=True)
    assert text_of(alone) == f"{SAFETY}|what time is it"
    system = ChatMessage(role="system", content="Be brief.")
    both = prepared(system, USER, safe_mode=True)
    assert text_of(both) == f"{SAFETY}\n\nBe brief.|what time is it"
    assert both.request.messages is not None
    assert both.request.messages[0].content == f"{SAFETY}\n\nBe brief."
    assert text_of(prepared(system, USER, safe_prompt=False)) == "Be brief.|what time is it"


def test_prompt_mode_asks_the_template_for_reasoning() -> None:
    assert text_of(prepared(prompt_mode="reasoning")) == "[reason]what time is it"


@pytest.mark.parametrize("field", ["echo", "suffix"])
def test_options_of_raw_prompts_are_refused_with_messages(field: str) -> None:
    assert refused(**{field: {"echo": True, "suffix": ""}[field]}).param == field


def test_tools_of_both_shapes_are_normalised() -> None:
    wrapped = [{"type": "function", "function": {"name": "time"}}]
    bare = prepared(tools=[{"name": "time"}])
    assert text_of(bare) == "[time]what time is it"
    assert bare.request.tools == wrapped
    assert prepared(tools=wrapped).request.tools == wrapped
    assert (bare.tool_markup, bare.grammar, bare.selected_tools) == ("hermes", "", None)
    assert prepared().tool_markup is None


def test_control_tokens_of_the_markup_are_visible_where_tools_are_offered() -> None:
    model = LetterModel()
    model.tool_tokens = ((5, "<tool_call>"),)
    submit = Submit(job_id=job_id(1), messages=[USER], tools=named("time"))
    assert prepare(submit, model).params.visible_tokens == ((5, "<tool_call>"),)
    assert prepare(Submit(job_id=job_id(1), messages=[USER]), model).params.visible_tokens == ()


def test_tool_choice_none_offers_none() -> None:
    job = prepared(tools=named("time"), tool_choice="none")
    assert (text_of(job), job.tool_markup, job.request.tools) == ("what time is it", None, None)


@pytest.mark.parametrize(
    "options",
    [
        {"tool_choice": "any"},
        {"tool_choice": "required"},
        {"force_tools": True},
        {"tool_choice": {"type": "function", "function": {"name": "time"}}},
    ],
)
def test_a_forced_call_has_a_grammar(options: dict[str, Any]) -> None:
    job = prepared(tools=named("time", "date"), **options)
    assert "time" in job.grammar
    assert job.cloud_refusal == "a cloud cannot be forced to call a tool"
    assert ("date" in job.grammar) == (options.get("tool_choice") in ("any", "required", None))
    assert text_of(job) == "[time][date]what time is it"


def test_without_parallel_calls_a_single_call_is_allowed() -> None:
    assert prepared(tools=named("time"), parallel_tool_calls=False).single_call
    assert not prepared(tools=named("time")).single_call
    forced = {"tools": named("time"), "force_tools": True}
    assert prepared(**forced, parallel_tool_calls=False).grammar != prepared(**forced).grammar


def test_the_most_relevant_of_many_tools_are_offered() -> None:
    tools = named("weather", "stock", "time", "music")
    job = prepared(tools=tools, tool_rag_top_k=1)
    assert (text_of(job), job.selected_tools) == ("[time]what time is it", ["time"])
    assert prepared(tools=tools, tool_rag_top_k=0).selected_tools is None
    chosen = {"type": "function", "function": {"name": "music"}}
    assert prepared(tools=tools, tool_rag_top_k=1, tool_choice=chosen).selected_tools == ["music"]
    many = named(*(f"tool{number}" for number in range(9)))
    assert len(prepared(tools=many).selected_tools or []) == 5
    assert prepared(tools=many, submit={"profile": "mistral"}).selected_tools is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"description": "x"}]}, "tools[0].function.name"),
        ({"tools": named("a", "a")}, "tools[1].function.name"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [], "force_tools": True}, "force_tools"),
        (
            {
                "tools": named("a"),
                "tool_choice": {"type": "function", "function": {"name": "b"}},
            },
            "tool_choice",
        ),
        ({"tools": named("a"), "grammar": 'root ::= "a"'}, "grammar"),
        ({"tools": named("a"), "regex": "a"}, "regex"),
        ({"regex": "("}, "regex"),
        ({"json_schema": {"type": "colour"}}, "json_schema"),
    ],
)
def test_invalid_tools_and_grammars_are_refused(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields).param.partition(".")[0] == param.partition(".")[0]


@pytest.mark.parametrize(
    "options",
    [
        {"grammar": 'root ::= "a"'},
        {"grammar": 'root ::= "a" \n other ::= "b"', "grammar_root": "other"},
        {"grammar_root": "value"},
        {"json_schema": {"type": "object"}},
        {"regex": "a+"},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
    ],
)
def test_every_structure_option_is_compiled_and_prevents_a_handoff(options: dict[str, Any]) -> None:
    job = prepared(**options, cloud_handoff_threshold=0.9)
    assert job.grammar
    assert not job.policy.allow_cloud
    assert job.cloud_refusal is not None


def test_a_structure_option_is_accepted_with_tool_choice_none() -> None:
    job = prepared(tools=named("a"), tool_choice="none", regex="a+")
    assert job.grammar
    assert job.tool_markup is None


def test_chat_penalties_count_the_answer_only() -> None:
    assert prepared().params.penalise_prompt
    assert not prepared(submit={"profile": "cactus"}).params.penalise_prompt
    completion = Submit(job_id=job_id(1), prompt="x", profile="llamacpp")
    assert prepare(completion, LetterModel()).params.penalise_prompt


def strict_tools(**parameters: Any) -> list[dict[str, Any]]:
    clock = {"name": "clock", "strict": True, "parameters": {"type": "object", **parameters}}
    return [clock, *named("weather")]


def test_strict_tools_constrain_unforced_calls_and_prevent_a_handoff() -> None:
    job = prepared(tools=strict_tools(properties={"zone": {"enum": ["UTC"]}}))
    assert job.grammar
    assert job.params.reasoning is None
    assert (job.policy.allow_cloud, job.cloud_refusal) == (
        False,
        "a cloud does not enforce the schemas of strict tools",
    )
    assert prepared(tools=named("clock", "weather")).grammar == ""
    assert prepared(tools=strict_tools(), tool_choice="none").grammar == ""
    forced = prepared(tools=strict_tools(), tool_choice="required")
    assert (
        forced.grammar
        == prepared(tools=[{**tool, "strict": False} for tool in strict_tools()], tool_choice="required").grammar
    )
    assert forced.cloud_refusal == "a cloud cannot be forced to call a tool"


def test_unenforceable_strict_tools_are_refused() -> None:
    error = refused(tools=strict_tools(properties={"a": {"contains": {}}}), kind=NotSupported)
    assert error.param == "tools"
    assert "contains" in error.message
    loose = [{**tool, "strict": False} for tool in strict_tools(properties={"a": {"contains": {}}})]
    assert prepared(tools=loose).grammar == ""
    assert refused(tools=[{"name": "a", "strict": 1}]).param == "tools[0].function.strict"
