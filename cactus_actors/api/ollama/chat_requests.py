"""Bodies of Ollama's /api/chat and /api/generate -> the bodies of a chat or a completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cactus_actors.api.conversion import typed
from cactus_actors.api.field_names import FieldNames, errors_name_fields_as_given
from cactus_actors.api.openai import BodyRequest, JobIds, request_from_chat, request_from_completion
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import Role
from cactus_actors.protocol.options import ProfileName

UNLIMITED = -1
_OPTIONS = {
    "num_predict": "max_tokens",
    **{
        name: name
        for name in (
            *("temperature", "top_k", "top_p", "min_p", "typical_p", "seed", "stop", "repeat_penalty"),
            *("repeat_last_n", "presence_penalty", "frequency_penalty", "mirostat", "mirostat_tau", "mirostat_eta"),
        )
    },
}
"""Ollama's name of an option -> ours; others are about its own memory and threads."""
_IGNORED = frozenset({"keep_alive", "options", "context", "truncate", "shift"})


class OllamaMessage(msgspec.Struct, frozen=True):
    """A turn; `images` are base64, the arguments of `tool_calls` are objects."""

    role: Role
    content: str = ""
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[OllamaCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class OllamaFunction(msgspec.Struct, frozen=True):
    """The called function."""

    name: str
    arguments: dict[str, Any] = {}


class OllamaCall(msgspec.Struct, frozen=True):
    """A call of an earlier answer."""

    function: OllamaFunction
    id: str | None = None


class OllamaBody(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of both bodies. Without `stream` an answer is streamed."""

    model: str | None = None
    messages: list[OllamaMessage] = []
    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    raw: bool = False
    images: list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    format: str | dict[str, Any] = ""
    think: bool | str | None = None
    stream: bool = True
    options: dict[str, Any] = {}

    @property
    def loads_alone(self) -> bool:
        """True for a body without anything to answer, which only loads the model."""
        return not (self.messages or self.prompt or self.suffix or self.images)


def read_body(body: Mapping[str, Any]) -> OllamaBody:
    """The known fields of a body; raises InvalidRequest."""
    return typed({name: body.get(name) for name in OllamaBody.__struct_fields__}, OllamaBody)


def request_from_ollama_chat(given: OllamaBody, job_id_of: JobIds, *, profile: ProfileName) -> BodyRequest:
    """The request of a chat body; raises InvalidRequest and NotSupported."""
    messages = [_message(message, place) for place, message in enumerate(given.messages)]
    return _chat(given, messages, job_id_of, profile, {})


def request_from_generate(given: OllamaBody, job_id_of: JobIds, *, profile: ProfileName) -> BodyRequest:
    """The request of a generate body: a chat of one turn, or with `raw` or a `suffix` a prompt as it is."""
    if given.template:
        raise NotSupported("a template in a request is not supported here", param="template")
    if given.raw or given.suffix:
        suffix = {"suffix": given.suffix} if given.suffix else {}
        fields = {"model": given.model, "prompt": given.prompt, "stream": given.stream} | suffix | _options(given)
        with errors_name_fields_as_given(_NAMES):
            asked = request_from_completion(fields, job_id_of, profile=profile)
        return msgspec.structs.replace(asked, field_names={**asked.field_names, **_NAMES})
    system = [{"role": "system", "content": given.system}] if given.system else []
    turn: dict[str, Any] = {"role": "user", "content": given.prompt}
    if given.images:
        turn["images"] = [_address(image) for image in given.images]
    names = {f"messages[{len(system)}].images": "images", f"messages[{len(system)}]": "prompt"}
    return _chat(given, [*system, turn], job_id_of, profile, names)


_NAMES: FieldNames = {
    "max_tokens": "num_predict",
    "response_format": "format",
    "enable_thinking": "think",
    "reasoning_effort": "think",
}


def _chat(
    given: OllamaBody, messages: list[dict[str, Any]], job_id_of: JobIds, profile: ProfileName, names: FieldNames
) -> BodyRequest:
    fields = {"model": given.model, "messages": messages, "tools": given.tools, "stream": given.stream}
    names = {**_NAMES, **names}
    with errors_name_fields_as_given(names):
        asked = request_from_chat(fields | _options(given), job_id_of, profile=profile)
    return msgspec.structs.replace(asked, field_names={**asked.field_names, **names})


def _options(given: OllamaBody) -> dict[str, Any]:
    """The options of a chat, of which Ollama bounds no length."""
    options: dict[str, Any] = {"max_tokens": UNLIMITED}
    options |= {_OPTIONS[name]: value for name, value in given.options.items() if name in _OPTIONS}
    if isinstance(given.format, dict) and given.format:
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": given.format},
        }
    elif given.format == "json":
        options["response_format"] = {"type": "json_object"}
    elif given.format:
        raise InvalidRequest("format must be json, or a JSON schema", param="format")
    if isinstance(given.think, bool):
        options["enable_thinking"] = given.think
    elif given.think is not None:
        options["reasoning_effort"] = given.think
    return options


def _message(message: OllamaMessage, place: int) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.thinking:
        turn["reasoning_content"] = message.thinking
    if message.images:
        turn["images"] = [_address(image) for image in message.images]
    if message.tool_calls:
        turn["tool_calls"] = [
            {
                "id": call.id or f"call{place:03d}{index:02d}",
                "type": "function",
                "function": {
                    "name": call.function.name,
                    "arguments": msgspec.json.encode(call.function.arguments).decode(),
                },
            }
            for index, call in enumerate(message.tool_calls)
        ]
    if message.tool_name:
        turn["name"] = message.tool_name
    if message.tool_call_id:
        turn["tool_call_id"] = message.tool_call_id
    return turn


def _address(image: str) -> str:
    """A picture in base64 as a data URL; its reader looks at the content for the type."""
    return image if image.startswith("data:") else f"data:image/png;base64,{image}"
