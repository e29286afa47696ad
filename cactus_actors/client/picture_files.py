"""Pictures of a client: files and bytes become data URLs, which travel inside the request."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaTooLarge
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES

MAX_PICTURE_BYTES = 3 * MAX_MESSAGE_BYTES // 4
"""The largest picture that a message can hold: base64 takes four characters for three bytes."""

_URL = re.compile(r"(data|https?):|[A-Za-z][A-Za-z0-9+.-]*://", re.IGNORECASE)
_FILE_URL = re.compile(r"file:", re.IGNORECASE)


def data_url(content: bytes) -> str:
    """A picture as a data URL without a media type: the service detects the type from the content."""
    return f"data:;base64,{base64.b64encode(content).decode()}"


def data_url_of_file(path: Path) -> str:
    """The content of a file as a data URL; raises MediaInvalid or MediaTooLarge."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_PICTURE_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise MediaInvalid(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_PICTURE_BYTES:
        raise MediaTooLarge(f"{path}: larger than the {MAX_PICTURE_BYTES} bytes that can be sent")
    return data_url(content)


def with_given_pictures(messages: Any) -> Any:
    """The messages, in whose `images` bytes and path objects have become data URLs; texts stay as they are.

    Raises MediaInvalid or MediaTooLarge with the index of the picture in the request.
    """
    return _with_pictures(messages, _given)


def with_read_pictures(messages: Any, directory: Path) -> Any:
    """The messages, in which also texts that are paths or file URLs have become data URLs: files on this machine.

    Relative paths are below `directory`. Other URLs stay as they are. Raises like `with_given_pictures`.
    """
    return _with_pictures(messages, lambda picture: _read(picture, directory))


def _given(picture: Any) -> Any:
    match picture:
        case bytes() | bytearray() | memoryview():
            if len(content := bytes(picture)) > MAX_PICTURE_BYTES:
                raise MediaTooLarge(f"larger than the {MAX_PICTURE_BYTES} bytes that can be sent")
            return data_url(content)
        case os.PathLike():
            return data_url_of_file(Path(os.fsdecode(picture)))
    return picture


def _read(picture: Any, directory: Path) -> Any:
    if not isinstance(picture, str):
        return _given(picture)
    if _FILE_URL.match(picture):
        path = Path(unquote(urlsplit(picture).path))
    elif _URL.match(picture):
        return picture
    else:
        path = directory / picture
    if path.exists() and not path.is_file():
        raise MediaInvalid(f"{path}: no regular file")
    return data_url_of_file(path)


class _Pictures:
    """Converts the pictures of a request, and counts them for its errors."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert
        self._num_converted = 0

    def converted(self, picture: Any, param: str) -> Any:
        index, self._num_converted = self._num_converted, self._num_converted + 1
        try:
            return self._convert(picture)
        except InvalidRequest as error:
            raise type(error)(f"picture {index}: {error.message}", param=param) from None

    def of_message(self, message: Mapping[str, Any], place: int) -> Mapping[str, Any]:
        path, changed = f"messages[{place}]", dict(message)
        if isinstance(images := message.get("images"), list | tuple):
            changed["images"] = [self.converted(image, f"{path}.images[{at}]") for at, image in enumerate(images)]
        if isinstance(parts := message.get("content"), list | tuple):
            changed["content"] = [self._of_part(part, f"{path}.content[{at}]") for at, part in enumerate(parts)]
        return changed

    def _of_part(self, part: Any, param: str) -> Any:
        match part:
            case {"image_url": {"url": picture, **others}}:
                return {**part, "image_url": {**others, "url": self.converted(picture, param)}}
            case {"image_url": picture} if not isinstance(picture, Mapping):
                return {**part, "image_url": self.converted(picture, param)}
        return part


def _with_pictures(messages: Any, convert: Callable[[Any], Any]) -> Any:
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        return messages
    pictures = _Pictures(convert)
    return [
        pictures.of_message(message, place) if isinstance(message, Mapping) else message
        for place, message in enumerate(messages)
    ]
