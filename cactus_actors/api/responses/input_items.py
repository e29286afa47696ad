"""The items of an input, as the API shows them, and the messages of the chat that they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from cactus_actors.api.conversion import converted
from cactus_actors.api.responses.body_fields import (
    CallItem,
    CallOutputItem,
    Item,
    ItemReference,
    MessageItem,
    ReasoningItem,
)
from cactus_actors.api.responses.item_ids import input_item_id
from cactus_actors.protocol.errors import InvalidRequest, NotSupported

Message = dict[str, Any]
S = TypeVar("S")

INPUT = "input"


class EarlierItems(Protocol):
    """The stored responses of the caller."""

    def conversation(self, response_id: str) -> list[Item]:
        """The input and the output of a response that has ended; raises ResourceNotFound and InvalidRequest."""
        ...

    def item(self, item_id: str) -> Item:
        """An item of such a response; raises the same."""
        ...


def items_of(given: str | Sequence[dict[str, Any]], response_id: str, earlier: EarlierItems) -> list[Item]:
    """The items of an input with their ids; raises InvalidRequest and NotSupported, naming the place."""
    if isinstance(given, str):
        return [_message(MessageItem("user", given), response_id, 0)]
    return [_item(item, response_id, place, earlier) for place, item in enumerate(given)]


def messages_of(items: Sequence[Item]) -> tuple[list[Message], list[int]]:
    """The messages of a chat, and the index of the item that began each.

    Reasoning, a text and calls of the assistant that follow each other are one message.
    """
    messages: list[Message] = []
    origins: list[int] = []

    def open_message(place: int, *taken: str) -> Message:
        """The assistant's last message, or a new one if that has one of the fields already, or another role."""
        if not messages or messages[-1]["role"] != "assistant" or any(name in messages[-1] for name in taken):
            messages.append({"role": "assistant"})
            origins.append(place)
        return messages[-1]

    for place, item in enumerate(items):
        match item["type"]:
            case "reasoning":
                parts = item.get("content") or item["summary"]
                text = "".join(part["text"] for part in parts)
                if text:
                    open_message(place, "reasoning_content", "content", "tool_calls")["reasoning_content"] = text
            case "function_call":
                function = {"name": item["name"], "arguments": item["arguments"]}
                call = {"id": item["call_id"], "type": "function", "function": function}
                open_message(place).setdefault("tool_calls", []).append(call)
            case "function_call_output":
                messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": _output(item)})
                origins.append(place)
            case _ if item["role"] == "assistant":
                text = "".join(part.get("text") or part.get("refusal", "") for part in item["content"])
                open_message(place, "content", "tool_calls")["content"] = text
            case _:
                messages.append({"role": item["role"], "content": _content(item["content"])})
                origins.append(place)
    for message in messages:
        message.setdefault("content", "")
    return messages, origins


def _item(given: dict[str, Any], response_id: str, place: int, earlier: EarlierItems) -> Item:
    kind = given.get("type") or "message"
    match kind:
        case "message":
            return _message(_typed(given, MessageItem, place), response_id, place)
        case "function_call":
            call = _typed(given, CallItem, place)
            fields = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            return _written(kind, call.id, response_id, place) | fields | {"status": "completed"}
        case "function_call_output":
            returned = _typed(given, CallOutputItem, place)
            output = returned.output
            if not isinstance(output, str):
                output = [_part(part, f"{INPUT}[{place}].output[{at}]", "user") for at, part in enumerate(output)]
                if any(part["type"] != "input_text" for part in output):
                    raise NotSupported(
                        "pictures in the result of a tool are not read here", param=f"{INPUT}[{place}].output"
                    )
            written = _written(kind, returned.id, response_id, place)
            return written | {"call_id": returned.call_id, "output": output, "status": "completed"}
        case "reasoning":
            thought = _typed(given, ReasoningItem, place)
            return _written(kind, thought.id, response_id, place) | {
                "summary": [{"type": "summary_text", "text": part.text} for part in thought.summary or ()],
                "content": [{"type": "reasoning_text", "text": part.text} for part in thought.content or ()],
            }
        case "item_reference":
            return earlier.item(_typed(given, ItemReference, place).id)
    raise NotSupported(
        f"items of the type {kind!s:.40} are not read here: message, function_call, function_call_output, reasoning "
        "and item_reference are",
        param=f"{INPUT}[{place}].type",
    )


def _message(given: MessageItem, response_id: str, place: int) -> Item:
    kind = "output_text" if given.role == "assistant" else "input_text"
    parts = [{"type": kind, "text": given.content}] if isinstance(given.content, str) else given.content
    if not parts:
        raise InvalidRequest(f"{INPUT}[{place}].content must not be empty", param=f"{INPUT}[{place}].content")
    content = [_part(part, f"{INPUT}[{place}].content[{at}]", given.role) for at, part in enumerate(parts)]
    written = _written("message", given.id, response_id, place)
    return written | {"role": given.role, "content": content, "status": "completed"}


def _part(part: dict[str, Any], path: str, role: str) -> dict[str, Any]:
    """A part of a message as the API shows it."""
    is_answer = role == "assistant"
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str() as text}:
            return (
                {"type": "output_text", "text": text, "annotations": []}
                if is_answer
                else {"type": "input_text", "text": text}
            )
        case {"type": "refusal", "refusal": str() as text} if is_answer:
            return {"type": "refusal", "refusal": text}
        case {"type": "input_image", "image_url": str() as address} if not is_answer:
            return {"type": "input_image", "image_url": address, "detail": _detail(part, path), "file_id": None}
        case {"type": "input_image", "file_id": str()} if not is_answer:
            raise NotSupported("a picture has an image_url, not a file_id", param=f"{path}.file_id")
        case {"type": str() as kind} if kind not in ("input_text", "output_text", "text", "input_image", "refusal"):
            raise NotSupported(
                f"content of the type {kind:.40} is not read here: text and input_image are", param=f"{path}.type"
            )
    words = "output_text with a text" if is_answer else "input_text with a text, or input_image with an image_url"
    raise InvalidRequest(f"{path} must be {words}", param=path)


def _detail(part: dict[str, Any], path: str) -> str:
    detail = part.get("detail") or "auto"
    if detail not in ("low", "high", "auto", "original"):
        raise InvalidRequest("detail must be low, high, auto or original", param=f"{path}.detail")
    return str(detail)


def _written(kind: str, given_id: str | None, response_id: str, place: int) -> Item:
    return {"id": given_id or input_item_id(kind, response_id, place), "type": kind}


def _typed(given: dict[str, Any], kind: type[S], place: int) -> S:
    try:
        return converted({name: value for name, value in given.items() if value is not None}, kind)
    except InvalidRequest as error:
        path = f"{INPUT}[{place}]" + (f".{error.param}" if error.param else "")
        raise InvalidRequest(f"{INPUT}[{place}]: {error.message}", param=path) from None


def _output(item: Item) -> str:
    output: str | list[dict[str, str]] = item["output"]
    return output if isinstance(output, str) else "\n".join(part["text"] for part in output)


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and parts[0]["type"] == "input_text":
        return str(parts[0]["text"])
    return [
        {"type": "text", "text": part["text"]}
        if part["type"] == "input_text"
        else {"type": "image_url", "image_url": {"url": part["image_url"]}}
        for part in parts
    ]
