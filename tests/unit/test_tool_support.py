"""The markup of a model, found in its chat template and vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from cactus_actors.text import TextModel, load_text_model
from cactus_actors.text.tokenizer import byte_of_character

TOOLS = "{%- if tools is not none %}{{ tools | tojson }}{% endif %}"


def load_model(directory: Path, template: str, special: tuple[str, ...] = ()) -> TextModel:
    inner = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(byte_of_character())}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True) for text in special])
    inner.add_tokens([AddedToken("</tool_call>", special=False)])
    inner.save(str(directory / "tokenizer.json"))
    (directory / "config.json").write_text(json.dumps({"vocab_size": 400}))
    (directory / "chat_template.jinja").write_text(template)
    return load_text_model(directory)


@pytest.mark.parametrize(
    ("template", "special", "markup"),
    [
        (TOOLS + "<tool_call>", ("<|python_tag|>",), "hermes"),
        (TOOLS + "[TOOL_CALLS]", (), "mistral"),
        (TOOLS + "<|tool_list_start|>", (), "lfm2"),
        (TOOLS, ("<|tool_call_start|>",), "lfm2"),
        (TOOLS + "<|python_tag|>", (), "llama3"),
        ("{% if custom_tools is defined %}{% set tools = custom_tools %}{% endif %}ipython", (), "llama3"),
        (TOOLS, (), "json"),
        ("<start_of_turn>user", (), "gemma"),
        ("<tool_call> {{ messages }}", ("<tool_call>",), "json"),
    ],
)
def test_markup_of_a_template(tmp_path: Path, template: str, special: tuple[str, ...], markup: str) -> None:
    assert load_model(tmp_path, template, special).tool_markup == markup


def test_control_tokens_of_the_markup_have_their_text_beside_them(tmp_path: Path) -> None:
    model = load_model(tmp_path, TOOLS + "<tool_call>", ("<tool_call>", "<|other|>"))
    assert model.tool_tokens == ((256, "<tool_call>"),)
    assert model.tokenizer.token_bytes(256) == b""
    assert load_model(tmp_path, "no tools", ("<tool_call>",)).tool_tokens == ()


STRICT = """{% for m in messages -%}
{% if m.role != ('user', 'assistant')[loop.index0 % 2] %}{{ raise_exception('roles alternate') }}{% endif -%}
<start_of_turn>{{ m.role }}: {{ m.content }}
{% endfor %}"""


def test_a_template_without_tools_is_told_of_them_in_words(tmp_path: Path) -> None:
    model = load_model(tmp_path, STRICT)
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "add", "content": "2"},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": "2 and 3."},
    ]
    tools = [{"type": "function", "function": {"name": "add", "description": "Adds."}}]
    text = model.tokenizer.decode(model.encode_chat(messages, tools))
    turns = text.split("<start_of_turn>")[1:]
    assert '\n{"name": "add", "description": "Adds."}\n' in turns[0]
    assert turns[0].endswith("\n\nAdd.\n")
    assert turns[1:] == [
        'assistant: ```json\n{"name":"add","arguments":{"a":1}}\n```\n',
        "user: add returned: 2\nThe function returned: 3\n",
        "assistant: 2 and 3.\n",
    ]
    without = model.tokenizer.decode(model.encode_chat(messages))
    assert without.split("<start_of_turn>")[1:] == ["user: Add.\n", *turns[1:]]


def test_a_template_for_tools_is_used_for_tools_only(tmp_path: Path) -> None:
    load_model(tmp_path, "")
    (tmp_path / "chat_template.jinja").unlink()
    templates = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "with " + TOOLS + "<tool_call>"},
    ]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    model = load_text_model(tmp_path)

    def prompt(messages: list[dict[str, str]], tools: list[dict[str, str]] | None = None) -> str:
        return model.tokenizer.decode(model.encode_chat(messages, tools))

    assert model.tool_markup == "hermes"
    assert prompt([{"role": "user", "content": "Hi"}]) == "plain"
    assert (
        prompt([{"role": "user", "content": "Hi"}], [{"name": "add"}]) == 'with[{"name": "add"}]<tool_call>'
    )
    assert prompt([{"role": "tool", "content": "2"}]) == "with<tool_call>"


def test_a_picture_stays_beside_the_told_tools(tmp_path: Path) -> None:
    model = load_model(tmp_path, "{% for part in messages[0].content %}[{{ part.type }}]{% endfor %}")
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}]
    text = model.tokenizer.decode(model.encode_chat(messages, [{"name": "add"}]))
    assert text == "[text][image][text]"


def test_tools_are_told_in_the_system_message_if_there_is_one(tmp_path: Path) -> None:
    model = load_model(tmp_path, "{% for m in messages %}{{ m.role }}: {{ m.content }}|{% endfor %}")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = model.tokenizer.decode(model.encode_chat(messages, [{"name": "add"}]))
    assert text.startswith('system: Be brief.\n\nYou can call these functions:\n{"name": "add"}')
    assert text.endswith("|user: Hi|")


def test_a_gguf_file_says_the_same(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_context_length(64)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(["[TOOL_CALLS]", *byte_of_character(), "ab"])
    writer.add_token_types([3, *[1] * 257])
    writer.add_token_merges(["a b"])
    writer.add_chat_template(TOOLS + "[TOOL_CALLS]")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = load_text_model(tmp_path / "m.gguf")
    assert (model.tool_markup, model.tool_tokens) == ("mistral", ((0, "[TOOL_CALLS]"),))
