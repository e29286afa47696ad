"""Converts a client's messages into the turns that a chat template reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.router.preparation.length_limits import check_length
from cactus_actors.router.preparation.picture_content import PICTURE_TYPES, PictureSource, picture_content
from cactus_actors.router.preparation.prompt_model import PromptModel

SAFETY = (
    "Always assist with care, respect, and truth. Respond with utmost utility yet securely. Avoid harmful, "
    "unethical, prejudiced, or negative content. Ensure replies promote fairness and positivity."
)
"""Mistral's guardrail, word for word: docs.mistral.ai, "Guardrailing"."""


class PreparedConversation(NamedTuple):
    """The turns, the given beginning and reasoning of the answer, and the pictures of the turns in their order.

    The content of a turn is text, or a list of parts of type text and image if it has pictures.
    """

    turns: list[ChatMessage]
    answer_begins: str = ""
    answer_reasoning: str = ""
    pictures: tuple[PictureSource, ...] = ()

    @property
    def question(self) -> str:
        """The last message of a user."""
        contents = (turn.content for turn in reversed(self.turns) if turn.role == "user")
        content = next(contents, "")
        if isinstance(content, list):
            return "\n".join(part.text for part in content if part.text is not None)
        return content or ""


def prepare_conversation(
    messages: Sequence[ChatMessage], given: Mapping[str, Any], model: PromptModel
) -> PreparedConversation:
    """The conversation of `messages` and options; raises InvalidRequest naming the place."""
    if not messages:
        raise InvalidRequest("messages must not be empty", param="messages")
    if len(messages) > model.max_context:
        raise ContextExceeded(
            f"{len(messages)} messages cannot fit a context of {model.max_context} tokens", param="messages"
        )
    pictures: list[PictureSource] = []
    turns = [_converted(message, place, model, pictures) for place, message in enumerate(messages)]
    if all(turn.role in ("system", "developer") for turn in turns):
        raise InvalidRequest("there is nothing to answer in messages, only instructions", param="messages")
    check_length([msgspec.to_builtins(turn) for turn in turns], "messages", model)
    conversation = _with_prefix_apart(turns)._replace(pictures=tuple(pictures))
    if given.get("safe_prompt", False):
        return conversation._replace(turns=_guarded(conversation.turns))
    return conversation


def _converted(message: ChatMessage, place: int, model: PromptModel, pictures: list[PictureSource]) -> ChatMessage:
    """The message with its texts joined, or with its pictures, which are added to `pictures`, before and among them."""
    found = picture_content(message, place) if model.pictures is not None else None
    if found is None:
        return _with_text(message, place, model)
    if message.role != "user":
        raise InvalidRequest("pictures are for messages of the role user", param=f"messages[{place}]")
    pictures += found.sources
    parts = [
        part
        if part.type == "image"
        else ContentPart(type="text", text=_text_of(part, f"messages[{place}].content", model))
        for part in found.parts
    ]
    return msgspec.structs.replace(message, content=parts, images=None, reasoning_content=None)


def _with_text(message: ChatMessage, place: int, model: PromptModel) -> ChatMessage:
    """The message with its parts joined; only an assistant's may have reasoning."""
    path = f"messages[{place}].content"
    if message.images:
        raise _unread("pictures", f"messages[{place}].images", model)
    reasoning = message.reasoning_content if message.role == "assistant" else None
    if not isinstance(message.content, list):
        return msgspec.structs.replace(message, reasoning_content=reasoning)
    thoughts = [part for part in message.content if part.type == "thinking"]
    if thoughts and message.role != "assistant":
        raise InvalidRequest("a part of type thinking is for an assistant's message", param=path)
    texts = [_text_of(part, path, model) for part in message.content if part.type != "thinking"]
    thought = "".join(_reasoning_text(part.thinking, path) for part in thoughts)
    return msgspec.structs.replace(message, content="".join(texts), reasoning_content=reasoning or thought or None)


def _text_of(part: ContentPart, path: str, model: PromptModel) -> str:
    if part.type != "text":
        what = "pictures" if part.type in PICTURE_TYPES else f"content of type {part.type[:40]!r}"
        raise _unread(what, path, model)
    if part.text is None:
        raise InvalidRequest("a part of type text needs a text", param=path)
    return part.text


def _reasoning_text(thinking: object, path: str) -> str:
    match thinking:
        case str():
            return thinking
        case list() if all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in thinking):
            return "".join(one["text"] for one in thinking)
    raise InvalidRequest("a part of type thinking needs a text, or a list of texts", param=path)


def _unread(what: str, path: str, model: PromptModel) -> NotSupported:
    kind = "a text model" if model.pictures is None else "a model of text and pictures"
    return NotSupported(f"{model.name} is {kind}: {what} cannot be read", param=path)


def _with_prefix_apart(turns: list[ChatMessage]) -> PreparedConversation:
    """Separate a last turn of the assistant that is to be continued: the answer's beginning."""
    for place, turn in enumerate(turns):
        if turn.prefix and (turn.role != "assistant" or place != len(turns) - 1):
            raise InvalidRequest(
                "prefix is for an assistant's message, the last one", param=f"messages[{place}].prefix"
            )
    last = turns[-1]
    if not last.prefix:
        return PreparedConversation(turns)
    if last.tool_calls:
        raise InvalidRequest("a message with tool calls is not continued", param=f"messages[{len(turns) - 1}].prefix")
    if len(turns) == 1:
        raise InvalidRequest("there is no message before the prefix", param="messages")
    begun = last.content if isinstance(last.content, str) else ""
    return PreparedConversation(turns[:-1], begun, last.reasoning_content or "")


def _guarded(turns: list[ChatMessage]) -> list[ChatMessage]:
    """The turns with the safety instruction before the system message."""
    first = turns[0]
    if first.role not in ("system", "developer"):
        return [ChatMessage(role="system", content=SAFETY), *turns]
    text = f"{SAFETY}\n\n{first.content}" if first.content else SAFETY
    return [msgspec.structs.replace(first, content=text), *turns[1:]]
