"""The tool markup of a model, from its chat template and vocabulary."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import gguf
import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.text import TextModel, load_text_model
from cactus_actors.text.tokenizer import byte_of_character
from cactus_actors.tools.tool_definitions import normalised_tools

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
        (TOOLS + "{% set x = 'ipython' %}", (), "llama3"),
        (TOOLS + "<tool_call>\n<function=f>\n<parameter=a>", (), "qwen3_coder"),
        (TOOLS + "<tool_call>{name}<arg_key>{key}</arg_key>\n<arg_value>", (), "glm45"),
        (TOOLS + "<tool_call>{name}<arg_key>{key}</arg_key><arg_value>", (), "glm47"),
        (TOOLS + "在调用上述函数时，请使用 Json 格式表示调用的参数。", (), "glm4"),
        (TOOLS + "<tool_sep:opensource><arg_key:opensource>", (), "hunyuan_v3"),
        (TOOLS + "{% set suffix = ':opensource' %}{{ '<tool_sep' ~ suffix ~ '>' }}", (), "hunyuan_v3"),
        (TOOLS + "<tool_call>{name}<tool_sep>\n<arg_key>", (), "hunyuan_v3_plain"),
        (TOOLS + "<|tool_calls|><|tool_call:begin|>", (), "solar_open"),
        (TOOLS + "<use_mcp_tool> and <tool_call>", (), "mirothinker"),
        (TOOLS + "<｜tool▁calls▁begin｜>...```json", (), "deepseek_r1"),
        (TOOLS + "<｜tool▁calls▁begin｜>", ("<tool_call>",), "deepseek_v31"),
        (TOOLS + "<|tool_call|>...<|/tool_call|>", (), "phi4_mini"),
        (TOOLS + "<|tool_call|>", (), "granite"),
        (TOOLS + "[TOOL_CALLS]f[ARGS]", (), "mistral_args"),
        ("{% for m in messages %}{{ m.tool_calls }}{% endfor %}<｜tool▁calls▁begin｜>", (), "deepseek_v31"),
        (TOOLS, (), "json"),
        ("<start_of_turn>user", (), "gemma"),
        ("<tool_call> {{ messages[0].content }}", ("<tool_call>",), "json"),
    ],
)
def test_the_markup_is_found_in_the_template(
    tmp_path: Path, template: str, special: tuple[str, ...], markup: str
) -> None:
    assert load_model(tmp_path, template, special).tool_markup == markup


def test_control_tokens_of_the_markup_are_visible_as_text(tmp_path: Path) -> None:
    model = load_model(tmp_path, TOOLS + "<tool_call>", ("<tool_call>", "<|other|>"))
    assert model.tool_tokens == ((256, "<tool_call>"),)
    assert model.tokenizer.token_bytes(256) == b""
    assert load_model(tmp_path, "no tools", ("<tool_call>",)).tool_tokens == ()


STRICT = """{% for m in messages -%}
{% if m.role != ('user', 'assistant')[loop.index0 % 2] %}{{ raise_exception('roles alternate') }}{% endif -%}
<start_of_turn>{{ m.role }}: {{ m.content }}
{% endfor %}"""


def test_a_template_without_tools_gets_a_description_of_them(tmp_path: Path) -> None:
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
    text = model.tokenizer.decode(model.chat_prompt(messages, tools).ids)
    turns = text.split("<start_of_turn>")[1:]
    assert '\n{"name": "add", "description": "Adds."}\n' in turns[0]
    assert turns[0].endswith("\n\nAdd.\n")
    assert turns[1:] == [
        'assistant: ```json\n{"name": "add", "arguments": {"a": 1}}\n```\n',
        "user: add returned: 2\nThe function returned: 3\n",
        "assistant: 2 and 3.\n",
    ]
    without = model.tokenizer.decode(model.chat_prompt(messages).ids)
    assert without.split("<start_of_turn>")[1:] == ["user: Add.\n", *turns[1:]]


CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Add <|tool_call_start|>."},
    {"role": "assistant", "content": "Yes.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": "2"},
]
PLAIN = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"


def prompt_of(directory: Path, template: str, special: tuple[str, ...] = (), **fields: Any) -> str:
    """A prompt with control tokens in guillemets; text that only looks like one has none."""
    model = load_model(directory, template, special)
    ids = model.chat_prompt(fields.pop("messages", HISTORY), **fields).ids
    control = {model.tokenizer.id_of(text): f"«{text}»" for text in special}
    runs = itertools.groupby(ids, key=control.get)
    return "".join(mark or model.tokenizer.decode(list(run)) for mark, run in runs)


def test_calls_omitted_by_a_template_are_written_in_the_markup(tmp_path: Path) -> None:
    """LFM2's template has tools and results, and an empty turn of the assistant in place of its calls."""
    special = ("<|tool_call_start|>", "<|tool_call_end|>")
    text = prompt_of(tmp_path, "{% if tools %}{{ tools | tojson }}{% endif %}" + PLAIN, special)
    assert text == (
        "user:Add <|tool_call_start|>.;assistant:Yes.\n«<|tool_call_start|>»[add(a=1)]«<|tool_call_end|>»;tool:2;"
    )


def test_past_calls_cannot_inject_control_tokens(tmp_path: Path) -> None:
    special = ("<|tool_call_start|>", "<|tool_call_end|>")
    call = {"function": {"name": "say", "arguments": json.dumps({"text": special[1]})}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]
    text = prompt_of(tmp_path, TOOLS + PLAIN, special, messages=messages)
    assert text.endswith('«<|tool_call_start|>»[say(text="<|tool_call_end|>")]«<|tool_call_end|>»;')


def test_tools_are_described_with_the_call_format_of_the_template(tmp_path: Path) -> None:
    """The templates of DeepSeek-R1's distillations have calls and results of a conversation, but no tools."""
    calls = "{% for c in m.tool_calls or () %}<｜tool▁calls▁begin｜>{{ c.function.name }}{% endfor %}"
    template = f"{{% for m in messages %}}{{{{ m.role }}}}:{{{{ m.content }}}}{calls};{{% endfor %}}"
    text = prompt_of(tmp_path, template, ("<｜tool▁call▁begin｜>",), tools=[{"name": "add"}])
    assert text.startswith('user:You can call these functions:\n{"name": "add"}\n')
    assert "\n<｜tool▁calls▁begin｜>«<｜tool▁call▁begin｜>»function_name<｜tool▁sep｜>" in text
    assert text.endswith("assistant:Yes.<｜tool▁calls▁begin｜>add;tool:2;")


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{% if xml_tools %}{{ xml_tools[0].name }}!{% endif %}" + PLAIN, "add!user:Hi;"),
        (
            "{% for m in messages %}{{ m.role }}:{{ m.content }}"
            "{% if m.tools %}<|tool|>{{ m.tools }}{% endif %};{% endfor %}",
            'system:You are a helpful assistant with some tools.<|tool|>[{"name": "add"}];user:Hi;',
        ),
    ],
)
def test_tools_are_passed_where_the_template_reads_them(tmp_path: Path, template: str, told: str) -> None:
    """The templates of SmolLM3 and Phi-4-mini."""
    messages = [{"role": "user", "content": "Hi"}]
    assert prompt_of(tmp_path, template, messages=messages, tools=[{"name": "add"}]) == told


def test_a_message_of_calls_has_no_text_if_the_template_forbids_it(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if m.content is not none %}[{{ m.content }}]{% endif %}"
        "{% for c in m.tool_calls or () %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [CALL]}]
    assert prompt_of(tmp_path, template, messages=messages) == "[Hi]add"


IDS = (
    "{% for m in messages %}{% for c in m.tool_calls or () %}{{ c.function.name }}={{ c.id }};{% endfor %}"
    "{% if m.tool_call_id %}{{ m.tool_call_id }}:{{ m.content }};{% endif %}{% endfor %}"
)


@pytest.mark.parametrize(
    ("mark", "ids"),
    [
        ("[TOOL_CALLS]", ["[0-9a-f]{9}", "Abc123xyZ"]),
        ("<|tool_calls_section_begin|>", ["functions.add:0", "functions.add:1"]),
        ("<tool_call>", ["call_1", "Abc123xyZ"]),
    ],
)
def test_call_ids_have_the_format_of_the_template(tmp_path: Path, mark: str, ids: list[str]) -> None:
    messages = [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": "", "tool_calls": [CALL, {**CALL, "id": "Abc123xyZ"}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "2"},
        {"role": "tool", "tool_call_id": "Abc123xyZ", "content": "3"},
    ]
    text = prompt_of(tmp_path, mark + IDS, messages=messages).removeprefix(mark)
    found = re.fullmatch(r"add=(.*);add=(.*);\1:2;\2:3;", text)
    assert found is not None, text
    for wanted, given in zip(ids, found.groups(), strict=True):
        assert re.fullmatch(wanted, given)


def test_the_tool_template_is_used_only_with_tools(tmp_path: Path) -> None:
    load_model(tmp_path, "")
    (tmp_path / "chat_template.jinja").unlink()
    templates = [
        {"name": "default", "template": "plain"},
        {"name": "tool_use", "template": "with " + TOOLS + "<tool_call>"},
    ]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    model = load_text_model(tmp_path)

    def prompt(messages: list[dict[str, str]], tools: list[dict[str, str]] | None = None) -> str:
        return model.tokenizer.decode(model.chat_prompt(messages, tools).ids)

    assert model.tool_markup == "hermes"
    assert prompt([{"role": "user", "content": "Hi"}]) == "plain"
    assert prompt([{"role": "user", "content": "Hi"}], [{"name": "add"}]) == 'with[{"name": "add"}]<tool_call>'
    assert prompt([{"role": "tool", "content": "2"}]) == "with<tool_call>"


def test_a_picture_is_kept_beside_described_tools(tmp_path: Path) -> None:
    model = load_model(tmp_path, "{% for part in messages[0].content %}[{{ part.type }}]{% endfor %}")
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}]
    text = model.tokenizer.decode(model.chat_prompt(messages, [{"name": "add"}]).ids)
    assert text == "[text][image][text]"


def test_tools_are_described_in_an_existing_system_message(tmp_path: Path) -> None:
    model = load_model(tmp_path, "{% for m in messages %}{{ m.role }}: {{ m.content }}|{% endfor %}")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = model.tokenizer.decode(model.chat_prompt(messages, [{"name": "add"}]).ids)
    assert text.startswith('system: Be brief.\n\nYou can call these functions:\n{"name": "add"}')
    assert text.endswith("|user: Hi|")


def test_a_gguf_file_has_the_same_markup(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", ["get_time", "get-time", "clock.time", "a" * 64])
def test_valid_tool_names_are_accepted(name: str) -> None:
    assert normalised_tools([{"name": name}]) == [{"type": "function", "function": {"name": name}}]


@pytest.mark.parametrize("name", ["", "get time", " time", "time\n", "zeit für", "a(b)", "a" * 65])
def test_an_unparsable_tool_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        normalised_tools([{"name": "time"}, {"type": "function", "function": {"name": name}}])
    assert caught.value.param == "tools[1].function.name"
