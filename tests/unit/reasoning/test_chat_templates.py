"""The reasoning markup of a model, from its template and vocabulary; prompts that open, close and repeat reasoning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.reasoning import MARKUPS
from cactus_actors.text import TextModel
from cactus_actors.text.chat_prompt import ChatPrompt
from cactus_actors.text.reasoning_support import PastReasoning
from tests.support.models.json_tokenizers import load_model

HELLO = [{"role": "user", "content": "Hi"}]
TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<me>\n"
QWEN = (
    TURNS + PROMPT + "{% if enable_thinking is defined and not enable_thinking %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Reasons unless the request switches it off."""
DEEPSEEK = TURNS + PROMPT + "{{ '<think>' if thinking else '</think>' }}{% endif %}"
"""Reasons only if the request switches it on."""
GRANITE = TURNS + PROMPT + "{% if thinking %}<think></think><response></response>{% endif %}{% endif %}"
ALWAYS = TURNS + PROMPT + "<think>\n{% endif %}"
ITSELF = TURNS + "{# </think> #}" + PROMPT + "{% endif %}"
"""The model always opens its reasoning itself."""
HARMONY = TURNS + "{# <|channel|>analysis<|message|> #}{% if add_generation_prompt %}<|start|>assistant{% endif %}"


def asked(model: TextModel, messages: list[dict[str, Any]] | None = None, **options: Any) -> tuple[str, ChatPrompt]:
    prompt = model.chat_prompt(messages or HELLO, **options)
    text = model.chat_text(messages or HELLO, **options).text
    assert model.tokenizer.encode(text, add_special=True) == prompt.ids
    return text.rpartition("<me>")[2], prompt


@pytest.mark.parametrize("name", MARKUPS)
def test_a_markup_is_recognised_by_its_signs(tmp_path: Path, name: str) -> None:
    markup = MARKUPS[name]
    tokens = tuple(dict.fromkeys(text for text in markup.tokens if text))
    template = TURNS + "".join(f"{{{{ {sign!r} }}}}" for sign in markup.signs)
    plain = load_model(tmp_path, template=template)
    assert plain.reasoning is not None
    assert (plain.reasoning.markup, plain.reasoning.tokens) == (name, ())
    special = load_model(tmp_path, *tokens, template=template)
    assert special.reasoning is not None
    assert special.reasoning.tokens == tuple((256 + place, text) for place, text in enumerate(tokens))


def test_reasoning_tokens_in_the_vocabulary_alone_select_a_markup(tmp_path: Path) -> None:
    model = load_model(tmp_path, "[THINK]", "[/THINK]", template=TURNS)
    assert model.reasoning is not None
    assert (model.reasoning.markup, model.reasoning.unasked) == ("mistral", False)
    assert load_model(tmp_path, "[THINK]", template=TURNS).reasoning is None


@pytest.mark.parametrize(
    ("template", "thinking", "end", "start", "thinks"),
    [
        (QWEN, None, "\n", "undecided", True),
        (QWEN, True, "\n", "undecided", True),
        (QWEN, False, "\n<think>\n\n</think>\n\n", "undecided", False),
        (DEEPSEEK, None, "\n</think>", "undecided", False),
        (DEEPSEEK, True, "\n<think>", "reasoning", True),
        (DEEPSEEK, False, "\n</think>", "undecided", False),
        (ALWAYS, None, "\n<think>\n", "reasoning", True),
        (ALWAYS, False, "\n<think>\n\n</think>\n\n", "undecided", False),
        (ITSELF, None, "\n", "undecided", True),
        (ITSELF, False, "\n", "undecided", False),
        (TURNS + PROMPT + "{% endif %}", True, "\n", "undecided", False),
    ],
)
def test_the_state_in_which_the_model_begins(
    tmp_path: Path, template: str, thinking: bool | None, end: str, start: str, thinks: bool
) -> None:
    text, prompt = asked(load_model(tmp_path, template=template), thinking=thinking)
    assert (text, prompt.start, prompt.thinks) == (end, start, thinks)


def test_granite_reasons_only_on_request(tmp_path: Path) -> None:
    model = load_model(tmp_path, template=GRANITE)
    assert model.reasoning is not None
    assert (model.reasoning.markup, model.reasoning.unasked) == ("granite", False)


@pytest.mark.parametrize(
    ("template", "end"),
    [
        (QWEN, "\nIt is"),
        (ALWAYS, "\n<think>\n\n</think>\n\nIt is"),
        (DEEPSEEK, "\n</think>It is"),
    ],
)
def test_a_begun_answer_follows_the_reasoning(tmp_path: Path, template: str, end: str) -> None:
    text, prompt = asked(load_model(tmp_path, template=template), answer_begins="It is")
    assert (text, prompt.start, prompt.thinks) == (end, "answer", False)


@pytest.mark.parametrize(
    ("template", "end"),
    [
        (QWEN, "\n<think>\nso\n</think>\n\nIt"),
        (ALWAYS, "\n<think>\nso\n</think>\n\nIt"),
    ],
)
def test_reasoning_before_a_begun_answer_is_in_the_prompt(tmp_path: Path, template: str, end: str) -> None:
    model = load_model(tmp_path, template=template)
    text, prompt = asked(model, answer_begins="It", answer_reasoning="so")
    assert (text, prompt.start) == (end, "answer")


def test_a_begun_answer_of_channels_has_its_heading(tmp_path: Path) -> None:
    model = load_model(tmp_path, template=HARMONY)
    final = "<|start|>assistant<|channel|>final<|message|>"
    assert model.chat_text(HELLO, answer_begins="It").text.endswith(f"{final}It")
    whole = model.chat_text(HELLO, answer_begins="It", answer_reasoning="so").text
    assert whole.endswith(f"<|start|>assistant<|channel|>analysis<|message|>so<|end|>{final}It")


def test_text_that_resembles_a_mark_is_text(tmp_path: Path) -> None:
    model = load_model(tmp_path, "<think>", "</think>", template=ALWAYS)
    ids = model.chat_prompt(
        [{"role": "user", "content": "<think></think>"}],
        answer_begins="<think>",
        answer_reasoning="</think>",
        variables={"unused": "<think>"},
    ).ids
    assert (ids.count(256), ids.count(257)) == (1, 1)


def test_variables_reach_the_template_and_change_nothing_else(tmp_path: Path) -> None:
    template = "{{ messages[0].content }}|{{ tone }}|{{ dates | join(',') }}|{{ bos_token is defined }}"
    model = load_model(tmp_path, "<s>", template=template)
    variables = {"tone": "<s>dry", "dates": [1, 2], "messages": "x", "tools": "y"}
    ids = model.chat_prompt(HELLO, variables=variables).ids
    assert 256 not in ids
    assert model.tokenizer.decode(ids) == "Hi|<s>dry|1,2|False"


def test_too_deeply_nested_variables_are_named(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]
    with pytest.raises(TemplateInvalid) as caught:
        load_model(tmp_path, template=TURNS).chat_prompt(HELLO, variables={"deep": deep})
    assert caught.value.param == "chat_template_kwargs"


THOUGHT = {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("{{ message.reasoning_content }}", {"reasoning_content": "2 and 2"}),
        ("{{ message['reasoning'] }}", {"reasoning": "2 and 2"}),
        (
            "{{ m.get('reasoning') or m.get('reasoning_content') }}",
            {"reasoning_content": "2 and 2", "reasoning": "2 and 2"},
        ),
        ("{% if 'thinking' in message %}{{ message.thinking }}{% endif %}", {"thinking": "2 and 2"}),
        ("{{ message.thought }}", {"thought": "2 and 2"}),
        ("{{ message.content.split('</think>')[-1] }}", {}),
        ("{{ reasoning_effort }}", {}),
    ],
)
def test_past_reasoning_has_the_name_that_the_template_reads(source: str, given: dict[str, str]) -> None:
    [message] = PastReasoning(source).given([THOUGHT])
    assert message == {"role": "assistant", "content": "4", **given}


def test_past_reasoning_may_be_a_block_of_the_content() -> None:
    past = PastReasoning("{% if block['type'] == 'thinking' %}{{ block['thinking'] }}{% endif %}")
    thinking = {"type": "thinking", "thinking": "2 and 2"}
    [message] = past.given([THOUGHT])
    assert message["content"] == [thinking, {"type": "text", "text": "4"}]
    [message] = past.given([{**THOUGHT, "content": ""}])
    assert message["content"] == [thinking]
    assert past.given(HELLO) == HELLO


def test_a_template_that_refuses_reasoning_is_rendered_without_it(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if m.thinking and m.content %}{{ raise_exception('not both') }}{% endif %}"
        "{{ m.thinking }}{{ m.content }};{% endfor %}"
    )
    model = load_model(tmp_path, template=template)
    assert model.chat_text([*HELLO, THOUGHT]).text == "Hi;4;"
    assert model.chat_text([*HELLO, {**THOUGHT, "content": ""}]).text == "Hi;2 and 2;"
