"""Finds the pictures in a client's request, and their places among the texts of a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.pictures import GivenPicture, PictureFrame

PICTURE_TYPES = frozenset({"image_url", "input_image"})
"""The types of parts with a picture: OpenAI's of chat completions and of responses."""

_PICTURE = ContentPart(type="image")


class PictureSource(NamedTuple):
    """A picture as the client names it; `param` is the field of the request that has it."""

    source: GivenPicture
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


def sources_of(submit: Submit) -> Iterator[PictureSource]:
    """The pictures of a request in their order; parts that name none are left out."""
    for place, message in enumerate(submit.messages or ()):
        for at, image in enumerate(message.images or ()):
            yield PictureSource(image, f"messages[{place}].images[{at}]")
        for at, part in enumerate(message.content if isinstance(message.content, list) else ()):
            if part.type in PICTURE_TYPES and (source := _named_by(part)) is not None:
                yield PictureSource(source, f"messages[{place}].content[{at}]")
    for at, image in enumerate(submit.images or ()):
        yield PictureSource(image, f"images[{at}]")


def with_sources_replaced(submit: Submit, sources: Sequence[GivenPicture]) -> Submit:
    """The request with `sources` in place of its pictures, in the order of `sources_of`."""
    following = iter(sources)

    def replaced(message: ChatMessage) -> ChatMessage:
        images, content = message.images, message.content
        if images:
            images = [next(following) for _ in images]
        if isinstance(content, list):
            content = [
                msgspec.structs.replace(part, image_url=next(following))
                if part.type in PICTURE_TYPES and _named_by(part) is not None
                else part
                for part in content
            ]
        return msgspec.structs.replace(message, images=images, content=content)

    messages = submit.messages and [replaced(message) for message in submit.messages]
    images = submit.images and [next(following) for _ in submit.images]
    return msgspec.structs.replace(submit, messages=messages, images=images)


def _source_of(part: ContentPart, param: str) -> GivenPicture:
    source = _named_by(part)
    if source is None:
        raise InvalidRequest(f"a part of type {part.type} needs an image_url", param=param)
    return source


def _named_by(part: ContentPart) -> GivenPicture | None:
    """The picture of a part: a URL, or an object with a URL or a frame; None if it has neither."""
    match part.image_url:
        case str() as source:
            return source
        case {"url": str() as source}:
            return source
        case {"frame": int() as frame} if not isinstance(frame, bool):
            return PictureFrame(frame)
        case PictureFrame() as frame:
            return frame
    return None
