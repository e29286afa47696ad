"""Pictures of a client: files and bytes, which travel beside the request as frames or inside it as data URLs."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cactus_actors.protocol.errors import InvalidRequest, MediaInvalid, MediaTooLarge
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, MAX_REQUEST_PICTURE_BYTES

_URL = re.compile(r"(data|https?):|[A-Za-z][A-Za-z0-9+.-]*://", re.IGNORECASE)
_FILE_URL = re.compile(r"file:", re.IGNORECASE)


def data_url(content: bytes) -> str:
    """A picture as a data URL without a media type: the service detects the type from the content."""
    return f"data:;base64,{base64.b64encode(content).decode()}"


def picture_of_file(path: Path) -> bytes:
    """The content of a file; raises MediaInvalid or MediaTooLarge."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise MediaInvalid(f"{path}: no regular file")
        with path.open("rb") as file:
            content = file.read(MAX_PICTURE_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise MediaInvalid(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_PICTURE_BYTES:
        raise MediaTooLarge(f"{path}: larger than the {MAX_PICTURE_BYTES} bytes that can be sent")
    return content


def with_given_pictures(messages: Any, frames: list[bytes] | None = None) -> Any:
    """The messages, in which bytes and path objects in `images` and in parts have become references or data URLs.

    Their contents are added to `frames`, each once; without it they become data URLs. Texts stay as they are. Raises
    MediaInvalid or MediaTooLarge with the index of the picture in the request.
    """
    return _with_pictures(messages, _given, frames)


def with_read_pictures(messages: Any, directory: Path, frames: list[bytes] | None = None) -> Any:
    """As `with_given_pictures`, also for texts that are paths or file URLs: they name files on this machine.

    Relative paths are below `directory`. Other URLs stay as they are.
    """
    return _with_pictures(messages, lambda picture: _read(picture, directory), frames)


def _given(picture: Any) -> bytes | None:
    """The content of a picture of this machine; None for any other."""
    match picture:
        case bytes() | bytearray() | memoryview():
            if len(content := bytes(picture)) > MAX_PICTURE_BYTES:
                raise MediaTooLarge(f"larger than the {MAX_PICTURE_BYTES} bytes that can be sent")
            return content
        case os.PathLike():
            return picture_of_file(Path(os.fsdecode(picture)))
    return None


def _read(picture: Any, directory: Path) -> bytes | None:
    if not isinstance(picture, str):
        return _given(picture)
    if _FILE_URL.match(picture):
        path = Path(unquote(urlsplit(picture).path))
    elif _URL.match(picture):
        return None
    else:
        path = directory / picture
    return picture_of_file(path)


class _Pictures:
    """Replaces the pictures of a request, and counts them for its errors."""

    def __init__(self, content_of: Callable[[Any], bytes | None], frames: list[bytes] | None) -> None:
        self._content_of = content_of
        self._frames = frames
        self._num_replaced = 0

    def replaced(self, picture: Any, param: str) -> Any:
        index, self._num_replaced = self._num_replaced, self._num_replaced + 1
        try:
            content = self._content_of(picture)
            return picture if content is None else self._sent(content)
        except InvalidRequest as error:
            raise type(error)(f"picture {index}: {error.message}", param=param) from None

    def of_message(self, message: Mapping[str, Any], place: int) -> Mapping[str, Any]:
        path, changed = f"messages[{place}]", dict(message)
        if isinstance(images := message.get("images"), list | tuple):
            changed["images"] = [self.replaced(image, f"{path}.images[{at}]") for at, image in enumerate(images)]
        elif isinstance(images, bytes | bytearray | memoryview | os.PathLike):
            raise InvalidRequest("images must be a list of pictures, not one", param=f"{path}.images")
        if isinstance(parts := message.get("content"), list | tuple):
            changed["content"] = [self._of_part(part, f"{path}.content[{at}]") for at, part in enumerate(parts)]
        return changed

    def _of_part(self, part: Any, param: str) -> Any:
        match part:
            case {"image_url": {"url": picture, **others}}:
                sent = self.replaced(picture, param)
                return {**part, "image_url": others | (sent if isinstance(sent, dict) else {"url": sent})}
            case {"image_url": picture} if not isinstance(picture, Mapping):
                return {**part, "image_url": self.replaced(picture, param)}
        return part

    def _sent(self, content: bytes) -> dict[str, int] | str:
        """The form of a picture in its request: the frame that has it, or a data URL."""
        if self._frames is None:
            return data_url(content)
        if content not in self._frames:
            self._frames.append(content)
            if (num_bytes := sum(map(len, self._frames))) > MAX_REQUEST_PICTURE_BYTES:
                raise MediaTooLarge(
                    f"the pictures so far have {num_bytes} bytes, {MAX_REQUEST_PICTURE_BYTES} can be sent together"
                )
        return {"frame": self._frames.index(content)}


def _with_pictures(messages: Any, content_of: Callable[[Any], bytes | None], frames: list[bytes] | None) -> Any:
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        return messages
    pictures = _Pictures(content_of, frames)
    return [
        pictures.of_message(message, place) if isinstance(message, Mapping) else message
        for place, message in enumerate(messages)
    ]
