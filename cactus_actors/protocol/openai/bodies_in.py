"""Request bodies of OpenAI's completion endpoints -> Submit."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Role, Submit
from cactus_actors.protocol.options import Options

CHAT_COMPLETIONS = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"

S = TypeVar("S")

# field -> the values that ask for nothing; anything else is a feature that is not here
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "n": (None, 1),
    "best_of": (None, 1),
    "echo": (None, False),
    "suffix": (None, ""),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "logit_bias": (None, {}),
    "grammar": (None, ""),
    "json_schema": (None,),
    "response_format": (None, {"type": "text"}),
    "return_raw_tokens": (None, False),
    "force_tools": (None, False),
    "tool_choice": (None, "auto", "none"),
    "audio": (None,),
    "modalities": (None, ["text"]),
}


class _ContentPart(msgspec.Struct, frozen=True):
    type: str
    text: str | None = None


class _Message(msgspec.Struct, frozen=True):
    role: Role
    content: str | list[_ContentPart] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class _Chat(msgspec.Struct, frozen=True):
    messages: list[_Message]
    model: str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None


class _NewerNames(msgspec.Struct, frozen=True):
    max_completion_tokens: int | None = None


class _Completion(msgspec.Struct, frozen=True):
    prompt: str | list[str | int | list[int]] | None = None
    model: str | None = None


def submit_from_body(url: str, body: object, job_id: str) -> Submit:
    """The job that `body` asks for at `url`; raises InvalidRequest naming the field in `param`.

    Unknown fields are ignored, and so is `stream`: how an answer travels is its caller's business. What this
    service does not have raises NotSupported instead of being left out silently.
    """
    match url:
        case "/v1/chat/completions":
            return submit_from_chat(body, job_id)
        case "/v1/completions":
            return submit_from_completion(body, job_id)
    raise InvalidRequest(f"url must be {CHAT_COMPLETIONS} or {COMPLETIONS}, got {url[:100]!r}", param="url")


def submit_from_chat(body: object, job_id: str) -> Submit:
    """The job of a chat-completions body; see `submit_from_body`."""
    fields = _supported_fields(body)
    if fields.get("messages") is None:
        raise InvalidRequest("messages is required", param="messages")
    chat = _convert(fields, _Chat)
    if not chat.messages:
        raise InvalidRequest("messages is empty", param="messages")
    tools = None if chat.tool_choice == "none" else chat.tools
    return Submit(
        job_id=job_id,
        messages=[_chat_message(message, place) for place, message in enumerate(chat.messages)],
        tools=[_wrapped(tool, place) for place, tool in enumerate(tools)] if tools else None,
        model=chat.model,
        options=_options(fields),
    )


def submit_from_completion(body: object, job_id: str) -> Submit:
    """The job of a completions body; see `submit_from_body`."""
    fields = _supported_fields(body)
    if fields.get("tools"):
        raise NotSupported("tools need messages, not a prompt", param="tools")
    completion = _convert(fields, _Completion)
    return Submit(
        job_id=job_id,
        prompt=_one_prompt(completion.prompt),
        model=completion.model,
        options=_options(fields),
    )


def _supported_fields(body: object) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, not {type(body).__name__}", param="body")
    for name, neutral in _NEUTRAL.items():
        value = body.get(name)
        # True == 1 in Python, but `n: true` is no number
        if not any(value == one and type(value) is type(one) for one in neutral):
            raise NotSupported(f"{name} is not supported here", param=name)
    return body


def _options(fields: dict[str, Any]) -> Options:
    given = {name: fields[name] for name in Options.__struct_fields__ if fields.get(name) is not None}
    newer = _convert(fields, _NewerNames).max_completion_tokens
    if newer is not None and given.setdefault("max_tokens", newer) != newer:
        raise InvalidRequest(
            "max_tokens and max_completion_tokens are one field and were given two values",
            param="max_completion_tokens",
        )
    return _convert(given, Options)


def _chat_message(message: _Message, place: int) -> ChatMessage:
    content = message.content
    if isinstance(content, list):
        unread = [part.type for part in content if part.type != "text" or part.text is None]
        if unread:
            raise NotSupported(
                f"content of type {unread[0][:40]!r} is not supported by a text model",
                param=f"messages[{place}].content",
            )
        content = "".join(part.text or "" for part in content)
    return ChatMessage(
        role=message.role,
        content=content,
        name=message.name,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
    )


def _wrapped(tool: dict[str, Any], place: int) -> dict[str, Any]:
    """A tool in OpenAI's wrapper; the bare form `{"name", "description", "parameters"}` is wrapped."""
    wrapped = tool if "function" in tool else {"type": "function", "function": tool}
    function = wrapped["function"]
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidRequest("a tool needs a name", param=f"tools[{place}].function.name")
    return wrapped


def _one_prompt(prompt: str | list[str | int | list[int]] | None) -> str | list[int | str]:
    match prompt:
        case None:
            raise InvalidRequest("prompt is required", param="prompt")
        case str():
            return prompt
        case []:
            raise InvalidRequest("prompt is an empty list", param="prompt")
        case [str() as text]:
            return text
        case [list() as ids]:
            return list(ids)
    if any(isinstance(item, list) for item in prompt) or all(isinstance(item, str) for item in prompt):
        raise NotSupported(f"prompt holds {len(prompt)} prompts; send each as a request", param="prompt")
    return [item for item in prompt if not isinstance(item, list)]


def _convert(value: object, kind: type[S]) -> S:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        path = re.search(r" - at `\$\.?(.*)`$", text)
        missing = re.match(r"Object missing required field `(.*?)`", text)
        parts = [path.group(1) if path else "", missing.group(1) if missing else ""]
        param = ".".join(part for part in parts if part)
        reason = text[: path.start()] if path else text
        raise InvalidRequest(f"{param}: {reason}" if param else reason, param=param or None) from None
