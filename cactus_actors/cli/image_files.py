"""Pictures of the command line: files that are sent inside the request, so that the service need not see them."""

from __future__ import annotations

from pathlib import Path

from cactus_actors.client.picture_files import data_url_of_file
from cactus_actors.protocol.errors import InvalidRequest


def image_urls(paths: list[Path]) -> list[str]:
    """The files as data URLs; raises InvalidRequest for one that cannot be read or sent."""
    try:
        return [data_url_of_file(path.expanduser()) for path in paths]
    except InvalidRequest as error:
        raise type(error)(error.message, param="image") from None
