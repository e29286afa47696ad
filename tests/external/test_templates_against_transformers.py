"""Chat templates of real models, rendered here and by transformers.

CACTUS_TEMPLATES names a directory of .jinja files. CACTUS_TEMPLATE_CONTEXTS, if set, names a directory of
.json files with `messages` and perhaps `tools`; some conversations are here. transformers must be installed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError

from cactus_actors.protocol.errors import TemplateInvalid
from cactus_actors.text import ChatTemplate
from cactus_actors.text.template_messages import with_decoded_arguments

TEMPLATES = "CACTUS_TEMPLATES"
CONTEXTS = "CACTUS_TEMPLATE_CONTEXTS"

if TEMPLATES not in os.environ:
    pytest.skip(f"{TEMPLATES} names no directory of templates", allow_module_level=True)
transformers_chat = pytest.importorskip("transformers.utils.chat_template_utils")

SPECIAL_TOKENS = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<pad>"}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'The weather <now> & here, "exactly".',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Zürich, 東京"},
                "days": {"type": "integer", "enum": [1, 2, 3]},
                "exact": {"type": "boolean", "default": False},
            },
            "required": ["city"],
        },
    },
}
EITHER = {
    "type": "function",
    "function": {"name": "f", "parameters": {"properties": {"x": {"type": ["boolean", "null"]}}}},
}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "id": "call12345",
            "type": "function",
            "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "exact": False}},
        }
    ],
}
RESULT = {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": '{"sky": "<blue>"}'}
HELLO = {"role": "user", "content": "  Hello, wörld!\n"}
ANSWER = {"role": "assistant", "content": "Hi.\n\n"}
SYSTEM = {"role": "system", "content": " Be brief. "}


def conversations() -> dict[str, dict[str, Any]]:
    """Name -> messages and tools."""
    found: dict[str, dict[str, Any]] = {
        "one turn": {"messages": [HELLO]},
        "two turns": {"messages": [HELLO, ANSWER, {"role": "user", "content": "And {{ now }}?"}]},
        "system": {"messages": [SYSTEM, HELLO]},
        "system and turns": {"messages": [SYSTEM, HELLO, ANSWER, HELLO]},
        "system too late": {"messages": [HELLO, SYSTEM]},
        "two from the user": {"messages": [HELLO, HELLO]},
        "thinking": {"messages": [HELLO, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi"}, HELLO]},
        "empty": {"messages": []},
        "empty text": {"messages": [{"role": "user", "content": ""}]},
        "unknown role": {"messages": [{"role": "critic", "content": "no"}]},
        "text in parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]},
        "tools": {"messages": [HELLO], "tools": [WEATHER]},
        "tools and system": {"messages": [SYSTEM, HELLO], "tools": [WEATHER, WEATHER]},
        "a tool of either type": {"messages": [HELLO], "tools": [EITHER]},
        "a tool without description": {
            "messages": [HELLO],
            "tools": [{"type": "function", "function": {"name": "f"}}],
        },
        "a call": {"messages": [HELLO, CALL], "tools": [WEATHER]},
        "a call and no content": {"messages": [HELLO, CALL | {"content": None}, RESULT], "tools": [WEATHER]},
        "a result": {"messages": [SYSTEM, HELLO, CALL, RESULT], "tools": [WEATHER]},
        "after a result": {"messages": [HELLO, CALL, RESULT, ANSWER, HELLO], "tools": [WEATHER]},
        "two calls": {
            "messages": [HELLO, CALL | {"tool_calls": CALL["tool_calls"] * 2}, RESULT, RESULT],  # type: ignore[operator]
            "tools": [WEATHER],
        },
        "a call with text": {"messages": [HELLO, CALL | {"content": "Let me see."}, RESULT]},
    }
    for path in sorted(Path(os.environ.get(CONTEXTS, os.devnull)).glob("*.json")):
        context = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {key: context[key] for key in ("messages", "tools") if key in context}
    return found


def outcome_there(source: str, conversation: dict[str, Any], add_generation_prompt: bool) -> str | None:
    """The rendering of transformers, None if the template fails or refuses.

    It expects the arguments of calls as objects; a template that fails on these gets their text.
    """
    messages = conversation["messages"]
    for given in (with_decoded_arguments(messages), messages):
        try:
            (prompt,), _ = transformers_chat.render_jinja_template(
                [given],
                tools=conversation.get("tools"),
                chat_template=source,
                add_generation_prompt=add_generation_prompt,
                **SPECIAL_TOKENS,
            )
        except (TemplateError, TypeError, ValueError, RecursionError):
            continue
        return str(prompt)
    return None


def outcome_here(source: str, path: Path, conversation: dict[str, Any], add_generation_prompt: bool) -> str | None:
    """Our rendering, None if the template fails or refuses."""
    template = ChatTemplate.compile(source, path, SPECIAL_TOKENS)
    try:
        return template.render(conversation["messages"], conversation.get("tools"), add_generation_prompt)
    except TemplateInvalid:
        return None


def template_files() -> list[Path]:
    return sorted(Path(os.environ[TEMPLATES]).glob("*.jinja"))


def test_templates_are_found() -> None:
    assert template_files(), f"no .jinja in {os.environ[TEMPLATES]}"


@pytest.mark.parametrize("add_generation_prompt", [True, False])
@pytest.mark.parametrize("name", conversations())
@pytest.mark.parametrize("path", template_files(), ids=lambda path: path.stem)
def test_a_conversation_renders_like_transformers(path: Path, name: str, add_generation_prompt: bool) -> None:
    source = path.read_text(encoding="utf-8")
    conversation = conversations()[name]
    expected = outcome_there(source, conversation, add_generation_prompt)
    assert outcome_here(source, path, conversation, add_generation_prompt) == expected
