"""A body of Anthropic's Messages -> the body of a chat completion, which has one validator for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from cactus_actors.api.anthropic.message_fields import (
    ClientTool,
    ImageBlock,
    MessageMetadata,
    MessagesBody,
    MessageTurn,
    OutputConfig,
    RedactedBlock,
    TextBlock,
    ThinkingBlock,
    ToolChoiceObject,
    ToolResultBlock,
    ToolUseBlock,
)
from cactus_actors.api.conversion import typed
from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai import BodyRequest, JobIds, request_from_chat
from cactus_actors.api.openai.request_bodies import NO_DEFAULTS
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.similar_name import similar_name

MESSAGES: Final = "/v1/messages"

Message = dict[str, Any]

_READ_ELSEWHERE = frozenset(
    {
        *("betas", "cache_control", "container", "context_management", "diagnostics"),
        *("inference_geo", "service_tier", "speed", "user_profile_id", "workspace_id"),
    }
)
"""Fields that are about Anthropic's own service: they change nothing here."""
_TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class ChatBody(NamedTuple):
    """The body of a chat completion, the names of its fields in the given body, and unknown fields of that."""

    fields: dict[str, Any]
    names: FieldNames
    ignored: tuple[str, ...]


def request_from_message(
    body: Mapping[str, Any],
    job_id_of: JobIds,
    *,
    profile: ProfileName = "cactus",
    defaults: Options = NO_DEFAULTS,
    strict: bool = False,
) -> BodyRequest:
    """The request of a Messages body; `defaults` fill in absent options, before the profile's.

    Raises InvalidRequest and NotSupported, naming the field as given.
    """
    chat = chat_body_of(body, strict=strict)
    if body.get("max_tokens") is None and defaults.max_tokens is None:
        raise InvalidRequest("max_tokens is required", param="max_tokens")
    with errors_name_fields_as_given(chat.names):
        asked = request_from_chat(chat.fields, job_id_of, profile=profile, defaults=defaults, strict=strict)
    return msgspec.structs.replace(asked, ignored=chat.ignored, field_names={**asked.field_names, **chat.names})


def chat_body_of(body: Mapping[str, Any], *, strict: bool = False) -> ChatBody:
    """The chat of a Messages body, as `request_from_chat` takes it; raises InvalidRequest and NotSupported."""
    given = typed({name: body.get(name) for name in MessagesBody.__struct_fields__}, MessagesBody)
    if given.mcp_servers:
        raise NotSupported("mcp_servers is not supported here", param="mcp_servers")
    if not given.messages:
        raise InvalidRequest("messages is required, and must not be empty", param="messages")
    messages, names = _messages(given.system, given.messages)
    fields = {"messages": messages} | _passed_on(body)
    for name, given_name, value in (
        ("tools", "tools", [_tool(tool, place) for place, tool in enumerate(given.tools or ())]),
        ("user", "metadata.user_id", (given.metadata or MessageMetadata()).user_id),
        ("reasoning_effort", "output_config.effort", (given.output_config or OutputConfig()).effort),
        ("response_format", "output_config.format", _response_format(given)),
    ):
        if value:
            fields[name] = value
            names |= {} if name == given_name else {name: given_name}
    if given.tool_choice is not None:
        fields |= _tool_choice(given.tool_choice)
        names["parallel_tool_calls"] = "tool_choice.disable_parallel_tool_use"
    known = {*MessagesBody.__struct_fields__, *_passed_names(), *_READ_ELSEWHERE}
    ignored = tuple(name for name in body if name not in known)
    if ignored and strict:
        raise InvalidRequest(
            f"unknown field {ignored[0]!r:.80}{similar_name(ignored[0], known)}", param=ignored[0][:80]
        )
    return ChatBody(fields, names, ignored)


def _passed_names() -> frozenset[str]:
    """The fields that both bodies have, those of the options included."""
    return frozenset({"model", "stream", "thinking", *Options.__struct_fields__})


def _passed_on(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in _passed_names() - {"tool_choice"} if body.get(name) is not None}


def _messages(
    system: str | list[TextBlock] | None, turns: Sequence[MessageTurn]
) -> tuple[list[Message], dict[str, str]]:
    """The messages of a chat, and the place in the body of each that has another one there."""
    placed: list[tuple[str, Message]] = []
    if system:
        text = system if isinstance(system, str) else "\n\n".join(block.text for block in system)
        placed.append(("system", {"role": "system", "content": text}))
    for place, turn in enumerate(turns):
        place_in_body = f"messages[{place}]"
        made = [_of_assistant(turn, place_in_body)] if turn.role == "assistant" else _of_user(turn, place_in_body)
        placed += [(place_in_body, message) for message in made]
    last = placed[-1][1]
    if last["role"] == "assistant":  # the answer continues it
        last["prefix"] = True
    names = {f"messages[{index}]": place for index, (place, _) in enumerate(placed) if place != f"messages[{index}]"}
    return [message for _, message in placed], names


def _of_user(turn: MessageTurn, place: str) -> Iterator[Message]:
    """The results of tools in a turn of the user as messages of their own, then the rest; or a turn of the system."""
    if isinstance(turn.content, str):
        yield {"role": turn.role, "content": turn.content}
        return
    parts: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case ToolResultBlock():
                yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": _result_text(block, place)}
            case TextBlock(text):
                parts.append({"type": "text", "text": text})
            case ImageBlock(source):
                parts.append({"type": "image_url", "image_url": {"url": source.address}})
            case _:
                raise InvalidRequest("thinking and tool_use are for an assistant's message", param=f"{place}.content")
    if parts:
        yield {"role": turn.role, "content": parts}
    elif not turn.content:
        raise InvalidRequest(f"{place}.content must not be empty", param=f"{place}.content")


def _result_text(block: ToolResultBlock, place: str) -> str:
    if isinstance(block.content, str):
        text = block.content
    else:
        if any(isinstance(one, ImageBlock) for one in block.content):
            raise NotSupported("pictures in the result of a tool are not read here", param=f"{place}.content")
        text = "\n".join(one.text for one in block.content if isinstance(one, TextBlock))
    return f"Error: {text}" if block.is_error else text


def _of_assistant(turn: MessageTurn, place: str) -> Message:
    if isinstance(turn.content, str):
        return {"role": "assistant", "content": turn.content}
    texts, thoughts, calls = [], [], []
    for block in turn.content:
        match block:
            case TextBlock(text):
                texts.append(text)
            case ThinkingBlock(thinking):
                thoughts.append(thinking)
            case ToolUseBlock():
                arguments = msgspec.json.encode(block.input).decode()
                function = {"name": block.name, "arguments": arguments}
                calls.append({"id": block.id, "type": "function", "function": function})
            case RedactedBlock():
                pass
            case _:
                raise InvalidRequest("pictures and tool_result are for a user's message", param=f"{place}.content")
    message: Message = {"role": "assistant", "content": "".join(texts)}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


def _tool(tool: ClientTool, place: int) -> dict[str, Any]:
    if tool.type not in (None, "custom"):
        raise NotSupported(
            f"the tool {tool.name[:64]!r} is Anthropic's own ({tool.type[:40]}): only tools with an input_schema "
            "are called here",
            param=f"tools[{place}].type",
        )
    if tool.input_schema is None:
        raise InvalidRequest("a tool needs an input_schema", param=f"tools[{place}].input_schema")
    function = {"name": tool.name, "parameters": tool.input_schema}
    more = {"description": tool.description, "strict": tool.strict}
    return {"type": "function", "function": function | {name: it for name, it in more.items() if it is not None}}


def _tool_choice(choice: ToolChoiceObject) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if choice.type == "tool":
        if choice.name is None:
            raise InvalidRequest("a tool_choice of type tool names the tool", param="tool_choice.name")
        fields["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice.type in _TOOL_CHOICES:
        fields["tool_choice"] = _TOOL_CHOICES[choice.type]
    else:
        raise InvalidRequest("tool_choice.type must be auto, any, tool or none", param="tool_choice.type")
    if choice.disable_parallel_tool_use:
        fields["parallel_tool_calls"] = False
    return fields


def _response_format(given: MessagesBody) -> dict[str, Any] | None:
    asked = given.output_format or (given.output_config or OutputConfig()).format
    if asked is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": asked.schema}}
