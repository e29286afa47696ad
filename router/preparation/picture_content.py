"""Finds the pictures in a client's message, and their places among its texts."""

from __future__ import annotations

from typing import NamedTuple

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import ChatMessage, ContentPart

PICTURE_TYPES = frozenset({"image_url", "input_image"})
"""The types of parts with a picture: OpenAI's of chat completions and of responses."""

_PICTURE = ContentPart(type="image")


class PictureSource(NamedTuple):
    """A picture as the client names it: a path or a URL; `param` is the field of the request that has it."""

    source: str
    param: str


class PictureContent(NamedTuple):
    """The sources of a message's pictures, and its parts, in which a part of type image stands for each picture."""

    sources: list[PictureSource]
    parts: list[ContentPart]


def picture_content(message: ChatMessage, place: int) -> PictureContent | None:
    """The content of a message with pictures, None for one without; those of `images` stand before the content.

    Raises InvalidRequest for a part that names no picture.
    """
    given = message.content if isinstance(message.content, list) else []
    if not message.images and not any(part.type in PICTURE_TYPES for part in given):
        return None
    sources = [PictureSource(image, f"messages[{place}].images[{at}]") for at, image in enumerate(message.images or ())]
    parts = [_PICTURE] * len(sources)
    if isinstance(message.content, str) and message.content:
        parts.append(ContentPart(type="text", text=message.content))
    for at, part in enumerate(given):
        if part.type in PICTURE_TYPES:
            param = f"messages[{place}].content[{at}]"
            sources.append(PictureSource(_source_of(part, param), param))
            part = _PICTURE
        parts.append(part)
    return PictureContent(sources, parts)


def _source_of(part: ContentPart, param: str) -> str:
    """The URL of a part: a text, or an object with it."""
    match part.image_url:
        case str() as source:
            return source
        case {"url": str() as source}:
            return source
    raise InvalidRequest(f"a part of type {part.type} needs an image_url", param=param)
