"""Conversations and ends of answers in OpenAI's harmony format, whose templates show one call of a message."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from cactus_actors.text import TextModel, load_text_model
from cactus_actors.text.tokenizer import byte_of_character
from cactus_actors.tools.tool_prompting import with_calls_one_by_one

SPECIAL = (
    *("<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>", "<|call|>"),
    "<|endoftext|>",
)
TEMPLATE = (
    "{% set last = namespace(name='') %}"
    "<|start|>system<|message|>Reasoning: {{ reasoning_effort or 'medium' }}<|end|>"
    "{% if tools %}<|start|>developer<|message|>"
    "{% for t in tools %}{{ '// ' + t.function.description }}\ntype {{ t.function.name }};{% endfor %}"
    "<|end|>{% endif %}"
    "{% for m in messages %}{% if 'tool_calls' in m %}"
    "{% set call = m.tool_calls[0].function %}{% set last.name = call.name %}"
    "{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
    "<|start|>assistant to=functions.{{ call.name }}<|channel|>commentary json<|message|>"
    "{{ call.arguments | tojson }}<|call|>"
    "{% elif m.role == 'tool' %}<|start|>functions.{{ last.name }} to=assistant<|channel|>commentary<|message|>"
    "{{ m.content }}<|end|>"
    "{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)


def call(name: str, call_id: str | None = None) -> dict[str, Any]:
    given = {} if call_id is None else {"id": call_id}
    return {**given, "type": "function", "function": {"name": name, "arguments": "{}"}}


def result(content: str, call_id: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": content} | ({} if call_id is None else {"tool_call_id": call_id})


def load_model(directory: Path, special: tuple[str, ...] = SPECIAL, template: str = TEMPLATE) -> TextModel:
    inner = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(byte_of_character())}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True) for text in special])
    inner.save(str(directory / "tokenizer.json"))
    (directory / "config.json").write_text(json.dumps({"vocab_size": 300, "eos_token_id": 256}))
    (directory / "chat_template.jinja").write_text(template)
    return load_text_model(directory)


def test_an_answer_and_a_call_end_generation_and_a_message_does_not(tmp_path: Path) -> None:
    model = load_model(tmp_path)
    assert model.eos_ids == {256 + SPECIAL.index("<|return|>"), 256 + SPECIAL.index("<|call|>")}
    assert model.tool_markup == "harmony"
    assert model.reasoning is not None
    assert model.reasoning.markup == "harmony"
    assert load_model(tmp_path, ("<|call|>", "<|end|>")).eos_ids == {256}


@pytest.mark.parametrize("are_swapped", [False, True])
def test_each_call_of_a_message_precedes_its_result(tmp_path: Path, are_swapped: bool) -> None:
    results = [result("first", "a"), result("second", "b")]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "reasoning_content": "Both.", "tool_calls": [call("one", "a"), call("two", "b")]},
        *(reversed(results) if are_swapped else results),
    ]
    text = load_model(tmp_path).chat_text(messages).text
    assert text.partition("Hi<|end|>")[2] == (
        "<|start|>assistant<|channel|>analysis<|message|>Both.<|end|>"
        "<|start|>assistant to=functions.one<|channel|>commentary json<|message|>{}<|call|>"
        "<|start|>functions.one to=assistant<|channel|>commentary<|message|>first<|end|>"
        "<|start|>assistant to=functions.two<|channel|>commentary json<|message|>{}<|call|>"
        "<|start|>functions.two to=assistant<|channel|>commentary<|message|>second<|end|><|start|>assistant"
    )


def test_a_template_that_renders_every_call_gets_them_in_one_message(tmp_path: Path) -> None:
    calls = "{% for c in m.tool_calls or () %}{{ c.function.name }},{% endfor %}"
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call("one"), call("two")]}]
    model = load_model(tmp_path, ("<|end|>",), f"{{% for m in messages %}}[{calls}]{{% endfor %}}")
    assert model.chat_text(messages).text == "[][one,two,]"


def test_results_without_an_id_are_matched_in_order() -> None:
    calls, results = [call("one"), call("two"), call("three")], [result("1"), result("2"), result("3"), result("4")]
    user = {"role": "user", "content": "Hi"}
    message = {"role": "assistant", "content": "So:", "tool_calls": calls}
    turns = with_calls_one_by_one([user, message, *results, user])
    shown = [[one["function"]["name"] for one in turn.get("tool_calls", ())] or turn["content"] for turn in turns]
    assert shown == ["Hi", ["one"], "1", ["two"], "2", ["three"], "3", "4", "Hi"]
    assert [turn["content"] for turn in turns if "tool_calls" in turn] == ["So:", "", ""]


def test_tools_without_description_and_empty_lists_of_calls_are_accepted(tmp_path: Path) -> None:
    tools: list[dict[str, Any]] = [{"type": "function", "function": {"name": name}} for name in ("one", "two")]
    tools[1]["function"] |= {"description": "The second."}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "So.", "tool_calls": []}]
    text = load_model(tmp_path).chat_text(messages, tools).text
    assert "<|message|>// \ntype one;// The second.\ntype two;<|end|>" in text
    assert text.endswith("Hi<|end|><|start|>assistant<|channel|>final<|message|>So.<|end|><|start|>assistant")


@pytest.mark.parametrize("num_results", [0, 1])
def test_a_single_call_and_results_without_calls_are_unchanged(num_results: int) -> None:
    turns = [
        result("stray"),
        {"role": "assistant", "tool_calls": [call("one", "a")]},
        *itertools.repeat(result("1", "a"), num_results),
        {"role": "assistant", "content": "So."},
    ]
    assert with_calls_one_by_one(turns) == turns
