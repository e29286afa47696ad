"""Chat templates in the shape of this year's families: their markups, and calls and results of a conversation.

The templates are short ones of our own, with the control tokens and the fields of the published ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.results import ToolCall
from cactus_actors.reasoning import split
from cactus_actors.text import TextModel
from cactus_actors.tools.call_splitter import parse_calls
from cactus_actors.tools.tool_results import with_result_role, with_results_beside_calls
from tests.support.models.json_tokenizers import load_model

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}}]
CALL = {"id": "abc123xyz", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "abc123xyz", "name": "add", "content": "two"},
]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A template, and what is found in it; `call` and `result` are as in its prompts, `answer` as the model writes."""

    template: str
    tokens: tuple[str, ...] = ()
    tools: str
    reasoning: str | None
    call: str
    result: str
    answer: str


SHAPES = {
    "Qwen3.5": Shape(
        template="""\
{% if tools %}<|im_start|>system
{{ tools | tojson }} as <tool_call>
<function=name>
<parameter=key>
value
</parameter>
</function>
</tool_call><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ 'user' if m.role == 'tool' else m.role }}
{% if m.role == 'tool' %}<tool_response>
{{ m.content }}
</tool_response>{% else %}{{ m.content }}{% endif %}{% for c in m.tool_calls or () %}<tool_call>
<function={{ c.function.name }}>
{% for key, value in c.function.arguments | items %}<parameter={{ key }}>
{{ value }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% if enable_thinking is false %}
</think>

{% endif %}{% endif %}""",
        tokens=("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"),
        tools="qwen3_coder",
        reasoning="think",
        call="<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        result="<tool_response>\ntwo\n</tool_response>",
        answer="<think>\nOne.\n</think>\n\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n"
        "</tool_call>",
    ),
    "Gemma 4": Shape(
        template="""\
{% if tools %}<|turn>system
{% for t in tools %}<|tool>declaration:{{ t.function.name }}<tool|>{% endfor %}<turn|>
{% endif %}{% for m in messages %}<|turn>{{ 'model' if m.role == 'assistant' else m.role }}
{% for c in m.tool_calls or () %}<|tool_call>call:{{ c.function.name }}{
{%- for key, value in c.function.arguments | items %}{{ key }}:{{ value }}{% endfor %}}<tool_call|>{% endfor %}
{%- for r in m.tool_responses or () %}<|tool_response>response:{{ r.name }}{value:<|"|>{{ r.response }}<|"|>}
{%- endfor %}{{ m.content }}<turn|>
{% endfor %}{% if add_generation_prompt %}<|turn>model
{% if not enable_thinking %}<|channel>thought
<channel|>{% endif %}{% endif %}""",
        tokens=("<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>"),
        tools="gemma4",
        reasoning="gemma",
        call="<|tool_call>call:add{a:1}<tool_call|>",
        result='<tool_call|><|tool_response>response:add{value:<|"|>two<|"|>}',
        answer="<|channel>thought\nOne.<channel|><|tool_call>call:add{a:1}<tool_call|>",
    ),
    "LFM2.5": Shape(
        template="""\
{% if tools %}<|im_start|>system
List of tools: {{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}
{%- if m.tool_calls %}<|tool_call_start|>[{% for c in m.tool_calls %}{{ c.function.name }}(
{%- for key, value in c.function.arguments | items %}{{ key }}={{ value }}{% endfor %}){% endfor %}]<|tool_call_end|>
{%- endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
        tokens=("<|im_start|>", "<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>"),
        tools="lfm2",
        reasoning="think",
        call="<|tool_call_start|>[add(a=1)]<|tool_call_end|>",
        result="<|im_start|>tool\ntwo<|im_end|>",
        answer="<think>One.</think><|tool_call_start|>[add(a=1)]<|tool_call_end|>",
    ),
    "gpt-oss": Shape(
        template="""\
<|start|>system<|message|>Valid channels: analysis, commentary, final.<|end|>
{%- if tools %}<|start|>developer<|message|>namespace functions {{ tools | tojson }}<|end|>{% endif %}
{%- for m in messages %}{% if m.role == 'tool' %}<|start|>functions.{{ m.name }} to=assistant<|channel|>commentary
{%- else %}<|start|>{{ m.role }}{% endif %}
{%- if m.tool_calls %}{% set f = m.tool_calls[0].function %}<|channel|>commentary to=functions.{{ f.name }}
{{- ' ' }}<|constrain|>json<|message|>{{ f.arguments | tojson }}<|call|>
{%- else %}{% if m.thinking %}<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif -%}
<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}""",
        tokens=("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|return|>"),
        tools="harmony",
        reasoning="harmony",
        call='<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>',
        result="<|start|>functions.add to=assistant<|channel|>commentary<|message|>two<|end|>",
        answer="<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>commentary to=functions.add "
        '<|constrain|>json<|message|>{"a": 1}<|call|>',
    ),
    "Granite 4": Shape(
        template="""\
{% if tools %}<|start_of_role|>system<|end_of_role|>{{ tools | tojson }}
<tool_call>
{"name": name, "arguments": object}
</tool_call><|end_of_text|>
{% endif %}{% for m in messages %}<|start_of_role|>{{ 'user' if m.role == 'tool' else m.role }}<|end_of_role|>
{%- if m.role == 'tool' %}
<tool_response>
{{ m.content }}
</tool_response>{% else %}{{ m.content }}{% endif %}{% for c in m.tool_calls or () %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|end_of_text|>
{% endfor %}{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}""",
        tokens=("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<tool_call>", "</tool_call>"),
        tools="hermes",
        reasoning=None,
        call='<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
        result="<tool_response>\ntwo\n</tool_response>",
        answer='<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
    ),
    "Ministral 3": Shape(
        template="""\
{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}{% for m in messages %}
{%- if m.role == 'user' %}[INST]{{ m.content }}[/INST]
{%- elif m.role == 'tool' %}[TOOL_RESULTS]{{ m.content }}[/TOOL_RESULTS]
{%- else %}{% if m.content is not string %}{% for b in m.content %}
{%- if b.type == 'thinking' %}[THINK]{{ b.thinking }}[/THINK]{% else %}{{ b.text }}{% endif %}{% endfor %}
{%- else %}{{ m.content }}{% endif %}{% for c in m.tool_calls or () %}[TOOL_CALLS]{{ c.function.name }}[ARGS]
{{- c.function.arguments | tojson }}{% endfor %}</s>{% endif %}{% endfor %}""",
        tokens=(
            "[AVAILABLE_TOOLS]",
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "[ARGS]",
            "[TOOL_RESULTS]",
            "[THINK]",
            "</s>",
        ),
        tools="mistral_args",
        reasoning="mistral",
        call='[TOOL_CALLS]add[ARGS]{"a": 1}</s>',
        result="[TOOL_RESULTS]two[/TOOL_RESULTS]",
        answer='[THINK]One.[/THINK][TOOL_CALLS]add[ARGS]{"a": 1}',
    ),
    "OLMo 3": Shape(
        template="""\
<|im_start|>system
You call functions in <function_calls></function_calls>.
{%- if tools %} <functions>{{ tools | tojson }}</functions>{% endif %}<|im_end|>
{% for m in messages %}{% if m.role in ('user', 'assistant', 'environment') %}<|im_start|>{{ m.role }}
{{ m.content }}{% if m.tool_calls %}<function_calls>{% for c in m.tool_calls %}{{ c.function.name }}(
{%- for key, value in c.function.arguments | items %}{{ key }}={{ value | tojson }}{% endfor %})
{%- if not loop.last %}
{% endif %}{% endfor %}</function_calls>{% endif %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>{% endif %}""",
        tokens=("<|im_start|>", "<|im_end|>"),
        tools="olmo3",
        reasoning="think",
        call="<function_calls>add(a=1)</function_calls>",
        result="<|im_start|>environment\ntwo<|im_end|>",
        answer="<think>One.</think><function_calls>add(a=1)</function_calls>",
    ),
    "EXAONE 4": Shape(
        template="""\
{% if tools %}[|system|]
{{ tools | tojson }}, called as <tool_call>{"name": name, "arguments": object}</tool_call>[|endofturn|]
{% endif %}{% for m in messages %}[|{{ m.role }}|]
{% if m.role == 'tool' %}<tool_result>{{ m.content }}</tool_result>{% else %}{{ m.content }}{% endif %}
{%- for c in m.tool_calls or () %}<tool_call>{"name": "{{ c.function.name }}", "arguments": {{
c.function.arguments | tojson }}}</tool_call>{% endfor %}[|endofturn|]
{% endfor %}{% if add_generation_prompt %}[|assistant|]
<think>
{% if not enable_thinking %}
</think>

{% endif %}{% endif %}""",
        tokens=("[|system|]", "[|user|]", "[|assistant|]", "[|tool|]", "[|endofturn|]", "<tool_call>", "</tool_call>"),
        tools="hermes",
        reasoning="think",
        call='<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
        result="[|tool|]\n<tool_result>two</tool_result>",
        answer='<think>\nOne.\n</think>\n\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
    ),
}
EACH = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def model_of(directory: Path, shape: Shape) -> TextModel:
    return load_model(directory, *shape.tokens, template=shape.template)


@EACH
def test_the_markups_of_a_family_are_found_in_its_template(shape: Shape, tmp_path: Path) -> None:
    model = model_of(tmp_path, shape)
    assert model.tool_markup == shape.tools
    assert (model.reasoning.markup if model.reasoning else None) == shape.reasoning


@EACH
def test_a_call_and_its_result_are_in_the_prompt_as_the_family_has_them(shape: Shape, tmp_path: Path) -> None:
    text = model_of(tmp_path, shape).chat_text(HISTORY, TOOLS).text
    assert "add" in text.partition(shape.call)[0], "the tool is described before"
    assert text.count(shape.call) == 1
    assert text.count(shape.result) == 1
    assert text.count("two") == 1


@EACH
def test_an_answer_is_reasoning_and_a_call(shape: Shape) -> None:
    text = shape.answer
    if shape.reasoning is not None:
        told = split(shape.reasoning, text)
        assert told.reasoning.strip() == "One."
        text = told.text
    assert parse_calls(shape.tools, text, TOOLS).calls == [ToolCall("add", {"a": 1})]


def test_results_follow_the_calls_that_they_belong_to() -> None:
    other = {"id": "b", "function": {"name": "now", "arguments": {}}}
    messages: list[dict[str, Any]] = [
        {"role": "tool", "content": "of nothing"},
        {"role": "user", "content": "Do."},
        {"role": "assistant", "content": "Let me.", "tool_calls": [CALL, other], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "b", "content": '{"time": 3}'},
        {"role": "tool", "name": "sum", "content": [{"type": "text", "text": "[2]"}]},
        {"role": "assistant", "content": "", "tool_calls": [other]},
        {"role": "tool"},
        {"role": "assistant", "content": "So."},
        {"role": "assistant", "content": "And so."},
        {"role": "tool", "content": "late"},
    ]
    turns = with_results_beside_calls(messages)
    assert turns[:3] == [*messages[:2], {"role": "assistant", "content": "Let me.", "reasoning_content": "Hm."}]
    assert turns[3] == {
        **messages[2],
        "content": "",
        "tool_responses": [{"name": "now", "response": {"time": 3}}, {"name": "sum", "response": "[2]"}],
    }
    last = {**messages[5], "content": "So.", "tool_responses": [{"name": "now", "response": ""}]}
    assert turns[4] == last, "the answer to the results is of the same turn"
    assert turns[5:] == messages[8:]


def test_a_template_that_finds_results_after_their_calls_gets_them_there(tmp_path: Path) -> None:
    """Gemma 4's later templates, which read either; an object in a result is text for them, as in transformers."""
    template = """\
{{ tools | tojson }}{% for m in messages if m.role != 'tool' %}<|turn>{{ m.role }}
{% for c in m.tool_calls or () %}<|tool_call>call:{{ c.function.name }}{}<tool_call|>{% endfor %}
{%- if m.tool_responses %}{% for r in m.tool_responses %}<|tool_response>{{ r.response }}{% endfor %}
{%- elif m.tool_calls %}{% for r in messages if r.role == 'tool' %}<|tool_response>{{ r.content }}{% endfor %}
{%- endif %}
{{- m.content }}{% endfor %}"""
    model = load_model(tmp_path, "<|tool_call>", template=template)
    text = model.chat_text([*HISTORY[:2], {**HISTORY[2], "content": '{"sum": 2}'}], TOOLS).text
    assert text.endswith('<|tool_call>call:add{}<tool_call|><|tool_response>{"sum": 2}')


def test_a_role_of_results_is_the_templates() -> None:
    assert [turn["role"] for turn in with_result_role(HISTORY, "environment")] == ["user", "assistant", "environment"]


def test_a_template_that_writes_whole_messages_reads_no_field_of_responses(tmp_path: Path) -> None:
    model = load_model(tmp_path, template="{{ tools | tojson }}{{ messages | tojson }}")
    assert '"role": "tool"' in model.chat_text(HISTORY, TOOLS).text
    assert "tool_responses" not in model.chat_text(HISTORY, TOOLS).text


def test_python_calls_may_have_values_of_json() -> None:
    """OLMo 3's template writes values as JSON."""
    text = '<function_calls>add(a=true, b=null, c={"d": [1, false]})</function_calls>'
    assert parse_calls("olmo3", text, TOOLS).calls == [ToolCall("add", {"a": True, "b": None, "c": {"d": [1, False]}})]
