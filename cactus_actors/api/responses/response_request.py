"""A body of OpenAI's Responses -> the body of a chat completion, which has one validator for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cactus_actors.api.conversion import converted, typed
from cactus_actors.api.field_names import errors_name_fields_as_given
from cactus_actors.api.openai import BodyRequest, JobIds, request_from_chat
from cactus_actors.api.option_ranges import RANGES
from cactus_actors.api.profiles import PROFILES
from cactus_actors.api.responses.body_fields import (
    FunctionTool,
    Item,
    ReasoningConfig,
    ResponsesBody,
    TextConfig,
    TextFormat,
)
from cactus_actors.api.responses.input_items import INPUT, EarlierItems, Message, items_of, messages_of
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.options import Options, ProfileName
from cactus_actors.protocol.similar_name import similar_name

MAX_TOOL_CALLS = 2**31 - 1
LOGPROBS = "message.output_text.logprobs"
INCLUDABLE = (
    LOGPROBS,
    "reasoning.encrypted_content",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
)
_REFUSED = {
    "conversation": "conversations are not kept here: continue a response with previous_response_id",
    "prompt": "prompt templates are not kept here: send instructions and input",
    "context_management": "context_management is not supported here: send a shorter input",
    "moderation": "moderation is not supported here",
}
_READ_ELSEWHERE = frozenset(
    {
        *("access_programs", "background_options", "image", "prompt_cache_options", "prompt_cache_retention"),
        *("service_tier", "stream_options"),
    }
)
"""Fields that are about OpenAI's own service: they change nothing here."""


class ResponseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The job of a body, the fields of it that the response repeats, and its input with that of earlier responses."""

    asked: BodyRequest
    repeated: dict[str, Any]
    items: list[Item]
    is_stored: bool
    is_background: bool


def request_from_response(
    body: Mapping[str, Any],
    job_id_of: JobIds,
    response_id: str,
    earlier: EarlierItems,
    *,
    profile: ProfileName = "cactus",
    strict: bool = False,
) -> ResponseRequest:
    """The request of a Responses body; raises InvalidRequest, NotSupported and ResourceNotFound, naming the field."""
    for name, reason in _REFUSED.items():
        if body.get(name):
            raise NotSupported(reason, param=name)
    given = typed({name: body.get(name) for name in ResponsesBody.__struct_fields__}, ResponsesBody)
    _check(given)
    items = [] if given.previous_response_id is None else earlier.conversation(given.previous_response_id)
    num_earlier = len(items)
    items = [*items, *items_of(given.input or [], response_id, earlier)]
    if not items:
        raise InvalidRequest(f"{INPUT} is required, and must not be empty", param=INPUT)
    tools = [_tool(tool, place) for place, tool in enumerate(given.tools or ())]
    fields, names = _chat_fields(given, body, tools)
    messages, origins = messages_of(items)
    fields["messages"] = _with_instructions(given.instructions, messages)
    first = len(fields["messages"]) - len(messages)
    for place, origin in enumerate(origins):
        is_earlier = origin < num_earlier
        names[f"messages[{first + place}]"] = (
            "previous_response_id" if is_earlier else f"{INPUT}[{origin - num_earlier}]"
        )
    if given.instructions:
        names["messages[0]"] = "instructions"
    names["messages"] = INPUT
    known = {*ResponsesBody.__struct_fields__, *Options.__struct_fields__, *_READ_ELSEWHERE, *_REFUSED, *_PASSED}
    ignored = tuple(name for name in body if name not in known)
    if ignored and strict:
        raise InvalidRequest(
            f"unknown field {ignored[0]!r:.80}{similar_name(ignored[0], known)}", param=ignored[0][:80]
        )
    with errors_name_fields_as_given(names):
        asked = request_from_chat(fields, job_id_of, profile=profile, strict=strict)
    asked = msgspec.structs.replace(asked, ignored=ignored, field_names={**asked.field_names, **names})
    return ResponseRequest(
        asked=asked,
        repeated=_repeated(given, asked, tools, profile),
        items=items,
        is_stored=given.store is not False,
        is_background=given.background or False,
    )


_PASSED = ("model", "stream", "thinking")
"""The fields that both bodies have, beside the options."""


def _check(given: ResponsesBody) -> None:
    if given.background and given.store is False:
        raise InvalidRequest("background needs store: its answer is read later", param="background")
    for name, number, highest in (
        ("max_tool_calls", given.max_tool_calls, MAX_TOOL_CALLS),
        ("top_logprobs", given.top_logprobs, RANGES["top_logprobs"][1]),
    ):
        if number is not None and not 0 <= number <= highest:
            raise InvalidRequest(f"{name} must be from 0 to {highest:.0f}", param=name)
    if given.truncation == "auto":
        raise NotSupported("truncation auto is not supported here: send a shorter input", param="truncation")
    for name in given.include or ():
        if name not in INCLUDABLE:
            raise InvalidRequest(f"include has {name!r:.60}; known are {', '.join(INCLUDABLE)}", param="include")


def _chat_fields(
    given: ResponsesBody, body: Mapping[str, Any], tools: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a chat but its messages, and the names in the body of those that have another one there."""
    own = ("tool_choice", "top_logprobs", "user")
    passed = {*_PASSED, *Options.__struct_fields__} - {*own}
    fields = {name: body[name] for name in passed if body.get(name) is not None}
    names = {f"tools[{place}].function": f"tools[{place}]" for place in range(len(tools))}
    reasoning = given.reasoning or ReasoningConfig()
    choice, offered = _choice(given.tool_choice, tools)
    user_name = "user" if given.user is not None else "safety_identifier"
    wants_logprobs = LOGPROBS in (given.include or ())
    if wants_logprobs and offered:
        raise NotSupported(
            f"{LOGPROBS} and tools exclude each other here; /v1/chat/completions has both", param="include"
        )
    for name, given_name, value in (
        ("max_tokens", "max_output_tokens", given.max_output_tokens),
        ("tools", "tools", offered),
        ("tool_choice", "tool_choice", choice),
        ("user", user_name, given.user or given.safety_identifier),
        ("reasoning_effort", "reasoning.effort", reasoning.effort),
        ("enable_thinking", "reasoning.enabled", reasoning.enabled),
        ("thinking_budget", "reasoning.max_tokens", reasoning.max_tokens),
        ("response_format", "text.format", _response_format(given.text)),
        ("logprobs", "include", wants_logprobs or None),
        ("top_logprobs", "top_logprobs", given.top_logprobs if wants_logprobs else None),
    ):
        if value is not None:
            fields[name] = value
            names |= {} if name == given_name else {name: given_name}
    return fields, names


def _with_instructions(instructions: str | None, messages: list[Message]) -> list[Message]:
    return [{"role": "system", "content": instructions}, *messages] if instructions else messages


def _choice(
    choice: str | dict[str, Any] | None, tools: Sequence[dict[str, Any]]
) -> tuple[str | dict[str, Any] | None, Sequence[dict[str, Any]] | None]:
    """The choice of a chat among the tools, and those that it allows."""
    match choice:
        case {"type": "function", "name": str() as name}:
            return {"type": "function", "function": {"name": name}}, tools
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": list() as allowed}:
            names = [one.get("name") for one in allowed if isinstance(one, dict)]
            return mode, [tool for tool in tools if tool["function"]["name"] in names]
        case {"type": "function"}:
            raise InvalidRequest("a tool_choice of the type function has the name of one", param="tool_choice.name")
        case {"type": "allowed_tools"}:
            raise InvalidRequest("allowed_tools has a mode, auto or required, and a list of tools", param="tool_choice")
        case {"type": str() as kind}:
            raise NotSupported(
                f"tool_choice of the type {kind:.40} is not supported here: function and allowed_tools are",
                param="tool_choice.type",
            )
        case None | str():
            return choice, tools or None
    raise InvalidRequest("tool_choice must be none, auto, required, or an object with a type", param="tool_choice")


def _tool(given: dict[str, Any], place: int) -> dict[str, Any]:
    if given.get("type") != "function":
        raise NotSupported(
            f"tools of the type {given.get('type')!s:.40} are not run here: only functions, which the client runs, are",
            param=f"tools[{place}].type",
        )
    try:
        tool = converted({name: value for name, value in given.items() if value is not None}, FunctionTool)
    except InvalidRequest as error:
        path = f"tools[{place}]" + (f".{error.param}" if error.param else "")
        raise InvalidRequest(f"tools[{place}]: {error.message}", param=path) from None
    function = msgspec.structs.asdict(tool)
    return {"type": "function", "function": {name: it for name, it in function.items() if it is not None}}


def _response_format(text: TextConfig | None) -> dict[str, Any] | None:
    form = (text or TextConfig()).format
    if form is None or form.type == "text":
        return None
    if form.type == "json_object":
        return {"type": "json_object"}
    if form.schema is None:
        raise InvalidRequest("a json_schema needs a schema", param="text.format.schema")
    schema = {"name": form.name or "answer", "schema": form.schema}
    strict = {} if form.strict is None else {"strict": form.strict}
    return {"type": "json_schema", "json_schema": schema | strict}


def _repeated(
    given: ResponsesBody, asked: BodyRequest, tools: Sequence[dict[str, Any]], profile: ProfileName
) -> dict[str, Any]:
    """The fields of a response that repeat those of its request, defaults filled in."""
    options, defaults = asked.submits[0].options, PROFILES[profile]
    reasoning, text = given.reasoning or ReasoningConfig(), given.text or TextConfig()
    return {
        "background": given.background or False,
        "instructions": given.instructions,
        "max_output_tokens": given.max_output_tokens,
        "max_tool_calls": given.max_tool_calls,
        "metadata": given.metadata or {},
        "model": asked.model or "",
        "parallel_tool_calls": options.parallel_tool_calls is not False,
        "previous_response_id": given.previous_response_id,
        "prompt_cache_key": given.prompt_cache_key,
        "reasoning": {"effort": reasoning.effort, "summary": reasoning.summary or reasoning.generate_summary},
        "safety_identifier": given.safety_identifier,
        "service_tier": "default",
        "temperature": defaults.temperature if options.temperature is None else options.temperature,
        "text": _shown_text(text),
        "tool_choice": "auto" if given.tool_choice is None else given.tool_choice,
        "tools": [_shown_tool(tool["function"]) for tool in tools],
        "top_logprobs": given.top_logprobs or 0,
        "top_p": defaults.top_p if options.top_p is None else options.top_p,
        "truncation": "disabled",
        "user": given.user,
    }


def _shown_tool(function: dict[str, Any]) -> dict[str, Any]:
    shown = {"type": "function", "name": function["name"], "description": function.get("description")}
    return shown | {"parameters": function.get("parameters"), "strict": function.get("strict", False)}


def _shown_text(text: TextConfig) -> dict[str, Any]:
    form = text.format or TextFormat()
    shown: dict[str, Any] = {"type": form.type}
    if form.type == "json_schema":
        shown |= {"name": form.name or "answer", "schema": form.schema, "strict": form.strict or False}
        shown |= {} if form.description is None else {"description": form.description}
    return {"format": shown, "verbosity": text.verbosity or "medium"}
