"""Pictures of the command line: files that are sent inside the request, so that the service need not see them."""

from __future__ import annotations

import base64
from pathlib import Path

from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES


def image_urls(paths: list[Path]) -> list[str]:
    """The files as data URLs; raises InvalidRequest for one that cannot be read or sent."""
    return [_data_url(path) for path in paths]


def _data_url(path: Path) -> str:
    try:
        with path.expanduser().open("rb") as file:
            content = file.read(MAX_MESSAGE_BYTES)
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}", param="image") from None
    if 4 * len(content) > 3 * MAX_MESSAGE_BYTES:  # base64 takes four characters for three bytes
        raise InvalidRequest(
            f"{path}: larger than the {3 * MAX_MESSAGE_BYTES // 4} bytes that can be sent", param="image"
        )
    return f"data:;base64,{base64.b64encode(content).decode()}"
