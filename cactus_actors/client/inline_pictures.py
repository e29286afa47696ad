"""Takes large data URLs out of a request: their contents are sent beside it, without base64."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.pictures import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_REQUEST_PICTURE_BYTES,
    GivenPicture,
    PictureFrame,
)

SMALL_CHARACTERS = 64 << 10
"""Data URLs of at most this length stay in the request."""

_HEAD = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)


def without_data_urls(submit: Submit, frames: list[bytes]) -> Submit:
    """The request in which frames stand for large data URLs; their contents are added to `frames`, each once.

    A data URL that is malformed or too large stays as it is, for the service to refuse.
    """
    if not _is_large(submit):
        return submit
    messages = submit.messages and [_of_message(message, frames) for message in submit.messages]
    images = submit.images and [_framed(image, frames) for image in submit.images]
    return msgspec.structs.replace(submit, messages=messages, images=images)


def _is_large(submit: Submit) -> bool:
    """True if any picture is a large text; most requests have none."""
    sources: list[object] = [*(submit.images or ())]
    for message in submit.messages or ():
        sources += message.images or ()
        if isinstance(message.content, list):
            sources += [_url_of(part) for part in message.content]
    return any(isinstance(source, str) and len(source) > SMALL_CHARACTERS for source in sources)


def _of_message(message: ChatMessage, frames: list[bytes]) -> ChatMessage:
    images = message.images and [_framed(image, frames) for image in message.images]
    content = message.content
    if isinstance(content, list):
        content = [_of_part(part, frames) for part in content]
    return msgspec.structs.replace(message, images=images, content=content)


def _of_part(part: ContentPart, frames: list[bytes]) -> ContentPart:
    url = _url_of(part)
    if url is None or isinstance(framed := _framed(url, frames), str):
        return part
    return msgspec.structs.replace(part, image_url={"frame": framed.frame})


def _url_of(part: ContentPart) -> str | None:
    match part.image_url:
        case str() as url:
            return url
        case {"url": str() as url}:
            return url
    return None


def _framed(picture: GivenPicture, frames: list[bytes]) -> GivenPicture:
    content = _content_of(picture) if isinstance(picture, str) and len(picture) > SMALL_CHARACTERS else None
    if content is None:
        return picture
    if content not in frames:
        num_bytes = sum(map(len, frames)) + len(content)
        if len(frames) >= MAX_PICTURES or len(content) > MAX_PICTURE_BYTES or num_bytes > MAX_REQUEST_PICTURE_BYTES:
            return picture
        frames.append(content)
    return PictureFrame(frames.index(content))


def _content_of(url: str) -> bytes | None:
    head = _HEAD.match(url)
    if head is None:
        return None
    try:
        return base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):  # percent signs and blanks are the service's to read
        return None
